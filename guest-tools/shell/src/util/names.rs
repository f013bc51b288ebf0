//! Utilities on names: `basename`, `dirname`, `realpath`.

use std::path::Path;

use super::options::Spelling;
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, fail, words};

fn base(name: &str) -> &str {
    let trimmed = name.trim_end_matches('/');
    if trimmed.is_empty() {
        return if name.is_empty() { "" } else { "/" };
    }
    trimmed.rsplit('/').next().unwrap_or(trimmed)
}

pub async fn basename(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new("as:z", &[("multiple", 'a'), ("suffix", 's'), ("zero", 'z')])
        .ordered()
        .read(arguments)?;
    let Some(first) = options.operands.first() else { return fail("missing operand") };
    let many = options.has('a') || options.has('s');
    let suffix = options
        .value('s')
        .or(options.operands.get(1).map(String::as_str).filter(|_| !many))
        .unwrap_or_default();
    if !many && options.operands.len() > 2 {
        return fail(format!("extra operand ‘{}’", options.operands.get(2).map_or("", String::as_str)));
    }
    let names = if many { options.operands.as_slice() } else { std::slice::from_ref(first) };
    let mut out = shell.out();
    for name in names {
        let base = base(name);
        out.put(base.strip_suffix(suffix).filter(|rest| !rest.is_empty()).unwrap_or(base));
        out.put(if options.has('z') { "\0" } else { "\n" });
    }
    out.flush().await?;
    Ok(0)
}

pub async fn dirname(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new("z", &[("zero", 'z')]).read(arguments)?;
    if options.operands.is_empty() {
        return fail("missing operand");
    }
    let mut out = shell.out();
    for name in &options.operands {
        let trimmed = name.trim_end_matches('/');
        let folder = match trimmed.rfind('/') {
            None if name.starts_with('/') => "/",
            None => ".",
            Some(at) => match trimmed.get(..at).unwrap_or_default().trim_end_matches('/') {
                "" => "/",
                folder => folder,
            },
        };
        out.put(folder);
        out.put(if options.has('z') { "\0" } else { "\n" });
    }
    out.flush().await?;
    Ok(0)
}

/// The path of a file without links. All but its last part have to exist, or nothing at all if `missing`.
pub fn real(shell: &Shell, name: &str, missing: bool) -> std::io::Result<String> {
    let path = shell.path(name);
    if name.is_empty() {
        return Err(std::io::ErrorKind::NotFound.into());
    }
    // Links are followed by hand: a cell does not say where its files really are.
    let mut done = String::new();
    let mut rest: Vec<String> = path.to_string_lossy().split('/').rev().map(str::to_owned).collect();
    let mut links = 0;
    while let Some(part) = rest.pop() {
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                done.truncate(done.rfind('/').unwrap_or(0));
                continue;
            }
            _ => {}
        }
        let next = format!("{done}/{part}");
        match std::fs::read_link(&next) {
            Ok(target) if links < 40 => {
                links += 1;
                let target = target.to_string_lossy().into_owned();
                if target.starts_with('/') {
                    done.clear();
                }
                rest.extend(target.split('/').rev().map(str::to_owned));
            }
            Ok(_) => return Err(std::io::Error::other("Too many levels of symbolic links")),
            Err(_) => {
                let is_last = rest.iter().all(|part| part.is_empty() || part == ".");
                if !missing && !is_last && !files::is_enterable(shell, Path::new(&next)) {
                    return Err(std::io::ErrorKind::NotFound.into());
                }
                done = next;
            }
        }
    }
    Ok(if done.is_empty() { "/".to_owned() } else { done })
}

const REALPATH: Spelling = Spelling::new(
    "emsqLPzr:b:",
    &[
        ("canonicalize-existing", 'e'),
        ("canonicalize-missing", 'm'),
        ("strip", 's'),
        ("no-symlinks", 's'),
        ("quiet", 'q'),
        ("relative-to", 'r'),
        ("relative-base", 'b'),
    ],
);

pub async fn realpath(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = REALPATH.read(arguments)?;
    if options.operands.is_empty() {
        return fail("missing operand");
    }
    let (mut out, mut status) = (shell.out(), 0);
    let base = options.value('r').map(|name| real(shell, name, true).unwrap_or_default());
    for name in &options.operands {
        let found = if options.has('s') {
            Ok(files::normal(&shell.path(name).to_string_lossy()))
        } else {
            real(shell, name, options.has('m')).and_then(|path| {
                if options.has('e') { std::fs::metadata(&path).map(|_| path) } else { Ok(path) }
            })
        };
        match found {
            Ok(path) => out.line(base.as_deref().map_or(path.clone(), |base| relative(&path, base))),
            Err(error) => {
                if !options.has('q') {
                    shell.warn(format!("realpath: {name}: {}", words(&error))).await?;
                }
                status = 1;
            }
        }
    }
    out.flush().await?;
    Ok(status)
}

fn relative(path: &str, base: &str) -> String {
    let parts =
        |text: &str| text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (path, base) = (parts(path), parts(base));
    let shared = path.iter().zip(&base).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..".to_owned(), base.len() - shared);
    let all: Vec<String> = up.chain(path.into_iter().skip(shared)).collect();
    if all.is_empty() { ".".to_owned() } else { all.join("/") }
}
