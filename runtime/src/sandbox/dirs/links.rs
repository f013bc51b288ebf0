//! Withheld files that have more than one name: `deny` holds for the file, so it must hold for its other names.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::kernel::{self, Identity};
use super::template::Root;
use super::walk::{Walked, walk};
use crate::sandbox::deadline::Watch;

/// How long the identities of withheld files are believed. Guests cannot link to withheld files, so only the
/// operator can make the list stale.
const LIFE: Duration = Duration::from_secs(1);

/// How often a call that waits for the walk of another looks whether its own time is over.
const TURN: Duration = Duration::from_millis(5);

/// The withheld files with several names; none when there are too many files to tell.
type Linked = Option<Arc<HashSet<Identity>>>;

/// Whether a file of several names is withheld under one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Under none.
    Free,
    Withheld,
    /// There are too many files to tell.
    Untold,
    /// The call ended before that was known.
    Interrupted,
}

/// Remembers which files with several names are withheld.
#[derive(Debug, Default)]
pub(super) struct LinkedFiles {
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Seen {
    known: Option<(Instant, Linked)>,
    /// A call is walking; the others wait for what it finds, each no longer than its own time.
    walking: bool,
}

impl LinkedFiles {
    /// Whether the file is one of those that `roots` withhold, as far as the call of `watch` has time to find out.
    pub(super) fn names_of(&self, roots: &[Root], file: Identity, watch: &Watch) -> Names {
        let mut seen = self.lock();
        loop {
            if let Some((at, linked)) = &seen.known
                && at.elapsed() < LIFE
            {
                return names(linked, file);
            }
            if !seen.walking {
                break;
            }
            if watch.check().is_err() {
                return Names::Interrupted;
            }
            seen = self.changed.wait_timeout(seen, TURN).unwrap_or_else(PoisonError::into_inner).0;
        }
        seen.walking = true;
        drop(seen);
        let walking = Walking(self);
        let Some(linked) = find(roots, watch) else { return Names::Interrupted };
        let answer = names(&linked, file);
        walking.0.lock().known = Some((Instant::now(), linked));
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The walk of one call; when it ends, however it does, another may walk.
struct Walking<'a>(&'a LinkedFiles);

impl Drop for Walking<'_> {
    fn drop(&mut self) {
        self.0.lock().walking = false;
        self.0.changed.notify_all();
    }
}

fn names(linked: &Linked, file: Identity) -> Names {
    match linked {
        None => Names::Untold,
        Some(linked) if linked.contains(&file) => Names::Withheld,
        Some(_) => Names::Free,
    }
}

/// The withheld files with several names; nothing if the call ended first.
fn find(roots: &[Root], watch: &Watch) -> Option<Linked> {
    let mut linked = HashSet::new();
    for root in roots {
        for start in root.deny.starts() {
            let walked = walk(root.dir(), start, watch, &mut |path, stat| {
                if stat.st_nlink > 1 && kernel::file_type(stat).is_file() && root.deny.denies(path) {
                    linked.insert(kernel::identity(stat));
                }
                ControlFlow::Continue(())
            });
            match walked {
                Walked::All => {}
                Walked::Interrupted => return None,
                Walked::Stopped | Walked::Partly => return Some(None),
            }
        }
    }
    Some(Some(Arc::new(linked)))
}
