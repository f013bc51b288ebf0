//! A recording as a file: one JSON document a line. First what was called, then contents by their digest, then events,
//! then the end, then the digest of all lines before.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{Access, access};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::permits::Permits;
use super::recorder::MAX_BYTES;
use super::{Called, Contents, End};
use crate::error::{Error, Result};
use crate::policy::Digest;

/// The version of the format.
const VERSION: u64 = 1;

/// The largest file that is read: what a recorder may hold, with contents as base64 or escaped, and their digests.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The longest line that is read: a content, of which the component may be the largest.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// The longest line that is read as data, which takes some thirty times its length in memory: the call with the largest
/// arguments that are the default, the end with the largest result, or an event, whose contents are lines of their own.
const MAX_DATA_BYTES: usize = 17 << 20;

/// How every recording begins, of whatever version.
const MARK: &str = "{\"toolcell_recording\":";

/// Everything that one call got from outside, and how it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    pub(crate) called: Called,
    pub(crate) contents: Contents,
    pub(crate) events: Vec<Event>,
    pub(crate) end: End,
    pub(crate) outcome: Value,
    pub(crate) unreplayable: Option<String>,
    pub(crate) permits: Permits,
}

/// One thing that came from outside: what was asked for, and what the host said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub ask: String,
    /// A document of JSON, as text: there may be very many.
    pub answer: String,
}

/// The line of an event.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventLine {
    ask: String,
    answer: Value,
}

/// The line that says what was called.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    toolcell_recording: u64,
    toolcell: String,
    called: Called,
}

/// What that line of any version says.
#[derive(Deserialize)]
struct Version {
    toolcell_recording: u64,
}

/// One content, as text where it is text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// The line after all others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sum {
    sum: String,
}

/// The line that says how it ended.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Last {
    outcome: Value,
    end: End,
    unreplayable: Option<String>,
}

impl Recording {
    /// The tool that was called.
    pub fn tool(&self) -> &str {
        &self.called.tool
    }

    /// The component that the tool is of.
    pub fn component(&self) -> &str {
        &self.called.component.name
    }

    /// How many things came from outside.
    pub fn events(&self) -> usize {
        self.events.len()
    }

    /// The outcome of the call, as a document.
    pub fn outcome(&self) -> &Value {
        &self.outcome
    }

    /// Why it cannot be replayed, if it cannot.
    pub fn unreplayable(&self) -> Option<&str> {
        self.unreplayable.as_deref()
    }

