//! What no tool may write, whoever granted it: the files that decide what toolcell runs, and toolcell's own folders.
//!
//! Files are compared by device and inode, walking up from each protected file, so that symbolic links, other
//! spellings and a second mount of the granted folder make no difference. Every symbolic link on the way to a
//! protected file is protected like the file: who may replace a link decides what is read through it.
//!
//! Two aliases cannot be seen from here: a hard link to a protected file under another name, and a folder *above*
//! the granted one that is also mounted somewhere else.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::deny::DenySet;
use super::entries::{Identity, entries, inside};
use super::grant::{Access, DirGrant};

/// What a folder of components is asked about in place of a file that does not exist yet: no pattern that a person
/// writes for one file matches this name.
const NEW_COMPONENT: &str = "\u{10fffd}.wasm";

/// What no tool may write.
#[derive(Debug, Clone, Default)]
pub struct Protected {
    files: Vec<(String, PathBuf)>,
    components: Vec<(String, PathBuf)>,
    own: Vec<(String, PathBuf)>,
    secrets: Vec<(String, PathBuf)>,
}

impl Protected {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Protects a file, which `what` names in errors ("the configuration"); a grant's `deny` may cover it.
    #[must_use]
    pub fn file(mut self, what: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.files.push((what.into(), path.into()));
        self
    }

    /// Protects a file with a secret, which no tool may read either; a grant's `deny` may cover it.
    #[must_use]
    pub fn secret(mut self, what: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        let (what, path) = (what.into(), path.into());
        self.secrets.push((what.clone(), path.clone()));
        self.file(what, path)
    }

    /// Protects a folder from which every `*.wasm` is loaded; a grant's `deny` may cover these.
    #[must_use]
    pub fn components(mut self, what: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.components.push((what.into(), path.into()));
        self
    }

    /// Protects a folder of toolcell's own: no `deny` makes up for a grant that contains it or lies in it.
    #[must_use]
    pub fn own_folder(mut self, what: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.own.push((what.into(), path.into()));
        self
    }

    /// Whether `dir` may be granted. Grants that only read may, unless there is a secret in them.
    ///
    /// # Errors
    /// Every reason against it, with the entries of `deny` that would remove it where there are such.
    pub fn check(&self, dir: &DirGrant) -> Result<(), Vec<String>> {
        if dir.access == Access::Read && self.secrets.is_empty() {
            return Ok(());
        }
        let granted = std::fs::metadata(&dir.host).map(|metadata| Identity::of(&metadata));
        let granted = granted.map_err(|error| vec![format!("cannot look at the granted folder: {error}")])?;
        let deny = DenySet::compile(&dir.deny).map_err(|message| vec![message])?;
        if dir.access == Access::Read {
            let reasons = self.readable_secrets(granted, &deny);
            return if reasons.is_empty() { Ok(()) } else { Err(reasons) };
        }
        let mut reasons = Vec::new();
        for (what, folder) in &self.own {
            reasons.extend(own_folder_reason(what, folder, &dir.host, granted));
        }
        for (what, file) in &self.files {
            for entry in entries(file) {
                let Some(inside) = inside(&entry, granted) else { continue };
                if !deny.denies(&inside) {
                    reasons.push(uncovered(what, &[literal(&inside)]));
                }
            }
        }
        for (what, folder) in &self.components {
            reasons.extend(components_reasons(what, folder, granted, &deny));
        }
        reasons.dedup();
        if reasons.is_empty() { Ok(()) } else { Err(reasons) }
    }

    /// Why secrets could be read: of the entries that lead to one, the last is what is read through all of them.
    fn readable_secrets(&self, granted: Identity, deny: &DenySet) -> Vec<String> {
        let reasons = self.secrets.iter().filter_map(|(what, file)| {
            let inside = inside(entries(file).last()?, granted)?;
            let entry = literal(&inside);
            (!deny.denies(&inside)).then(|| {
                format!(
                    "read access would reach {what}; add {entry:?} to its `deny`, or grant a narrower folder"
                )
            })
        });
        reasons.collect()
    }
}

fn own_folder_reason(what: &str, folder: &Path, host: &Path, granted: Identity) -> Option<String> {
    let contains = entries(folder).iter().any(|entry| inside(entry, granted).is_some());
    let lies_in = std::fs::metadata(folder).is_ok_and(|metadata| {
        let own = Identity::of(&metadata);
        own == granted || host.canonicalize().is_ok_and(|host| inside(&host, own).is_some())
    });
    let relation = match (contains, lies_in) {
        (false, false) => return None,
        (_, true) => "lies in",
        (true, false) => "contains",
    };
    Some(format!(
        "this folder {relation} toolcell's own folder of {what}; grant a narrower folder, or `access = \"read\"`"
    ))
}

