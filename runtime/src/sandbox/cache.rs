//! The store of compiled components: native code that this user's processes made, keyed by what it was made from.
//!
//! Native code is trusted code. So the folder must belong to this user alone, a file that somebody hands over is
//! never loaded from, and an entry that is damaged in any way is a miss.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use wasmtime::Engine;
use wasmtime::component::Component;
use xxhash_rust::xxh3::Xxh3Default;

use super::engine::Allocation;
use super::stamp::Stamp;
use crate::policy::Digest;

/// A folder of compiled components.
#[derive(Debug)]
pub struct CompileCache {
    path: PathBuf,
    dir: Dir,
    /// Why an entry could not be kept, the first time.
    problem: OnceLock<String>,
    /// Names of the components that had entries when they were first asked for.
    compiled: OnceLock<HashSet<String>>,
}

/// Bytes that are summed up at once.
const READ_BYTES: usize = 256 << 10;

/// More of a note is not read.
const NOTE_BYTES: u64 = 512;

/// The ending of the file that holds the checksum of the native code beside it.
const CHECKSUM_SUFFIX: &str = "sum";

/// Entries of one component: the engine's settings and version are in the name, so an entry made by another
/// version or with other settings is simply another name.
struct EntryName {
    code: String,
    sum: String,
}

impl CompileCache {
    /// Opens the folder, making it if needed.
    ///
    /// # Errors
    /// When it cannot be made or read, belongs to another user, or others may write to it; the message says what
    /// to do.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, String> {
        let path = path.into();
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode_owner_only()
            .create(&path)
            .map_err(|error| format!("cannot create the compile cache {}: {error}", path.display()))?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())
            .map_err(|error| format!("cannot open the compile cache {}: {error}", path.display()))?;
        let metadata = dir
            .dir_metadata()
            .map_err(|error| format!("cannot read the compile cache {}: {error}", path.display()))?;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(format!(
                "the compile cache {} belongs to another user, so native code from it is not trusted and every \
                 process compiles anew; name a folder of your own (TOOLCELL_HOME)",
                path.display()
            ));
        }
        if !is_owner_only(metadata.uid(), metadata.mode()) {
            return Err(format!(
                "the compile cache {} can be written by others, so native code from it is not trusted and every \
                 process compiles anew; remove what is in it and run `chmod 700` on it",
                path.display()
            ));
        }
        Ok(Self { path, dir, problem: OnceLock::new(), compiled: OnceLock::new() })
    }

    /// Why compiled components could not be kept, if that happened.
    pub fn problem(&self) -> Option<&str> {
        self.problem.get().map(String::as_str)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The compiled form of the component `digest` for `engine`, if it is here and sound. A program of one call maps the
    /// file and touches only what it runs; one that lives on has a copy, since a file that is cut short under a mapping
    /// would kill it.
    pub(crate) fn load(&self, engine: &Engine, digest: &Digest, allocation: Allocation) -> Option<Component> {
        let name = EntryName::new(engine, digest);
        let mut note = String::new();
        self.open_own(&name.sum)?.take(NOTE_BYTES).read_to_string(&mut note).ok()?;
        let (expected, checked) = note.split_once(' ').unwrap_or((&note, ""));
        let mut file = self.open_own(&name.code)?.into_std();
        if allocation == Allocation::OnDemand
            && let Some(component) = self.mapped(engine, &name, &mut file, expected, checked)
        {
            return Some(component);
        }
        let mut code = Vec::new();
        file.rewind().ok()?;
        file.read_to_end(&mut code).ok()?;
        if checksum(&code) != expected {
            return None;
        }
        // SAFETY: native code is only taken from a folder and a file that this user alone can write (checked on
        // opening, by descriptor), and these are the very bytes whose checksum held. The engine itself refuses what
        // another version or other settings made.
        unsafe { Component::deserialize(engine, &code) }.ok()
    }

    /// The digest of the file `what`, if it was remembered with this stamp.
    pub(crate) fn known_digest(&self, what: &str, stamp: &Stamp) -> Option<Digest> {
        let mut known = String::new();
        self.open_own(&digest_name(what))?.take(NOTE_BYTES).read_to_string(&mut known).ok()?;
        let (known, digest) = known.split_once(' ')?;
        stamp.is(known).then(|| digest.parse().ok())?
    }

    /// Remembers the digest of the file `what`. What cannot be written is found out again.
    pub(crate) fn remember_digest(&self, what: &str, stamp: &Stamp, digest: &Digest) {
        let _ = self.replace(&digest_name(what), format!("{stamp} {digest}").as_bytes());
    }

    /// Whether the component was compiled by this user before, for whichever engine.
    pub(crate) fn has(&self, digest: &Digest) -> bool {
        let names = self.compiled.get_or_init(|| {
            let entries = self.dir.entries().into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            names.filter_map(|name| Some(name.rsplit_once('-')?.0.to_owned())).collect()
        });
        names.contains(&file_name(digest))
    }

    /// Keeps the compiled form. A cache that cannot be written is no error, but a [problem](Self::problem): the next
    /// process compiles again.
    pub(crate) fn store(&self, engine: &Engine, digest: &Digest, code: &[u8]) {
        let name = EntryName::new(engine, digest);
        // The sum goes last: a reader between the two finds no entry or one whose sum does not match.
        let kept =
            self.replace(&name.code, code).and_then(|()| self.replace(&name.sum, checksum(code).as_bytes()));
        if let Err(error) = kept {
            self.problem.get_or_init(|| {
                format!(
                    "the compile cache {} cannot be written ({}), so every process compiles anew; make it writable, \
                     or name another folder (TOOLCELL_HOME)",
                    self.path.display(),
                    error.kind()
                )
            });
        }
    }

    /// Bytes and entries in the cache.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn size(&self) -> std::io::Result<(u64, usize)> {
        let (mut bytes, mut entries) = (0, 0);
        for entry in self.dir.entries()? {
            let entry = entry?;
            bytes += entry.metadata()?.len();
            entries += usize::from(entry.file_name().to_string_lossy().ends_with(".cwasm"));
        }
        Ok((bytes, entries))
    }

    /// Removes every entry and returns how many there were.
    ///
    /// # Errors
    /// When the folder cannot be read or an entry cannot be removed.
    pub fn clear(&self) -> std::io::Result<usize> {
        let mut removed = 0;
        for entry in self.dir.entries()? {
            let entry = entry?;
            let name = entry.file_name();
            removed += usize::from(name.to_string_lossy().ends_with(".cwasm"));
            entry.remove_file()?;
        }
        Ok(removed)
    }

    /// The native code in `file`, mapped; none where it is damaged or may not be run from there (`noexec`). Its bytes are
    /// summed up unless they were before, and lie on the disk since: then `checked` is what the file is still like.
    fn mapped(
        &self,
        engine: &Engine,
        name: &EntryName,
        file: &mut File,
        expected: &str,
        checked: &str,
    ) -> Option<Component> {
        let stamp = file.metadata().ok().and_then(|metadata| Stamp::of(&metadata));
        if !stamp.as_ref().is_some_and(|stamp| stamp.is(checked)) {
            if !is_sound(file, expected) {
                return None;
            }
            if let Some(stamp) = stamp
                && file.sync_data().is_ok()
            {
                let _ = self.replace(&name.sum, format!("{expected} {stamp}").as_bytes());
            }
        }
        // SAFETY: as in `load`, for the very file that was checked, by its descriptor. Entries are replaced and never
        // written again by toolcell, and nobody but this user can write to them.
        unsafe { Component::deserialize_file(engine, format!("/proc/self/fd/{}", file.as_raw_fd())) }.ok()
    }

    fn open_own(&self, name: &str) -> Option<cap_std::fs::File> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc_nofollow());
        let file = self.dir.open_with(name, &options).ok()?;
        let metadata = file.metadata().ok()?;
        (metadata.is_file() && is_owner_only(metadata.uid(), metadata.mode())).then_some(file)
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        let temporary = format!(".{name}.{}", unique());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let written = self.dir.open_with(&temporary, &options).and_then(|mut file| file.write_all(bytes));
        written.and_then(|()| self.dir.rename(&temporary, &self.dir, name)).inspect_err(|_| {
            let _ = self.dir.remove_file(&temporary);
        })
    }
}

