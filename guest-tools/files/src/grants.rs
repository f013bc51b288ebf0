//! The directories that the host granted, and refusals in words.

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

    /// The granted directory that holds `path`, if any.
    pub fn holder(&self, path: &Path) -> Option<&Path> {
        let path = normalize(path);
        self.dirs.iter().map(PathBuf::as_path).find(|dir| path.starts_with(dir))
    }

    /// Says what is wrong when `action` (a verb: `read`, `list`) failed at `path`.
    pub fn explain(&self, action: &str, path: &Path, error: &io::Error) -> String {
        let shown = show(path);
        if self.holder(path).is_none() {
            return format!("not permitted: {shown} is outside the granted directories ({})", self.names());
        }
        if is_refusal(error) {
            return format!(
                "not permitted: the host does not let this tool {action} {shown}: it is withheld, or a link leads \
                 outside the granted directories ({})",
                self.names()
            );
        }
        match error.kind() {
            io::ErrorKind::NotFound => format!("{shown} does not exist"),
            io::ErrorKind::NotADirectory => {
                format!("cannot {action} {shown}: a part of the path is not a folder")
            }
            kind => format!("cannot {action} {shown}: {kind}"),
        }
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.dirs.iter().map(|dir| dir.display().to_string()).collect();
        names.join(", ")
    }
}

/// A path for a message, shortened where it is absurdly long.
pub fn show(path: &Path) -> String {
    const LONGEST: usize = 300;
    let text = path.display().to_string();
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

fn is_refusal(error: &io::Error) -> bool {
    /// What wasi-libc calls a path that leads out of every granted directory.
    const NOT_CAPABLE: i32 = 76;
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
        || (cfg!(target_os = "wasi") && error.raw_os_error() == Some(NOT_CAPABLE))
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
        let refused = io::Error::from(io::ErrorKind::PermissionDenied);
        for (path, error, expected) in [
            ("/work/x", &missing, "/work/x does not exist"),
            (
                "/etc/passwd",
                &missing,
                "not permitted: /etc/passwd is outside the granted directories (/work, /data)",
            ),
            ("/work-evil/x", &missing, "not permitted: /work-evil/x is outside"),
            ("/work/../etc/passwd", &refused, "not permitted: /work/../etc/passwd is outside"),
            ("/work/link", &refused, "not permitted: the host does not let this tool read /work/link"),
        ] {
            let message = grants().explain("read", Path::new(path), error);
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn long_paths_are_not_echoed_whole() {
        assert!(show(Path::new(&"ü".repeat(70_000))).len() < 1_000);
    }
}
