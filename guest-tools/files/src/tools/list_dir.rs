//! `list-dir`

use std::collections::BinaryHeap;
use std::fs;
use std::path::Path;

use crate::page::Page;
use crate::span::Span;
use crate::{Answer, Workspace, source};
use granted::{is_withheld, show, spelled};

/// Entries of a page. Only the names up to its end are held, however many the folder has.
const MOST: usize = 1_000;

/// Lists the entries of a folder, sorted by name, from the one with the number `offset`.
pub fn list_dir(workspace: &Workspace, path: Option<&str>, offset: Option<u32>) -> Answer {
    let mut span = Span::from(offset)?;
    let path = workspace.grants.resolve(path.unwrap_or("."))?;
    source::folder(&workspace.grants, &path)?;
    let fail = |error: std::io::Error| workspace.grants.explain("list", &path, &error);

    let passed = usize::try_from(span.first - 1).unwrap_or(usize::MAX);
    // The alphabetically first names: the heap's greatest goes when there are too many.
    let mut first = BinaryHeap::new();
    let mut unreadable = 0u64;
    for entry in fs::read_dir(&path).map_err(fail)? {
        let Ok(entry) = entry else {
            unreadable += 1;
            continue;
        };
        span.total += 1;
        first.push(entry.file_name());
        if first.len() > passed.saturating_add(MOST) {
            first.pop();
        }
    }
    let mut page = Page::new(workspace.budget);
    for name in first.into_sorted_vec().into_iter().skip(passed) {
        let name = Path::new(&name);
        if !page.add(&describe(&path.join(name), &spelled(name))) {
            break;
        }
        span.shown += 1;
    }
    let among = format!(" in {}", show(&path));
    let mut notes = Vec::from_iter(span.note("entries", &among)?);
    if span.total == 0 && unreadable == 0 {
        notes.push(nothing(&path));
    }
    if unreadable > 0 {
        notes.push(format!("{unreadable} entries could not be read"));
    }
    Ok(page.close(&notes))
}

/// What to say of a folder that shows no entry. The host leaves out what policy withholds without a word, so it is asked
/// for a name that such a folder would have: one that nothing withholds is only not there.
fn nothing(folder: &Path) -> String {
    match fs::symlink_metadata(folder.join("entry")) {
        Err(error) if is_withheld(&error) => "what is in the folder is withheld from tools".to_owned(),
        _ => "the folder is empty".to_owned(),
    }
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
    use crate::page::Budget;
    use granted::Grants;

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
        assert_eq!(list_dir(&workspace, None, None).as_deref(), Ok(".a\t0\nb/\nc.txt\t5\nd@"));
        assert_eq!(list_dir(&workspace, Some("b"), None).as_deref(), Ok("[the folder is empty]"));
        assert!(list_dir(&workspace, Some("c.txt"), None).unwrap_err().ends_with("is not a folder"));
        assert!(list_dir(&workspace, Some("x"), None).unwrap_err().ends_with("does not exist"));
    }

    #[test]
    fn a_name_is_one_line() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x\n[entries 1-3 of 9 in w; go on with offset 4]"), "").unwrap();
        fs::write(dir.path().join("y\t5"), "").unwrap();
        let listed = list_dir(&workspace(dir.path(), 40_000), None, None);
        let expected = "x\\n[entries 1-3 of 9 in w; go on with offset 4]\t0\ny\\t5\t0";
        assert_eq!(listed.as_deref(), Ok(expected));
    }

    #[test]
    fn very_many_entries_are_bounded_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..1_500 {
            fs::write(dir.path().join(format!("{number:04}")), "").unwrap();
        }
        let list = |bytes, offset| {
            list_dir(&workspace(dir.path(), bytes), None, offset)
                .map(|listed| listed.replace(&dir.path().display().to_string(), "/work"))
                .map_err(|message| message.replace(&dir.path().display().to_string(), "/work"))
        };
        let listed = list(1 << 20, None).unwrap();
        assert_eq!(listed.lines().count(), 1_001);
        assert!(listed.starts_with("0000\t0\n0001\t0\n"));
        assert!(
            listed.ends_with("0999\t0\n[entries 1-1000 of 1500 in /work; go on with offset 1001]"),
            "{listed}"
        );
        let rest = list(1 << 20, Some(1_001)).unwrap();
        assert!(rest.starts_with("1000\t0\n"), "{rest}");
        assert!(rest.ends_with("1499\t0\n[entries 1001-1500 of 1500 in /work: the last]"), "{rest}");
        assert_eq!(
            list(1 << 20, Some(u32::MAX)),
            Err("offset 4294967295 is past the end: the number of entries is 1500 in /work".to_owned())
        );
        let listed = list(1_000, None).unwrap();
        assert!(listed.len() <= 1_000 && listed.contains(" of 1500 in /work; go on"), "{listed}");
    }
}