fn components_reasons(what: &str, folder: &Path, granted: Identity, deny: &DenySet) -> Vec<String> {
    let mut reasons = Vec::new();
    // The links that lead to the folder; the folder itself is protected by what is in it, being above it.
    let mut links = entries(folder);
    links.pop();
    for link in links {
        if let Some(inside) = inside(&link, granted).filter(|inside| !deny.denies(inside)) {
            reasons.push(uncovered(what, &[literal(&inside)]));
        }
    }
    let mut names = vec![OsString::from(NEW_COMPONENT)];
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.extend(listed.filter(|name| Path::new(name).extension().is_some_and(|end| end == "wasm")));
    let Ok(folder) = folder.canonicalize() else { return reasons };
    let Some(inside) = inside(&folder, granted) else { return reasons };
    if names.iter().any(|name| !deny.denies(&inside.join(name))) {
        let pattern = if inside.as_os_str().is_empty() { String::new() } else { literal(&inside) + "/" };
        reasons.push(uncovered(what, &[format!("{pattern}*.wasm")]));
    }
    reasons
}

fn uncovered(what: &str, deny: &[String]) -> String {
    let deny: Vec<String> = deny.iter().map(|pattern| format!("{pattern:?}")).collect();
    format!(
        "write access would reach {what}; add {} to its `deny`, or set `access = \"read\"`",
        deny.join(", ")
    )
}

