//! `find`

mod test;
mod walk;

use test::{Reader, Test};
use walk::Walk;

use crate::files;
use crate::regex::Flavour;
use crate::shell::subshell::finish;
use crate::shell::{Shell, invoke};
use crate::stop::{Status, fail};

struct Search {
    least: usize,
    most: usize,
    deep: bool,
    follow: bool,
    /// Names waiting for the commands that take many.
    waiting: Vec<Waiting>,
    regex_flavour: Flavour,
}

/// A command that takes many names at once.
struct Waiting {
    words: Vec<String>,
    /// In which folder it runs, if not in that of the script, and the name there.
    names: Vec<(Option<String>, String)>,
}

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let mut rest = arguments;
    let mut search = Search {
        least: 0,
        most: usize::MAX,
        deep: false,
        follow: false,
        waiting: Vec::new(),
        regex_flavour: Flavour::Basic,
    };
    while let Some((flag, after)) =
        rest.split_first().filter(|(flag, _)| matches!(flag.as_str(), "-L" | "-P" | "-H"))
    {
        search.follow = flag == "-L";
        rest = after;
    }
    let paths = rest
        .iter()
        .take_while(|word| !word.starts_with('-') && !matches!(word.as_str(), "(" | "!" | ")"))
        .count();
    let (paths, expression) = rest.split_at(paths);
    let mut reader = Reader { shell, words: expression, at: 0, search: &mut search, acts: false, depth: 0 };
    let mut test = if expression.is_empty() { Test::True } else { reader.or()? };
    if let Some(extra) = reader.peek() {
        return fail(format!("paths must precede expression: `{extra}'"));
    }
    if !reader.acts {
        test = Test::And(vec![test, Test::Print("\n")]);
    }
    let paths = if paths.is_empty() { vec![".".to_owned()] } else { paths.to_vec() };
    let mut out = shell.out();
    let mut status = 0;
    let mut walk =
        Walk { shell, search: &mut search, test: &test, out: &mut out, failed: false, quit: false };
    for path in &paths {
        walk.from(path).await?;
        if walk.quit {
            break;
        }
    }
    if walk.failed {
        status = 1;
    }
    out.flush().await?;
    for Waiting { words, names } in std::mem::take(&mut search.waiting) {
        for some in names.chunk_by(|(one, _), (other, _)| one == other).flat_map(|same| same.chunks(5000)) {
            let folder = some.first().and_then(|(folder, _)| folder.clone());
            let command: Vec<String> =
                words.iter().chain(some.iter().map(|(_, name)| name)).cloned().collect();
            if execute(shell, folder.as_deref(), &command).await? != 0 {
                status = 1;
            }
        }
    }
    Ok(status)
}

/// Runs a command for what was found, in a folder if there is one.
async fn execute(shell: &mut Shell, folder: Option<&str>, command: &[String]) -> Status {
    let Some(folder) = folder else { return invoke(shell, command).await };
    let mut child = shell.child()?;
    child.cwd = files::normal(&shell.path(folder).to_string_lossy());
    let cwd = child.cwd.clone();
    child.vars.set_exported("PWD", &cwd);
    let result = invoke(&mut child, command).await;
    finish(&mut child, result).await
}
