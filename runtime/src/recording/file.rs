//! A recording as a file: one JSON document a line. First what was called, then contents by their digest, then events,
//! then the end, then the digest of all lines before.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Called, Contents, End};
use crate::error::{Error, Result};
use crate::policy::Digest;

/// The version of the format.
const VERSION: u64 = 1;

/// The largest file that is read: what a recorder may hold, with contents as base64 and their digests.
const MAX_FILE_BYTES: u64 = 1 << 30;

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
}

/// One thing that came from outside: what was asked for, and what the host said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Event {
    pub ask: String,
    pub answer: Value,
}

/// The line that says what was called.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    toolcell_recording: u64,
    toolcell: String,
    called: Called,
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

    /// Reads one.
    ///
    /// # Errors
    /// When the file is not there, is no recording, is of another version, or is damaged.
    pub fn read(path: &Path) -> Result<Self> {
        let file = open(path)?;
        let mut lines = BufReader::new(file.take(MAX_FILE_BYTES));
        let mut text = String::new();
        let read = lines.read_line(&mut text);
        let foreign = || wrong(path, "this is no recording of toolcell");
        match read {
            Ok(_) if text.starts_with(MARK) => {}
            Err(error) if error.kind() != io::ErrorKind::InvalidData => {
                return Err(Error::file("read", path)(error));
            }
            _ => return Err(foreign()),
        }
        let version = serde_json::from_str::<Value>(&text).ok();
        match version.as_ref().and_then(|first| first.get("toolcell_recording")).and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(version) => {
                let told = format!(
                    "it is a recording of version {version}, and this toolcell reads version {VERSION}"
                );
                return Err(wrong(path, &told));
            }
            None => return Err(damaged(path)),
        }
        match lines.read_to_string(&mut text) {
            Ok(_) => parse(&text).ok_or_else(|| damaged(path)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(damaged(path)),
            Err(error) => Err(Error::file("read", path)(error)),
        }
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
        for event in &self.events {
            line(serde_json::to_string(event))?;
        }
        line(serde_json::to_string(&last))?;
        let sum = Digest::of(text.as_bytes()).to_string();
        text.push_str(&format!("{}\n", json!({ "sum": sum })));
        Ok(text)
    }
}

/// A whole recording; none if anything in it is not as it was written.
fn parse(text: &str) -> Option<Recording> {
    let (before, sum) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    let before = text.get(..before.len().checked_add(1)?)?;
    let sum: Value = serde_json::from_str(sum).ok()?;
    if sum.get("sum")?.as_str()? != Digest::of(before.as_bytes()).to_string() {
        return None;
    }
    let mut lines = before.lines();
    let first: First = serde_json::from_str(lines.next()?).ok()?;
    let last: Last = serde_json::from_str(lines.next_back()?).ok()?;
    let (mut contents, mut events) = (Contents::default(), Vec::new());
    for line in lines {
        if !line.starts_with("{\"content\":") {
            events.push(serde_json::from_str(line).ok()?);
            continue;
        }
        let Content { content, text, base64 } = serde_json::from_str(line).ok()?;
        let bytes = match (text, base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(base64)) => STANDARD.decode(base64).ok()?,
            _ => return None,
        };
        if contents.add(&bytes) != content {
            return None;
        }
    }
    let Last { outcome, end, unreplayable } = last;
    Some(Recording { called: first.called, contents, events, end, outcome, unreplayable })
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

fn damaged(path: &Path) -> Error {
    wrong(path, "the recording is damaged; record the call again")
}

fn wrong(path: &Path, message: &str) -> Error {
    Error::Recording { path: path.to_owned(), message: message.to_owned() }
}
