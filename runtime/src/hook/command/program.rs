//! One run of a program, with everything that it starts, from its start to its end.
//!
//! The program leads a process group of its own. However its run ends, the group is killed before the leader is reaped,
//! so that the group's number is still its own. A descendant that leaves the group (`setsid`) is killed with it at a
//! timeout as long as the processes between it and the program are there; one whose parents have ended is out of reach
//! without privileges.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use rustix::io::{Errno, FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::runtime::Handle;

use crate::config::{HOOK_PATH, find_program};

/// What a program may print: a replacement for arguments or a result, as much as a model could read many times over.
const MAX_STDOUT: usize = 1 << 20;

/// What it may print to standard error: a reason for people.
const MAX_STDERR: usize = 64 << 10;

/// What is read at once: a pipe holds no more.
const PIECE: usize = 64 << 10;

/// More descendants than this are a bomb, which stays in its group.
const MAX_DESCENDANTS: usize = 1000;

/// A program to be run: what is started, where, and with which environment.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub command: Vec<OsString>,
    pub folder: PathBuf,
    pub env: BTreeMap<String, String>,
}

/// How a program ended, and what it printed.
#[derive(Debug)]
pub(super) struct Finished {
    pub ending: Ending,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Code(i32),
    Signal(i32),
}

/// Why there is nothing to read from a program.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failed {
    #[error("there is no program `{0}` that can be run")]
    Missing(String),
    #[error("cannot start the program: {0}")]
    Start(io::Error),
    #[error("cannot follow the program: {0}")]
    Follow(io::Error),
    #[error("it printed more than {0}")]
    TooMuch(&'static str),
    #[error("the runtime is shutting down")]
    Closed,
}

impl Program {
    /// Runs it with `input` on its standard input. Dropping the future ends the program. Everything that has to wait is
    /// driven by `handle`.
    pub async fn run(self: &Arc<Self>, input: Vec<u8>, handle: &Handle) -> Result<Finished, Failed> {
        let program = Arc::clone(self);
        // Starting takes until the kernel has loaded the program: no thread that drives others waits for that.
        let started = handle.spawn_blocking(move || program.start().map(Group::of));
        let mut group = started.await.map_err(|_| Failed::Closed)??;
        let mut pipes = {
            let _entered = handle.enter();
            Pipes::of(&mut group).map_err(Failed::Follow)?
        };
        tokio::select! {
            biased;
            what = pipes.stdout.overflow() => return Err(Failed::TooMuch(what)),
            what = pipes.stderr.overflow() => return Err(Failed::TooMuch(what)),
            exited = pipes.leader.readable() => drop(exited.map_err(Failed::Follow)?),
            () = feed(pipes.stdin, &input) => {}
        }
        let status = group.finish().map_err(Failed::Follow)?;
        let ending = ending(status);
        Ok(Finished { ending, stdout: pipes.stdout.rest()?, stderr: pipes.stderr.rest()? })
    }
}

impl Program {
    fn start(&self) -> Result<Child, Failed> {
        let (name, arguments) = self.command.split_first().ok_or_else(|| Failed::Missing(String::new()))?;
        let folder = std::path::absolute(&self.folder).map_err(Failed::Start)?;
        let path = self.env.get("PATH").map_or(HOOK_PATH, String::as_str);
        let program = find_program(Path::new(name), &folder, path)
            .ok_or_else(|| Failed::Missing(name.to_string_lossy().into_owned()))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", path)
            .envs(&self.env)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        withhold_descriptors(&mut command).map_err(Failed::Start)?;
        command.spawn().map_err(Failed::Start)
    }
}

/// Keeps what this process was given itself, or opened for other children, out of the program. What Rust opens is closed
/// by the kernel when a program starts.
fn withhold_descriptors(command: &mut Command) -> io::Result<()> {
    let open = std::fs::read_dir("/proc/self/fd")?;
    let open = open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    let inherited: Vec<RawFd> = open.filter(|number| *number > 2 && is_inherited(*number)).collect();
    if inherited.is_empty() {
        return Ok(());
    }
    let close_at_start = move || {
        for number in &inherited {
            // SAFETY: the descriptor is borrowed for one call, which says if there is none of that number any more.
            let descriptor = unsafe { BorrowedFd::borrow_raw(*number) };
            let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
        }
        Ok(())
    };
    // SAFETY: between fork and exec this makes system calls alone, and allocates nothing.
    unsafe { command.pre_exec(close_at_start) };
    Ok(())
}

fn is_inherited(number: RawFd) -> bool {
    // SAFETY: as above.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_getfd(descriptor).is_ok_and(|flags| !flags.contains(FdFlags::CLOEXEC))
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Code(code),
        (None, signal) => Ending::Signal(signal.unwrap_or_default()),
    }
}

/// A program with its process group; dropping it ends both.
struct Group(Option<Child>);

impl Group {
    fn of(child: Child) -> Self {
        Self(Some(child))
    }

