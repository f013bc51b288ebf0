//! `patch`, with unified diffs.

use super::options::{Options, Spelling};
use super::{diff::lines, input};
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail, words, wrong};

const SPELLING: Spelling = Spelling::new(
    "p:Ri:o:uNfst1",
    &[
        ("strip", 'p'),
        ("reverse", 'R'),
        ("input", 'i'),
        ("output", 'o'),
        ("unified", 'u'),
        ("forward", 'N'),
        ("force", 'f'),
        ("silent", 's'),
        ("quiet", 's'),
        ("batch", 't'),
        ("dry-run", '1'),
    ],
)
.status(2);

/// How far from its line a hunk may stand.
const FARTHEST: usize = 100_000;

/// The changes of one file.
struct Change {
    old: String,
    new: String,
    hunks: Vec<Hunk>,
}

/// Lines with their signs, from a line of the old file.
struct Hunk {
    start: usize,
    old: Vec<Vec<u8>>,
    new: Vec<Vec<u8>>,
}

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(arguments)?;
    let name = options.value('i').or(options.operands.get(1).map(String::as_str)).unwrap_or("-");
    let text = input::whole(shell, name).await.map_err(|stop| match stop {
        Stop::Fail(_, message) => Stop::Fail(2, format!("**** Can't open patch file {message}")),
        stop => stop,
    })?;
    let changes = read(&text)?;
    if changes.is_empty() {
        return wrong(2, "**** Only garbage was found in the patch input.");
    }
    let mut status = 0;
    for change in changes {
        status |= apply(shell, &options, change).await?;
    }
    Ok(status)
}

/// The name in a line of a title, without its time.
fn title(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.get(4..).unwrap_or_default()).into_owned();
    text.split(['\t', '\n', '\r']).next().unwrap_or_default().trim_end().to_owned()
}

/// `12,3` in a hunk's head.
fn range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

fn read(text: &[u8]) -> Result<Vec<Change>, Stop> {
    let lines = lines(text);
    let mut changes: Vec<Change> = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let next = lines.get(at).filter(|next| next.starts_with(b"+++ "));
        if let Some(next) = next.filter(|_| line.starts_with(b"--- ")) {
            changes.push(Change { old: title(line), new: title(next), hunks: Vec::new() });
            at += 1;
            continue;
        }
        let head = String::from_utf8_lossy(line).into_owned();
        let Some(rest) = head.strip_prefix("@@ -") else { continue };
        let ranges = rest
            .split_once(" +")
            .and_then(|(old, rest)| Some((range(old)?, range(rest.split_once(" @@")?.0)?)));
        let (Some(((start, mut old), (_, mut new))), Some(change)) = (ranges, changes.last_mut()) else {
            return wrong(2, format!("**** malformed patch at line {at}: {head}"));
        };
        // An empty range names the line before it.
        let start = if old == 0 { start } else { start.saturating_sub(1) };
        let mut hunk = Hunk { start, old: Vec::new(), new: Vec::new() };
        let mut both = (false, false);
        while old > 0 || new > 0 || lines.get(at).is_some_and(|line| line.starts_with(b"\\")) {
            crate::task::tick()?;
            let Some(line) = lines.get(at) else {
                return wrong(2, format!("**** unexpected end of file in patch at line {}", at + 1));
            };
            at += 1;
            let body = line.get(1..).unwrap_or_default().to_vec();
            let unended = |lines: &mut Vec<Vec<u8>>| {
                lines.last_mut().map(Vec::pop);
            };
            let sign = line.first().copied();
            if sign == Some(b'\\') {
                if both.0 {
                    unended(&mut hunk.old);
                }
                if both.1 {
                    unended(&mut hunk.new);
                }
                continue;
            }
            both = (sign != Some(b'+'), sign != Some(b'-'));
            let body = if sign == Some(b'\n') { b"\n".to_vec() } else { body };
            if !matches!(sign, Some(b' ' | b'+' | b'-' | b'\n'))
                || (both.0 && old == 0)
                || (both.1 && new == 0)
            {
                return wrong(
                    2,
                    format!("**** malformed patch at line {at}: {}", String::from_utf8_lossy(line)),
                );
            }
            if both.0 {
                old -= 1;
                hunk.old.push(body.clone());
            }
            if both.1 {
                new -= 1;
                hunk.new.push(body);
            }
        }
        change.hunks.push(hunk);
    }
    changes.retain(|change| !change.hunks.is_empty());
    Ok(changes)
}

