//! Going through a folder and what is below it, in the order of the paths, without following links.

use std::ffi::OsStr;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::Override;
use ignore::{DirEntry, WalkBuilder};

use crate::grants::Grants;

const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// What a walk leaves out.
#[derive(Default)]
pub struct Filter {
    /// Hidden entries and what ignore files exclude.
    pub ignored: bool,
    /// What does not fit these globs.
    pub globs: Option<Override>,
    /// What lies deeper than this many levels.
    pub depth: Option<usize>,
}

/// The entries below `root`, or why one could not be read.
pub fn entries(
    grants: &Grants,
    root: &Path,
    filter: Filter,
) -> impl Iterator<Item = Result<DirEntry, ignore::Error>> {
    let above = if filter.ignored { ignore_files_above(grants, root) } else { Vec::new() };
    let globs = filter.globs;
    WalkBuilder::new(root)
        .standard_filters(filter.ignored)
        // The granted directory may be a part of a repository, or have its `.git` withheld.
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        // What lies above the root is looked at here, since the walker would ask for paths outside the grant.
        .parents(false)
        .follow_links(false)
        .max_depth(filter.depth)
        .sort_by_file_name(OsStr::cmp)
        .filter_entry(move |entry| {
            let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let ignored =
                above.iter().map(|file| file.matched(entry.path(), folder)).find(|found| !found.is_none());
            let excluded =
                globs.as_ref().is_some_and(|globs| globs.matched(entry.path(), folder).is_ignore());
            entry.depth() == 0 || !(excluded || ignored.is_some_and(|found| found.is_ignore()))
        })
        .build()
        .filter(|entry| !entry.as_ref().is_ok_and(|entry| entry.depth() == 0))
}

/// The ignore files between `root` and its granted directory, the nearest first.
fn ignore_files_above(grants: &Grants, root: &Path) -> Vec<Gitignore> {
    let Some(top) = grants.holder(root) else { return Vec::new() };
    let above = root.ancestors().skip(1).take_while(|dir| dir.starts_with(top));
    above
        .filter_map(|dir| {
            let mut builder = GitignoreBuilder::new(dir);
            for name in IGNORE_FILES {
                // A missing or broken file excludes nothing.
                let _ = builder.add(dir.join(name));
            }
            builder.build().ok().filter(|file| !file.is_empty())
        })
        .collect()
}
