//! Going through a folder and what is below it, in the order of the paths, without following links.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::Override;
use ignore::{DirEntry, Match, WalkBuilder};

use granted::Grants;

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
    let ignored = filter.ignored.then(|| Mutex::new(Ignored::above(grants, root)));
    let globs = filter.globs;
    WalkBuilder::new(root)
        // The walker would look for ignore files in every folder that it meets, and above the root outside the grant.
        .standard_filters(false)
        .follow_links(false)
        .max_depth(filter.depth)
        .sort_by_file_name(OsStr::cmp)
        .filter_entry(move |entry| {
            let excludes = |ignored: &Mutex<Ignored>| {
                ignored.lock().unwrap_or_else(PoisonError::into_inner).excludes(entry)
            };
            let excluded =
                globs.as_ref().is_some_and(|globs| globs.matched(entry.path(), is_dir(entry)).is_ignore());
            entry.depth() == 0 || !(excluded || ignored.as_ref().is_some_and(excludes))
        })
        .build()
        .filter(|entry| !entry.as_ref().is_ok_and(|entry| entry.depth() == 0))
}

fn is_dir(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// The ignore files of the folder that a walk is in and of those above it, the nearest last.
struct Ignored {
    folders: Vec<(PathBuf, Gitignore)>,
}

impl Ignored {
    /// Those between `root` and its granted directory. Whether a `.git` is there does not matter: the granted directory
    /// may be a part of a repository, or have its `.git` withheld.
    fn above(grants: &Grants, root: &Path) -> Self {
        let top = grants.holder(root).unwrap_or(root);
        let mut above: Vec<&Path> =
            root.ancestors().skip(1).take_while(|folder| folder.starts_with(top)).collect();
        above.reverse();
        Self { folders: above.into_iter().map(|folder| (folder.to_owned(), ignore_files(folder))).collect() }
    }

    /// Whether the entry is left out: by the nearest folder's ignore files that say anything of it, or as hidden.
    fn excludes(&mut self, entry: &DirEntry) -> bool {
        let path = entry.path();
        self.enter(path.parent().unwrap_or(path));
        let said = self.folders.iter().rev().map(|(_, files)| files.matched(path, is_dir(entry)));
        match said.into_iter().find(|said| !said.is_none()) {
            Some(Match::Ignore(_)) => true,
            Some(Match::Whitelist(_)) => false,
            _ => entry.file_name().as_encoded_bytes().starts_with(b"."),
        }
    }

    /// Comes to an entry of `folder`. Only now are its ignore files looked for: in a folder that shows no entry, as one
    /// whose content is withheld, there is nothing to ignore, and the question would be a refusal to record.
    fn enter(&mut self, folder: &Path) {
        while self.folders.last().is_some_and(|(last, _)| !folder.starts_with(last)) {
            self.folders.pop();
        }
        if self.folders.last().is_none_or(|(last, _)| last != folder) {
            self.folders.push((folder.to_owned(), ignore_files(folder)));
        }
    }
}

/// What the ignore files of a folder say. A missing or broken one excludes nothing.
fn ignore_files(folder: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    for name in IGNORE_FILES {
        let _ = builder.add(folder.join(name));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
