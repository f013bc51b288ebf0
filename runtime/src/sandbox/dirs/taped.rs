//! The same functions while a call is recorded or replayed. A replay touches no file: its handles stand for nothing, and
//! what they say is in the recording.

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream,
    ErrorCode, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags,
    PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::host::GuardedFilesystem;
use crate::recording::Tape;
use crate::sandbox::tape::{Replayed, ReplayedStream, given_bytes, taped};

/// One call's directories, with the recording that is made or replayed, if there is one.
pub struct TapedFilesystem<'a> {
    pub(crate) live: GuardedFilesystem<'a>,
    pub(crate) tape: Option<Tape>,
}

/// An operation that gives a handle: in a replay `$instead` of it.
macro_rules! handing {
    ($this:ident, $ask:expr, $live:expr, $instead:expr) => {{
        let mut handle = None;
        let answer: FsResult<()> = taped!($this.tape.clone(), $ask, {
            $live.map(|live| {
                handle = Some(live);
            })
        });
        answer?;
        match handle {
            Some(handle) => Ok(handle),
            None => Ok($instead),
        }
    }};
}

impl TapedFilesystem<'_> {
    fn is_replay(&self) -> bool {
        self.tape.as_ref().is_some_and(Tape::is_replay)
    }

    /// A handle that stands for nothing.
    fn replayed<T: 'static>(&mut self) -> wasmtime::Result<Resource<T>> {
        Ok(Resource::new_own(self.live.table.push(Replayed)?.rep()))
    }

    fn forget<T: 'static>(&mut self, handle: &Resource<T>) -> wasmtime::Result<()> {
        self.live.table.delete(Resource::<Replayed>::new_own(handle.rep()))?;
        Ok(())
    }
}

impl preopens::Host for TapedFilesystem<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let mut live = Vec::new();
        let names: wasmtime::Result<Vec<String>> = taped!(self.tape.clone(), "get-directories".to_owned(), {
            preopens::Host::get_directories(&mut self.live).map(|directories| {
                live = directories;
                live.iter().map(|(_, name)| name.clone()).collect()
            })
        });
        let names = names?;
        if self.is_replay() {
            return names.into_iter().map(|name| Ok((self.replayed()?, name))).collect();
        }
        Ok(live)
    }
}

impl types::Host for TapedFilesystem<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        types::Host::convert_error_code(&mut self.live, error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        types::Host::filesystem_error_code(&mut self.live, error)
    }
}

fn on(what: &str, fd: &Resource<Descriptor>) -> String {
    format!("{what} {}", fd.rep())
}

fn at(what: &str, fd: &Resource<Descriptor>, path: &str) -> String {
    format!("{what} {} `{path}`", fd.rep())
}

fn follows(flags: PathFlags) -> &'static str {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) { " following" } else { "" }
}

/// A path in a handle's directory, as an operation with two of them has it.
fn place(fd: &Resource<Descriptor>, path: &str) -> String {
    format!("{} `{path}`", fd.rep())
}

