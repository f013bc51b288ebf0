//! What one call did with its directories: what is open, what was written, what was refused.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;
use wasmtime_wasi::filesystem::WasiFilesystemCtx;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::kernel;
use super::template::DirTemplate;
use crate::call::Denial;
use crate::limits::{EffectiveLimits, Limit};
use crate::output::Redactor;
use crate::sandbox::deadline::Watch;
use crate::sandbox::denials::Denials;

/// The directories of one call.
pub struct DirsState {
    pub(super) template: Arc<DirTemplate>,
    /// What the guest's descriptors are, by their handle in the resource table.
    pub(super) opened: HashMap<u32, Opened>,
    /// Only passed on to wasmtime-wasi's functions; our descriptors carry all that they need.
    pub(super) wasi: WasiFilesystemCtx,
    open_files: Arc<OpenFiles>,
    budget: Arc<WriteBudget>,
    denials: Denials,
    /// When the call must end: a walk over many files ends with it.
    pub(super) watch: Watch,
}

impl DirsState {
    /// The state of a call that has opened and written nothing; takes `open_files` and `write_bytes` from `limits`.
    pub(crate) fn new(template: Arc<DirTemplate>, limits: &EffectiveLimits, watch: Watch) -> Self {
        let max_open = u32::try_from(limits.get(Limit::OpenFiles)).unwrap_or(u32::MAX);
        Self {
            template,
            opened: HashMap::new(),
            wasi: WasiFilesystemCtx::default(),
            open_files: Arc::new(OpenFiles {
                used: AtomicU32::new(0),
                max: max_open,
                hit: AtomicBool::new(false),
            }),
            budget: Arc::new(WriteBudget::new(limits.get(Limit::WriteBytes))),
            denials: Denials::default(),
            watch,
        }
    }

    /// The same for a component with secrets.
    #[must_use]
    pub(crate) fn redacting(mut self, redactor: Option<&Arc<Redactor>>) -> Self {
        self.denials = Denials::of(redactor);
        self
    }

    /// What policy refused so far, also when the guest went on.
    pub(crate) fn denials(&self) -> &Denials {
        &self.denials
    }

    /// The limit that was hit first in this call and what was wanted of it (a count or bytes), if one was. The guest
    /// got the error `quota`; a call that then fails has failed for this limit.
    pub fn limit_hit(&self) -> Option<(Limit, u64)> {
        if self.open_files.hit.load(Ordering::Relaxed) {
            return Some((Limit::OpenFiles, u64::from(self.open_files.max) + 1));
        }
        let wanted = self.budget.wanted.load(Ordering::Relaxed);
        (wanted > 0).then_some((Limit::WriteBytes, wanted))
    }

    /// Bytes written to files so far.
    pub fn bytes_written(&self) -> u64 {
        self.budget.used.load(Ordering::Relaxed)
    }

    /// Files and directories that are open now.
    pub fn open_files(&self) -> u32 {
        self.open_files.used.load(Ordering::Relaxed)
    }

    pub(super) fn budget(&self) -> Arc<WriteBudget> {
        Arc::clone(&self.budget)
    }

    /// Leave to have one more file or directory open.
    pub(super) fn permit(&self) -> Result<Permit, FsRefusal> {
        let more = |used: u32| (used < self.open_files.max).then(|| used + 1);
        match self.open_files.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Permit { of: Arc::clone(&self.open_files) }),
            Err(_) => {
                self.open_files.hit.store(true, Ordering::Relaxed);
                Err(FsRefusal::new(ErrorCode::Quota, "too many files are open; close some first"))
            }
        }
    }

    /// Records that policy refused `operation` on `target`, and says so.
    pub(super) fn refuse(&mut self, operation: &str, target: &str, reason: Reason) -> FsRefusal {
        self.denials.add(Denial::new("dirs", operation, target, &*self.template.setting));
        FsRefusal::new(reason.code(), reason.text())
    }
}

impl fmt::Debug for DirsState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("DirsState")
            .field("open_files", &self.open_files())
            .field("bytes_written", &self.bytes_written())
            .field("denials", &self.denials)
            .finish_non_exhaustive()
    }
}

