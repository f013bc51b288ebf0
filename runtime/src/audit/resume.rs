//! Where a file that is there goes on.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::chain::{Chain, Hash};
use super::record::timestamp;
use super::{MAX_LINE, TORN, VERSION};

/// How much of a file's end is looked at: room for a whole line and for the pieces of some crashes.
const WINDOW: usize = 4 * MAX_LINE;

/// A time as lines have it; `0` stands for any digit.
const TIME: &str = "0000-00-00T00:00:00.000Z";

/// What follows the time in the line of a call, and in one that covers what a crash left; `?` stands for any
/// hexadecimal digit.
const STARTS: [&str; 2] = ["\"log\":\"????????????????\",\"", "\"event\":\"unfinished\",\"torn_bytes\":0"];

/// The most marks of one piece: each but the last is what a crash left while it was written.
const MAX_MARKS: usize = 8;

/// What a new line of a file follows, and what must be written first.
pub(super) struct Resumed {
    pub head: Hash,
    /// The bytes that end what a crash left and note it.
    pub mend: Option<(String, Hash)>,
}

/// The line that covers what a crash left.
#[derive(Serialize, Deserialize)]
pub(super) struct Unfinished {
    v: u32,
    time: String,
    event: Event,
    torn_bytes: u64,
    torn_hash: String,
}

#[derive(Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Event {
    Unfinished,
}

impl Unfinished {
    /// What `line` covers: bytes and their hash; `None` if it is the line of a call.
    pub fn covered(line: &[u8]) -> Option<(u64, Hash)> {
        let note: Self = serde_json::from_slice(line).ok()?;
        Some((note.torn_bytes, note.torn_hash.parse().ok()?))
    }
}

/// Looks at the end of `file`, of `length` bytes, and says where it goes on.
///
/// # Errors
/// When it cannot be read, or (inner) why it cannot be continued, in words.
pub(super) fn resume(file: &File, length: u64, chain: &Chain) -> io::Result<Result<Resumed, String>> {
    let window = length.min(u64::try_from(WINDOW).unwrap_or(u64::MAX));
    let mut end = vec![0; usize::try_from(window).unwrap_or(WINDOW)];
    let offset = length - window;
    file.read_exact_at(&mut end, offset)?;
    Ok(continued(&end, offset == 0, chain))
}

fn continued(end: &[u8], is_whole: bool, chain: &Chain) -> Result<Resumed, String> {
    let mut pieces: Vec<&[u8]> = end.split_inclusive(|byte| *byte == b'\n').collect();
    let mut torn = 0;
    if let Some(last) = pieces.last().copied().filter(|last| !last.ends_with(b"\n")) {
        if !is_unfinished(last, chain) {
            return Err("its end is no line of an audit, nor the beginning of one".to_owned());
        }
        torn += last.len();
        pieces.pop();
    }
    while let Some((last, piece)) = pieces.last().and_then(|last| Some((*last, last.strip_suffix(b"\n")?))) {
        if !is_marked(piece) {
            break;
        }
        if !is_unfinished(piece, chain) {
            return Err("a line at its end is marked as one that a crash cut, and is none".to_owned());
        }
        torn += last.len();
        pieces.pop();
    }
    let head = match pieces.last() {
        Some(line) => chain.open(line.strip_suffix(b"\n").unwrap_or(line)).map(|sealed| sealed.hash),
        None if is_whole => Ok(chain.start()),
        None => Err("is longer than any"),
    };
    let head = head.map_err(|reason| format!("its last line {reason}"))?;
    let torn = end.get(end.len() - torn..).unwrap_or_default();
    let mend = (!torn.is_empty()).then(|| mend(torn, head, chain)).transpose()?;
    Ok(Resumed { head, mend })
}

/// Whether `piece`, without a newline, is one that a later process has ended.
pub(super) fn is_marked(piece: &[u8]) -> bool {
    piece.ends_with(TORN)
}

/// Whether `piece`, without a newline, can be what a crash left: the beginning of a line, or one that lacks nothing but
/// its newline, perhaps with the beginning of what would have ended it.
pub(super) fn is_unfinished(piece: &[u8], chain: &Chain) -> bool {
    if chain.open(piece.strip_suffix(TORN).unwrap_or(piece)).is_ok() {
        return true;
    }
    let mut line = piece;
    for _ in 0..=MAX_MARKS {
        if is_beginning(line) {
            return true;
        }
        let mut ends = (1..=TORN.len()).filter_map(|length| line.strip_suffix(TORN.get(..length)?));
        let Some(rest) = ends.next() else { return false };
        line = rest;
    }
    false
}

/// Whether `piece` is the beginning of a line that this version writes, and not all of one.
fn is_beginning(piece: &[u8]) -> bool {
    let mut starts = STARTS.iter().map(|rest| format!("{{\"v\":{VERSION},\"time\":\"{TIME}\",{rest}"));
    if !starts.any(|start| begins_as(piece, start.as_bytes())) {
        return false;
    }
    // Not as `IgnoredAny`, whose reader takes a number that ends at its point for a mistake.
    serde_json::from_slice::<serde_json::Value>(piece).is_err_and(|error| error.is_eof())
}

/// Whether `piece` begins as `pattern` says, as far as both go; an empty one does not.
fn begins_as(piece: &[u8], pattern: &[u8]) -> bool {
    let fits = |(byte, expected): (&u8, &u8)| match expected {
        b'0' => byte.is_ascii_digit(),
        b'?' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        expected => byte == expected,
    };
    !piece.is_empty() && piece.iter().zip(pattern).all(fits)
}

/// What ends `torn`, and the line that covers it.
fn mend(torn: &[u8], head: Hash, chain: &Chain) -> Result<(String, Hash), String> {
    let mark =
        if torn.ends_with(b"\n") { String::new() } else { format!("{}\n", String::from_utf8_lossy(TORN)) };
    let note = Unfinished {
        v: VERSION,
        time: timestamp(SystemTime::now()),
        event: Event::Unfinished,
        torn_bytes: u64::try_from(torn.len() + mark.len()).unwrap_or(u64::MAX),
        torn_hash: chain.hash(&[torn, mark.as_bytes()]).to_string(),
    };
    let body = serde_json::to_string(&note).map_err(|error| error.to_string())?;
    let (line, hash) = chain.seal(&body, head);
    Ok((mark + &line, hash))
}