/// The glob that matches `path` and nothing else.
fn literal(path: &Path) -> String {
    globset::escape(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// `ws` with a configuration three folders down, `own`, and `else`.
    struct Scratch {
        folder: tempfile::TempDir,
    }

    impl Scratch {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["ws/a/b", "ws/tools", "own/deep", "else"] {
                fs::create_dir_all(folder.path().join(name)).unwrap();
            }
            for name in ["ws/a/b/toolcell.toml", "else/toolcell.toml", "ws/tools/x.wasm", "ws/tools/notes.md"]
            {
                fs::write(folder.path().join(name), "").unwrap();
            }
            Self { folder }
        }

        fn at(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn write(&self, name: &str) -> DirGrant {
            DirGrant::new(self.at(name), "/w", Access::ReadWrite)
        }

        fn config(&self, name: &str) -> Protected {
            Protected::new().file("the configuration", self.at(name))
        }
    }

    fn reasons(protected: &Protected, dir: &DirGrant) -> String {
        protected.check(dir).err().unwrap_or_default().join("\n")
    }

    #[test]
    fn a_write_grant_above_a_protected_file_is_refused_with_the_missing_entry() {
        let scratch = Scratch::new();
        let protected = scratch.config("ws/a/b/toolcell.toml");
        for (grant, entry) in [
            ("ws", "\"a/b/toolcell.toml\""),
            ("ws/a", "\"b/toolcell.toml\""),
            ("ws/a/b", "\"toolcell.toml\""),
        ] {
            let told = reasons(&protected, &scratch.write(grant));
            assert!(told.contains(&format!("add {entry} to its `deny`")), "{grant}: {told}");
            let denied = scratch.write(grant).deny(entry.trim_matches('"'));
            assert_eq!(protected.check(&denied), Ok(()), "{grant}");
        }
        for beside in ["ws/tools", "else"] {
            assert_eq!(protected.check(&scratch.write(beside)), Ok(()), "{beside}");
        }
        let read = DirGrant { access: Access::Read, ..scratch.write("ws") };
        assert_eq!(protected.check(&read), Ok(()));
    }

    #[test]
    fn deny_covers_by_what_it_matches() {
        let scratch = Scratch::new();
        let protected = scratch.config("ws/a/b/toolcell.toml");
        for covering in
            ["**", "*", "a", "a/", "./a/b", "a/*", "a/**", "**/*.toml", "a/*/toolcell.toml", "{a,x}/b/*"]
        {
            assert_eq!(protected.check(&scratch.write("ws").deny(covering)), Ok(()), "{covering}");
        }
        for other in
            ["*.toml", "toolcell.toml", "b", "*/toolcell.toml", "b/toolcell.toml", "A/b/toolcell.toml"]
        {
            assert!(protected.check(&scratch.write("ws").deny(other)).is_err(), "{other}");
        }
    }

    #[test]
    fn the_granted_folder_is_known_by_inode_not_by_name() {
        let scratch = Scratch::new();
        symlink(scratch.at("ws/a"), scratch.at("alias")).unwrap();
        let protected = scratch.config("ws/a/b/toolcell.toml");
        for spelling in ["alias", "alias/.", "else/../ws/a/../a", "else/../alias/b"] {
            assert!(protected.check(&scratch.write(spelling)).is_err(), "{spelling}");
        }
        // The name of an open folder, which has nothing in common with its path.
        let open = fs::File::open(scratch.at("ws")).unwrap();
        let by_descriptor = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open));
        let grant = DirGrant::new(by_descriptor, "/w", Access::ReadWrite);
        assert!(protected.check(&grant).is_err());
        // A name that begins alike is another folder.
        fs::create_dir(scratch.at("ws-other")).unwrap();
        assert_eq!(protected.check(&scratch.write("ws-other")), Ok(()));
    }

    #[test]
    fn a_link_to_the_protected_file_is_protected_too() {
        let scratch = Scratch::new();
        // The configuration is a link in `ws`, to a link in `ws/tools`, to the file in `else`.
        symlink("tools/hop.toml", scratch.at("ws/link.toml")).unwrap();
        symlink("../../else/toolcell.toml", scratch.at("ws/tools/hop.toml")).unwrap();
        let protected = scratch.config("ws/link.toml");
        let told = reasons(&protected, &scratch.write("ws"));
        assert!(told.contains("\"link.toml\"") && told.contains("\"tools/hop.toml\""), "{told}");
        assert!(reasons(&protected, &scratch.write("ws/tools")).contains("\"hop.toml\""));
        assert!(reasons(&protected, &scratch.write("else")).contains("\"toolcell.toml\""));
        let denied = scratch.write("ws").deny("link.toml").deny("tools/hop.toml");
        assert_eq!(protected.check(&denied), Ok(()));
        // A folder on the way that is a link can be replaced as well.
        symlink("../else", scratch.at("ws/folder")).unwrap();
        let protected = scratch.config("ws/folder/toolcell.toml");
        assert!(reasons(&protected, &scratch.write("ws")).contains("\"folder\""));
    }

    #[test]
    fn a_secret_is_not_read_either() {
        let scratch = Scratch::new();
        fs::write(scratch.at("ws/a/key"), "").unwrap();
        symlink("a/key", scratch.at("ws/link")).unwrap();
        let read = |name: &str| DirGrant { access: Access::Read, ..scratch.write(name) };
        for spelling in ["ws/a/key", "ws/link"] {
            let protected = Protected::new().secret("the key", scratch.at(spelling));
            let told = reasons(&protected, &read("ws"));
            assert!(told.contains("read access would reach the key; add \"a/key\""), "{told}");
            assert!(reasons(&protected, &scratch.write("ws")).contains("write access would reach the key"));
            assert_eq!(protected.check(&read("ws").deny("a/key")), Ok(()));
            assert_eq!(protected.check(&read("ws/a/b")), Ok(()));
            assert!(protected.check(&read("ws").deny("link")).is_err());
        }
    }

    #[test]
    fn a_circle_of_links_ends() {
        let scratch = Scratch::new();
        symlink("two", scratch.at("ws/one")).unwrap();
        symlink("one", scratch.at("ws/two")).unwrap();
        assert!(scratch.config("ws/one").check(&scratch.write("ws")).is_err());
    }

    #[test]
    fn names_with_the_signs_of_globs_are_suggested_literally() {
        let scratch = Scratch::new();
        let name = "a[1]*{x}?.toml";
        fs::write(scratch.at("ws").join(name), "").unwrap();
        let protected = scratch.config(&format!("ws/{name}"));
        let reason = reasons(&protected, &scratch.write("ws"));
        let entry = literal(Path::new(name));
        assert!(reason.contains(&format!("{entry:?}")), "{reason}");
        assert_eq!(protected.check(&scratch.write("ws").deny(entry)), Ok(()));
    }

    #[test]
    fn our_own_folders_are_refused_whatever_is_denied() {
        let scratch = Scratch::new();
        let protected = Protected::new().own_folder("outputs", scratch.at("own"));
        for (grant, relation) in [("", "contains"), ("own", "lies in"), ("own/deep", "lies in")] {
            let told = reasons(&protected, &scratch.write(grant).deny("**"));
            assert!(
                told.contains(&format!("this folder {relation} toolcell's own folder of outputs")),
                "{told}"
            );
        }
        symlink(scratch.at("own/deep"), scratch.at("ws/alias")).unwrap();
        assert!(protected.check(&scratch.write("ws/alias")).is_err());
        assert_eq!(protected.check(&scratch.write("ws")), Ok(()));
        let to_be = Protected::new().own_folder("outputs", scratch.at("ws/not/yet"));
        assert!(to_be.check(&scratch.write("ws")).is_err());
        assert!(to_be.check(&scratch.write("ws/a")).is_ok());
        // Our folder is itself a link out of the granted one: it could be replaced.
        let linked = Protected::new().own_folder("outputs", scratch.at("ws/alias"));
        assert!(linked.check(&scratch.write("ws")).is_err());
    }

    #[test]
    fn a_folder_of_components_must_be_covered_for_new_files_too() {
        let scratch = Scratch::new();
        let protected = Protected::new().components("the component `tools`", scratch.at("ws/tools"));
        assert!(reasons(&protected, &scratch.write("ws")).contains("add \"tools/*.wasm\""));
        assert!(reasons(&protected, &scratch.write("ws/tools")).contains("add \"*.wasm\""));
        for covering in ["tools/*.wasm", "tools/**", "**/*.wasm", "tools", "./tools/"] {
            assert_eq!(protected.check(&scratch.write("ws").deny(covering)), Ok(()), "{covering}");
        }
        for other in ["tools/x.wasm", "tools/[!x]*.wasm", "ool*"] {
            assert!(protected.check(&scratch.write("ws").deny(other)).is_err(), "{other}");
        }
    }

    #[test]
    fn wrong_patterns_and_missing_folders_are_refused() {
        let scratch = Scratch::new();
        let protected = scratch.config("ws/a/b/toolcell.toml");
        assert!(reasons(&protected, &scratch.write("ws").deny("a[")).contains("is no glob"));
        assert!(reasons(&protected, &scratch.write("missing")).contains("cannot look at"));
    }
}