/// What one of the guest's descriptors refers to.
#[derive(Clone)]
pub(super) struct Opened {
    /// The index of the grant that it was reached through.
    pub(super) grant: usize,
    /// Its path as the guest named it.
    pub(super) guest: Arc<str>,
    pub(super) file: Arc<File>,
    /// None for the granted directories themselves, which every call has.
    pub(super) permit: Option<Arc<Permit>>,
}

/// Why an operation on files was not done, in the guest's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsRefusal {
    /// The code that a WASI guest gets.
    pub code: ErrorCode,
    /// The reason in words, for a guest that can read them.
    pub reason: String,
}

impl FsRefusal {
    pub(super) fn new(code: ErrorCode, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }

    /// The call ends before the answer is known; the guest hardly sees this, for the crossing back ends it.
    pub(super) fn interrupted() -> Self {
        Self::new(ErrorCode::Interrupted, "the time of the call is over")
    }
}

impl FsRefusal {
    /// The error's kind in `toolcell:tool/files`.
    pub fn kind(&self) -> &'static str {
        match self.code {
            ErrorCode::NotPermitted | ErrorCode::ReadOnly => "not-permitted",
            ErrorCode::Access => "permissions",
            ErrorCode::NoEntry => "not-found",
            ErrorCode::IsDirectory => "not-a-file",
            ErrorCode::NotDirectory => "not-a-folder",
            ErrorCode::Quota => "limit",
            _ => "io",
        }
    }
}

impl fmt::Display for FsRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
}

impl From<Errno> for FsRefusal {
    fn from(error: Errno) -> Self {
        Self::new(kernel::error_code(error), words(error))
    }
}

impl From<std::io::Error> for FsRefusal {
    fn from(error: std::io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(error) => error.into(),
            None => Self::new(ErrorCode::from(&error), error.kind().to_string()),
        }
    }
}

/// The operating system's words without its number.
fn words(error: Errno) -> String {
    let text = std::io::Error::from(error).to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// Why policy refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Withheld by `deny`.
    Denied,
    /// A folder above something that is withheld.
    Above,
    /// The grant only reads.
    ReadOnly,
    /// Outside the granted directory.
    Outside,
    /// Neither a regular file nor a directory.
    Special,
    /// Perhaps withheld under another name.
    Untold,
}

impl Reason {
    fn code(self) -> ErrorCode {
        match self {
            Self::ReadOnly => ErrorCode::ReadOnly,
            Self::Denied | Self::Above | Self::Outside | Self::Special | Self::Untold => {
                ErrorCode::NotPermitted
            }
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Denied => "withheld from tools by `deny`",
            Self::Above => "something in this folder is withheld from tools by `deny`, so it stays as it is",
            Self::ReadOnly => "the directory is granted for reading only",
            Self::Outside => "the path leads out of the granted directories",
            Self::Special => "only regular files and directories can be opened",
            Self::Untold => {
                "the file has several names, and there are too many files to tell whether `deny` withholds one"
            }
        }
    }
}

/// How much is open.
struct OpenFiles {
    used: AtomicU32,
    max: u32,
    hit: AtomicBool,
}

/// One file or directory that is open; gives its place back when dropped.
pub(super) struct Permit {
    of: Arc<OpenFiles>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.of.used.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How much may still be written.
pub(super) struct WriteBudget {
    used: AtomicU64,
    max: u64,
    /// What a refused write would have brought the total to; 0 when none was refused.
    wanted: AtomicU64,
}

impl WriteBudget {
    fn new(max: u64) -> Self {
        Self { used: AtomicU64::new(0), max, wanted: AtomicU64::new(0) }
    }

    /// Takes `bytes` from the budget, all or nothing.
    ///
    /// # Errors
    /// `EDQUOT` when that is more than is left; the hit is recorded.
    pub(super) fn take(&self, bytes: u64) -> rustix::io::Result<()> {
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.max);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map(drop).map_err(|used| {
            self.wanted.fetch_max(used.saturating_add(bytes), Ordering::Relaxed);
            Errno::DQUOT
        })
    }

    /// Gives back what was taken and not written.
    pub(super) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}
