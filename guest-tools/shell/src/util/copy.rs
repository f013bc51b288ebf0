//! `cp` and `mv`.

use std::fs;
use std::io;
use std::path::Path;

use super::options::{Options, Spelling};
use super::remove::agreed;
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail, words};

/// Deeper trees are not copied: each level costs stack.
const DEEPEST: u32 = 100;

struct Copy<'a> {
    shell: &'a Shell,
    recursive: bool,
    follow: bool,
    keep_times: bool,
    verbose: bool,
    existing: Existing,
    lines: Vec<String>,
    failures: Vec<String>,
}

const CP: Spelling = Spelling::new(
    "aRrfinpuvLPdt:T1:",
    &[
        ("archive", 'a'),
        ("recursive", 'r'),
        ("force", 'f'),
        ("interactive", 'i'),
        ("no-clobber", 'n'),
        ("preserve", 'p'),
        ("update", 'u'),
        ("verbose", 'v'),
        ("target-directory", 't'),
        ("no-target-directory", 'T'),
    ],
);

pub async fn cp(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = CP.read(arguments)?;
    let (sources, place) = places(&options)?;
    let recursive = ["r", "R", "a"].iter().any(|letter| options.has(letter.chars().next().unwrap_or('r')));
    let mut copy = Copy {
        shell,
        recursive,
        follow: options.has('L') || !(recursive || options.has('P') || options.has('d')),
        keep_times: options.has('p') || options.has('a'),
        verbose: options.has('v'),
        existing: Existing::of("cp", &options),
        lines: Vec::new(),
        failures: Vec::new(),
    };
    let into = files::is_dir(&shell.path(&place)) && !options.has('T');
    if (sources.len() > 1 || options.has('t')) && !into {
        return fail(format!("target '{place}' is not a directory"));
    }
    for source in &sources {
        let target = if into { inside(&place, source) } else { place.clone() };
        let path = shell.path(source);
        if !files::is_there(&path) {
            copy.failures.push(format!("cannot stat '{source}': No such file or directory"));
            continue;
        }
        if files::is_dir(&path) && !recursive {
            copy.failures.push(format!("-r not specified; omitting directory '{source}'"));
            continue;
        }
        if same(&path, &shell.path(&target)) {
            copy.failures.push(format!("'{source}' and '{target}' are the same file"));
            continue;
        }
        let real = |name: &str| fs::canonicalize(shell.path(name)).ok();
        let parent = target.rsplit_once('/').map_or(".", |(parent, _)| parent);
        let within = recursive
            && files::is_dir(&path)
            && real(parent).zip(real(source)).is_some_and(|(parent, source)| parent.starts_with(source));
        if within {
            copy.failures.push(format!("cannot copy a directory, '{source}', into itself, '{target}'"));
            continue;
        }
        copy.any(source, &target, 0).await?;
    }
    let failed = !copy.failures.is_empty();
    let Copy { lines, failures, .. } = copy;
    for line in lines {
        shell.stdout().write(format!("{line}\n").as_bytes()).await?;
    }
    for failure in failures {
        shell.warn(format!("cp: {failure}")).await?;
    }
    Ok(i32::from(failed))
}

/// What happens to a file that is there already.
struct Existing {
    utility: &'static str,
    /// Of `-f`, `-i` and `-n` the last holds.
    keep: bool,
    ask: bool,
    /// Only an older one gives way.
    update: bool,
}

impl Existing {
    fn of(utility: &'static str, options: &Options) -> Self {
        let mut letters = options.given().iter().map(|(letter, _)| *letter);
        // For `cp`, `-f` is no answer to a question.
        let last = letters.rfind(|letter| matches!((letter, utility), ('i' | 'n', _) | ('f', "mv")));
        Self { utility, keep: last == Some('n'), ask: last == Some('i'), update: options.has('u') }
    }

    async fn gives_way(&self, shell: &Shell, source: &str, target: &str) -> Result<bool, Stop> {
        let (from, to) = (shell.path(source), shell.path(target));
        if !files::is_there(&to) {
            return Ok(true);
        }
        if self.keep || (self.update && !newer(&from, &to)) {
            return Ok(false);
        }
        Ok(!self.ask || agreed(shell, &format!("{}: overwrite '{target}'? ", self.utility)).await?)
    }
}

fn places(options: &Options) -> Result<(Vec<String>, String), Stop> {
    if let Some(place) = options.value('t') {
        return Ok((options.operands.clone(), place.to_owned()));
    }
    match options.operands.as_slice() {
        [] => fail("missing file operand"),
        [source] => fail(format!("missing destination file operand after '{source}'")),
        [sources @ .., place] => Ok((sources.to_vec(), place.clone())),
    }
}

fn inside(place: &str, source: &str) -> String {
    let trimmed = source.trim_end_matches('/');
    let base = trimmed.rsplit('/').next().unwrap_or(trimmed);
    let place = place.trim_end_matches('/');
    match base {
        "" => place.to_owned(),
        // `cp -r folder/. place`: what is in it.
        "." | ".." => format!("{place}/."),
        base => format!("{}/{base}", if place.is_empty() { "" } else { place }),
    }
}

fn newer(one: &Path, other: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    time(one) > time(other)
}

fn same(one: &Path, other: &Path) -> bool {
    let real = fs::canonicalize(one).ok();
    real.is_some() && real == fs::canonicalize(other).ok() && !files::is_dir(one)
}

