//! Withheld files that have more than one name: `deny` holds for the file, so it must hold for its other names.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::kernel::{self, Identity};
use super::template::Root;
use super::walk::{Walked, walk};

/// How long the identities of withheld files are believed. Guests cannot link to withheld files, so only the
/// operator can make the list stale.
const LIFE: Duration = Duration::from_secs(1);

/// The withheld files with several names; none when there are too many files to tell.
type Linked = Option<Arc<HashSet<Identity>>>;

/// Remembers which files with several names are withheld.
#[derive(Debug, Default)]
pub(super) struct LinkedFiles {
    seen: Mutex<Option<(Instant, Linked)>>,
}

impl LinkedFiles {
    /// Whether the file is one of those that `roots` withhold. Says yes when that cannot be told.
    pub(super) fn contains(&self, roots: &[Root], file: Identity) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let linked = match &*seen {
            Some((at, linked)) if at.elapsed() < LIFE => linked.clone(),
            _ => {
                let linked = find(roots);
                *seen = Some((Instant::now(), linked.clone()));
                linked
            }
        };
        linked.is_none_or(|linked| linked.contains(&file))
    }
}

fn find(roots: &[Root]) -> Linked {
    let mut linked = HashSet::new();
    for root in roots {
        for start in root.deny.starts() {
            let walked = walk(root.dir(), start, &mut |path, stat| {
                if stat.st_nlink > 1 && kernel::file_type(stat).is_file() && root.deny.denies(path) {
                    linked.insert(kernel::identity(stat));
                }
                ControlFlow::Continue(())
            });
            if walked != Walked::All {
                return None;
            }
        }
    }
    Some(Arc::new(linked))
}
