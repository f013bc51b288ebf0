//! What wasmtime's types are in a recording, and how a host function is recorded or replayed.

use serde_json::{Value, json};
use wasmtime::component::ResourceTableError;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, MetadataHashValue,
};
use wasmtime_wasi::p2::{FsError, InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::state::LimitExceeded;
use crate::limits::Limit;
use crate::recording::{Contents, Difference, Tape, Taped};

/// The answer of a host function: that of the recording in a replay; else what `$live` gives, and if a recording is
/// made, that is noted. Without a tape this is `$live` and one branch.
macro_rules! taped {
    ($tape:expr, $ask:expr, $live:expr) => {
        match $tape {
            None => $live,
            Some(tape) => {
                let ask: String = $ask;
                match $crate::sandbox::tape::given(&tape, &ask) {
                    Some(answer) => answer,
                    None => {
                        let answer = $live;
                        tape.note(ask, &answer);
                        answer
                    }
                }
            }
        }
    };
}
pub(super) use taped;

/// An error of host functions, which may also be that a replay differs.
pub(super) trait Failure: Taped {
    fn differs(difference: Difference) -> Self;
}

/// The recorded answer, in a replay.
pub(super) fn given<T: Taped, E: Failure>(tape: &Tape, ask: &str) -> Option<Result<T, E>> {
    match tape.given(ask) {
        Ok(answer) => answer,
        Err(difference) => Some(Err(E::differs(difference))),
    }
}

/// How bytes that a tool gives stand in what it asks, while there is a tape.
pub(super) fn given_bytes(tape: Option<&Tape>, bytes: &[u8]) -> String {
    tape.map(|tape| format!("{} bytes {}", bytes.len(), tape.digest(bytes))).unwrap_or_default()
}

/// In the place of a handle's object in a replay, so that the table counts the same.
pub(super) struct Replayed;

/// The same for a stream; what is read or written is the recording's.
pub(super) struct ReplayedStream;

#[wasmtime_wasi::async_trait]
impl Pollable for ReplayedStream {
    async fn ready(&mut self) {}
}

#[wasmtime_wasi::async_trait]
impl InputStream for ReplayedStream {
    fn read(&mut self, _: usize) -> StreamResult<bytes::Bytes> {
        Err(StreamError::Closed)
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for ReplayedStream {
    fn write(&mut self, _: bytes::Bytes) -> StreamResult<()> {
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(0)
    }
}

/// A failure that ends the call. Those that are told apart at the end are told apart here as well.
impl Taped for wasmtime::Error {
    fn to_tape(&self, _: &mut Contents) -> Value {
        if let Some(LimitExceeded { limit, wanted }) = self.downcast_ref::<LimitExceeded>() {
            return json!({ "limit": limit.name(), "wanted": wanted });
        }
        json!({ "ends": self.root_cause().to_string() })
    }

    fn from_tape(value: &Value, _: &Contents) -> Option<Self> {
        if let Some(name) = value.get("limit") {
            let limit = Limit::from_name(name.as_str()?)?;
            return Some(LimitExceeded { limit, wanted: value.get("wanted")?.as_u64()? }.into());
        }
        Some(ending(value.get("ends")?.as_str()?))
    }
}

fn ending(text: &str) -> wasmtime::Error {
    let full = ResourceTableError::Full;
    if text == full.to_string() { full.into() } else { wasmtime::format_err!("{text}") }
}

impl Failure for wasmtime::Error {
    fn differs(difference: Difference) -> Self {
        difference.into()
    }
}

impl Taped for FsError {
    fn to_tape(&self, _: &mut Contents) -> Value {
        match self.downcast_ref() {
            Some(code) => word(&CODES, code).into(),
            None => json!({ "ends": self.to_string() }),
        }
    }

    fn from_tape(value: &Value, _: &Contents) -> Option<Self> {
        match value.as_str() {
            Some(code) => Some(meaning(&CODES, code)?.into()),
            None => Some(Self::trap(ending(value.get("ends")?.as_str()?))),
        }
    }
}

impl Failure for FsError {
    fn differs(difference: Difference) -> Self {
        Self::trap(difference)
    }
}

impl Taped for StreamError {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        match self {
            Self::Closed => "closed".into(),
            Self::LastOperationFailed(error) => {
                let error = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
                error.map_or_else(|| json!({ "failed": self.to_string() }), |error| json!({ "errno": error }))
            }
            Self::Trap(error) => error.to_tape(contents),
        }
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        if value.as_str() == Some("closed") {
            return Some(Self::Closed);
        }
        if let Some(errno) = value.get("errno") {
            let errno = i32::try_from(errno.as_i64()?).ok()?;
            return Some(Self::LastOperationFailed(std::io::Error::from_raw_os_error(errno).into()));
        }
        if let Some(text) = value.get("failed") {
            return Some(Self::LastOperationFailed(wasmtime::format_err!("{}", text.as_str()?)));
        }
        wasmtime::Error::from_tape(value, contents).map(Self::Trap)
    }
}

impl Failure for StreamError {
    fn differs(difference: Difference) -> Self {
        Self::Trap(difference.into())
    }
}

impl Taped for Datetime {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        (self.seconds, self.nanoseconds).to_tape(contents)
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        let (seconds, nanoseconds) = Taped::from_tape(value, contents)?;
        Some(Self { seconds, nanoseconds })
    }
}

impl Taped for DescriptorType {
    fn to_tape(&self, _: &mut Contents) -> Value {
        word(&TYPES, self).into()
    }

    fn from_tape(value: &Value, _: &Contents) -> Option<Self> {
        meaning(&TYPES, value.as_str()?)
    }
}

impl Taped for DescriptorFlags {
    fn to_tape(&self, _: &mut Contents) -> Value {
        FLAGS.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, word)| *word).collect()
    }

    fn from_tape(value: &Value, _: &Contents) -> Option<Self> {
        let flag = |value: &Value| meaning(&FLAGS, value.as_str()?);
        value.as_array()?.iter().try_fold(Self::empty(), |flags, value| Some(flags | flag(value)?))
    }
}

