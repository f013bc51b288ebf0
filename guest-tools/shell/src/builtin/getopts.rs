//! `getopts`

use crate::shell::Shell;
use crate::stop::{Status, fail, wrong};

pub async fn getopts(shell: &mut Shell, arguments: &[String]) -> Status {
    let [wanted, name, own @ ..] = arguments else {
        return wrong(2, "usage: getopts optstring name [arg ...]");
    };
    let words = if own.is_empty() { shell.positional.to_vec() } else { own.to_vec() };
    let index: usize = shell.vars.get("OPTIND").and_then(|text| text.parse().ok()).unwrap_or(1).max(1);
    if index == 1 && shell.letter == 0 {
        shell.letter = 1;
    }
    let quiet = wanted.starts_with(':');
    let word = words.get(index - 1).map(String::as_str).unwrap_or_default();
    let end = !word.starts_with('-') || word == "-" || word == "--";
    let mut next = index;
    let mut letter = shell.letter.max(1);
    let (answer, argument, status) = if end {
        next += usize::from(word == "--");
        letter = 1;
        ("?".to_owned(), None, 1)
    } else {
        let option = word.chars().nth(letter).unwrap_or('?');
        letter += 1;
        let rest: String = word.chars().skip(letter).collect();
        let place = wanted.find(option).filter(|_| option != ':');
        let takes = place.is_some_and(|place| {
            wanted.get(place + option.len_utf8()..).is_some_and(|after| after.starts_with(':'))
        });
        if rest.is_empty() || takes {
            next += 1;
            letter = 1;
        }
        match (place, takes) {
            (None, _) => {
                if !quiet {
                    shell.warn(format!("{}: illegal option -- {option}", shell.name)).await?;
                }
                ("?".to_owned(), quiet.then(|| option.to_string()), 0)
            }
            (Some(_), false) => (option.to_string(), None, 0),
            (Some(_), true) if !rest.is_empty() => (option.to_string(), Some(rest), 0),
            (Some(_), true) => match words.get(next - 1) {
                Some(argument) => {
                    next += 1;
                    (option.to_string(), Some(argument.clone()), 0)
                }
                None if quiet => (":".to_owned(), Some(option.to_string()), 0),
                None => {
                    shell.warn(format!("{}: option requires an argument -- {option}", shell.name)).await?;
                    ("?".to_owned(), None, 0)
                }
            },
        }
    };
    shell.letter = letter;
    let argument = match argument {
        Some(argument) => shell.vars.set("OPTARG", argument),
        None => shell.vars.unset("OPTARG"),
    };
    let results = [argument, shell.vars.set("OPTIND", next.to_string()), shell.vars.set(name, answer)];
    match results.into_iter().find_map(Result::err) {
        Some(message) => fail(message),
        None => Ok(status),
    }
}