    /// Kills what the leader, which has ended, left behind, and reaps it.
    fn finish(mut self) -> io::Result<ExitStatus> {
        let mut child = self.0.take().ok_or(io::ErrorKind::NotFound)?;
        kill(&child);
        child.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        kill(&child);
        if matches!(child.try_wait(), Ok(None)) {
            // It dies within moments, unless it hangs in the kernel. Nobody who drops a call waits for that.
            let reap = move || drop(child.wait());
            let _ = std::thread::Builder::new().name("toolcell-reaper".to_owned()).spawn(reap);
        }
    }
}

/// Kills everything in the group of `leader`, which must not have been reaped, and what left the group and can be found.
fn kill(leader: &Child) {
    let Some(leader) = pid(leader) else { return };
    let descendants = descendants(leader);
    let _ = kill_process_group(leader, Signal::KILL);
    for descendant in descendants {
        let _ = kill_process(descendant, Signal::KILL);
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// The processes below `leader`, by what the kernel says of the children of each.
fn descendants(leader: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let mut unseen = vec![leader];
    while let Some(parent) = unseen.pop() {
        for child in children(parent) {
            if found.len() >= MAX_DESCENDANTS {
                return found;
            }
            found.push(child);
            unseen.push(child);
        }
    }
    found
}

fn children(parent: Pid) -> Vec<Pid> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
    let lists = tasks.into_iter().flatten().flatten().map(|task| task.path().join("children"));
    let lists = lists.filter_map(|list| std::fs::read_to_string(list).ok());
    let numbers = lists.flat_map(|list| {
        list.split(' ').filter_map(|number| number.trim().parse().ok()).collect::<Vec<i32>>()
    });
    numbers.filter_map(Pid::from_raw).collect()
}

/// The host's ends of a program's pipes, and what tells that it ended.
struct Pipes {
    leader: AsyncFd<OwnedFd>,
    stdin: pipe::Sender,
    stdout: Intake,
    stderr: Intake,
}

impl Pipes {
    /// Must be called where the reactor is in reach.
    fn of(group: &mut Group) -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let child = group.0.as_mut().ok_or_else(missing)?;
        let leader = pid(child).ok_or_else(missing)?;
        let stdin = OwnedFd::from(child.stdin.take().ok_or_else(missing)?);
        let stdout = OwnedFd::from(child.stdout.take().ok_or_else(missing)?);
        let stderr = OwnedFd::from(child.stderr.take().ok_or_else(missing)?);
        Ok(Self {
            // SAFETY: the descriptor is owned by what is registered, and is closed with it.
            leader: unsafe { AsyncFd::register(pidfd_open(leader, PidfdFlags::empty())?)? },
            stdin: pipe::Sender::from_owned_fd(stdin)?,
            stdout: Intake::new(stdout, MAX_STDOUT, "1 MiB")?,
            stderr: Intake::new(stderr, MAX_STDERR, "64 KiB to standard error")?,
        })
    }
}

/// What a program prints, up to a bound.
struct Intake {
    pipe: pipe::Receiver,
    bytes: Vec<u8>,
    most: usize,
    words: &'static str,
}

impl Intake {
    fn new(pipe: OwnedFd, most: usize, words: &'static str) -> io::Result<Self> {
        Ok(Self { pipe: pipe::Receiver::from_owned_fd(pipe)?, bytes: Vec::new(), most, words })
    }

    /// Reads until there is too much. At the end of the pipe it waits for ever: the program may go on without.
    async fn overflow(&mut self) -> &'static str {
        let mut piece = vec![0; PIECE];
        while self.pipe.readable().await.is_ok() {
            match self.pipe.try_read(&mut piece) {
                Ok(0) => break,
                Ok(read) => {
                    if !self.keep(piece.get(..read).unwrap_or_default()) {
                        return self.words;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        std::future::pending().await
    }

    /// Everything, with what is left in the pipe. What some process would print later is not waited for.
    fn rest(mut self) -> Result<Vec<u8>, Failed> {
        let mut piece = vec![0; PIECE];
        loop {
            // Past the reactor, which may not have heard of the last bytes.
            match rustix::io::read(self.pipe.as_fd(), &mut piece) {
                Ok(0) => return Ok(self.bytes),
                Ok(read) => {
                    if !self.keep(piece.get(..read).unwrap_or_default()) {
                        return Err(Failed::TooMuch(self.words));
                    }
                }
                Err(Errno::INTR) => {}
                Err(_) => return Ok(self.bytes),
            }
        }
    }

    fn keep(&mut self, piece: &[u8]) -> bool {
        self.bytes.extend_from_slice(piece);
        self.bytes.len() <= self.most
    }
}

/// Writes all of `input` and closes the pipe; then it waits for ever. A program need not read it.
async fn feed(pipe: pipe::Sender, mut input: &[u8]) {
    while !input.is_empty() && pipe.writable().await.is_ok() {
        match pipe.try_write(input) {
            Ok(written) => input = input.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    drop(pipe);
    std::future::pending().await
}