    /// Whether `path` may be replaced by a recording: nothing is there, or an older one.
    ///
    /// # Errors
    /// When something else is there, or cannot be read, and when nothing can be written there.
    pub fn may_be_written(path: &Path) -> Result<()> {
        let writing = Access::WRITE_OK | Access::EXEC_OK;
        access(folder_of(path), writing).map_err(|error| Error::file("write", path)(error.into()))?;
        let file = match open(path) {
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let mut start = Vec::new();
        let length = u64::try_from(MARK.len()).unwrap_or(u64::MAX);
        file.take(length).read_to_end(&mut start).map_err(Error::file("read", path))?;
        if start != MARK.as_bytes() {
            return Err(wrong(path, "something else than a recording is there; give another name"));
        }
        Ok(())
    }

    /// Writes it, for its owner alone, in one step in the place of whatever is there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let folder = folder_of(path);
        let write = || -> io::Result<()> {
            // The temporary file is created for its owner alone, and on the same file system.
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(self.text()?.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(Error::file("write", path))
    }

    /// Reads one. Nobody vouches for what is in it: it is bounded, and reaches nothing that is not permitted.
    ///
    /// # Errors
    /// When the file is not there, is no recording, is of another version, or is damaged.
    pub fn read(path: &Path) -> Result<Self> {
        Lines::of(path, open(path)?)?.recording().map_err(|problem| match problem {
            Problem::Damaged => wrong(path, "the recording is damaged; record the call again"),
            Problem::File(error) => Error::file("read", path)(error),
        })
    }

    fn text(&self) -> io::Result<String> {
        let first = First {
            toolcell_recording: VERSION,
            toolcell: env!("CARGO_PKG_VERSION").to_owned(),
            called: self.called.clone(),
        };
        let last = Last {
            outcome: self.outcome.clone(),
            end: self.end.clone(),
            unreplayable: self.unreplayable.clone(),
        };
        let mut text = String::new();
        let mut line = |document: serde_json::Result<String>| -> io::Result<()> {
            text.push_str(&document?);
            text.push('\n');
            Ok(())
        };
        line(serde_json::to_string(&first))?;
        for (digest, bytes) in self.contents.iter() {
            let content = digest.to_owned();
            let plain = std::str::from_utf8(bytes).ok().map(str::to_owned);
            let base64 = plain.is_none().then(|| STANDARD.encode(bytes));
            line(serde_json::to_string(&Content { content, text: plain, base64 }))?;
        }
        for Event { ask, answer } in &self.events {
            line(serde_json::to_string(ask).map(|ask| format!("{{\"ask\":{ask},\"answer\":{answer}}}")))?;
        }
        line(serde_json::to_string(&last))?;
        let sum = Digest::of(text.as_bytes()).to_string();
        text.push_str(&format!("{}\n", json!({ "sum": sum })));
        Ok(text)
    }
}

/// The lines of a file that begins as a recording does.
struct Lines {
    file: BufReader<io::Take<File>>,
    line: Vec<u8>,
    /// Of all lines before.
    sum: Sha256,
}

/// Why a file that begins as a recording does is none.
enum Problem {
    Damaged,
    File(io::Error),
}

impl Lines {
    fn of(path: &Path, file: File) -> Result<Self> {
        let mut lines = Self {
            file: BufReader::new(file.take(MAX_FILE_BYTES)),
            line: vec![0; MARK.len()],
            sum: Sha256::new(),
        };
        let begins = lines.file.read_exact(&mut lines.line);
        match begins {
            Ok(()) if lines.line == MARK.as_bytes() => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                return Err(Error::file("read", path)(error));
            }
            _ => return Err(wrong(path, "this is no recording of toolcell")),
        }
        lines.rest_of_line().map_err(Error::file("read", path))?;
        match lines.data().map(|Version { toolcell_recording }| toolcell_recording) {
            Some(version) if version != VERSION => {
                let told = format!(
                    "it is a recording of version {version}, and this toolcell reads version {VERSION}"
                );
                Err(wrong(path, &told))
            }
            _ => Ok(lines),
        }
    }

    /// All of it, if it is as it was written.
    fn recording(mut self) -> std::result::Result<Recording, Problem> {
        let First { called, .. } = self.data().ok_or(Problem::Damaged)?;
        let (mut contents, mut events, mut bytes) = (Contents::default(), Vec::new(), 0_usize);
        loop {
            self.next()?;
            if self.line.starts_with(b"{\"content\":") {
                let content = self.content().ok_or(Problem::Damaged)?;
                bytes = bytes.saturating_add(content.1.len());
                if contents.add(&content.1) != content.0 {
                    return Err(Problem::Damaged);
                }
            } else if self.line.starts_with(b"{\"ask\":") {
                let EventLine { ask, answer } = self.data().ok_or(Problem::Damaged)?;
                let event = Event { ask, answer: answer.to_string() };
                bytes = bytes.saturating_add(event.ask.len()).saturating_add(event.answer.len());
                events.push(event);
            } else {
                break;
            }
            if bytes > MAX_BYTES {
                return Err(Problem::Damaged);
            }
        }
        let Last { outcome, end, unreplayable } = self.data().ok_or(Problem::Damaged)?;
        self.next()?;
        let sum: Sum = self.data().ok_or(Problem::Damaged)?;
        if sum.sum != Digest::of_all(self.sum).to_string() {
            return Err(Problem::Damaged);
        }
        match self.file.fill_buf() {
            Ok([]) => {}
            Ok(_) => return Err(Problem::Damaged),
            Err(error) => return Err(Problem::File(error)),
        }
        let permits = Permits::default();
        Ok(Recording { called, contents, events, end, outcome, unreplayable, permits })
    }

    fn next(&mut self) -> std::result::Result<(), Problem> {
        self.sum.update(&self.line);
        self.line.clear();
        self.rest_of_line().map_err(Problem::File)?;
        if self.line.ends_with(b"\n") { Ok(()) } else { Err(Problem::Damaged) }
    }

    fn rest_of_line(&mut self) -> io::Result<()> {
        self.file.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut self.line).map(drop)
    }

    fn data<T: DeserializeOwned>(&self) -> Option<T> {
        if self.line.len() > MAX_DATA_BYTES {
            return None;
        }
        serde_json::from_slice(self.line.strip_suffix(b"\n")?).ok()
    }

    fn content(&self) -> Option<(String, Vec<u8>)> {
        let Content { content, text, base64 } = serde_json::from_slice(&self.line).ok()?;
        match (text, base64) {
            (Some(text), None) => Some((content, text.into_bytes())),
            (None, Some(base64)) => Some((content, STANDARD.decode(base64).ok()?)),
            _ => None,
        }
    }
}

/// Opens a regular file: a FIFO would never end, and would make the opening wait.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn open(path: &Path) -> Result<File> {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path);
    let file = file.map_err(Error::file("read", path))?;
    let metadata = file.metadata().map_err(Error::file("read", path))?;
    if !metadata.is_file() {
        return Err(wrong(path, "this is no regular file"));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(wrong(path, "the file is larger than any recording"));
    }
    Ok(file)
}

fn wrong(path: &Path, message: &str) -> Error {
    Error::Recording { path: path.to_owned(), message: message.to_owned() }
}
