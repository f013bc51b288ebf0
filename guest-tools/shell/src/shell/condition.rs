//! `[[ … ]]`, and the questions about files that it shares with `test`.

use std::time::SystemTime;

use super::Shell;
use crate::expand::{self, pattern::Pattern};
use crate::files;
use crate::regex::{Flavour, Regex};
use crate::stop::Stop;
use crate::syntax::{Condition, Word};

pub async fn evaluate(shell: &mut Shell, condition: &Condition) -> Result<bool, Stop> {
    match condition {
        Condition::Not(inner) => Ok(!Box::pin(evaluate(shell, inner)).await?),
        Condition::And(left, right) => {
            Ok(Box::pin(evaluate(shell, left)).await? && Box::pin(evaluate(shell, right)).await?)
        }
        Condition::Or(left, right) => {
            Ok(Box::pin(evaluate(shell, left)).await? || Box::pin(evaluate(shell, right)).await?)
        }
        Condition::Word(word) => Ok(!expand::text(shell, word).await?.is_empty()),
        Condition::Unary(operator, word) => {
            let text = expand::text(shell, word).await?;
            match unary(shell, operator, &text) {
                Some(answer) => Ok(answer),
                None => Err(Stop::Fail(2, format!("-{operator}: unary operator expected"))),
            }
        }
        Condition::Binary(left, operator, right) => binary(shell, left, operator, right).await,
    }
}

async fn binary(shell: &mut Shell, left: &Word, operator: &str, right: &Word) -> Result<bool, Stop> {
    let left = expand::text(shell, left).await?;
    match operator {
        "=" | "==" | "!=" => {
            let mut pattern = Pattern::new(&expand::pattern(shell, right).await?);
            if shell.options.nocasematch {
                pattern = pattern.ignore_case();
            }
            Ok(pattern.matches(&left) == (operator != "!="))
        }
        "=~" => {
            let pattern = expand::regex(shell, right).await?;
            let Ok(regex) = Regex::new(&pattern, Flavour::Extended, shell.options.nocasematch) else {
                return Err(Stop::Fail(2, format!("[[: invalid regular expression `{pattern}'")));
            };
            let groups = regex.captures(left.as_bytes(), 0).unwrap_or_default();
            let found = !groups.is_empty();
            let texts = groups.into_iter().map(|group| {
                let bytes = group.and_then(|range| left.as_bytes().get(range)).unwrap_or_default();
                String::from_utf8_lossy(bytes).into_owned()
            });
            // Nobody may make this variable read-only in a useful way.
            let _kept = shell.vars.set_list("BASH_REMATCH", texts);
            Ok(found)
        }
        "<" => Ok(left < expand::text(shell, right).await?),
        ">" => Ok(left > expand::text(shell, right).await?),
        "-nt" | "-ot" => {
            let right = expand::text(shell, right).await?;
            Ok(newer(shell, &left, operator, &right))
        }
        _ => {
            let right = expand::text(shell, right).await?;
            let mut numbers = [0; 2];
            for (number, text) in numbers.iter_mut().zip([&left, &right]) {
                *number = expand::evaluate(shell, text)
                    .map_err(|message| Stop::Fail(1, format!("[[: {message}")))?;
            }
            Ok(compare(operator, numbers))
        }
    }
}

/// A comparison of numbers.
pub fn compare(operator: &str, [left, right]: [i64; 2]) -> bool {
    match operator {
        "-eq" => left == right,
        "-ne" => left != right,
        "-lt" => left < right,
        "-le" => left <= right,
        "-gt" => left > right,
        _ => left >= right,
    }
}

pub fn newer(shell: &Shell, left: &str, operator: &str, right: &str) -> bool {
    let time =
        |name: &str| -> Option<SystemTime> { std::fs::metadata(shell.path(name)).ok()?.modified().ok() };
    let (one, other) = if operator == "-nt" { (left, right) } else { (right, left) };
    match (time(one), time(other)) {
        (Some(one), Some(other)) => one > other,
        (Some(_), None) => true,
        _ => false,
    }
}

/// A question about one text; none if there is no such question.
pub fn unary(shell: &Shell, operator: &str, text: &str) -> Option<bool> {
    match operator {
        "z" => Some(text.is_empty()),
        "n" => Some(!text.is_empty()),
        "v" => Some(match text.split_once('[') {
            None => shell.parameter(text).is_some(),
            Some((name, key)) => shell.vars.element(name, key.trim_end_matches(']')).is_some(),
        }),
        "o" => Some(match text {
            "errexit" => shell.options.errexit,
            "nounset" => shell.options.nounset,
            "pipefail" => shell.options.pipefail,
            _ => false,
        }),
        "t" => Some(false),
        _ => file_test(shell, operator, text),
    }
}

/// A question about a file.
pub fn file_test(shell: &Shell, operator: &str, name: &str) -> Option<bool> {
    let path = shell.path(name);
    let device = files::is_device(name);
    let metadata = || std::fs::metadata(&path).ok();
    Some(match operator {
        "e" | "a" => device || files::exists(&path),
        "f" => metadata().is_some_and(|metadata| metadata.is_file()),
        "d" => files::is_dir(&path),
        "s" => metadata().is_some_and(|metadata| metadata.len() > 0),
        "r" => device || files::exists(&path),
        "w" => device || files::exists(&path),
        // Files have no mode here: what can be entered, or run as a script, is executable.
        "x" => files::is_dir(&path) || files::is_script(&path),
        "L" | "h" => std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()),
        "c" => device,
        "b" | "p" | "S" | "g" | "u" | "k" => false,
        "O" | "G" | "N" => files::exists(&path),
        _ => return None,
    })
}