impl EntryName {
    fn new(engine: &Engine, digest: &Digest) -> Self {
        let mut settings = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut settings);
        let key = format!("{}-{:016x}", file_name(digest), settings.finish());
        Self { code: format!("{key}.cwasm"), sum: format!("{key}.{CHECKSUM_SUFFIX}") }
    }
}

/// The name of the note on the digest of the file `what`.
fn digest_name(what: &str) -> String {
    format!("{:032x}.digest", xxhash_rust::xxh3::xxh3_128(what.as_bytes()))
}

/// How the names of a component's entries begin.
fn file_name(digest: &Digest) -> String {
    digest.to_string().replace(':', "-")
}

/// Whether the bytes of `file` have this sum.
fn is_sound(file: &mut File, expected: &str) -> bool {
    let mut sum = Xxh3Default::new();
    let mut piece = vec![0; READ_BYTES];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return written(sum.digest()) == expected,
            Ok(read) => sum.update(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

/// Against damage, not against malice: who can write here can write anything of this user's.
fn checksum(bytes: &[u8]) -> String {
    written(xxhash_rust::xxh3::xxh3_64(bytes))
}

fn written(sum: u64) -> String {
    format!("{sum:016x}")
}

fn is_owner_only(owner: u32, mode: u32) -> bool {
    owner == rustix::process::geteuid().as_raw() && mode & 0o022 == 0
}

fn libc_nofollow() -> i32 {
    i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0)
}

/// Distinguishes temporary files of threads and processes.
fn unique() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Gives a folder to its owner alone.
trait OwnerOnly {
    fn mode_owner_only(&mut self) -> &mut Self;
}

impl OwnerOnly for std::fs::DirBuilder {
    fn mode_owner_only(&mut self) -> &mut Self {
        std::os::unix::fs::DirBuilderExt::mode(self, 0o700)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot set up fails")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::sandbox::engine::{Meter, compiling_engine};

    fn compiled() -> (Engine, Digest, Vec<u8>) {
        let engine = compiling_engine(Meter::Fuel, 512 << 10).unwrap();
        let bytes = wat::parse_str("(component)").unwrap();
        let code = engine.precompile_component(&bytes).unwrap();
        (engine, Digest::of(&bytes), code)
    }

    /// Whether an entry is found, in both ways of loading.
    fn found(cache: &CompileCache, engine: &Engine, digest: &Digest) -> [bool; 2] {
        [Allocation::OnDemand, Allocation::Pooling]
            .map(|allocation| cache.load(engine, digest, allocation).is_some())
    }

    #[test]
    fn a_sound_entry_is_found_and_a_damaged_one_is_a_miss() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::open(folder.path().join("c")).unwrap();
        let (engine, digest, code) = compiled();
        assert!(found(&cache, &engine, &digest) == [false; 2]);
        cache.store(&engine, &digest, &code);
        assert!(found(&cache, &engine, &digest) == [true; 2]);
        assert!(cache.has(&digest) && !cache.has(&Digest::of(b"other")));
        let name = cache.path().join(EntryName::new(&engine, &digest).code);
        for damage in [Vec::new(), code[..code.len() / 2].to_vec(), vec![0; code.len()]] {
            std::fs::write(&name, damage).unwrap();
            assert!(found(&cache, &engine, &digest) == [false; 2]);
            cache.store(&engine, &digest, &code);
            assert!(found(&cache, &engine, &digest) == [true; 2]);
        }
        let other = compiling_engine(Meter::Epoch, 512 << 10).unwrap();
        assert!(found(&cache, &other, &digest) == [false; 2]);
    }

    #[test]
    fn what_others_can_write_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let cache = CompileCache::open(&path).unwrap();
        let (engine, digest, code) = compiled();
        cache.store(&engine, &digest, &code);
        let entry = path.join(EntryName::new(&engine, &digest).code);
        std::fs::set_permissions(&entry, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(found(&cache, &engine, &digest) == [false; 2]);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(CompileCache::open(&path).is_err());
    }
}
