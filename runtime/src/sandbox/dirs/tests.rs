//! What a guest can and cannot do, tried on the functions that its imports are linked to.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's failure is its report")]

use std::fs;
use std::future::Future;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::StreamError;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorType, ErrorCode, Host as _, HostDescriptor, HostDirectoryEntryStream,
    NewTimestamp, OpenFlags, PathFlags,
};

use super::walk::{Walked, walk};
use super::{DirTemplate, DirsState, GuardedFilesystem, Replacement, TapedFilesystem};
use crate::error::Error;
use crate::limits::{Limit, Limits};
use crate::policy::{Access, DirGrant};
use crate::sandbox::deadline::Watch;

const SETTING: &str = "component.files.grant.dirs";
const HOUR: Duration = Duration::from_secs(3600);

/// Runs a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a file operation waited"),
    }
}

fn code<T>(result: FsResult<T>) -> Result<T, ErrorCode> {
    result.map_err(|error| error.downcast().unwrap())
}

/// One call, with short names for what a guest can do.
struct Call {
    state: DirsState,
    table: ResourceTable,
    roots: Vec<u32>,
}

impl Call {
    fn new(grants: &[DirGrant]) -> Self {
        Self::limited(grants, &Limits::new())
    }

    fn limited(grants: &[DirGrant], limits: &Limits) -> Self {
        Self::over(&DirTemplate::open(grants, SETTING).unwrap(), limits)
    }

    fn over(template: &Arc<DirTemplate>, limits: &Limits) -> Self {
        Self::watched(template, limits, Watch::new(Instant::now() + HOUR, CancellationToken::new()))
    }

    fn watched(template: &Arc<DirTemplate>, limits: &Limits, watch: Watch) -> Self {
        let state = DirsState::new(Arc::clone(template), &Limits::resolve([limits]), watch);
        let mut call = Self { state, table: ResourceTable::new(), roots: Vec::new() };
        let roots = call.view().get_directories().unwrap();
        call.roots = roots.iter().map(|(fd, _)| fd.rep()).collect();
        call
    }

    fn view(&mut self) -> GuardedFilesystem<'_> {
        GuardedFilesystem { state: &mut self.state, table: &mut self.table }
    }

    fn root(&self, index: usize) -> Resource<Descriptor> {
        Resource::new_borrow(self.roots[index])
    }

    fn open(
        &mut self,
        path: &str,
        how: OpenFlags,
        mode: DescriptorFlags,
    ) -> Result<Resource<Descriptor>, ErrorCode> {
        let root = self.root(0);
        code(now(self.view().open_at(root, PathFlags::SYMLINK_FOLLOW, path.into(), how, mode)))
    }

    fn close(&mut self, fd: Resource<Descriptor>) {
        HostDescriptor::drop(&mut self.view(), fd).unwrap();
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, ErrorCode> {
        let fd = self.open(path, OpenFlags::empty(), DescriptorFlags::READ)?;
        let borrowed = Resource::new_borrow(fd.rep());
        let read = code(now(self.view().read(borrowed, u64::MAX, 0)));
        self.close(fd);
        read.map(|(bytes, _)| bytes)
    }

    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<u64, ErrorCode> {
        let fd = self.open(path, OpenFlags::CREATE, DescriptorFlags::WRITE)?;
        let borrowed = Resource::new_borrow(fd.rep());
        let written = code(now(self.view().write(borrowed, bytes.to_vec(), 0)));
        self.close(fd);
        written
    }

    fn list(&mut self, path: &str) -> Result<Vec<String>, ErrorCode> {
        let fd = self.open(path, OpenFlags::DIRECTORY, DescriptorFlags::READ)?;
        let borrowed = Resource::new_borrow(fd.rep());
        let stream = code(now(self.view().read_directory(borrowed)))?;
        let mut names = Vec::new();
        loop {
            let borrowed = Resource::new_borrow(stream.rep());
            match code(now(self.view().read_directory_entry(borrowed)))? {
                Some(entry) => names.push(entry.name),
                None => break,
            }
        }
        HostDirectoryEntryStream::drop(&mut self.view(), stream).unwrap();
        self.close(fd);
        names.sort();
        Ok(names)
    }

    fn stat(&mut self, path: &str) -> Result<DescriptorType, ErrorCode> {
        let root = self.root(0);
        code(now(self.view().stat_at(root, PathFlags::SYMLINK_FOLLOW, path.into()))).map(|stat| stat.type_)
    }

    fn lstat(&mut self, path: &str) -> Result<DescriptorType, ErrorCode> {
        let root = self.root(0);
        code(now(self.view().stat_at(root, PathFlags::empty(), path.into()))).map(|stat| stat.type_)
    }

    fn rename(&mut self, old: &str, new: &str) -> Result<(), ErrorCode> {
        self.rename_between(0, old, 0, new)
    }

    fn rename_between(&mut self, from: usize, old: &str, to: usize, new: &str) -> Result<(), ErrorCode> {
        let (from, to) = (self.root(from), self.root(to));
        code(now(self.view().rename_at(from, old.into(), to, new.into())))
    }

    fn link_between(&mut self, from: usize, old: &str, to: usize, new: &str) -> Result<(), ErrorCode> {
        let (from, to) = (self.root(from), self.root(to));
        code(now(self.view().link_at(from, PathFlags::empty(), old.into(), to, new.into())))
    }

    fn link(&mut self, old: &str, new: &str) -> Result<(), ErrorCode> {
        self.link_between(0, old, 0, new)
    }

    fn symlink(&mut self, text: &str, path: &str) -> Result<(), ErrorCode> {
        let root = self.root(0);
        code(now(self.view().symlink_at(root, text.into(), path.into())))
    }

    fn readlink(&mut self, path: &str) -> Result<String, ErrorCode> {
        let root = self.root(0);
        code(now(self.view().readlink_at(root, path.into())))
    }

    fn unlink(&mut self, path: &str) -> Result<(), ErrorCode> {
        let root = self.root(0);
        code(now(self.view().unlink_file_at(root, path.into())))
    }

    fn mkdir(&mut self, path: &str) -> Result<(), ErrorCode> {
        let root = self.root(0);
        code(now(self.view().create_directory_at(root, path.into())))
    }

    fn rmdir(&mut self, path: &str) -> Result<(), ErrorCode> {
        let root = self.root(0);
        code(now(self.view().remove_directory_at(root, path.into())))
    }

    fn touch(&mut self, path: &str, seconds: u64) -> Result<(), ErrorCode> {
        let root = self.root(0);
        let time = NewTimestamp::Timestamp(Datetime { seconds, nanoseconds: 0 });
        code(now(self.view().set_times_at(root, PathFlags::SYMLINK_FOLLOW, path.into(), time, time)))
    }

    fn hash(&mut self, path: &str) -> Result<u64, ErrorCode> {
        let root = self.root(0);
        code(now(self.view().metadata_hash_at(root, PathFlags::SYMLINK_FOLLOW, path.into())))
            .map(|hash| hash.lower)
    }

    /// Everything that reads or changes what `path` names, and whether it was let.
    fn everything(&mut self, path: &str) -> Vec<(&'static str, Result<(), ErrorCode>)> {
        vec![
            ("read", self.read(path).map(drop)),
            ("write", self.write(path, b"overwritten").map(drop)),
            ("truncate", self.open(path, OpenFlags::TRUNCATE, DescriptorFlags::READ).map(drop)),
            ("list", self.list(path).map(drop)),
            ("stat", self.stat(path).map(drop)),
            ("hash", self.hash(path).map(drop)),
            ("touch", self.touch(path, 1)),
            ("readlink", self.readlink(path).map(drop)),
            ("rename from", self.rename(path, "moved")),
            ("rename to", self.rename("decoy", path)),
            ("link from", self.link(path, "linked")),
            ("link to", self.link("decoy", path)),
            ("symlink at", self.symlink("decoy", path)),
            ("unlink", self.unlink(path)),
            ("rmdir", self.rmdir(path)),
            ("mkdir", self.mkdir(path)),
            ("replace", self.replace(&format!("/work/{path}"), b"replaced")),
        ]
    }

    fn replace(&mut self, path: &str, bytes: &[u8]) -> Result<(), ErrorCode> {
        let mut replacement =
            Replacement::open(&mut self.state, path, false).map_err(|refusal| refusal.code)?;
        replacement.write(bytes).map_err(|refusal| refusal.code)?;
        replacement.commit().map_err(|refusal| refusal.code)
    }

    fn denials(&self) -> Vec<(String, String)> {
        self.state
            .denials()
            .list()
            .iter()
            .map(|denial| (denial.operation.clone(), denial.target.clone()))
            .collect()
    }
}

