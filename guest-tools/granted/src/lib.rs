//! The directories that the host granted, and refusals in words.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The granted directories by the names that the guest knows, in the host's order.
pub struct Grants {
    dirs: Vec<PathBuf>,
}

impl Grants {
    /// Grants of these directories, each an absolute path.
    pub fn new(dirs: impl IntoIterator<Item = String>) -> Self {
        Self { dirs: dirs.into_iter().map(PathBuf::from).collect() }
    }

    /// The absolute path that `path` means: a relative one starts at the first granted directory. Links and `..` are
    /// left to the host, which alone knows where they lead.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        if path.is_empty() {
            return Err("the path is empty; give one such as `.` or `src/main.rs`".to_owned());
        }
        if path.contains('\0') {
            return Err("the path contains a NUL character".to_owned());
        }
        let first = self.dirs.first().ok_or("no directory is granted to this tool")?;
        Ok(first.join(path).components().collect())
    }

    /// [`Self::resolve`] for a path that is to be a file: one that ends as only a folder's does is refused.
    pub fn resolve_file(&self, path: &str) -> Result<PathBuf, String> {
        let resolved = self.resolve(path)?;
        let end = path.rsplit('/').next().unwrap_or_default();
        if matches!(end, "" | "." | "..") {
            return Err(format!(
                "{} names a folder, by its end `{}`; give the path of a file",
                show(Path::new(path)),
                if end.is_empty() { "/" } else { end }
            ));
        }
        Ok(resolved)
    }

    /// The granted directory that holds `path`, if any.
    pub fn holder(&self, path: &Path) -> Option<&Path> {
        let path = normalize(path);
        self.dirs.iter().map(PathBuf::as_path).find(|dir| path.starts_with(dir))
    }

    /// The granted directories below `path`, sorted by their paths, where none holds it itself.
    pub fn below(&self, path: &Path) -> Vec<&Path> {
        let mut below: Vec<&Path> =
            self.dirs.iter().map(PathBuf::as_path).filter(|dir| dir.starts_with(path)).collect();
        below.sort();
        if self.holder(path).is_some() { Vec::new() } else { below }
    }

    /// Says what is wrong when `action` (a verb: `read`, `list`) failed at `path`.
    pub fn explain(&self, action: &str, path: &Path, error: &io::Error) -> String {
        let shown = show(path);
        if self.holder(path).is_none() {
            return format!("not permitted: {shown} is outside the granted directories ({})", self.names());
        }
        match refusal(error) {
            Some(Refusal::Permissions) => {
                return format!(
                    "cannot {action} {shown}: the permissions of the file, or of a folder above it, do not allow it"
                );
            }
            Some(Refusal::ReadOnly) => {
                return format!(
                    "not permitted: cannot {action} {shown}: its folder is granted for reading only"
                );
            }
            Some(Refusal::Policy) => return self.withheld(path),
            None => {}
        }
        match error.kind() {
            io::ErrorKind::NotFound => format!("{shown} does not exist"),
            io::ErrorKind::NotADirectory => {
                format!("cannot {action} {shown}: a part of the path is not a folder")
            }
            kind => format!("cannot {action} {shown}: {kind}"),
        }
    }

    /// Says why policy refuses a path that by its spelling is inside a granted directory.
    fn withheld(&self, path: &Path) -> String {
        let shown = show(path);
        match self.first_link(path) {
            Some(link) => format!(
                "not permitted: {shown} goes through the link {}, and what that leads to is outside the granted \
                 directories ({}), or withheld from tools",
                show(&link),
                self.names()
            ),
            None => format!("not permitted: {shown} is withheld from tools"),
        }
    }

    /// The first part of `path` below its granted directory that is a link, as far as the host tells.
    fn first_link(&self, path: &Path) -> Option<PathBuf> {
        let top = self.holder(path)?;
        let parts: Vec<&Path> = path.ancestors().take_while(|part| *part != top).collect();
        for part in parts.into_iter().rev() {
            // What is refused is withheld itself, and nothing behind it is asked for.
            if fs::symlink_metadata(part).ok()?.is_symlink() {
                return Some(part.to_owned());
            }
        }
        None
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.dirs.iter().map(|dir| spelled(dir)).collect();
        names.join(", ")
    }
}

/// A path on one line, whatever is in it.
pub fn spelled(path: &Path) -> String {
    visible(&path.display().to_string())
}

/// `name` with an escape, as `\n` or `\u{1b}`, for every character that ends a line or is not seen: a name must not
/// pass for a line of the tool's own.
pub fn visible(name: &str) -> String {
    let mut visible = String::with_capacity(name.len());
    for character in name.chars() {
        if is_seen(character) {
            visible.push(character);
        } else {
            visible.extend(character.escape_default());
        }
    }
    visible
}

