//! `wasi:filesystem` for the guest: each function asks policy, then acts.

use std::sync::Arc;

use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream,
    ErrorCode, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags,
    PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::change::timestamps;
use super::kernel;
use super::listing::Listing;
use super::lookup::{Links, Request};
use super::open::Wanted;
use super::state::{DirsState, FsRefusal, Opened};
use super::stream::{FileReader, FileWriter, WriteAt, write};
use super::taped::TapedFilesystem;

/// The view of one call's directories through which the linker's functions work.
pub struct GuardedFilesystem<'a> {
    /// The directories.
    pub state: &'a mut DirsState,
    /// The store's resources.
    pub table: &'a mut ResourceTable,
}

/// Adds `wasi:filesystem/types` and `wasi:filesystem/preopens`.
///
/// # Errors
/// When the linker has them already.
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    get: fn(&mut T) -> TapedFilesystem<'_>,
) -> wasmtime::Result<()> {
    types::add_to_linker::<T, Guarded>(linker, get)?;
    preopens::add_to_linker::<T, Guarded>(linker, get)
}

struct Guarded;

impl HasData for Guarded {
    type Data<'a> = TapedFilesystem<'a>;
}

impl From<FsRefusal> for FsError {
    fn from(refusal: FsRefusal) -> Self {
        refusal.code.into()
    }
}

impl GuardedFilesystem<'_> {
    /// wasmtime-wasi's own functions, for what needs no policy.
    fn wasi(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView { ctx: &mut self.state.wasi, table: self.table }
    }

    fn opened(&self, fd: &Resource<Descriptor>) -> FsResult<Opened> {
        let missing = || FsError::trap(wasmtime::format_err!("unknown descriptor"));
        self.state.opened.get(&fd.rep()).cloned().ok_or_else(missing)
    }

    /// The descriptor as a file; directories are `is-directory`.
    fn file(&self, fd: &Resource<Descriptor>) -> FsResult<Opened> {
        match self.table.get(fd)? {
            Descriptor::File(_) => self.opened(fd),
            Descriptor::Dir(_) => Err(ErrorCode::IsDirectory.into()),
        }
    }

    /// The descriptor as a file that may be changed.
    fn writable_file(&mut self, fd: &Resource<Descriptor>) -> FsResult<Opened> {
        let opened = self.file(fd)?;
        self.state.writable(&Request::new("write", &opened, ""))?;
        Ok(opened)
    }

    fn push(&mut self, descriptor: Descriptor, opened: Opened) -> FsResult<Resource<Descriptor>> {
        let fd = self.table.push(descriptor)?;
        self.state.opened.insert(fd.rep(), opened);
        Ok(fd)
    }

    fn writer(&mut self, fd: &Resource<Descriptor>, at: WriteAt) -> FsResult<Resource<DynOutputStream>> {
        let opened = self.writable_file(fd)?;
        let writer: DynOutputStream = Box::new(FileWriter::new(&opened, at, self.state.budget()));
        Ok(self.table.push(writer)?)
    }
}

fn links(flags: PathFlags) -> Links {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) { Links::Follow } else { Links::Keep }
}

/// A directory stream's handle names a [`Listing`]: the handle's type is wasmtime-wasi's, whose constructor is not ours.
fn listing(stream: &Resource<DirectoryEntryStream>) -> Resource<Listing> {
    Resource::new_borrow(stream.rep())
}

impl preopens::Host for GuardedFilesystem<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let template = Arc::clone(&self.state.template);
        let mut directories = Vec::with_capacity(template.roots.len());
        for (grant, root) in template.roots.iter().enumerate().filter(|(_, root)| root.is_visible) {
            let fd = self.table.push(Descriptor::Dir(root.dir.clone()))?;
            let (guest, file) = (Arc::clone(&root.guest), Arc::clone(root.dir()));
            self.state.opened.insert(fd.rep(), Opened { grant, guest, file, permit: None });
            directories.push((fd, root.guest.to_string()));
        }
        Ok(directories)
    }
}

impl types::Host for GuardedFilesystem<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.table.get(&error)?.downcast_ref::<std::io::Error>();
        Ok(error.map(|error| match rustix::io::Errno::from_io_error(error) {
            Some(error) => kernel::error_code(error),
            None => ErrorCode::from(error),
        }))
    }
}