/// A folder `ws` to grant, and things beside it that nobody may reach.
fn workspace() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for folder in ["ws", "ws/sub", "ws/secrets", "ws/secrets/deep", "ws-evil", "other"] {
        fs::create_dir(at(folder)).unwrap();
    }
    for file in ["ws/f", "ws/decoy", "ws/sub/g", "ws/secrets/k", "ws/secrets/deep/k", "ws-evil/f", "other/f"]
    {
        fs::write(at(file), file).unwrap();
    }
    dir
}

fn grant(dir: &TempDir, access: Access) -> DirGrant {
    DirGrant::new(dir.path().join("ws"), "/work", access)
}

fn writable(dir: &TempDir) -> Call {
    Call::new(&[grant(dir, Access::ReadWrite)])
}

fn guarded(dir: &TempDir, patterns: &[&str]) -> Call {
    let grant = patterns.iter().fold(grant(dir, Access::ReadWrite), |grant, pattern| grant.deny(*pattern));
    Call::new(&[grant])
}

/// Every path below `dir` with its content, to tell whether anything changed.
fn snapshot(dir: &Path) -> Vec<(String, Vec<u8>, u64, i64)> {
    let mut seen = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                pending.push(path.clone());
            }
            let bytes = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            seen.push((path.display().to_string(), bytes, meta.nlink(), meta.mtime_nsec() ^ meta.mtime()));
        }
    }
    seen.sort();
    seen
}

#[test]
fn what_is_granted_works() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    let mut call = writable(&dir);
    assert_eq!(call.read("f").unwrap(), b"ws/f");
    assert_eq!(call.read("./sub/..//sub/./g").unwrap(), b"ws/sub/g");
    assert_eq!(call.write("new", b"hello").unwrap(), 5);
    assert_eq!(fs::read(ws.join("new")).unwrap(), b"hello");
    assert_eq!(call.list(".").unwrap(), ["decoy", "f", "new", "secrets", "sub"]);
    call.mkdir("made/").unwrap();
    call.rename("new", "made/moved").unwrap();
    call.rename("made/", "renamed/").unwrap();
    call.link("renamed/moved", "hard").unwrap();
    assert_eq!(call.hash("hard").unwrap(), call.hash("renamed/moved").unwrap());
    assert_ne!(call.hash("hard").unwrap(), call.hash("f").unwrap());
    call.symlink("../hard", "renamed/soft").unwrap();
    assert_eq!(call.readlink("renamed/soft").unwrap(), "../hard");
    assert_eq!(call.read("renamed/soft").unwrap(), b"hello");
    assert_eq!(call.lstat("renamed/soft").unwrap(), DescriptorType::SymbolicLink);
    assert_eq!(call.stat("renamed/soft").unwrap(), DescriptorType::RegularFile);
    call.touch("renamed/soft", 1_000).unwrap();
    assert_eq!(fs::metadata(ws.join("hard")).unwrap().mtime(), 1_000);
    call.open("hard", OpenFlags::TRUNCATE, DescriptorFlags::WRITE).unwrap();
    assert_eq!(fs::read(ws.join("hard")).unwrap(), b"");
    for file in ["hard", "renamed/moved", "renamed/soft"] {
        call.unlink(file).unwrap();
    }
    call.rmdir("renamed").unwrap();
    assert_eq!(call.denials(), []);
}

