//! Reading what is in an audit, a line at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::MAX_LINE;
use crate::error::{Error, Result};

/// What the files of a folder end in.
pub(super) const ENDING: &str = "jsonl";

/// The files of the audit at `path`: that file, or those in that folder in the order in which they were begun.
///
/// # Errors
/// When it cannot be read, or has no file in it.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let metadata = path.metadata().map_err(Error::file("read", path))?;
    if metadata.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let wrong = |message: &str| Error::Audit { path: path.to_owned(), message: message.to_owned() };
    if !metadata.is_dir() {
        return Err(wrong("is neither a file nor a folder"));
    }
    let mut files = Vec::new();
    for entry in path.read_dir().map_err(Error::file("read", path))? {
        let file = entry.map_err(Error::file("read", path))?.path();
        if file.extension().is_some_and(|ending| ending == ENDING) && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(wrong("has no file that ends in .jsonl; no call was recorded here"));
    }
    Ok(files)
}

/// Calls `each` with the offset and the bytes, without newline, of every whole line of `file` from the offset `from` on;
/// returns where the next one will begin. What is too long for a line is passed over.
///
/// # Errors
/// When the file cannot be read.
pub fn lines(file: &Path, from: u64, mut each: impl FnMut(u64, &[u8])) -> Result<u64> {
    let mut reader = reader(file, from)?;
    let (mut offset, mut line) = (from, Vec::new());
    while next_line(&mut reader, &mut line).map_err(Error::file("read", file))? {
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        match line.strip_suffix(b"\n") {
            Some(whole) => each(offset, whole),
            None if line.len() > MAX_LINE => {}
            None => break,
        }
        offset = offset.saturating_add(length);
    }
    Ok(offset)
}

/// The whole line of `file` that begins at `offset`, without its newline.
///
/// # Errors
/// When the file cannot be read.
pub fn line_at(file: &Path, offset: u64) -> Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    next_line(&mut reader(file, offset)?, &mut line).map_err(Error::file("read", file))?;
    Ok(line.strip_suffix(b"\n").map(<[u8]>::to_vec))
}

fn reader(file: &Path, from: u64) -> Result<BufReader<File>> {
    let open = || {
        let mut opened = File::open(file)?;
        opened.seek(SeekFrom::Start(from))?;
        Ok(BufReader::new(opened))
    };
    open().map_err(Error::file("read", file))
}

/// Reads the next line, with its newline if it has one, into `line`; false at the end. A line that is too long is cut
/// at one byte more than a line may have.
pub(super) fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let most = u64::try_from(MAX_LINE).unwrap_or(u64::MAX).saturating_add(1);
    Ok(reader.take(most).read_until(b'\n', line)? > 0)
}