impl HostDescriptor for TapedFilesystem<'_> {
    fn read_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: u64,
    ) -> FsResult<Resource<DynInputStream>> {
        let ask = || format!("read-via-stream {} {offset}", fd.rep());
        let same = Resource::new_borrow(fd.rep());
        handing!(self, ask(), HostDescriptor::read_via_stream(&mut self.live, same, offset), {
            let stream: DynInputStream = Box::new(ReplayedStream);
            self.live.table.push(stream)?
        })
    }

    fn write_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: u64,
    ) -> FsResult<Resource<DynOutputStream>> {
        let ask = || format!("write-via-stream {} {offset}", fd.rep());
        let same = Resource::new_borrow(fd.rep());
        handing!(self, ask(), HostDescriptor::write_via_stream(&mut self.live, same, offset), {
            let stream: DynOutputStream = Box::new(ReplayedStream);
            self.live.table.push(stream)?
        })
    }

    fn append_via_stream(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        let ask = || on("append-via-stream", &fd);
        let same = Resource::new_borrow(fd.rep());
        handing!(self, ask(), HostDescriptor::append_via_stream(&mut self.live, same), {
            let stream: DynOutputStream = Box::new(ReplayedStream);
            self.live.table.push(stream)?
        })
    }

    async fn advise(
        &mut self,
        fd: Resource<Descriptor>,
        offset: u64,
        length: u64,
        advice: Advice,
    ) -> FsResult<()> {
        let ask = |fd: &Resource<Descriptor>| format!("advise {} {offset} {length}", fd.rep());
        taped!(
            self.tape.clone(),
            ask(&fd),
            HostDescriptor::advise(&mut self.live, fd, offset, length, advice).await
        )
    }

    async fn sync_data(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        taped!(self.tape.clone(), on("sync-data", &fd), HostDescriptor::sync_data(&mut self.live, fd).await)
    }

    async fn get_flags(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        taped!(self.tape.clone(), on("get-flags", &fd), HostDescriptor::get_flags(&mut self.live, fd).await)
    }

    async fn get_type(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorType> {
        taped!(self.tape.clone(), on("get-type", &fd), HostDescriptor::get_type(&mut self.live, fd).await)
    }

    async fn set_size(&mut self, fd: Resource<Descriptor>, size: u64) -> FsResult<()> {
        taped!(
            self.tape.clone(),
            format!("set-size {} {size}", fd.rep()),
            HostDescriptor::set_size(&mut self.live, fd, size).await
        )
    }

    async fn set_times(
        &mut self,
        fd: Resource<Descriptor>,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        taped!(
            self.tape.clone(),
            format!("set-times {} {access:?} {modification:?}", fd.rep()),
            HostDescriptor::set_times(&mut self.live, fd, access, modification).await
        )
    }

    async fn read(
        &mut self,
        fd: Resource<Descriptor>,
        length: u64,
        offset: u64,
    ) -> FsResult<(Vec<u8>, bool)> {
        taped!(
            self.tape.clone(),
            format!("read-file {} {length} {offset}", fd.rep()),
            HostDescriptor::read(&mut self.live, fd, length, offset).await
        )
    }

    async fn write(&mut self, fd: Resource<Descriptor>, bytes: Vec<u8>, offset: u64) -> FsResult<u64> {
        taped!(
            self.tape.clone(),
            format!("write-file {} {offset} {}", fd.rep(), given_bytes(self.tape.as_ref(), &bytes)),
            HostDescriptor::write(&mut self.live, fd, bytes, offset).await
        )
    }

    async fn read_directory(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
        let same = Resource::new_borrow(fd.rep());
        handing!(
            self,
            on("read-directory", &fd),
            HostDescriptor::read_directory(&mut self.live, same).await,
            self.replayed().map_err(FsError::trap)?
        )
    }

    async fn sync(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        taped!(self.tape.clone(), on("sync", &fd), HostDescriptor::sync(&mut self.live, fd).await)
    }

    async fn create_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        taped!(
            self.tape.clone(),
            at("create-directory-at", &fd, &path),
            HostDescriptor::create_directory_at(&mut self.live, fd, path).await
        )
    }

    async fn stat(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        taped!(self.tape.clone(), on("stat", &fd), HostDescriptor::stat(&mut self.live, fd).await)
    }

    async fn stat_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        taped!(
            self.tape.clone(),
            at("stat-at", &fd, &path) + follows(flags),
            HostDescriptor::stat_at(&mut self.live, fd, flags, path).await
        )
    }

    async fn set_times_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        taped!(
            self.tape.clone(),
            format!("{}{} {access:?} {modification:?}", at("set-times-at", &fd, &path), follows(flags)),
            HostDescriptor::set_times_at(&mut self.live, fd, flags, path, access, modification).await
        )
    }

    async fn link_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        taped!(
            self.tape.clone(),
            format!("{}{} to {}", at("link-at", &fd, &old_path), follows(flags), place(&new_fd, &new_path)),
            HostDescriptor::link_at(&mut self.live, fd, flags, old_path, new_fd, new_path).await
        )
    }

    async fn open_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
        how: OpenFlags,
        mode: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let ask = || format!("{}{} {how:?} {mode:?}", at("open-at", &fd, &path), follows(flags));
        let (same, name) = (Resource::new_borrow(fd.rep()), path.clone());
        handing!(
            self,
            ask(),
            HostDescriptor::open_at(&mut self.live, same, flags, name, how, mode).await,
            self.replayed().map_err(FsError::trap)?
        )
    }

    async fn readlink_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<String> {
        taped!(
            self.tape.clone(),
            at("readlink-at", &fd, &path),
            HostDescriptor::readlink_at(&mut self.live, fd, path).await
        )
    }

    async fn remove_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        taped!(
            self.tape.clone(),
            at("remove-directory-at", &fd, &path),
            HostDescriptor::remove_directory_at(&mut self.live, fd, path).await
        )
    }

    async fn rename_at(
        &mut self,
        fd: Resource<Descriptor>,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        taped!(
            self.tape.clone(),
            format!("{} to {}", at("rename-at", &fd, &old_path), place(&new_fd, &new_path)),
            HostDescriptor::rename_at(&mut self.live, fd, old_path, new_fd, new_path).await
        )
    }

    async fn symlink_at(&mut self, fd: Resource<Descriptor>, text: String, path: String) -> FsResult<()> {
        taped!(
            self.tape.clone(),
            format!("{} as `{text}`", at("symlink-at", &fd, &path)),
            HostDescriptor::symlink_at(&mut self.live, fd, text, path).await
        )
    }

    async fn unlink_file_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        taped!(
            self.tape.clone(),
            at("unlink-file-at", &fd, &path),
            HostDescriptor::unlink_file_at(&mut self.live, fd, path).await
        )
    }

    async fn is_same_object(
        &mut self,
        a: Resource<Descriptor>,
        b: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        taped!(
            self.tape.clone(),
            format!("is-same-object {} {}", a.rep(), b.rep()),
            HostDescriptor::is_same_object(&mut self.live, a, b).await
        )
    }

    async fn metadata_hash(&mut self, fd: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        taped!(
            self.tape.clone(),
            on("metadata-hash", &fd),
            HostDescriptor::metadata_hash(&mut self.live, fd).await
        )
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        taped!(
            self.tape.clone(),
            at("metadata-hash-at", &fd, &path) + follows(flags),
            HostDescriptor::metadata_hash_at(&mut self.live, fd, flags, path).await
        )
    }

    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        if self.is_replay() { self.forget(&fd) } else { HostDescriptor::drop(&mut self.live, fd) }
    }
}

impl HostDirectoryEntryStream for TapedFilesystem<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        taped!(
            self.tape.clone(),
            format!("read-directory-entry {}", stream.rep()),
            HostDirectoryEntryStream::read_directory_entry(&mut self.live, stream).await
        )
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        if self.is_replay() {
            self.forget(&stream)
        } else {
            HostDirectoryEntryStream::drop(&mut self.live, stream)
        }
    }
}