#[test]
fn errors_that_are_not_policys_are_told_apart_and_not_recorded() {
    let dir = workspace();
    symlink("nowhere", dir.path().join("ws/dangling")).unwrap();
    let mut call = writable(&dir);
    let exclusive = OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    for (name, result, expected) in [
        ("missing", call.read("nope").map(drop), ErrorCode::NoEntry),
        ("empty", call.read("").map(drop), ErrorCode::NoEntry),
        ("below a file", call.read("f/x").map(drop), ErrorCode::NotDirectory),
        ("file with slash", call.read("f/").map(drop), ErrorCode::NotDirectory),
        ("directory written", call.write("sub", b"x").map(drop), ErrorCode::IsDirectory),
        ("file listed", call.list("f").map(drop), ErrorCode::NotDirectory),
        ("create exclusively", call.open("f", exclusive, DescriptorFlags::WRITE).map(drop), ErrorCode::Exist),
        ("create by dangling link", call.write("dangling", b"x").map(drop), ErrorCode::NoEntry),
        ("create with slash", call.write("new/", b"x").map(drop), ErrorCode::NotDirectory),
        ("mkdir over file", call.mkdir("f"), ErrorCode::Exist),
        ("rmdir full", call.rmdir("sub"), ErrorCode::NotEmpty),
        ("rmdir dot", call.rmdir("."), ErrorCode::Invalid),
        ("unlink folder", call.unlink("sub"), ErrorCode::IsDirectory),
        ("long name", call.read(&"n".repeat(5_000)).map(drop), ErrorCode::NameTooLong),
        (
            "directory and create",
            call.open("x", exclusive | OpenFlags::DIRECTORY, DescriptorFlags::READ).map(drop),
            ErrorCode::Invalid,
        ),
    ] {
        if name == "create with slash" {
            assert!(result.is_err(), "{name}");
        } else {
            assert_eq!(result, Err(expected), "{name}");
        }
    }
    assert_eq!(call.denials(), []);
    assert!(!dir.path().join("ws/nowhere").exists());
}

#[test]
fn no_operation_leaves_the_grant() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    for (link, target) in [
        ("file", "../other/f"),
        ("absolute", "/etc/passwd"),
        ("folder", "../other"),
        ("slashed", "../other/"),
        ("chain", "file"),
        ("up", ".."),
    ] {
        symlink(target, ws.join(link)).unwrap();
    }
    let before = snapshot(&dir.path().join("other"));
    for path in [
        "../other/f",
        "sub/../../other/f",
        "../ws-evil/f",
        "/etc/passwd",
        "//etc/passwd",
        "..",
        "../",
        "sub/../..",
        "folder/f",
        "slashed/f",
        "folder/.",
        "folder/..",
        "up/other/f",
        "../ws/f",
        "/",
        "folder/new",
    ] {
        let mut call = writable(&dir);
        for (operation, result) in call.everything(path) {
            // What a guest made of an absolute path is `/work//etc/passwd` for a replacement, which is inside.
            if operation == "replace" && path.starts_with('/') {
                continue;
            }
            assert_eq!(result, Err(ErrorCode::NotPermitted), "{operation} {path}");
        }
        assert!(!call.denials().is_empty(), "{path}");
        for denial in call.state.denials().list() {
            assert_eq!((denial.capability.as_str(), denial.setting.as_str()), ("dirs", SETTING));
            assert!(!denial.target.contains(&*dir.path().to_string_lossy()), "{denial:?}");
        }
    }
    for path in ["file", "absolute", "chain", "folder/", "slashed/", "file/", "up/"] {
        let mut call = writable(&dir);
        for (operation, result) in [
            ("read", call.read(path).map(drop)),
            ("write", call.write(path, b"x").map(drop)),
            ("list", call.list(path).map(drop)),
            ("stat", call.stat(path).map(drop)),
            ("touch", call.touch(path, 1)),
            ("replace", call.replace(&format!("/work/{path}"), b"x")),
        ] {
            assert_eq!(result, Err(ErrorCode::NotPermitted), "{operation} {path}");
        }
        if path.ends_with('/') {
            assert!(call.rename(path, "x").is_err(), "{path}");
            assert!(call.unlink(path).is_err(), "{path}");
            assert!(call.rmdir(path).is_err(), "{path}");
        }
    }
    assert_eq!(snapshot(&dir.path().join("other")), before);
}

#[test]
fn a_link_never_says_where_it_leads_outside() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    symlink(dir.path().join("other"), ws.join("absolute")).unwrap();
    symlink("../other", ws.join("relative")).unwrap();
    let mut call = writable(&dir);
    for path in ["absolute", "relative"] {
        assert_eq!(call.readlink(path), Err(ErrorCode::NotPermitted), "{path}");
        assert_eq!(call.lstat(path), Ok(DescriptorType::SymbolicLink));
    }
    for text in ["/etc/passwd", "../other", "sub/../../x", "../../../../etc/cron.d/x", "/"] {
        assert_eq!(call.symlink(text, "planted"), Err(ErrorCode::NotPermitted), "{text}");
    }
    call.symlink("../f", "sub/inside").unwrap();
    assert!(call.symlink("../../f", "sub/outside").is_err());
}

