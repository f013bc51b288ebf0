//! One run of a program, with everything that it starts, from its start to its end. However its run ends, its group is
//! killed before the leader is reaped, so that the group's number is still its own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::runtime::Handle;

use crate::process::{Group, Program, Unstarted};

/// What a program may print: a replacement for arguments or a result, as much as a model could read many times over.
const MAX_STDOUT: usize = 1 << 20;

/// What it may print to standard error: a reason for people.
const MAX_STDERR: usize = 64 << 10;

/// What is read at once: a pipe holds no more.
const PIECE: usize = 64 << 10;

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
    #[error(transparent)]
    Unstarted(#[from] Unstarted),
    #[error("cannot follow the program: {0}")]
    Follow(io::Error),
    #[error("it printed more than {0}")]
    TooMuch(&'static str),
    #[error("the runtime is shutting down")]
    Closed,
}

/// Runs `program` with `input` on its standard input. Dropping the future ends it. Everything that has to wait is driven
/// by `handle`.
pub(super) async fn run(program: &Arc<Program>, input: Vec<u8>, handle: &Handle) -> Result<Finished, Failed> {
    let program = Arc::clone(program);
    // Starting takes until the kernel has loaded the program: no thread that drives others waits for that.
    let started = handle.spawn_blocking(move || program.start_adopting());
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

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Code(code),
        (None, signal) => Ending::Signal(signal.unwrap_or_default()),
    }
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
        let leader = group.leader().ok_or_else(missing)?;
        let (stdin, stdout, stderr) = group.streams().ok_or_else(missing)?;
        let [stdin, stdout, stderr] = [OwnedFd::from(stdin), OwnedFd::from(stdout), OwnedFd::from(stderr)];
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
