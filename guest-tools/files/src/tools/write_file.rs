//! `write-file`

use std::fs;
use std::io::ErrorKind;

use crate::replace::Replace;
use crate::{Answer, Workspace};
use granted::show;

/// Makes `content` the whole content of a file.
pub fn write_file(workspace: &Workspace, replace: &impl Replace, path: &str, content: &str) -> Answer {
    let path = workspace.grants.resolve_file(path)?;
    let existed = match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => return Err(format!("{} is a folder", show(&path))),
        Ok(metadata) if !metadata.is_file() => return Err(format!("{} is not a regular file", show(&path))),
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound && workspace.grants.holder(&path).is_some() => {
            false
        }
        Err(error) => return Err(workspace.grants.explain("write", &path, &error)),
    };
    replace.replace(&path, &mut std::iter::once(content.as_bytes()))?;
    let done = if existed { "replaced" } else { "created" };
    let lines = content.lines().count();
    let unit = if lines == 1 { "line" } else { "lines" };
    Ok(format!("{done} {}: {lines} {unit}, {} bytes", show(&path), content.len()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failing test may panic")]

    use super::*;
    use crate::page::Budget;
    use crate::replace::stand_in::{Direct, Never};
    use granted::Grants;

    #[test]
    fn files_are_created_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let budget = Budget { bytes: 1_000, lines: 100 };
        let workspace = Workspace { grants: Grants::new([dir.path().display().to_string()]), budget };
        let created = write_file(&workspace, &Direct, "a/b/c.txt", "one\ntwo\n").unwrap();
        assert!(created.starts_with("created") && created.ends_with("c.txt: 2 lines, 8 bytes"), "{created}");
        let replaced = write_file(&workspace, &Direct, "a/b/c.txt", "x").unwrap();
        assert!(replaced.starts_with("replaced") && replaced.ends_with("1 line, 1 bytes"), "{replaced}");
        assert_eq!(fs::read_to_string(dir.path().join("a/b/c.txt")).unwrap(), "x");
        for (path, expected) in [
            ("a/b", "is a folder"),
            ("a/new/", "a/new/ names a folder, by its end `/`; give the path of a file"),
            ("a/b/c.txt/d", "a part of the path is not a folder"),
            ("/nowhere/x", "/nowhere/x is outside the granted directories"),
        ] {
            let message = write_file(&workspace, &Never, path, "x").unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
