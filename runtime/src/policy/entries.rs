//! Where a file is, whatever it is called: the directory entries that lead to it, and whether a folder holds them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The most symbolic links that are followed on one path, as in Linux.
const MAX_LINKS: usize = 40;

/// A file or folder, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// The path of `entry` inside the folder `granted`, if it is there: empty if it is that folder. `entry` has no
/// symbolic links but perhaps its last part; what does not exist yet is looked for where it would be.
pub(super) fn inside(entry: &Path, granted: Identity) -> Option<PathBuf> {
    entry.ancestors().find_map(|ancestor| {
        let metadata = std::fs::symlink_metadata(ancestor).ok()?;
        if Identity::of(&metadata) != granted {
            return None;
        }
        entry.strip_prefix(ancestor).ok().map(Path::to_owned)
    })
}

/// Every directory entry that decides what `path` leads to, each without symbolic links before its last part: the
/// links that are followed, in order, and the final entry.
pub(super) fn entries(path: &Path) -> Vec<PathBuf> {
    let Ok(path) = std::path::absolute(path) else { return vec![path.to_owned()] };
    let mut found = Vec::new();
    let mut here = PathBuf::from("/");
    let mut left: VecDeque<OsString> = parts(&path);
    while let Some(part) = left.pop_front() {
        if part == ".." {
            here.pop();
            continue;
        }
        here.push(&part);
        let Ok(target) = std::fs::read_link(&here) else { continue };
        found.push(here.clone());
        if found.len() > MAX_LINKS {
            return found;
        }
        here.pop();
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        for part in parts(&target).into_iter().rev() {
            left.push_front(part);
        }
    }
    found.push(here);
    found
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}
