//! Files as scripts name them, with the devices that scripts expect.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use crate::shell::Shell;
use crate::stream::{Handle, OpenFile, Writing};

/// One name in a folder.
pub struct Entry {
    pub name: String,
    pub is_dir: bool,
    pub is_link: bool,
}

/// The device of that name.
fn device(shell: &Shell, name: &str) -> Option<io::Result<Handle>> {
    let rest = name.strip_prefix("/dev/")?;
    Some(Ok(match rest {
        "null" | "tty" => Handle::Null,
        "zero" => Handle::Zero,
        "random" | "urandom" => Handle::Random,
        "stdin" => shell.fds.get(0),
        "stdout" => shell.fds.get(1),
        "stderr" => shell.fds.get(2),
        _ => {
            let fd = rest.strip_prefix("fd/").and_then(|digits| digits.parse().ok());
            return Some(fd.and_then(|fd| shell.fds.find(fd)).ok_or_else(|| io::ErrorKind::NotFound.into()));
        }
    }))
}

pub fn is_device(name: &str) -> bool {
    let known = ["null", "zero", "random", "urandom", "stdin", "stdout", "stderr", "tty"];
    name.strip_prefix("/dev/").is_some_and(|rest| known.contains(&rest) || rest.starts_with("fd/"))
}

/// Opens a file to read; a folder is none.
pub fn read(shell: &Shell, name: &str) -> io::Result<Handle> {
    if let Some(device) = device(shell, name) {
        return device;
    }
    let (file, first) = OpenFile::read(&shell.path(name))?;
    Ok(Handle::file(file, first))
}

/// Opens a file to write, empty.
pub fn write(shell: &Shell, name: &str) -> io::Result<Handle> {
    open(shell, name, Writing::Anew)
}

/// Opens a file to write at its end.
pub fn append(shell: &Shell, name: &str) -> io::Result<Handle> {
    open(shell, name, Writing::Appending)
}

pub fn read_write(shell: &Shell, name: &str) -> io::Result<Handle> {
    open(shell, name, Writing::Over)
}

fn open(shell: &Shell, name: &str, writing: Writing) -> io::Result<Handle> {
    if let Some(device) = device(shell, name) {
        return device;
    }
    let path = shell.path(name);
    match OpenFile::write(&path, writing) {
        Ok(file) => Ok(Handle::file(file, Vec::new())),
        Err(_) if is_dir(&path) => Err(io::ErrorKind::IsADirectory.into()),
        Err(error) => Err(error),
    }
}

/// The names in a folder, in order. Folders above the granted ones have these alone.
pub fn list(shell: &Shell, name: &str) -> io::Result<Vec<Entry>> {
    let path = shell.path(name);
    let mut entries = match fs::read_dir(&path) {
        Ok(found) => found
            .map(|entry| {
                let entry = entry?;
                let kind = entry.file_type()?;
                let name = entry.file_name().to_string_lossy().into_owned();
                Ok(Entry { name, is_dir: kind.is_dir(), is_link: kind.is_symlink() })
            })
            .collect::<io::Result<Vec<_>>>()?,
        Err(error) => {
            let above = above(shell, &path);
            if above.is_empty() {
                return Err(error);
            }
            above
        }
    };
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

fn above(shell: &Shell, path: &Path) -> Vec<Entry> {
    let path = normal(&path.to_string_lossy());
    let below = shell.host.roots.iter().filter_map(|root| Path::new(root).strip_prefix(&path).ok());
    let names =
        below.filter_map(|rest| Some(rest.components().next()?.as_os_str().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names.into_iter().map(|name| Entry { name, is_dir: true, is_link: false }).collect()
}

/// Whether a shell can be there: a folder, or one above those that are granted.
pub fn is_enterable(shell: &Shell, path: &Path) -> bool {
    is_dir(path) || !above(shell, path).is_empty()
}

pub fn exists(path: &Path) -> bool {
    fs::metadata(path).is_ok()
}

/// Also where a link leads nowhere.
pub fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

pub fn is_dir(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

pub fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Whether a file begins as scripts do.
pub fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    is_file(path)
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && &start == b"#!"
}

/// Folds `.` and `..` by their letters.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
