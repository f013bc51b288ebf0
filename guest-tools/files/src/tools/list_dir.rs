//! `list-dir`

use std::collections::BinaryHeap;
use std::fs;
use std::path::Path;

use crate::page::Page;
use crate::{Answer, Workspace, source};

/// Entries that are shown. Only their names are held, however many the folder has.
const MOST: usize = 1_000;

/// Lists the entries of a folder, sorted by name.
pub fn list_dir(workspace: &Workspace, path: Option<&str>) -> Answer {
    let path = workspace.grants.resolve(path.unwrap_or("."))?;
    source::folder(&workspace.grants, &path)?;
    let fail = |error: std::io::Error| workspace.grants.explain("list", &path, &error);

    // The alphabetically first names: the heap's greatest goes when there are too many.
    let mut first = BinaryHeap::new();
    let (mut total, mut unreadable) = (0u64, 0u64);
    for entry in fs::read_dir(&path).map_err(fail)? {
        let Ok(entry) = entry else {
            unreadable += 1;
            continue;
        };
        total += 1;
        first.push(entry.file_name());
        if first.len() > MOST {
            first.pop();
        }
    }
    let mut page = Page::new(workspace.budget);
    let mut shown = 0u64;
    for name in first.into_sorted_vec() {
        let name = Path::new(&name);
        if !page.add(&describe(&path.join(name), &name.display().to_string())) {
            break;
        }
        shown += 1;
    }
    let mut notes = Vec::new();
    if total == 0 && unreadable == 0 {
        notes.push("the folder is empty".to_owned());
    }
    if shown < total {
        notes.push(format!("{shown} of {total} entries; glob finds the others by name"));
    }
    if unreadable > 0 {
        notes.push(format!("{unreadable} entries could not be read"));
    }
    Ok(page.close(&notes))
}

fn describe(path: &Path, name: &str) -> String {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => format!("{name}/"),
        Ok(metadata) if metadata.is_symlink() => format!("{name}@"),
        Ok(metadata) if metadata.is_file() => format!("{name}\t{}", metadata.len()),
        Ok(_) => format!("{name}\tspecial file"),
        Err(_) => format!("{name}\tnot accessible"),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failing test may panic")]

    use super::*;
    use crate::grants::Grants;
    use crate::page::Budget;

    fn workspace(dir: &Path, bytes: u64) -> Workspace {
        Workspace { grants: Grants::new([dir.display().to_string()]), budget: Budget { bytes, lines: 2_000 } }
    }

    #[test]
    fn entries_are_sorted_and_marked() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("b")).unwrap();
        fs::write(dir.path().join("c.txt"), "12345").unwrap();
        fs::write(dir.path().join(".a"), "").unwrap();
        std::os::unix::fs::symlink("/nowhere", dir.path().join("d")).unwrap();
        let workspace = workspace(dir.path(), 40_000);
        assert_eq!(list_dir(&workspace, None).as_deref(), Ok(".a\t0\nb/\nc.txt\t5\nd@"));
        assert_eq!(list_dir(&workspace, Some("b")).as_deref(), Ok("[the folder is empty]"));
        assert!(list_dir(&workspace, Some("c.txt")).unwrap_err().ends_with("is not a folder"));
        assert!(list_dir(&workspace, Some("x")).unwrap_err().ends_with("does not exist"));
    }

    #[test]
    fn very_many_entries_are_bounded_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..1_500 {
            fs::write(dir.path().join(format!("{number:04}")), "").unwrap();
        }
        let listed = list_dir(&workspace(dir.path(), 1 << 20), None).unwrap();
        assert_eq!(listed.lines().count(), 1_001);
        assert!(listed.starts_with("0000\t0\n0001\t0\n"));
        assert!(
            listed.ends_with("0999\t0\n[1000 of 1500 entries; glob finds the others by name]"),
            "{listed}"
        );
        let listed = list_dir(&workspace(dir.path(), 1_000), None).unwrap();
        assert!(listed.len() <= 1_000 && listed.contains(" of 1500 entries"));
    }
}
