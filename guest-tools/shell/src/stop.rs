//! Why something ends before its end.

use std::io;

/// What unwinds through a script.
#[derive(Debug)]
pub enum Stop {
    /// `break`, of that many loops.
    Break(u32),
    /// `continue`, of the loop that is that many further out.
    Continue(u32),
    /// `return` with a status.
    Return(i32),
    /// `exit`, or what a shell does by itself (`set -e`, an unset variable under `set -u`).
    Exit(i32),
    /// Nobody reads what is written any more.
    Pipe,
    /// A command fails with a status and a line for standard error.
    Fail(i32, String),
    /// The command line that is being expanded is given up, with a status.
    Line(i32),
    /// The whole run ends, whatever the script has to say to that.
    Abort(i32, String),
    /// The time of the run is over.
    TimeOver,
}

/// What a command gives: a status, or a reason to end.
pub type Status = Result<i32, Stop>;

/// A failure of a command with status 1.
pub fn fail<T>(message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fail(1, message.into()))
}

/// A failure because of wrong options.
pub fn wrong<T>(status: i32, message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fail(status, message.into()))
}

/// The words of the C library for an error, as every utility prints them.
pub fn words(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    let known = match error.kind() {
        Kind::NotFound => "No such file or directory",
        Kind::PermissionDenied => "Permission denied",
        Kind::AlreadyExists => "File exists",
        Kind::NotADirectory => "Not a directory",
        Kind::IsADirectory => "Is a directory",
        Kind::DirectoryNotEmpty => "Directory not empty",
        Kind::BrokenPipe => "Broken pipe",
        Kind::InvalidInput => "Invalid argument",
        Kind::ReadOnlyFilesystem => "Read-only file system",
        Kind::StorageFull => "No space left on device",
        Kind::OutOfMemory => "Cannot allocate memory",
        Kind::CrossesDevices => "Invalid cross-device link",
        _ => return plain(error),
    };
    known.to_owned()
}

/// Without the number that the standard library appends.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    if text.starts_with("Capabilities insufficient") {
        return "Permission denied".to_owned();
    }
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