/// A name without its first folders; all of them without `-p`.
fn stripped(name: &str, options: &Options) -> Result<String, Stop> {
    let Some(text) = options.value('p') else {
        return Ok(name.rsplit('/').next().unwrap_or(name).to_owned());
    };
    let Ok(count) = text.parse::<usize>() else {
        return wrong(2, format!("**** strip count {text} is not a number"));
    };
    let parts: Vec<&str> = name.split('/').collect();
    Ok(parts.get(count..).filter(|rest| !rest.is_empty()).map_or_else(String::new, |rest| rest.join("/")))
}

async fn apply(shell: &mut Shell, options: &Options, change: Change) -> Status {
    let reverse = options.has('R');
    let (old, new) = if reverse { (&change.new, &change.old) } else { (&change.old, &change.new) };
    let name = match options.operands.first() {
        Some(name) => name.clone(),
        None => {
            let names = [stripped(old, options)?, stripped(new, options)?];
            let there = |name: &&String| !name.is_empty() && files::is_file(&shell.path(name));
            let made = if old == "/dev/null" { names.get(1) } else { None };
            match names.iter().find(there).or(made).filter(|name| !name.is_empty()) {
                Some(name) => name.clone(),
                None => return fail(format!("can't find file to patch: {}", change.old)),
            }
        }
    };
    let content =
        if files::exists(&shell.path(&name)) { input::whole(shell, &name).await? } else { Vec::new() };
    let verb = if options.has('1') { "checking" } else { "patching" };
    let mut said = format!("{verb} file {name}\n");
    let mut lines: Vec<Vec<u8>> = lines(&content).into_iter().map(<[u8]>::to_vec).collect();
    let (mut failed, mut moved, mut grown) = (Vec::new(), 0_isize, 0_isize);
    let count = change.hunks.len();
    let mut least = 0;
    for (index, hunk) in change.hunks.into_iter().enumerate() {
        let (from, to) = if reverse { (hunk.new, hunk.old) } else { (hunk.old, hunk.new) };
        let expected = hunk.start.saturating_add_signed(moved);
        match place(&lines, &from, expected, least) {
            Some(at) => {
                // The offset is told against what the diff says, whatever the hunks before were moved by.
                let told = hunk.start.saturating_add_signed(grown);
                if at != told {
                    let offset = at.abs_diff(told);
                    let plural = if offset == 1 { "" } else { "s" };
                    let sign = if at < told { "-" } else { "" };
                    let place = format!("{} (offset {sign}{offset} line{plural})", at + 1);
                    said.push_str(&format!("Hunk #{} succeeded at {place}.\n", index + 1));
                }
                let signed = |size: usize| isize::try_from(size).unwrap_or(0);
                grown += signed(to.len()) - signed(from.len());
                moved = signed(at) - signed(hunk.start) + signed(to.len()) - signed(from.len());
                least = at + to.len();
                lines.splice(at..at + from.len(), to);
            }
            None => {
                said.push_str(&format!("Hunk #{} FAILED at {}.\n", index + 1, expected + 1));
                failed.push(index);
            }
        }
    }
    if !failed.is_empty() {
        let plural = if failed.len() == 1 { "" } else { "s" };
        said.push_str(&format!("{} out of {count} hunk{plural} FAILED\n", failed.len()));
    }
    if !options.has('s') || !failed.is_empty() {
        shell.stdout().write(said.as_bytes()).await?;
    }
    // A file of which a part fails stays as it is: there is nobody to look at the rest.
    if failed.is_empty() && !options.has('1') {
        let bytes = lines.concat();
        let target = options.value('o').unwrap_or(&name);
        let result = if bytes.is_empty() && new == "/dev/null" {
            std::fs::remove_file(shell.path(target))
        } else {
            if let Some((folder, _)) = target.rsplit_once('/') {
                // If it cannot be made, writing says so.
                let _made = std::fs::create_dir_all(shell.path(folder));
            }
            std::fs::write(shell.path(target), bytes)
        };
        if let Err(error) = result {
            return wrong(2, format!("**** Can't write {target}: {}", words(&error)));
        }
    }
    Ok(i32::from(!failed.is_empty()))
}

/// Where the lines stand, the nearest to where they should; no earlier than `least`. Nothing is left out of the context.
fn place(lines: &[Vec<u8>], wanted: &[Vec<u8>], expected: usize, least: usize) -> Option<usize> {
    let fits = |at: usize| at >= least && lines.get(at..at + wanted.len()).is_some_and(|some| some == wanted);
    if wanted.is_empty() {
        return Some(expected.min(lines.len()));
    }
    let near = (0..=lines.len().min(FARTHEST))
        .flat_map(|offset| [expected.checked_add(offset), expected.checked_sub(offset)])
        .flatten();
    near.into_iter().find(|at| fits(*at))
}
