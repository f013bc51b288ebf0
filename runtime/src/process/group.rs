//! A program with everything that it started, from its start to its end.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// More descendants than this are a bomb; the others are met in the next round, or with their group.
const MAX_DESCENDANTS: usize = 1000;

/// Rounds in which descendants are looked for, and the pause between them: what is killed is gone within a few, and
/// whoever drops a call waits no longer than this for one that hangs in the kernel.
const ROUNDS: usize = 100;
const PAUSE: Duration = Duration::from_micros(500);

/// A program with its process group; dropping it ends both.
pub(crate) struct Group(Option<Child>);

impl Group {
    pub(super) fn of(child: Child) -> Self {
        Self(Some(child))
    }

    /// The leader's process.
    pub fn leader(&self) -> Option<Pid> {
        self.0.as_ref().and_then(pid)
    }

    /// The host's ends of its pipes; none the second time.
    pub fn streams(&mut self) -> Option<(ChildStdin, ChildStdout, ChildStderr)> {
        let child = self.0.as_mut()?;
        Some((child.stdin.take()?, child.stdout.take()?, child.stderr.take()?))
    }

    /// Kills what the leader, which has ended, left behind, and reaps it.
    ///
    /// # Errors
    /// When the kernel does not say how it ended.
    pub fn finish(mut self) -> io::Result<ExitStatus> {
        let mut child = self.0.take().ok_or(io::ErrorKind::NotFound)?;
        // What has ended has no children any more: only its group is known by its number.
        if let Some(leader) = pid(&child) {
            let _ = kill_process_group(leader, Signal::KILL);
        }
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

/// Kills everything in the group of `leader`, which must not have been reaped, and what left the group and is still below
/// it. The leader goes last: stopped, it starts nothing, reaps nothing, so that no number comes to mean another process,
/// and gets what those before leave behind, if it adopts.
fn kill(leader: &Child) {
    let Some(leader) = pid(leader) else { return };
    for _ in 0..ROUNDS {
        let living = stopped_below(leader);
        if living.is_empty() && is_still(leader) {
            break;
        }
        for descendant in living {
            let _ = kill_process(descendant, Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
    let _ = kill_process_group(leader, Signal::KILL);
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// The living processes below `leader`, by what the kernel says of the children of each, which is stopped first: it starts
/// no others meanwhile.
fn stopped_below(leader: Pid) -> Vec<Pid> {
    let mut living = Vec::new();
    let mut unseen = vec![leader];
    while let Some(parent) = unseen.pop() {
        let _ = kill_process(parent, Signal::STOP);
        for child in children(parent) {
            if living.len() >= MAX_DESCENDANTS {
                return living;
            }
            if !matches!(state(child), None | Some('Z' | 'X')) {
                living.push(child);
                unseen.push(child);
            }
        }
    }
    living
}

/// Whether a process that was told to stop has, or has ended.
fn is_still(process: Pid) -> bool {
    matches!(state(process), None | Some('T' | 't' | 'Z' | 'X'))
}

/// The kernel's letter for what a process does; none if there is none.
fn state(process: Pid) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // After the name in brackets, which may have brackets and spaces.
    stat.rsplit_once(')')?.1.trim_start().chars().next()
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