impl HostDescriptor for GuardedFilesystem<'_> {
    fn read_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: u64,
    ) -> FsResult<Resource<DynInputStream>> {
        let reader: DynInputStream = Box::new(FileReader::new(&self.file(&fd)?, offset));
        Ok(self.table.push(reader)?)
    }

    fn write_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: u64,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, WriteAt::Position(offset))
    }

    fn append_via_stream(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, WriteAt::End)
    }

    async fn advise(
        &mut self,
        fd: Resource<Descriptor>,
        offset: u64,
        length: u64,
        advice: Advice,
    ) -> FsResult<()> {
        HostDescriptor::advise(&mut self.wasi(), fd, offset, length, advice).await
    }

    async fn sync_data(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        HostDescriptor::sync_data(&mut self.wasi(), fd).await
    }

    async fn get_flags(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        HostDescriptor::get_flags(&mut self.wasi(), fd).await
    }

    async fn get_type(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorType> {
        HostDescriptor::get_type(&mut self.wasi(), fd).await
    }

    async fn set_size(&mut self, fd: Resource<Descriptor>, size: u64) -> FsResult<()> {
        let opened = self.writable_file(&fd)?;
        let growth = size.saturating_sub(opened.file.metadata().map_err(FsRefusal::from)?.len());
        let budget = self.state.budget();
        budget.take(growth).map_err(FsRefusal::from)?;
        HostDescriptor::set_size(&mut self.wasi(), fd, size).await.inspect_err(|_| budget.give_back(growth))
    }

    async fn set_times(
        &mut self,
        fd: Resource<Descriptor>,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        let opened = self.opened(&fd)?;
        Ok(self.state.set_times(&opened, &timestamps(access, modification)?)?)
    }

    async fn read(
        &mut self,
        fd: Resource<Descriptor>,
        length: u64,
        offset: u64,
    ) -> FsResult<(Vec<u8>, bool)> {
        HostDescriptor::read(&mut self.wasi(), fd, length, offset).await
    }

    async fn write(&mut self, fd: Resource<Descriptor>, bytes: Vec<u8>, offset: u64) -> FsResult<u64> {
        let opened = self.writable_file(&fd)?;
        let written = write(&opened.file, WriteAt::Position(offset), &bytes, &self.state.budget());
        Ok(written.map_err(FsRefusal::from)? as u64)
    }

    async fn read_directory(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
        let opened = self.opened(&fd)?;
        let listing = self.state.list(&opened)?;
        Ok(Resource::new_own(self.table.push(listing)?.rep()))
    }

    async fn sync(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        HostDescriptor::sync(&mut self.wasi(), fd).await
    }

    async fn create_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let dir = self.opened(&fd)?;
        Ok(self.state.create_directory(&dir, &path)?)
    }

    async fn stat(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        let opened = self.opened(&fd)?;
        Ok(kernel::descriptor_stat(&rustix::fs::fstat(&opened.file).map_err(FsRefusal::from)?))
    }

    async fn stat_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let dir = self.opened(&fd)?;
        Ok(self.state.stat_at(&dir, &path, links(flags))?)
    }

    async fn set_times_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        let dir = self.opened(&fd)?;
        let times = timestamps(access, modification)?;
        Ok(self.state.set_times_at(&dir, &path, links(flags), &times)?)
    }

    async fn link_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        if links(flags) == Links::Follow {
            return Err(ErrorCode::Invalid.into());
        }
        let (from, to) = (self.opened(&fd)?, self.opened(&new_fd)?);
        Ok(self.state.link(&from, &old_path, &to, &new_path)?)
    }

    async fn open_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
        how: OpenFlags,
        mode: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let dir = self.opened(&fd)?;
        let (descriptor, opened) = self.state.open(&dir, &path, Wanted { links: links(flags), how, mode })?;
        self.push(descriptor, opened)
    }

    async fn readlink_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<String> {
        let dir = self.opened(&fd)?;
        Ok(self.state.read_link(&dir, &path)?)
    }

    async fn remove_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let dir = self.opened(&fd)?;
        Ok(self.state.remove_directory(&dir, &path)?)
    }

    async fn rename_at(
        &mut self,
        fd: Resource<Descriptor>,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        let (from, to) = (self.opened(&fd)?, self.opened(&new_fd)?);
        Ok(self.state.rename(&from, &old_path, &to, &new_path)?)
    }

    async fn symlink_at(&mut self, fd: Resource<Descriptor>, text: String, path: String) -> FsResult<()> {
        let dir = self.opened(&fd)?;
        Ok(self.state.symlink(&text, &dir, &path)?)
    }

    async fn unlink_file_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let dir = self.opened(&fd)?;
        Ok(self.state.unlink(&dir, &path)?)
    }

    async fn is_same_object(
        &mut self,
        a: Resource<Descriptor>,
        b: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        HostDescriptor::is_same_object(&mut self.wasi(), a, b).await
    }

    async fn metadata_hash(&mut self, fd: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        let opened = self.opened(&fd)?;
        Ok(kernel::metadata_hash(&rustix::fs::fstat(&opened.file).map_err(FsRefusal::from)?))
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let dir = self.opened(&fd)?;
        Ok(self.state.metadata_hash_at(&dir, &path, links(flags))?)
    }

    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        let rep = fd.rep();
        self.table.delete(fd)?;
        self.state.opened.remove(&rep);
        Ok(())
    }
}

impl HostDirectoryEntryStream for GuardedFilesystem<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        Ok(self.table.get_mut(&listing(&stream))?.next()?)
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Listing>::new_own(stream.rep()))?;
        Ok(())
    }
}
