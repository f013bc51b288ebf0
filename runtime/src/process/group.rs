//! A program with everything that it started, from its start to its end.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// More descendants than this are a bomb; the others are met in the next round, or with their group.
const MAX_DESCENDANTS: usize = 1000;

/// Rounds in which descendants are looked for, and the pause between them: what is killed is gone within a few, and nobody
/// waits longer than this for one that hangs in the kernel.
const ROUNDS: usize = 100;
const PAUSE: Duration = Duration::from_micros(500);

/// How long a process that exits waits for the groups that it has dropped: longer than the rounds of all that one call has.
const EXITING: Duration = Duration::from_secs(1);

/// The leaders of the groups that are being killed, none of which is reaped before it is killed; and who waits for them.
static KILLING: (Mutex<Vec<Option<Pid>>>, Condvar) = (Mutex::new(Vec::new()), Condvar::new());

/// A program with its process group; dropping it ends both, moments later.
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
        let Some(child) = self.0.take() else { return };
        // Killing takes pauses, and whoever drops a call may be driving others.
        let leader = pid(&child);
        let killing = Killing::begin(leader);
        let child = Arc::new(Mutex::new(Some(child)));
        let theirs = Arc::clone(&child);
        let work = move || end(&theirs, killing);
        if std::thread::Builder::new().name("toolcell-reaper".to_owned()).spawn(work).is_err() {
            end(&child, Killing::begin(leader));
        }
    }
}

/// Kills a group, and reaps its leader. It dies within moments, unless it hangs in the kernel, which nobody waits for.
fn end(child: &Mutex<Option<Child>>, killing: Killing) {
    let Some(mut child) = child.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    kill(&child);
    drop(killing);
    let _ = child.wait();
}

/// Counts while a group is being killed.
struct Killing(Option<Pid>);

impl Killing {
    fn begin(leader: Option<Pid>) -> Self {
        KILLING.0.lock().unwrap_or_else(PoisonError::into_inner).push(leader);
        Self(leader)
    }
}

impl Drop for Killing {
    fn drop(&mut self) {
        let mut leaders = KILLING.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = leaders.iter().position(|leader| *leader == self.0) {
            leaders.swap_remove(at);
        }
        KILLING.1.notify_all();
    }
}

/// Waits until the programs of all calls, hooks and servers that were dropped are killed, at most for a second; then kills
/// what is left of their groups. A process that is about to exit calls it: what it leaves sooner may leave some of these behind,
/// stopped. The end of a [`Runtime`](crate::Runtime) does it by itself.
pub fn wait_for_killed() {
    let leaders = KILLING.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = KILLING.1.wait_timeout_while(leaders, EXITING, |leaders| !leaders.is_empty());
    let (leaders, _) = waited.unwrap_or_else(PoisonError::into_inner);
    for leader in leaders.iter().flatten() {
        let _ = kill_process_group(*leader, Signal::KILL);
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_is_dropped_is_killed_elsewhere_and_can_be_waited_for() {
        use std::os::unix::process::CommandExt as _;
        let groups: Vec<Group> = (0..20)
            .map(|_| {
                let mut command = Command::new("sh");
                command.args(["-c", "sleep 1000 & wait"]).process_group(0).stdin(Stdio::null());
                Group::of(command.spawn().unwrap())
            })
            .collect();
        let leaders: Vec<Pid> = groups.iter().map(|group| group.leader().unwrap()).collect();
        drop(groups);
        wait_for_killed();
        // The kernel ends what was killed in its own time.
        let begun = std::time::Instant::now();
        let is_gone = |leader: &Pid| matches!(state(*leader), None | Some('Z' | 'X'));
        while !leaders.iter().all(is_gone) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{leaders:?}");
            std::thread::yield_now();
        }
    }
}
