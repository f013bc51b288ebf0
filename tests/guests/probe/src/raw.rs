//! Files through the bindings of WASI: paths and flags reach the host as they are.

use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{
    Advice, Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, NewTimestamp, OpenFlags,
    PathFlags,
};
use wasip2::io::streams::StreamError;

use crate::Probe;
use crate::bindings::exports::toolcell::guests::raw::{Attributes, Guest, OpenMode};

pub(crate) type Answer<T> = Result<T, String>;

pub(crate) fn code(error: ErrorCode) -> String {
    error.name().to_owned()
}

fn stream(error: StreamError) -> String {
    match error {
        StreamError::LastOperationFailed(error) => {
            match wasip2::filesystem::types::filesystem_error_code(&error) {
                Some(error) => code(error),
                None => error.to_debug_string(),
            }
        }
        StreamError::Closed => "closed".to_owned(),
    }
}

pub(crate) fn preopen(number: u32) -> Answer<Descriptor> {
    let directories = preopens::get_directories().into_iter();
    directories
        .map(|(directory, _)| directory)
        .nth(number as usize)
        .ok_or_else(|| "no such preopen".to_owned())
}

fn path_flags(follow: bool) -> PathFlags {
    if follow { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() }
}

/// The flags of `$mode` that are named, as those of `$flags`.
macro_rules! translate {
    ($mode:ident, $flags:ident, $($name:ident => $flag:ident),*) => {{
        let mut flags = $flags::empty();
        $(if $mode.contains(OpenMode::$name) { flags |= $flags::$flag; })*
        flags
    }};
}

fn open_at(directory: &Descriptor, path: &str, mode: OpenMode) -> Answer<Descriptor> {
    let open = translate!(mode, OpenFlags,
        CREATE => CREATE, DIRECTORY => DIRECTORY, EXCLUSIVE => EXCLUSIVE, TRUNCATE => TRUNCATE);
    let flags = translate!(mode, DescriptorFlags,
        READ => READ, WRITE => WRITE, MUTATE_DIRECTORY => MUTATE_DIRECTORY, SYNC => REQUESTED_WRITE_SYNC);
    directory.open_at(path_flags(mode.contains(OpenMode::FOLLOW)), path, open, flags).map_err(code)
}

pub(crate) fn open(number: u32, path: &str, mode: OpenMode) -> Answer<Descriptor> {
    open_at(&preopen(number)?, path, mode)
}

fn open_to_read(number: u32, path: &str) -> Answer<Descriptor> {
    open(number, path, OpenMode::READ | OpenMode::FOLLOW)
}

pub(crate) fn kind(descriptor_type: DescriptorType) -> &'static str {
    match descriptor_type {
        DescriptorType::RegularFile => "file",
        DescriptorType::Directory => "directory",
        DescriptorType::SymbolicLink => "symlink",
        DescriptorType::Fifo => "fifo",
        DescriptorType::Socket => "socket",
        DescriptorType::BlockDevice => "block-device",
        DescriptorType::CharacterDevice => "character-device",
        DescriptorType::Unknown => "unknown",
    }
}

fn attributes(stat: DescriptorStat) -> Attributes {
    Attributes {
        kind: kind(stat.type_).to_owned(),
        links: stat.link_count,
        size: stat.size,
        modified: stat.data_modification_timestamp.map(|time| time.seconds),
    }
}

fn timestamp(seconds: u64, nanoseconds: u32) -> NewTimestamp {
    NewTimestamp::Timestamp(wasip2::clocks::wall_clock::Datetime { seconds, nanoseconds })
}

impl Guest for Probe {
    fn raw_preopens() -> Vec<String> {
        preopens::get_directories().into_iter().map(|(_, path)| path).collect()
    }

    fn raw_open(preopen: u32, path: String, mode: OpenMode) -> Answer<Attributes> {
        open(preopen, &path, mode)?.stat().map(attributes).map_err(code)
    }

    fn raw_open_bytes(preopen: u32, path: Vec<u8>, mode: OpenMode) -> Answer<Attributes> {
        // SAFETY: none. The bindings copy pointer and length; what is no UTF-8 is for the host to refuse.
        let path = unsafe { String::from_utf8_unchecked(path) };
        open(preopen, &path, mode)?.stat().map(attributes).map_err(code)
    }

    fn raw_open_in(number: u32, directory: String, path: String, mode: OpenMode) -> Answer<Attributes> {
        let directory = open(number, &directory, OpenMode::READ | OpenMode::DIRECTORY)?;
        open_at(&directory, &path, mode)?.stat().map(attributes).map_err(code)
    }

    fn raw_flags(preopen: u32, path: String, mode: OpenMode) -> Answer<String> {
        open(preopen, &path, mode)?.get_flags().map(|flags| format!("{flags:?}")).map_err(code)
    }