impl Taped for DescriptorStat {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        let times =
            (self.data_access_timestamp, (self.data_modification_timestamp, self.status_change_timestamp));
        (self.type_, ((self.link_count, self.size), times)).to_tape(contents)
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        let (type_, ((link_count, size), (accessed, (modified, changed)))) =
            Taped::from_tape(value, contents)?;
        Some(Self {
            type_,
            link_count,
            size,
            data_access_timestamp: accessed,
            data_modification_timestamp: modified,
            status_change_timestamp: changed,
        })
    }
}

impl Taped for DirectoryEntry {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        json!([self.type_.to_tape(contents), self.name])
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        let (type_, name) = Taped::from_tape(value, contents)?;
        Some(Self { type_, name })
    }
}

impl Taped for MetadataHashValue {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        (self.lower, self.upper).to_tape(contents)
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        let (lower, upper) = Taped::from_tape(value, contents)?;
        Some(Self { lower, upper })
    }
}

fn word<T: PartialEq>(words: &[(T, &'static str)], value: &T) -> &'static str {
    words.iter().find(|(known, _)| known == value).map_or("", |(_, word)| word)
}

fn meaning<T: Copy>(words: &[(T, &'static str)], word: &str) -> Option<T> {
    words.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
}

const TYPES: [(DescriptorType, &str); 8] = [
    (DescriptorType::Unknown, "unknown"),
    (DescriptorType::BlockDevice, "block-device"),
    (DescriptorType::CharacterDevice, "character-device"),
    (DescriptorType::Directory, "directory"),
    (DescriptorType::Fifo, "fifo"),
    (DescriptorType::SymbolicLink, "symbolic-link"),
    (DescriptorType::RegularFile, "regular-file"),
    (DescriptorType::Socket, "socket"),
];

const FLAGS: [(DescriptorFlags, &str); 6] = [
    (DescriptorFlags::READ, "read"),
    (DescriptorFlags::WRITE, "write"),
    (DescriptorFlags::FILE_INTEGRITY_SYNC, "file-integrity-sync"),
    (DescriptorFlags::DATA_INTEGRITY_SYNC, "data-integrity-sync"),
    (DescriptorFlags::REQUESTED_WRITE_SYNC, "requested-write-sync"),
    (DescriptorFlags::MUTATE_DIRECTORY, "mutate-directory"),
];

const CODES: [(ErrorCode, &str); 37] = [
    (ErrorCode::Access, "access"),
    (ErrorCode::WouldBlock, "would-block"),
    (ErrorCode::Already, "already"),
    (ErrorCode::BadDescriptor, "bad-descriptor"),
    (ErrorCode::Busy, "busy"),
    (ErrorCode::Deadlock, "deadlock"),
    (ErrorCode::Quota, "quota"),
    (ErrorCode::Exist, "exist"),
    (ErrorCode::FileTooLarge, "file-too-large"),
    (ErrorCode::IllegalByteSequence, "illegal-byte-sequence"),
    (ErrorCode::InProgress, "in-progress"),
    (ErrorCode::Interrupted, "interrupted"),
    (ErrorCode::Invalid, "invalid"),
    (ErrorCode::Io, "io"),
    (ErrorCode::IsDirectory, "is-directory"),
    (ErrorCode::Loop, "loop"),
    (ErrorCode::TooManyLinks, "too-many-links"),
    (ErrorCode::MessageSize, "message-size"),
    (ErrorCode::NameTooLong, "name-too-long"),
    (ErrorCode::NoDevice, "no-device"),
    (ErrorCode::NoEntry, "no-entry"),
    (ErrorCode::NoLock, "no-lock"),
    (ErrorCode::InsufficientMemory, "insufficient-memory"),
    (ErrorCode::InsufficientSpace, "insufficient-space"),
    (ErrorCode::NotDirectory, "not-directory"),
    (ErrorCode::NotEmpty, "not-empty"),
    (ErrorCode::NotRecoverable, "not-recoverable"),
    (ErrorCode::Unsupported, "unsupported"),
    (ErrorCode::NoTty, "no-tty"),
    (ErrorCode::NoSuchDevice, "no-such-device"),
    (ErrorCode::Overflow, "overflow"),
    (ErrorCode::NotPermitted, "not-permitted"),
    (ErrorCode::Pipe, "pipe"),
    (ErrorCode::ReadOnly, "read-only"),
    (ErrorCode::InvalidSeek, "invalid-seek"),
    (ErrorCode::TextFileBusy, "text-file-busy"),
    (ErrorCode::CrossDevice, "cross-device"),
];

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]

    use super::*;

    fn again<T: Taped>(value: &T) -> T {
        let mut contents = Contents::default();
        let taped = value.to_tape(&mut contents);
        T::from_tape(&taped, &contents).unwrap()
    }

    #[test]
    fn every_error_comes_back_as_it_was() {
        for (code, name) in CODES {
            assert_eq!(again(&FsError::from(code)).downcast_ref(), Some(&code), "{name}");
        }
        let exceeded = LimitExceeded { limit: Limit::RandomBytes, wanted: 7 };
        assert_eq!(again(&wasmtime::Error::from(exceeded)).downcast_ref(), Some(&exceeded));
        let full = again(&wasmtime::Error::from(ResourceTableError::Full));
        assert!(matches!(full.downcast_ref(), Some(ResourceTableError::Full)));
        let full = again(&FsError::trap(ResourceTableError::Full)).downcast().unwrap_err();
        assert!(matches!(full.downcast_ref(), Some(ResourceTableError::Full)));
        assert_eq!(again(&wasmtime::format_err!("empty poll list")).to_string(), "empty poll list");
        assert!(matches!(again(&StreamError::Closed), StreamError::Closed));
        let failed = StreamError::LastOperationFailed(std::io::Error::from_raw_os_error(122).into());
        let StreamError::LastOperationFailed(error) = again(&failed) else { unreachable!("it failed") };
        assert_eq!(error.downcast_ref::<std::io::Error>().unwrap().raw_os_error(), Some(122));
    }

    #[test]
    fn what_is_known_of_a_file_comes_back_as_it_was() {
        let time = Some(Datetime { seconds: u64::MAX, nanoseconds: 1 });
        let stat = DescriptorStat {
            type_: DescriptorType::Directory,
            link_count: 2,
            size: u64::MAX,
            data_access_timestamp: time,
            data_modification_timestamp: None,
            status_change_timestamp: time,
        };
        assert_eq!(format!("{:?}", again(&stat)), format!("{stat:?}"));
        let flags = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
        assert_eq!(again(&flags), flags);
    }
}