impl Copy<'_> {
    async fn any(&mut self, source: &str, target: &str, depth: u32) -> Result<(), Stop> {
        crate::task::tick()?;
        let (from, to) = (self.shell.path(source), self.shell.path(target));
        let Ok(metadata) = (if self.follow { fs::metadata(&from) } else { fs::symlink_metadata(&from) })
        else {
            self.failures.push(format!("cannot stat '{source}': No such file or directory"));
            return Ok(());
        };
        let result = if metadata.is_dir() {
            return self.folder(source, target, depth).await;
        } else if !self.existing.gives_way(self.shell, source, target).await? {
            return Ok(());
        } else if metadata.is_symlink() {
            fs::read_link(&from).and_then(|link| super::change::symlink(&link.to_string_lossy(), &to))
        } else {
            copy_file(&from, &to)
        };
        match result {
            Ok(()) => {
                if self.keep_times {
                    keep_times(&metadata, &to);
                }
                if self.verbose {
                    self.lines.push(format!("'{source}' -> '{target}'"));
                }
            }
            Err(error) if files::is_there(&to) || error.kind() != io::ErrorKind::NotFound => {
                self.failures.push(format!("cannot create regular file '{target}': {}", words(&error)));
            }
            Err(error) => {
                self.failures.push(format!("cannot create regular file '{target}': {}", words(&error)))
            }
        }
        Ok(())
    }

    async fn folder(&mut self, source: &str, target: &str, depth: u32) -> Result<(), Stop> {
        let to = self.shell.path(target);
        if depth > DEEPEST || !self.recursive {
            self.failures.push(format!("cannot copy '{source}': nested too deeply"));
            return Ok(());
        }
        if !files::is_dir(&to) {
            if let Err(error) = fs::create_dir(&to) {
                self.failures.push(format!("cannot create directory '{target}': {}", words(&error)));
                return Ok(());
            }
            if self.verbose {
                self.lines.push(format!("'{source}' -> '{target}'"));
            }
        }
        let entries = match files::list(self.shell, source) {
            Ok(entries) => entries,
            Err(error) => {
                self.failures.push(format!("cannot access '{source}': {}", words(&error)));
                return Ok(());
            }
        };
        for entry in entries {
            let join = |folder: &str| format!("{}/{}", folder.trim_end_matches('/'), entry.name);
            Box::pin(self.any(&join(source), &join(target), depth + 1)).await?;
        }
        Ok(())
    }
}

/// Copies content; the standard library's way wants modes, which files here do not have.
pub fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    if files::is_dir(to) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut source = fs::File::open(from)?;
    let mut target = fs::File::create(to)?;
    io::copy(&mut source, &mut target).map(|_| ())
}

/// The times of a copy matter less than the copy.
fn keep_times(metadata: &fs::Metadata, to: &Path) {
    let times = metadata.modified().map(|time| fs::FileTimes::new().set_modified(time));
    if let (Ok(times), Ok(file)) = (times, fs::OpenOptions::new().write(true).open(to)) {
        let _unchanged = file.set_times(times);
    }
}

const MV: Spelling = Spelling::new(
    "finuvt:T",
    &[
        ("force", 'f'),
        ("interactive", 'i'),
        ("no-clobber", 'n'),
        ("verbose", 'v'),
        ("update", 'u'),
        ("target-directory", 't'),
        ("no-target-directory", 'T'),
    ],
);

pub async fn mv(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = MV.read(arguments)?;
    let (sources, place) = places(&options)?;
    let into = files::is_dir(&shell.path(&place)) && !options.has('T');
    if (sources.len() > 1 || options.has('t')) && !into {
        return fail(format!("target '{place}' is not a directory"));
    }
    let existing = Existing::of("mv", &options);
    let mut status = 0;
    for source in &sources {
        let target = if into { inside(&place, source) } else { place.clone() };
        let (from, to) = (shell.path(source), shell.path(&target));
        let failure = if !files::is_there(&from) {
            Some(format!("cannot stat '{source}': No such file or directory"))
        } else if same(&from, &to) {
            Some(format!("'{source}' and '{target}' are the same file"))
        } else if !existing.gives_way(shell, source, &target).await? {
            continue;
        } else {
            rename(shell, source, &target)
                .await?
                .err()
                .map(|error| format!("cannot move '{source}' to '{target}': {}", words(&error)))
        };
        match failure {
            Some(message) => {
                shell.warn(format!("mv: {message}")).await?;
                status = 1;
            }
            None if options.has('v') => {
                shell.stdout().write(format!("renamed '{source}' -> '{target}'\n").as_bytes()).await?;
            }
            None => {}
        }
    }
    Ok(status)
}

/// Renames, or copies and removes where the two are in different grants.
async fn rename(shell: &mut Shell, source: &str, target: &str) -> Result<io::Result<()>, Stop> {
    let (from, to) = (shell.path(source), shell.path(target));
    let error = match fs::rename(&from, &to) {
        Ok(()) => return Ok(Ok(())),
        Err(error) => error,
    };
    let elsewhere = error.kind() == io::ErrorKind::CrossesDevices
        || shell.host.roots.iter().filter(|root| from.starts_with(root) != to.starts_with(root)).count() > 0;
    if !elsewhere {
        return Ok(Err(error));
    }
    let arguments = ["-a", "-T", source, target].map(str::to_owned);
    if cp(shell, &arguments).await? != 0 {
        return Ok(Err(error));
    }
    let arguments = ["-rf", source].map(str::to_owned);
    super::remove::rm(shell, &arguments).await?;
    Ok(Ok(()))
}
