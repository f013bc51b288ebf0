//! Walking through folders and judging what is there.

use super::Search;
use super::test::{Exec, Test};
use crate::clock::{now, since_epoch};
use crate::files;
use crate::shell::Shell;
use crate::stop::{Stop, words};
use crate::stream::{Handle, Out};
use crate::util::remove::agreed;
use std::fs::Metadata;

/// One file that was found.
struct Found<'a> {
    path: &'a str,
    start: &'a str,
    depth: usize,
    metadata: &'a Metadata,
}

pub struct Walk<'a> {
    pub shell: &'a mut Shell,
    pub search: &'a mut Search,
    pub test: &'a Test,
    pub out: &'a mut Out,
    pub failed: bool,
    pub quit: bool,
}

impl Walk<'_> {
    async fn warn(&mut self, message: String) -> Result<(), Stop> {
        self.failed = true;
        self.shell.warn(format!("find: {message}")).await
    }

    pub async fn from(&mut self, start: &str) -> Result<(), Stop> {
        let mut waiting = vec![Step::Enter(start.to_owned(), 0)];
        while let Some(step) = waiting.pop() {
            crate::task::tick()?;
            let (path, depth, entering) = match step {
                Step::Enter(path, depth) => (path, depth, true),
                Step::Judge(path, depth) => (path, depth, false),
            };
            let real = self.shell.path(&path);
            let metadata = if self.search.follow {
                std::fs::metadata(&real).or_else(|_| std::fs::symlink_metadata(&real))
            } else {
                std::fs::symlink_metadata(&real)
            };
            let metadata = match metadata {
                Ok(metadata) => metadata,
                Err(error) => {
                    self.warn(format!("‘{path}’: {}", words(&error))).await?;
                    continue;
                }
            };
            let mut pruned = false;
            if !(entering && self.search.deep && metadata.is_dir()) {
                if depth >= self.search.least {
                    let found = Found { path: &path, start, depth, metadata: &metadata };
                    self.judge(self.test, &found, &mut pruned).await?;
                    self.out.check().await?;
                }
                if self.quit {
                    return Ok(());
                }
            }
            if !entering || !metadata.is_dir() || pruned || depth >= self.search.most {
                if entering && self.search.deep && metadata.is_dir() {
                    waiting.push(Step::Judge(path, depth));
                }
                continue;
            }
            if self.search.deep {
                waiting.push(Step::Judge(path.clone(), depth));
            }
            match files::list(self.shell, &path) {
                Ok(entries) => {
                    let join = |name: String| {
                        if path.ends_with('/') { format!("{path}{name}") } else { format!("{path}/{name}") }
                    };
                    waiting.extend(
                        entries.into_iter().rev().map(|entry| Step::Enter(join(entry.name), depth + 1)),
                    );
                }
                Err(error) => self.warn(format!("‘{path}’: {}", words(&error))).await?,
            }
        }
        Ok(())
    }

    async fn judge(&mut self, test: &Test, found: &Found<'_>, pruned: &mut bool) -> Result<bool, Stop> {
        let base = match found.path.trim_end_matches('/').rsplit('/').next() {
            Some("") | None => found.path,
            Some(base) => base,
        };
        Ok(match test {
            Test::Not(inner) => !Box::pin(self.judge(inner, found, pruned)).await?,
            Test::And(tests) => {
                for test in tests {
                    if !Box::pin(self.judge(test, found, pruned)).await? {
                        return Ok(false);
                    }
                }
                true
            }
            Test::Or(tests) => {
                for test in tests {
                    if Box::pin(self.judge(test, found, pruned)).await? {
                        return Ok(true);
                    }
                }
                false
            }
            Test::Name(pattern) => pattern.matches(base),
            Test::Path(pattern) => pattern.matches(found.path),
            Test::Regex(regex) => regex.is_match(found.path.as_bytes()),
            Test::Type(kinds) => kinds.split(',').any(|kind| kind == letter(found.metadata)),
            Test::Size(sign, number, unit) => compare(*sign, found.metadata.len().div_ceil(*unit), *number),
            Test::Empty if found.metadata.is_dir() => {
                files::list(self.shell, found.path).is_ok_and(|entries| entries.is_empty())
            }
            Test::Empty => found.metadata.is_file() && found.metadata.len() == 0,
            Test::Age(sign, number, unit) => {
                let age = now().as_secs().saturating_sub(modified(found.metadata).as_secs());
                // Minutes are rounded up, days down.
                let units = if *unit == 60 { age.div_ceil(*unit) } else { age / unit };
                compare(*sign, units, *number)
            }
            Test::Newer(time) => modified(found.metadata) > *time,
            Test::True => true,
            Test::False => false,
            Test::Prune => {
                *pruned = true;
                true
            }
            Test::Quit => {
                self.quit = true;
                true
            }
            Test::Delete => return self.delete(found).await,
            Test::Print(end) => {
                self.out.put(found.path);
                self.out.put(end);
                true
            }
            Test::Printf(format) => {
                let text = fill(format, found, base);
                self.out.put(text);
                true
            }
            Test::List => {
                let kind = if found.metadata.is_dir() { "drwxr-xr-x" } else { "-rw-r--r--" };
                let time = crate::util::date::listing(modified(found.metadata), now());
                self.out.line(format!(
                    "{:>9} {:>6} {kind} 1 user user {:>8} {time} {}",
                    0,
                    crate::util::ls::occupied(found.metadata.len(), found.metadata.is_dir()),
                    found.metadata.len(),
                    found.path
                ));
                true
            }
            Test::Exec(exec) => return self.execute(exec, found).await,
        })
    }

    async fn execute(&mut self, exec: &Exec, found: &Found<'_>) -> Result<bool, Stop> {
        let (folder, name) = if exec.inside { beside(found.path) } else { (None, found.path.to_owned()) };
        if let Some(index) = exec.all {
            if let Some(waiting) = self.search.waiting.get_mut(index) {
                waiting.names.push((folder, name));
            }
            return Ok(true);
        }
        self.out.flush().await?;
        if exec.asks {
            let program = exec.words.first().map_or("", String::as_str);
            if !agreed(self.shell, &format!("< {program} ... {} > ? ", found.path)).await? {
                return Ok(false);
            }
        }
        let command: Vec<String> = exec.words.iter().map(|word| word.replace("{}", &name)).collect();
        // The answers to the questions are not for the command.
        let stdin = self.shell.fds.get(0);
        if exec.asks {
            self.shell.fds.set(0, Handle::Null);
        }
        let result = Box::pin(super::execute(self.shell, folder.as_deref(), &command)).await;
        self.shell.fds.set(0, stdin);
        Ok(result? == 0)
    }

    async fn delete(&mut self, found: &Found<'_>) -> Result<bool, Stop> {
        if matches!(found.path, "." | "./") {
            return Ok(true);
        }
        let path = self.shell.path(found.path);
        let result =
            if found.metadata.is_dir() { std::fs::remove_dir(&path) } else { std::fs::remove_file(&path) };
        match result {
            Ok(()) => Ok(true),
            Err(error) => {
                self.warn(format!("cannot delete ‘{}’: {}", found.path, words(&error))).await?;
                Ok(false)
            }
        }
    }
}