#[test]
fn hostile_strings_are_errors() {
    let dir = workspace();
    let before = snapshot(dir.path());
    let long = format!("{}f", "./".repeat(35_000));
    for path in [
        "",
        "\0",
        "f\0",
        "a\nb",
        "C:f",
        "\\\\?\\x",
        "CON",
        "COM¹",
        "file:///etc/passwd",
        "~/.ssh/id",
        "\u{202e}f",
        "...",
        "f/../../../../../../etc/shadow",
        &long,
    ] {
        let mut call = Call::new(&[grant(&dir, Access::Read).deny("secrets/**")]);
        assert!(call.read(path).is_err(), "{path:?}");
        assert!(call.stat(path).is_err(), "{path:?}");
        assert!(call.list(path).is_err(), "{path:?}");
        assert!(call.write(path, b"x").is_err(), "{path:?}");
        for (_, target) in call.denials() {
            assert!(target.len() < 300 && !target.chars().any(char::is_control), "{target:?}");
        }
    }
    assert_eq!(snapshot(dir.path()), before);
}

#[test]
fn a_read_only_grant_changes_nothing() {
    let dir = workspace();
    fs::create_dir(dir.path().join("rw")).unwrap();
    let read = grant(&dir, Access::Read);
    let write = DirGrant::new(dir.path().join("rw"), "/rw", Access::ReadWrite);
    let overlapping = DirGrant::new(dir.path(), "/all", Access::ReadWrite);
    let before = snapshot(&dir.path().join("ws"));
    let mut call = Call::new(&[read, write, overlapping]);
    for (operation, result) in [
        ("write", call.write("f", b"x").map(drop)),
        ("create", call.write("new", b"x").map(drop)),
        ("truncate", call.open("f", OpenFlags::TRUNCATE, DescriptorFlags::READ).map(drop)),
        ("touch", call.touch("f", 1)),
        ("unlink", call.unlink("f")),
        ("mkdir", call.mkdir("new")),
        ("rmdir", call.rmdir("sub")),
        ("symlink", call.symlink("f", "new")),
        ("rename", call.rename("f", "new")),
        ("rename out", call.rename_between(0, "f", 1, "f")),
        ("rename out by overlap", call.rename_between(0, "f", 2, "ws/f2")),
        ("rename in", call.rename_between(2, "other/f", 0, "f")),
        ("link", call.link("f", "new")),
        ("link out", call.link_between(0, "f", 1, "f")),
        ("link out by overlap", call.link_between(0, "f", 2, "rw/f")),
        ("link in", call.link_between(2, "other/f", 0, "new")),
        ("replace", call.replace("/work/f", b"x")),
        (
            "create parents",
            Replacement::open(&mut call.state, "/work/a/b", true).map(drop).map_err(|refusal| refusal.code),
        ),
    ] {
        assert_eq!(result, Err(ErrorCode::ReadOnly), "{operation}");
    }
    let fd = call.open("f", OpenFlags::empty(), DescriptorFlags::READ).unwrap();
    let same = || Resource::new_borrow(fd.rep());
    assert_eq!(code(now(call.view().write(same(), vec![1], 0))), Err(ErrorCode::ReadOnly));
    assert_eq!(code(now(call.view().set_size(same(), 0))), Err(ErrorCode::ReadOnly));
    assert_eq!(
        code(now(call.view().set_times(same(), NewTimestamp::Now, NewTimestamp::Now))),
        Err(ErrorCode::ReadOnly)
    );
    assert!(code(call.view().write_via_stream(same(), 0)).is_err());
    assert!(code(call.view().append_via_stream(same())).is_err());
    assert_eq!(snapshot(&dir.path().join("ws")), before);
    assert_eq!(call.state.bytes_written(), 0);
    let operations: Vec<String> = call.denials().into_iter().map(|(operation, _)| operation).collect();
    for operation in ["write", "set-times", "remove", "create", "symlink", "rename", "link", "replace"] {
        assert!(operations.iter().any(|seen| seen == operation), "{operation}");
    }
}