/// Controls, line and paragraph separators, byte order marks and what turns the direction of text are not.
fn is_seen(character: char) -> bool {
    !character.is_control()
        && !matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A path for a message, shortened where it is absurdly long.
pub fn show(path: &Path) -> String {
    const LONGEST: usize = 300;
    let text = spelled(path);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// `path` without `.` and `..`, by its spelling alone. Good for explaining, never for deciding.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// Who says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// The operator: nothing grants it, or `deny` withholds it.
    Policy,
    /// The operator: the grant only reads.
    ReadOnly,
    /// The operating system, by the file's own permissions.
    Permissions,
}

/// The numbers of wasi-libc. toolcell says EPERM for what policy refuses, and passes on the operating system's EACCES.
#[cfg(target_os = "wasi")]
mod errno {
    pub const ACCES: i32 = 2;
    pub const PERM: i32 = 63;
    /// A path that leads out of every granted directory.
    pub const NOTCAPABLE: i32 = 76;
}

/// Those of Linux, where tests run.
#[cfg(not(target_os = "wasi"))]
mod errno {
    pub const ACCES: i32 = 13;
    pub const PERM: i32 = 1;
    /// Not among them: no error has this number.
    pub const NOTCAPABLE: i32 = i32::MIN;
}

fn refusal(error: &io::Error) -> Option<Refusal> {
    match (error.raw_os_error(), error.kind()) {
        (Some(errno::ACCES), _) => Some(Refusal::Permissions),
        (Some(errno::PERM | errno::NOTCAPABLE), _) | (None, io::ErrorKind::PermissionDenied) => {
            Some(Refusal::Policy)
        }
        (_, io::ErrorKind::ReadOnlyFilesystem) => Some(Refusal::ReadOnly),
        _ => None,
    }
}

/// Whether the operating system refuses, by the file's own permissions.
pub fn is_locked(error: &io::Error) -> bool {
    refusal(error) == Some(Refusal::Permissions)
}

/// Whether the operator refuses: nothing grants it, or `deny` withholds it.
pub fn is_withheld(error: &io::Error) -> bool {
    refusal(error) == Some(Refusal::Policy)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failing test may panic")]

    use super::*;

    fn grants() -> Grants {
        Grants::new(["/work".to_owned(), "/data".to_owned()])
    }

    #[test]
    fn relative_paths_start_at_the_first_grant() {
        for (path, expected) in [
            ("src/a.rs", "/work/src/a.rs"),
            (".", "/work"),
            ("./a/./b/", "/work/a/b"),
            ("/data/x", "/data/x"),
            ("../x", "/work/../x"),
        ] {
            assert_eq!(grants().resolve(path).unwrap(), Path::new(expected), "{path}");
        }
        assert!(grants().resolve("").unwrap_err().contains("empty"));
        assert!(grants().resolve("a\0b").unwrap_err().contains("NUL"));
        assert!(Grants::new([]).resolve("x").unwrap_err().contains("no directory is granted"));
    }

    #[test]
    fn refusals_name_the_grants() {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let refused = io::Error::from_raw_os_error(errno::PERM);
        let locked = io::Error::from_raw_os_error(errno::ACCES);
        let read_only = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
        for (path, error, expected) in [
            ("/work/x", &missing, "/work/x does not exist"),
            (
                "/etc/passwd",
                &missing,
                "not permitted: /etc/passwd is outside the granted directories (/work, /data)",
            ),
            ("/work-evil/x", &missing, "not permitted: /work-evil/x is outside"),
            ("/work/../etc/passwd", &refused, "not permitted: /work/../etc/passwd is outside"),
            ("/work/x", &refused, "not permitted: /work/x is withheld from tools"),
            (
                "/work/x",
                &locked,
                "cannot read /work/x: the permissions of the file, or of a folder above it,",
            ),
            (
                "/work/x",
                &read_only,
                "not permitted: cannot read /work/x: its folder is granted for reading only",
            ),
        ] {
            let message = grants().explain("read", Path::new(path), error);
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn a_link_that_is_refused_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("out")).unwrap();
        let grants = Grants::new([dir.path().display().to_string()]);
        let refused = io::Error::from_raw_os_error(errno::PERM);
        let path = dir.path().join("out/passwd");
        let message = grants.explain("read", &path, &refused);
        let link = dir.path().join("out");
        assert!(message.contains(&format!("goes through the link {}, and", link.display())), "{message}");
    }

    #[test]
    fn a_path_that_ends_as_a_folder_is_no_file() {
        for path in ["a/", "a/.", "a/..", "/work/", ".", ".."] {
            let message = grants().resolve_file(path).unwrap_err();
            assert!(message.starts_with(path) && message.contains("names a folder"), "{message}");
        }
        for (path, expected) in [("a", "/work/a"), ("./a/../b", "/work/a/../b"), ("..a", "/work/..a")] {
            assert_eq!(grants().resolve_file(path).unwrap(), Path::new(expected), "{path}");
        }
        assert!(grants().resolve_file("").unwrap_err().contains("empty"));
    }

    #[test]
    fn long_paths_are_not_echoed_whole() {
        assert!(show(Path::new(&"ü".repeat(70_000))).len() < 1_000);
    }

    #[test]
    fn a_name_is_one_line() {
        assert_eq!(visible("ä b\\n.txt"), "ä b\\n.txt");
        assert_eq!(
            visible("a\n[b]\r\t\u{1b}[2J\u{85}\u{2028}\u{202e}"),
            r"a\n[b]\r\t\u{1b}[2J\u{85}\u{2028}\u{202e}"
        );
    }
}