/// The folder of a file, and the file's name there.
fn beside(path: &str) -> (Option<String>, String) {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit_once('/') {
        _ if trimmed.is_empty() => (Some("/".to_owned()), "/".to_owned()),
        Some(("", base)) => (Some("/".to_owned()), format!("./{base}")),
        Some((folder, base)) => (Some(folder.to_owned()), format!("./{base}")),
        None => (Some(".".to_owned()), format!("./{trimmed}")),
    }
}

/// A folder before what is in it, or, with `deep`, after.
enum Step {
    Enter(String, usize),
    Judge(String, usize),
}

fn letter(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        "d"
    } else if metadata.is_symlink() {
        "l"
    } else {
        "f"
    }
}

fn modified(metadata: &Metadata) -> std::time::Duration {
    metadata.modified().map(since_epoch).unwrap_or_default()
}

fn compare(sign: char, value: u64, number: u64) -> bool {
    match sign {
        '+' => value > number,
        '-' => value < number,
        _ => value == number,
    }
}

fn fill(format: &str, found: &Found<'_>, base: &str) -> Vec<u8> {
    let (decoded, _) = crate::expand::escapes(format, crate::expand::Escapes::Ansi);
    let decoded = String::from_utf8_lossy(&decoded).into_owned();
    let mut filled = String::new();
    let mut rest = decoded.chars();
    let seconds = i64::try_from(modified(found.metadata).as_secs()).unwrap_or(0);
    while let Some(letter) = rest.next() {
        if letter != '%' {
            filled.push(letter);
            continue;
        }
        match rest.next() {
            Some('p') => filled.push_str(found.path),
            Some('f') => filled.push_str(base),
            Some('P') => filled
                .push_str(found.path.strip_prefix(found.start).unwrap_or(found.path).trim_start_matches('/')),
            Some('h') => filled.push_str(found.path.rsplit_once('/').map_or(".", |(folder, _)| folder)),
            Some('s') => filled.push_str(&found.metadata.len().to_string()),
            Some('d') => filled.push_str(&found.depth.to_string()),
            Some('y') => filled.push_str(self::letter(found.metadata)),
            Some('m') => filled.push_str(if found.metadata.is_dir() { "755" } else { "644" }),
            Some('u' | 'g') => filled.push_str("user"),
            Some('k') => filled.push_str(
                &crate::util::ls::occupied(found.metadata.len(), found.metadata.is_dir()).to_string(),
            ),
            Some('t') => filled.push_str(&crate::util::date::show("%a %b %e %H:%M:%S %Y", seconds, 0, 0)),
            Some('T') => match rest.next() {
                Some('@') => filled.push_str(&format!("{seconds}.0000000000")),
                Some(directive) => {
                    filled.push_str(&crate::util::date::show(&format!("%{directive}"), seconds, 0, 0))
                }
                None => {}
            },
            Some('%') => filled.push('%'),
            Some(other) => filled.extend(['%', other]),
            None => filled.push('%'),
        }
    }
    filled.into_bytes()
}