#[test]
fn what_is_withheld_cannot_be_touched_by_any_spelling() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    symlink("secrets/k", ws.join("to-file")).unwrap();
    symlink("secrets", ws.join("to-folder")).unwrap();
    symlink("to-folder", ws.join("sub/nothing")).unwrap();
    symlink("../f", ws.join("secrets/to-open")).unwrap();
    symlink("../sub", ws.join("secrets/to-sub")).unwrap();
    let before = snapshot(&ws.join("secrets"));
    for path in [
        "secrets/k",
        "./secrets/k",
        "secrets//k",
        "sub/../secrets/k",
        "secrets/./k",
        "secrets/deep/../k",
        "secrets/deep/k",
        "secrets/deep",
        "secrets/deep/",
        "to-folder/k",
        "to-folder/deep/k",
        "to-folder/../secrets/k",
        "secrets/missing",
        "secrets/to-open",
        "secrets/to-sub/g",
        "secrets/deep/.",
        "to-folder/deep/",
    ] {
        let mut call = guarded(&dir, &["secrets/**"]);
        for (operation, result) in call.everything(path) {
            assert!(
                matches!(result, Err(ErrorCode::NotPermitted))
                    || (path.ends_with('.') && result == Err(ErrorCode::Invalid)),
                "{operation} {path}: {result:?}"
            );
        }
        assert!(!call.denials().is_empty(), "{path}");
    }
    let mut call = guarded(&dir, &["secrets/**"]);
    assert_eq!(call.read("to-file"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.write("to-file", b"x"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.touch("to-file", 1), Err(ErrorCode::NotPermitted));
    assert_eq!(call.replace("/work/to-file", b"x"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.symlink("secrets/k", "planted"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.list("secrets").unwrap(), Vec::<String>::new());
    assert_eq!(call.list("to-folder").unwrap(), Vec::<String>::new());
    assert_eq!(call.stat("secrets"), Ok(DescriptorType::Directory));
    assert_eq!(call.read("f").unwrap(), b"ws/f");
    assert_eq!(snapshot(&ws.join("secrets")), before);
}

#[test]
fn what_is_withheld_is_withheld_from_inside_too() {
    let dir = workspace();
    let mut call = guarded(&dir, &["secrets/**"]);
    let fd = call.open("secrets", OpenFlags::DIRECTORY, DescriptorFlags::READ).unwrap();
    let same = || Resource::new_borrow(fd.rep());
    for path in ["k", "./k", "deep/k", "deep/../k"] {
        let read = call.view();
        let mut read = read;
        let result = now(read.open_at(
            same(),
            PathFlags::empty(),
            path.into(),
            OpenFlags::empty(),
            DescriptorFlags::READ,
        ));
        assert_eq!(code(result).map(drop), Err(ErrorCode::NotPermitted), "{path}");
    }
    assert_eq!(
        code(now(call.view().set_times(same(), NewTimestamp::Now, NewTimestamp::Now))),
        Err(ErrorCode::NotPermitted)
    );
    assert_eq!(call.denials().first().unwrap(), &("open".to_owned(), "/work/secrets/k".to_owned()));
}

#[test]
fn folders_above_what_is_withheld_stay_where_they_are() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    fs::create_dir_all(ws.join("a/b/private")).unwrap();
    fs::write(ws.join("a/b/private/k"), "k").unwrap();
    fs::write(ws.join("a/b/key.pem"), "k").unwrap();
    fs::create_dir(ws.join("plain")).unwrap();
    fs::write(ws.join("plain/x"), "x").unwrap();
    let before = snapshot(&ws);
    let mut call = guarded(&dir, &["a/b/private/**", "**/*.pem", "secrets/**"]);
    for folder in ["a", "a/", "a/b", "a/b/private", "secrets", "./secrets", "sub/../secrets"] {
        assert_eq!(call.rename(folder, "elsewhere"), Err(ErrorCode::NotPermitted), "{folder}");
        assert_eq!(call.rmdir(folder), Err(ErrorCode::NotPermitted), "{folder}");
        assert!(call.rename("plain", folder).is_err(), "{folder}");
        assert!(call.symlink("plain", folder).is_err(), "{folder}");
    }
    assert_eq!(snapshot(&ws), before);
    call.rename("plain", "sub/plain").unwrap();
    assert_eq!(call.read("sub/plain/x").unwrap(), b"x");
}

#[test]
fn a_folder_above_is_found_by_looking_where_patterns_do_not_name_it() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    fs::create_dir_all(ws.join("project/keys")).unwrap();
    fs::write(ws.join("project/keys/id.pem"), "k").unwrap();
    let mut call = guarded(&dir, &["**/*.pem"]);
    assert_eq!(call.rename("project", "elsewhere"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.rename("project/keys", "elsewhere"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.list("project/keys").unwrap(), Vec::<String>::new());
    call.rename("sub", "elsewhere").unwrap();
}

#[test]
fn nothing_is_planted_where_things_are_withheld() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    let mut call = guarded(&dir, &[".git/**", "a/b/**"]);
    call.mkdir("made").unwrap();
    call.mkdir("made/hooks").unwrap();
    call.write("made/hooks/pre-commit", b"#!/bin/sh").unwrap();
    assert_eq!(call.rename("made", ".git"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.symlink("made", ".git"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.symlink("made", "a"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.write(".git", b"gitdir: made"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.link("f", ".git"), Err(ErrorCode::NotPermitted));
    call.mkdir("x").unwrap();
    call.mkdir("x/b").unwrap();
    call.write("x/b/file", b"planted").unwrap();
    assert_eq!(call.rename("x", "a"), Err(ErrorCode::NotPermitted));
    call.mkdir("a").unwrap();
    assert_eq!(call.rename("x/b", "a/b"), Err(ErrorCode::NotPermitted));
    call.write("a/fine", b"x").unwrap();
    assert!(!ws.join(".git").exists() && !ws.join("a/b").exists());
}

#[test]
fn another_name_of_a_withheld_file_is_withheld_too() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    fs::hard_link(ws.join("secrets/deep/k"), ws.join("alias")).unwrap();
    fs::hard_link(ws.join("f"), ws.join("f-too")).unwrap();
    let mut call = guarded(&dir, &["secrets/**"]);
    for (operation, result) in [
        ("read", call.read("alias").map(drop)),
        ("write", call.write("alias", b"x").map(drop)),
        ("link", call.link("alias", "third")),
        ("rename", call.rename("alias", "third")),
        ("replace by rename", call.rename("f", "alias")),
        ("unlink", call.unlink("alias")),
        ("touch", call.touch("alias", 1)),
        ("replace", call.replace("/work/alias", b"x")),
    ] {
        assert_eq!(result, Err(ErrorCode::NotPermitted), "{operation}");
    }
    assert_eq!(call.read("f-too").unwrap(), b"ws/f");
    assert_eq!(fs::read(ws.join("secrets/deep/k")).unwrap(), b"ws/secrets/deep/k");
}

#[test]
fn deny_holds_across_overlapping_grants() {
    let dir = workspace();
    symlink("ws", dir.path().join("ws-link")).unwrap();
    let outer = DirGrant::new(dir.path(), "/all", Access::ReadWrite);
    let inner = grant(&dir, Access::Read).deny("secrets/**");
    let same = DirGrant::new(dir.path().join("ws-link"), "/same", Access::ReadWrite);
    let below = DirGrant::new(dir.path().join("ws/secrets"), "/below", Access::ReadWrite);
    let mut call = Call::new(&[outer, inner, same, below]);
    for (root, path) in
        [(0, "ws/secrets/k"), (0, "ws-link/secrets/k"), (1, "secrets/k"), (2, "secrets/k"), (3, "k")]
    {
        let fd = call.root(root);
        let opened = now(call.view().open_at(
            fd,
            PathFlags::empty(),
            path.into(),
            OpenFlags::empty(),
            DescriptorFlags::READ,
        ));
        assert_eq!(code(opened).map(drop), Err(ErrorCode::NotPermitted), "{root} {path}");
        assert!(call.rename_between(root, path, 0, "taken").is_err());
        assert!(call.link_between(root, path, 0, "taken").is_err());
    }
    assert_eq!(call.rename_between(0, "ws", 0, "moved"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.rename_between(0, "ws/secrets", 0, "moved"), Err(ErrorCode::NotPermitted));
    assert!(call.read("other/f").is_ok());
}

#[test]
fn deny_follows_a_link_that_the_operator_made() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    symlink("sub", ws.join("private")).unwrap();
    let mut call = guarded(&dir, &["private/**"]);
    assert_eq!(call.read("private/g"), Err(ErrorCode::NotPermitted));
    assert_eq!(call.read("sub/g"), Err(ErrorCode::NotPermitted));
}

#[test]
fn special_files_are_refused_at_once() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, ws.join("fifo"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(ws.join("socket")).unwrap();
    symlink("fifo", ws.join("to-fifo")).unwrap();
    let mut call = writable(&dir);
    let began = Instant::now();
    for path in ["fifo", "socket", "to-fifo"] {
        assert_eq!(call.read(path), Err(ErrorCode::NotPermitted), "{path}");
        assert_eq!(call.write(path, b"x"), Err(ErrorCode::NotPermitted), "{path}");
        assert_eq!(call.replace(&format!("/work/{path}"), b"x"), Err(ErrorCode::NotPermitted), "{path}");
    }
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(call.lstat("fifo"), Ok(DescriptorType::Fifo));
    assert!(call.denials().contains(&("open".to_owned(), "/work/fifo".to_owned())));
}

#[test]
fn open_files_are_limited_and_come_back() {
    let dir = workspace();
    let limits = Limits::new().with(Limit::OpenFiles, 3);
    let mut call = Call::limited(&[grant(&dir, Access::Read)], &limits);
    for _ in 0..10 {
        call.read("f").unwrap();
        call.list("sub").unwrap();
    }
    assert_eq!((call.state.open_files(), call.state.limit_hit()), (0, None));
    let mut open: Vec<_> =
        (0..3).map(|_| call.open("f", OpenFlags::empty(), DescriptorFlags::READ).unwrap()).collect();
    assert_eq!(call.read("f"), Err(ErrorCode::Quota));
    assert_eq!(call.state.limit_hit(), Some((Limit::OpenFiles, 4)));
    let fd = open.pop().unwrap();
    let stream = code(call.view().read_via_stream(Resource::new_borrow(fd.rep()), 0)).unwrap();
    call.close(fd);
    assert_eq!(call.read("f"), Err(ErrorCode::Quota), "a stream keeps its file open");
    call.table.delete(stream).unwrap();
    assert!(call.read("f").is_ok());
}

#[test]
fn written_bytes_are_limited_over_the_call() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    let limits = Limits::new().with(Limit::WriteBytes, 100);
    let mut call = Call::limited(&[grant(&dir, Access::ReadWrite)], &limits);
    call.write("a", &[1; 40]).unwrap();
    call.write("a", &[2; 40]).unwrap();
    assert_eq!(call.state.limit_hit(), None);
    assert_eq!(call.write("b", &[3; 40]), Err(ErrorCode::Quota));
    assert_eq!(call.state.limit_hit(), Some((Limit::WriteBytes, 120)));
    assert_eq!(fs::metadata(ws.join("b")).unwrap().len(), 0);

    let fd = call.open("c", OpenFlags::CREATE, DescriptorFlags::WRITE).unwrap();
    let same = || Resource::new_borrow(fd.rep());
    assert_eq!(code(now(call.view().set_size(same(), 21))), Err(ErrorCode::Quota));
    assert_eq!(code(now(call.view().set_size(same(), u64::MAX))), Err(ErrorCode::Quota));
    code(now(call.view().set_size(same(), 5))).unwrap();
    assert_eq!(
        code(now(call.view().write(same(), vec![1], 1 << 40))),
        Err(ErrorCode::Quota),
        "a hole counts"
    );
    let stream = code(call.view().append_via_stream(same())).unwrap();
    let writer = call.table.get_mut(&stream).unwrap();
    assert!(writer.check_write().unwrap() > 0);
    writer.write(vec![4; 15].into()).unwrap();
    assert!(matches!(writer.write(vec![4; 1].into()), Err(StreamError::LastOperationFailed(_))));
    assert!(matches!(writer.check_write(), Err(StreamError::Closed)));
    assert_eq!(call.state.bytes_written(), 100);
    assert_eq!(fs::metadata(ws.join("c")).unwrap().len(), 20);
}

#[test]
fn a_stream_error_has_its_code() {
    let dir = workspace();
    let limits = Limits::new().with(Limit::WriteBytes, 1);
    let mut call = Call::limited(&[grant(&dir, Access::ReadWrite)], &limits);
    let fd = call.open("c", OpenFlags::CREATE, DescriptorFlags::WRITE).unwrap();
    let stream = code(call.view().write_via_stream(fd, 0)).unwrap();
    let Err(StreamError::LastOperationFailed(error)) =
        call.table.get_mut(&stream).unwrap().write(vec![0; 2].into())
    else {
        panic!("written over the limit")
    };
    let error = call.table.push(error).unwrap();
    assert_eq!(call.view().filesystem_error_code(error).unwrap(), Some(ErrorCode::Quota));
}

#[test]
fn streams_read_and_write_without_waiting() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    let content: Vec<u8> = (0..1_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    fs::write(ws.join("big"), &content).unwrap();
    let mut call = writable(&dir);
    let fd = call.open("big", OpenFlags::empty(), DescriptorFlags::READ).unwrap();
    let stream = code(call.view().read_via_stream(fd, 10)).unwrap();
    let reader = call.table.get_mut(&stream).unwrap();
    assert_eq!(reader.read(0).unwrap().len(), 0);
    let mut read = Vec::new();
    loop {
        now(reader.ready());
        match reader.read(usize::MAX) {
            Ok(bytes) => read.extend_from_slice(&bytes),
            Err(StreamError::Closed) => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(read == content[10..]);
    let fd = call.open("copy", OpenFlags::CREATE, DescriptorFlags::WRITE).unwrap();
    let stream = code(call.view().write_via_stream(fd, 0)).unwrap();
    let writer = call.table.get_mut(&stream).unwrap();
    now(writer.blocking_write_and_flush(read.into())).unwrap();
    writer.write_zeroes(2).unwrap();
    let copy = fs::read(ws.join("copy")).unwrap();
    assert!(copy[..copy.len() - 2] == content[10..] && copy.ends_with(&[0, 0]));
}

#[test]
fn extreme_numbers_are_errors() {
    let dir = workspace();
    let mut call = writable(&dir);
    let fd = call.open("f", OpenFlags::empty(), DescriptorFlags::READ | DescriptorFlags::WRITE).unwrap();
    let same = || Resource::new_borrow(fd.rep());
    let far = |seconds, nanoseconds| NewTimestamp::Timestamp(Datetime { seconds, nanoseconds });
    for (seconds, nanoseconds) in
        [(u64::MAX, u32::MAX), (u64::MAX, 0), (1 << 63, 0), (u64::MAX - 3, u32::MAX)]
    {
        let time = far(seconds, nanoseconds);
        assert!(code(now(call.view().set_times(same(), time, time))).is_err());
        assert!(call.touch("f", seconds).is_err());
    }
    assert_eq!(code(now(call.view().read(same(), u64::MAX, 0))).unwrap().0, b"ws/f");
    assert!(code(now(call.view().read(same(), 1, u64::MAX))).is_err());
    assert!(code(now(call.view().write(same(), vec![1], u64::MAX))).is_err());
    assert!(code(now(call.view().set_size(same(), u64::MAX))).is_err());
    let _ = code(now(call.view().advise(same(), u64::MAX, u64::MAX, Advice::WillNeed)));
    let stream = code(call.view().read_via_stream(same(), u64::MAX)).unwrap();
    assert!(call.table.get_mut(&stream).unwrap().read(1).is_err());
    assert_eq!(call.read("f").unwrap(), b"ws/f");
}

#[test]
fn a_replacement_is_all_or_nothing() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    fs::set_permissions(ws.join("f"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../f", ws.join("sub/to-f")).unwrap();
    fs::hard_link(ws.join("decoy"), ws.join("decoy-too")).unwrap();
    let names = || fs::read_dir(&ws).unwrap().count() + fs::read_dir(ws.join("sub")).unwrap().count();
    let before = names();
    let mut call = writable(&dir);

    let mut dropped = Replacement::open(&mut call.state, "/work/f", false).unwrap();
    dropped.write(b"half").unwrap();
    assert_eq!(fs::read(ws.join("f")).unwrap(), b"ws/f");
    drop(dropped);
    assert_eq!((fs::read(ws.join("f")).unwrap().as_slice(), names()), (b"ws/f".as_slice(), before));

    call.replace("/work/sub/to-f", b"through the link").unwrap();
    assert_eq!(fs::read(ws.join("f")).unwrap(), b"through the link");
    assert!(fs::symlink_metadata(ws.join("sub/to-f")).unwrap().is_symlink());
    assert_eq!(fs::metadata(ws.join("f")).unwrap().permissions().mode() & 0o777, 0o755);
    call.replace("/work/decoy", b"new").unwrap();
    assert_eq!(fs::read(ws.join("decoy-too")).unwrap(), b"ws/decoy");
    assert_eq!(names(), before);

    call.replace("/work/./sub//new", b"created").unwrap();
    assert_eq!(fs::read(ws.join("sub/new")).unwrap(), b"created");
    assert_eq!(call.replace("/work/no/such", b"x"), Err(ErrorCode::NoEntry));
    let mut deep = Replacement::open(&mut call.state, "/work/no/such/file", true).unwrap();
    deep.write(b"deep").unwrap();
    deep.commit().unwrap();
    assert!(deep.commit().is_err() && deep.write(b"x").is_err());
    drop(deep);
    assert_eq!(fs::read(ws.join("no/such/file")).unwrap(), b"deep");
    for (path, kind) in [
        ("/work/sub", "not-a-file"),
        ("/work/new/", "not-a-file"),
        ("/work/f/x", "not-a-folder"),
        ("/elsewhere/f", "not-permitted"),
        ("/workspace/f", "not-permitted"),
        ("f", "not-permitted"),
        ("/work/../other/f", "not-permitted"),
    ] {
        let refusal = Replacement::open(&mut call.state, path, false).map(drop).unwrap_err();
        assert_eq!(refusal.kind(), kind, "{path}");
        assert!(!refusal.reason.is_empty() && !refusal.reason.contains("os error"), "{refusal}");
    }
    assert_eq!(call.state.open_files(), 0);
}

#[test]
fn a_replacement_over_the_limit_leaves_the_target() {
    let dir = workspace();
    let limits = Limits::new().with(Limit::WriteBytes, 10).with(Limit::OpenFiles, 1);
    let mut call = Call::limited(&[grant(&dir, Access::ReadWrite)], &limits);
    let mut replacement = Replacement::open(&mut call.state, "/work/f", false).unwrap();
    assert_eq!(
        Replacement::open(&mut call.state, "/work/f", false).map(drop).unwrap_err().code,
        ErrorCode::Quota
    );
    replacement.write(b"0123456789").unwrap();
    assert_eq!(replacement.write(b"x").unwrap_err().kind(), "limit");
    assert!(replacement.commit().is_err());
    drop(replacement);
    assert_eq!(fs::read(dir.path().join("ws/f")).unwrap(), b"ws/f");
}

#[test]
fn grants_that_cannot_work_are_refused_at_load() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    let at = |host: &Path, guest: &str| DirGrant::new(host, guest, Access::Read);
    for (grants, words) in [
        (vec![at(&ws.join("missing"), "/work")], "does not exist"),
        (vec![at(&ws.join("f"), "/work")], "not a directory"),
        (vec![at(Path::new("~/x"), "/work")], "not expanded"),
        (vec![at(&ws, "work")], "not absolute"),
        (vec![at(&ws, "/a/../b")], "not absolute"),
        (vec![at(&ws, "")], "not absolute"),
        (vec![at(&ws, "/work"), at(&ws, "/work/")], "two directories"),
        (vec![at(&ws, "/work").deny("a[")], "a["),
        (vec![at(&ws, "/work").deny("/secrets")], "relative"),
    ] {
        match DirTemplate::open(&grants, SETTING).map(drop) {
            Err(Error::Grant { setting, message }) => {
                assert_eq!(setting, SETTING);
                assert!(message.contains(words), "{message}");
            }
            other => panic!("{words}: {other:?}"),
        }
    }
    assert!(DirTemplate::open(&[at(&ws.join("sub/"), "/work/")], SETTING).is_ok());
}

#[test]
fn denials_are_bounded_and_told_once() {
    let dir = workspace();
    let mut call = Call::new(&[grant(&dir, Access::Read)]);
    for _ in 0..3 {
        let _ = call.read("../x");
    }
    assert_eq!(call.denials(), [("open".to_owned(), "/work/../x".to_owned())]);
    for n in 0..500 {
        let _ = call.read(&format!("../{n}{}", "x".repeat(300)));
    }
    assert_eq!(call.denials().len(), 64 + 1);
    let last = ("more".to_owned(), "[... 437 more refusals are not listed ...]".to_owned());
    assert_eq!(call.denials().last(), Some(&last));
}

#[test]
fn a_big_directory_and_odd_names_are_listed() {
    let dir = workspace();
    let sub = dir.path().join("ws/sub");
    for n in 0..2_000 {
        fs::write(sub.join(format!("n{n}")), "").unwrap();
    }
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"bad\xffname");
    fs::write(sub.join(odd), "").unwrap();
    let names = guarded(&dir, &["**/n1*"]).list("sub").unwrap();
    assert_eq!(names.len(), 2_000 + 1 - 1_111);
    assert!(!names.iter().any(|name| name.starts_with("bad")));
}

#[test]
fn neighbours_that_rename_cannot_uncover_anything() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    let template = DirTemplate::open(&[grant(&dir, Access::ReadWrite).deny("secrets/**")], SETTING).unwrap();
    let end = Instant::now() + Duration::from_millis(300);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut call = Call::over(&template, &Limits::new());
            while Instant::now() < end {
                let _ = call.rename("sub", "moving");
                let _ = call.symlink("secrets", "sub");
                let _ = call.unlink("sub");
                let _ = call.rename("moving", "sub");
            }
        });
        let mut call = Call::over(&template, &Limits::new().with(Limit::WriteBytes, 1 << 20));
        while Instant::now() < end {
            assert!(call.read("sub/k").is_err());
            assert!(call.link("sub/k", "taken").is_err());
            assert!(call.rename("sub/k", "taken").is_err());
            assert!(call.rename("sub/deep", "taken").is_err());
            let _ = call.write("sub/planted", b"x");
        }
    });
    assert!(!ws.join("secrets/planted").exists() && !ws.join("taken").exists());
    assert_eq!(fs::read(ws.join("secrets/k")).unwrap(), b"ws/secrets/k");
}

