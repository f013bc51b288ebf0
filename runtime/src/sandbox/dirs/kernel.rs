//! The few system calls that everything here is made of, and what their errors mean to a guest.

use std::ffi::OsString;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, DescriptorType, ErrorCode, MetadataHashValue,
};

/// `openat2` says EAGAIN when something was renamed while it resolved a `..`; a neighbour that renames without
/// end must not hold a call for ever.
const ATTEMPTS: u32 = 64;

/// Device and inode: what a file is, whatever its names are.
pub(super) type Identity = (u64, u64);

/// Opens `path` without ever leaving `dir`: the kernel resolves `..` and links and answers EXDEV where they lead out.
pub(super) fn open_beneath(
    dir: impl AsFd,
    path: impl rustix::path::Arg + Copy,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    open_with(dir, path, flags, ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
}

/// Like [`open_beneath`], and fails on any link in `path`.
pub(super) fn open_plain(
    dir: impl AsFd,
    path: impl rustix::path::Arg + Copy,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    open_with(dir, path, flags, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

fn open_with(
    dir: impl AsFd,
    path: impl rustix::path::Arg + Copy,
    flags: OFlags,
    resolve: ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    let dir = dir.as_fd();
    let mut attempts = 0;
    loop {
        match rustix::fs::openat2(dir, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if attempts < ATTEMPTS => attempts += 1,
            result => return result,
        }
    }
}

/// Opens the very file that `fd` (possibly opened with `O_PATH`) refers to, for real. The caller has looked at its
/// type: opening a FIFO or a device waits or acts.
pub(super) fn reopen(fd: impl AsFd, flags: OFlags) -> rustix::io::Result<File> {
    rustix::fs::open(fd_path(fd), flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::empty())
        .map(File::from)
}

/// Where the file of `fd` is on the host now. A removed file's path ends in ` (deleted)`.
pub(super) fn real_path(fd: impl AsFd) -> io::Result<PathBuf> {
    // Held open, since walking to it costs more than the question itself.
    static DESCRIPTORS: OnceLock<OwnedFd> = OnceLock::new();
    let descriptors = match DESCRIPTORS.get() {
        Some(descriptors) => descriptors,
        None => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::open("/proc/self/fd", flags, Mode::empty())?;
            DESCRIPTORS.get_or_init(|| opened)
        }
    };
    let number = rustix::path::DecInt::from_fd(fd.as_fd());
    let path = rustix::fs::readlinkat(descriptors, number.as_c_str(), Vec::with_capacity(256))?;
    Ok(OsString::from_vec(path.into_bytes()).into())
}

/// The name of a descriptor in `/proc`, which the kernel follows to the open file itself.
pub(super) fn fd_path(fd: impl AsFd) -> PathBuf {
    Path::new("/proc/self/fd").join(fd.as_fd().as_raw_fd().to_string())
}

pub(super) fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

pub(super) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// What an error of the operating system is called in WASI.
pub(super) fn error_code(error: Errno) -> ErrorCode {
    match error {
        Errno::ROFS => ErrorCode::ReadOnly,
        Errno::DQUOT => ErrorCode::Quota,
        Errno::XDEV => ErrorCode::CrossDevice,
        Errno::TXTBSY => ErrorCode::TextFileBusy,
        Errno::NXIO | Errno::NODEV => ErrorCode::NoSuchDevice,
        other => ErrorCode::from(io::Error::from(other)),
    }
}

/// The guest's view of a file's metadata. Times before 1970 cannot be told and are left out.
pub(super) fn descriptor_stat(stat: &Stat) -> DescriptorStat {
    let time = |seconds: i64, nanoseconds: u64| {
        Some(Datetime {
            seconds: u64::try_from(seconds).ok()?,
            nanoseconds: u32::try_from(nanoseconds).ok()?,
        })
    };
    #[allow(clippy::useless_conversion, reason = "the count is narrower than 64 bits on some processors")]
    let link_count = u64::from(stat.st_nlink);
    DescriptorStat {
        type_: descriptor_type(file_type(stat)),
        link_count,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        data_access_timestamp: time(stat.st_atime, stat.st_atime_nsec),
        data_modification_timestamp: time(stat.st_mtime, stat.st_mtime_nsec),
        status_change_timestamp: time(stat.st_ctime, stat.st_ctime_nsec),
    }
}

pub(super) fn descriptor_type(file_type: FileType) -> DescriptorType {
    match file_type {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}

/// A value by which a guest can tell whether two files are one. Same for a file however it is reached; the host's
/// device and inode numbers are not told.
pub(super) fn metadata_hash(stat: &Stat) -> MetadataHashValue {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, identity(stat)).hash(&mut hasher);
        hasher.finish()
    };
    MetadataHashValue { lower: half(0), upper: half(1) }
}
