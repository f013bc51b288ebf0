//! A program with everything that it started, from its start to its end.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// More descendants than this are a bomb, which stays in its group.
const MAX_DESCENDANTS: usize = 1000;

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