#[test]
fn a_walk_over_many_files_ends_with_its_call_and_leaves_the_next_one_its_answer() {
    let dir = workspace();
    let ws = dir.path().join("ws");
    fs::create_dir(ws.join("many")).unwrap();
    for number in 0..1_000 {
        fs::write(ws.join(format!("many/{number}")), "").unwrap();
    }
    fs::hard_link(ws.join("secrets/k"), ws.join("alias")).unwrap();
    fs::hard_link(ws.join("many/1"), ws.join("plain")).unwrap();

    let token = CancellationToken::new();
    let watch = Watch::new(Instant::now() + HOUR, token.clone());
    let top = fs::File::open(&ws).unwrap();
    let mut visited = 0;
    let walked = walk(&top, Path::new(""), &watch, &mut |_, _| {
        visited += 1;
        if visited == 100 {
            token.cancel();
        }
        ControlFlow::Continue(())
    });
    assert_eq!(walked, Walked::Interrupted);
    assert!((100..200).contains(&visited), "{visited}");

    let deny = grant(&dir, Access::ReadWrite).deny("**/k").deny("secrets/**");
    let template = DirTemplate::open(&[deny], SETTING).unwrap();
    let mut over = Call::watched(&template, &Limits::new(), Watch::new(Instant::now(), Default::default()));
    for path in ["plain", "alias"] {
        assert_eq!(over.read(path).unwrap_err(), ErrorCode::Interrupted, "{path}");
    }
    assert_eq!(over.rename("many", "moved").unwrap_err(), ErrorCode::Interrupted);
    assert_eq!(over.denials(), [], "nothing was refused");
    let mut next = Call::over(&template, &Limits::new());
    assert!(next.read("plain").is_ok());
    assert_eq!(next.read("alias").unwrap_err(), ErrorCode::NotPermitted);
}

#[test]
fn a_linker_takes_the_functions() {
    struct Store {
        state: DirsState,
        table: ResourceTable,
    }
    let engine = wasmtime::Engine::default();
    let mut linker = wasmtime::component::Linker::<Store>::new(&engine);
    super::add_to_linker(&mut linker, |store| TapedFilesystem {
        live: GuardedFilesystem { state: &mut store.state, table: &mut store.table },
        tape: None,
    })
    .unwrap();
}
