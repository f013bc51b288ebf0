//! Whether an audit is as it was written.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use super::MAX_LINE;
use super::chain::{Chain, Hash};
use super::read::{files, next_line};
use super::resume::{Unfinished, is_marked, is_unfinished};
use crate::error::{Error, Result};

/// What was found in an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Each of its files.
    pub files: Vec<Verified>,
    /// The expected heads that are nowhere in it: lines were cut off, or a file is missing.
    pub missing: Vec<Hash>,
}

/// What was found in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The file.
    pub path: PathBuf,
    /// Calls that are recorded, up to the break if there is one.
    pub calls: u64,
    /// The hash of the last line, which stands for everything before it; of no line, 64 zeros.
    pub head: Hash,
    /// The numbers of lines that a crash cut. Their calls never returned.
    pub unfinished: Vec<u64>,
    /// The one of them at the file's end, if no later line covers it: whether a crash cut it or somebody did cannot be
    /// told until a process continues the file.
    pub uncovered: Option<u64>,
    /// The first line that is not as it was written.
    pub broken: Option<Break>,
}

/// A line that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Break {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it, to be read after "line 7".
    pub reason: String,
}

impl Verification {
    /// Whether everything is known to be as it was written: nothing is missing or broken, and no end is uncovered.
    pub fn is_intact(&self) -> bool {
        let is_whole = |file: &Verified| file.broken.is_none() && file.uncovered.is_none();
        self.missing.is_empty() && self.files.iter().all(is_whole)
    }
}

/// Checks every line of the audit at `path`, a file or a folder of them. `key` is that of its chain, if it has one;
/// `expect` are heads of an earlier check, each of which must still be the hash of some line.
///
/// Without a key, somebody who can write the file can write a chain that fits. Without `expect`, lines that were cut off
/// at the end, or whole files that were removed, leave no trace.
///
/// # Errors
/// When something cannot be read. What was changed is in the [`Verification`].
pub fn verify(path: &Path, key: Option<&[u8]>, expect: &[Hash]) -> Result<Verification> {
    let chain = Chain::new(key);
    let mut missing = expect.to_vec();
    let mut verified = Vec::new();
    for path in files(path)? {
        let file = File::open(&path).map_err(Error::file("read", &path))?;
        let mut walk = Walk::new(&chain, &mut missing);
        let broken = walk.run(&mut BufReader::new(file)).map_err(Error::file("read", &path))?.err();
        let Walk { calls, head, unfinished, uncovered, .. } = walk;
        verified.push(Verified { path, calls, head, unfinished, uncovered, broken });
    }
    Ok(Verification { files: verified, missing })
}

/// The way through one file.
struct Walk<'a> {
    chain: &'a Chain,
    missing: &'a mut Vec<Hash>,
    line: u64,
    calls: u64,
    head: Hash,
    unfinished: Vec<u64>,
    uncovered: Option<u64>,
    /// Pieces that a crash left, which the next line must cover.
    torn: Option<Torn>,
}

struct Torn {
    line: u64,
    bytes: Vec<u8>,
}

impl<'a> Walk<'a> {
    fn new(chain: &'a Chain, missing: &'a mut Vec<Hash>) -> Self {
        let mut walk = Self {
            chain,
            missing,
            line: 0,
            calls: 0,
            head: chain.start(),
            unfinished: Vec::new(),
            uncovered: None,
            torn: None,
        };
        walk.seen(chain.start());
        walk
    }

    fn run(&mut self, reader: &mut BufReader<File>) -> io::Result<Result<(), Break>> {
        let mut line = Vec::new();
        while next_line(reader, &mut line)? {
            self.line += 1;
            let checked = match line.strip_suffix(b"\n") {
                Some(whole) => self.whole(whole, &line),
                None => self.last(&line),
            };
            if let Err(broken) = checked {
                return Ok(Err(broken));
            }
        }
        // Pieces whose covering line was not written yet.
        self.uncovered = self.uncovered.or(self.torn.take().map(|torn| torn.line));
        self.unfinished.extend(self.uncovered);
        Ok(Ok(()))
    }

    fn whole(&mut self, line: &[u8], with_newline: &[u8]) -> Result<(), Break> {
        if is_marked(line) {
            if !is_unfinished(line, self.chain) {
                return Err(self.broken(self.line, "was inserted or changed: a crash leaves no such piece"));
            }
            let torn = self.torn.get_or_insert(Torn { line: self.line, bytes: Vec::new() });
            if torn.bytes.len() > 4 * MAX_LINE {
                return Err(self.broken(self.line, "is one of more unfinished lines than crashes leave"));
            }
            torn.bytes.extend_from_slice(with_newline);
            return Ok(());
        }
        let sealed = self.chain.open(line).map_err(|reason| self.broken(self.line, reason))?;
        if sealed.prev != self.head {
            return Err(self.broken(
                self.line,
                "does not follow the line before: a line was removed, inserted or moved here",
            ));
        }
        match (self.torn.take(), Unfinished::covered(line)) {
            (None, None) => self.calls += 1,
            (Some(torn), Some((bytes, hash)))
                if u64::try_from(torn.bytes.len()) == Ok(bytes)
                    && self.chain.hash(&[&torn.bytes]) == hash =>
            {
                self.unfinished.push(torn.line);
            }
            (Some(torn), _) => return Err(self.broken(torn.line, "was inserted or changed")),
            (None, Some(_)) => {
                return Err(self.broken(self.line, "notes an unfinished line before it, which was removed"));
            }
        }
        self.head = sealed.hash;
        self.seen(sealed.hash);
        Ok(())
    }

    /// The end of the file, without a newline.
    fn last(&mut self, piece: &[u8]) -> Result<(), Break> {
        if piece.len() > MAX_LINE {
            return Err(self.broken(self.line, "is longer than any line of an audit"));
        }
        if !is_unfinished(piece, self.chain) {
            return Err(self.broken(
                self.line,
                "was changed: it is neither a line of an audit nor the beginning of one",
            ));
        }
        self.uncovered = Some(self.torn.take().map_or(self.line, |torn| torn.line));
        Ok(())
    }

    fn seen(&mut self, hash: Hash) {
        self.missing.retain(|expected| *expected != hash);
    }

    fn broken(&self, line: u64, reason: &str) -> Break {
        Break { line, reason: reason.to_owned() }
    }
}
