//! Programs of the operator's that run outside of cells: hooks, and servers of other tools.
//!
//! Each leads a process group of its own, has the environment that it was given and nothing of this process's, and is
//! killed with everything in its group. A descendant that leaves the group (`setsid`) is killed with it as long as the
//! processes between it and the program are there. A hook's program adopts those whose parents end before, so that they are
//! killed with it too; what it leaves in a group of its own when it ends by itself is out of reach without privileges.
//! Nothing of this is a setting of this process, which may be an embedder's.

mod group;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{PoisonError, RwLock};

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::process::{getpid, set_child_subreaper};

use crate::config::{HOOK_PATH, find_program};
pub(crate) use group::Group;
pub use group::wait_for_killed;

/// Shared by those who start programs, and held alone by who must not be interrupted by a fork.
static STARTS: RwLock<()> = RwLock::new(());

/// Does what a fork in the middle of would harm, while no program is being started.
pub(crate) fn between_starts<T>(act: impl FnOnce() -> T) -> T {
    let _alone = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    act()
}

/// A program to be run: what is started, where, and with which environment.
#[derive(Clone)]
pub(crate) struct Program {
    pub command: Vec<OsString>,
    pub folder: PathBuf,
    pub env: BTreeMap<String, String>,
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unstarted {
    #[error("there is no program `{0}` that can be run")]
    Missing(String),
    #[error("cannot start the program: {0}")]
    Start(io::Error),
}

/// Values of the environment may be secret.
impl std::fmt::Debug for Program {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Program")
            .field("command", &self.command)
            .field("folder", &self.folder)
            .field("env", &self.env.keys())
            .finish()
    }
}

impl Program {
    /// Starts it with a pipe for each of its streams. Blocks until the kernel has loaded the program.
    pub fn start(&self) -> Result<Group, Unstarted> {
        spawned(self.command()?)
    }

    /// The same for a program that does not run for long: it adopts every descendant whose parent ends, so that none leaves
    /// it while it runs. It reaps none of them, which is no harm to it, and would fill the table of one that serves for days.
    pub fn start_adopting(&self) -> Result<Group, Unstarted> {
        let mut command = self.command()?;
        let adopt = || Ok(set_child_subreaper(Some(getpid()))?);
        // SAFETY: between fork and exec this makes two system calls, and allocates nothing. It holds for the program that
        // is loaded then, and for none of its children.
        unsafe { command.pre_exec(adopt) };
        spawned(command)
    }

    fn command(&self) -> Result<Command, Unstarted> {
        let (name, arguments) =
            self.command.split_first().ok_or_else(|| Unstarted::Missing(String::new()))?;
        let folder = std::path::absolute(&self.folder).map_err(Unstarted::Start)?;
        let path = self.env.get("PATH").map_or(HOOK_PATH, String::as_str);
        let program = find_program(Path::new(name), &folder, path)
            .ok_or_else(|| Unstarted::Missing(name.to_string_lossy().into_owned()))?;
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
        withhold_descriptors(&mut command).map_err(Unstarted::Start)?;
        Ok(command)
    }
}

fn spawned(mut command: Command) -> Result<Group, Unstarted> {
    let _starting = STARTS.read().unwrap_or_else(PoisonError::into_inner);
    command.spawn().map(Group::of).map_err(Unstarted::Start)
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