    fn raw_stat(number: u32, path: String, follow: bool) -> Answer<Attributes> {
        preopen(number)?.stat_at(path_flags(follow), &path).map(attributes).map_err(code)
    }

    fn raw_hash(number: u32, path: String, follow: bool) -> Answer<(u64, u64)> {
        let hash = preopen(number)?.metadata_hash_at(path_flags(follow), &path).map_err(code)?;
        Ok((hash.upper, hash.lower))
    }

    fn raw_read(preopen: u32, path: String, offset: u64, length: u64) -> Answer<Vec<u8>> {
        open_to_read(preopen, &path)?.read(length, offset).map(|(bytes, _)| bytes).map_err(code)
    }

    fn raw_read_stream(preopen: u32, path: String, offset: u64, length: u64) -> Answer<Vec<u8>> {
        let file = open_to_read(preopen, &path)?;
        file.read_via_stream(offset).map_err(code)?.blocking_read(length).map_err(stream)
    }

    fn raw_write(preopen: u32, path: String, mode: OpenMode, offset: u64, content: Vec<u8>) -> Answer<u64> {
        open(preopen, &path, mode)?.write(&content, offset).map_err(code)
    }

    fn raw_write_stream(
        preopen: u32,
        path: String,
        mode: OpenMode,
        offset: Option<u64>,
        content: Vec<u8>,
    ) -> Answer<()> {
        let file = open(preopen, &path, mode)?;
        let output = match offset {
            Some(offset) => file.write_via_stream(offset),
            None => file.append_via_stream(),
        };
        let output = output.map_err(code)?;
        // What one write of a stream may carry.
        content.chunks(4096).try_for_each(|piece| output.blocking_write_and_flush(piece)).map_err(stream)
    }

    fn raw_set_size(preopen: u32, path: String, mode: OpenMode, size: u64) -> Answer<()> {
        open(preopen, &path, mode)?.set_size(size).map_err(code)
    }

    fn raw_advise(preopen: u32, path: String, offset: u64, length: u64) -> Answer<()> {
        open_to_read(preopen, &path)?.advise(offset, length, Advice::WillNeed).map_err(code)
    }

    fn raw_sync(preopen: u32, path: String) -> Answer<()> {
        let file = open_to_read(preopen, &path)?;
        file.sync_data().and_then(|()| file.sync()).map_err(code)
    }

    fn raw_list(preopen: u32, path: String) -> Answer<Vec<(String, String)>> {
        let directory = open(preopen, &path, OpenMode::READ | OpenMode::DIRECTORY)?;
        let stream = directory.read_directory().map_err(code)?;
        let mut entries = Vec::new();
        while let Some(entry) = stream.read_directory_entry().map_err(code)? {
            entries.push((entry.name, kind(entry.type_).to_owned()));
        }
        entries.sort();
        Ok(entries)
    }

    fn raw_link(
        source_preopen: u32,
        source: String,
        follow: bool,
        target_preopen: u32,
        target: String,
    ) -> Answer<()> {
        let (from, to) = (preopen(source_preopen)?, preopen(target_preopen)?);
        from.link_at(path_flags(follow), &source, &to, &target).map_err(code)
    }

    fn raw_rename(source_preopen: u32, source: String, target_preopen: u32, target: String) -> Answer<()> {
        preopen(source_preopen)?.rename_at(&source, &preopen(target_preopen)?, &target).map_err(code)
    }

    fn raw_symlink(number: u32, content: String, path: String) -> Answer<()> {
        preopen(number)?.symlink_at(&content, &path).map_err(code)
    }

    fn raw_read_link(number: u32, path: String) -> Answer<String> {
        preopen(number)?.readlink_at(&path).map_err(code)
    }

    fn raw_set_times(number: u32, path: String, follow: bool, seconds: u64, nanoseconds: u32) -> Answer<()> {
        let time = || timestamp(seconds, nanoseconds);
        preopen(number)?.set_times_at(path_flags(follow), &path, time(), time()).map_err(code)
    }

    fn raw_set_times_open(
        preopen: u32,
        path: String,
        mode: OpenMode,
        seconds: u64,
        nanoseconds: u32,
    ) -> Answer<()> {
        let time = || timestamp(seconds, nanoseconds);
        open(preopen, &path, mode)?.set_times(time(), time()).map_err(code)
    }

    fn raw_unlink(number: u32, path: String) -> Answer<()> {
        preopen(number)?.unlink_file_at(&path).map_err(code)
    }

    fn raw_mkdir(number: u32, path: String) -> Answer<()> {
        preopen(number)?.create_directory_at(&path).map_err(code)
    }

    fn raw_rmdir(number: u32, path: String) -> Answer<()> {
        preopen(number)?.remove_directory_at(&path).map_err(code)
    }
}
