#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

use super::*;

fn entries(pairs: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
}

const ROOM: u64 = 1 << 20;

const PATIENCE: Duration = Duration::from_secs(5);

/// A store in memory, and one in a file.
fn both(check: impl Fn(&mut Store)) {
    check(&mut Store::open(&Place::Call, PATIENCE).unwrap());
    #[cfg(feature = "state")]
    {
        let folder = tempfile::tempdir().unwrap();
        check(&mut Store::open(&place(folder.path(), "persistent"), PATIENCE).unwrap());
    }
}

fn place(folder: &Path, scope: &str) -> Place {
    Place::File { file: folder.join("state/a.db"), scope: scope.to_owned() }
}

#[test]
fn what_is_set_is_there_until_it_is_deleted() {
    both(|store| {
        store.set("b", &entries(&[("x", "1"), ("y", "2"), ("x", "3")]), ROOM).unwrap();
        assert_eq!(store.get("b", "x").unwrap().unwrap(), b"3");
        assert!(store.exists("b", "y").unwrap() && !store.exists("other", "y").unwrap());
        assert_eq!(store.keys("b", None).unwrap(), (vec!["x".to_owned(), "y".to_owned()], None));
        store.delete("b", &["x".to_owned(), "gone".to_owned()]).unwrap();
        assert_eq!(store.get("b", "x").unwrap(), None);
        assert_eq!(store.increment("b", "n", 2, ROOM).unwrap(), 2);
        assert_eq!(store.increment("b", "n", 5, ROOM).unwrap(), 7);
        assert_eq!(store.get("b", "n").unwrap().unwrap(), b"7");
        store.set("b", &entries(&[("n", "x")]), ROOM).unwrap();
        assert_eq!(store.increment("b", "n", 1, ROOM), Err(KeepError::Wrong("the value is no number")));
        store.set("b", &entries(&[("n", "18446744073709551615")]), ROOM).unwrap();
        assert!(matches!(store.increment("b", "n", 1, ROOM), Err(KeepError::Wrong(_))));
    });
}

#[test]
fn all_keys_come_in_pages() {
    both(|store| {
        let many: Vec<(String, Vec<u8>)> =
            (0..2 * PAGE + 1).map(|n| (format!("{n:05}"), Vec::new())).collect();
        store.set("b", &many, ROOM).unwrap();
        let (mut all, mut cursor) = store.keys("b", None).unwrap();
        while cursor.is_some() {
            let (mut page, next) = store.keys("b", cursor).unwrap();
            all.append(&mut page);
            cursor = next;
        }
        assert_eq!(all.len(), many.len());
        assert!(many.iter().all(|(key, _)| all.contains(key)));
        assert_eq!(store.keys("b", Some(u64::MAX)).unwrap(), (vec![], None));
    });
}

#[test]
fn no_more_is_kept_than_there_is_room_for() {
    both(|store| {
        let room = 3 * (ENTRY_BYTES + 11);
        let ten = "0123456789";
        store.set("b", &entries(&[("1", ten), ("2", ten), ("3", ten)]), room).unwrap();
        let full = store.set("b", &entries(&[("4", "")]), room);
        assert_eq!(full, Err(KeepError::Full { wanted: room + ENTRY_BYTES + 1 }));
        assert!(!store.exists("b", "4").unwrap(), "nothing of what is refused stays");
        assert!(store.set("other", &entries(&[("4", "")]), room).is_err(), "buckets share the room");
        store.set("b", &entries(&[("1", "smaller")]), room).unwrap();
        store.delete("b", &["2".to_owned()]).unwrap();
        store.set("b", &entries(&[("4", ten)]), room).unwrap();
        // Less room than before: what is there may shrink.
        store.set("b", &entries(&[("4", "x")]), 1).unwrap();
        assert!(store.set("b", &entries(&[("4", "xy")]), 1).is_err());
        assert!(store.set("b", &entries(&[(&"k".repeat(MAX_KEY_BYTES + 1), "")]), ROOM).is_err());
    });
}

#[test]
fn places_are_apart() {
    let folder = Path::new("/f");
    let of = |scope, component, session| Place::of(scope, folder, component, session);
    assert_eq!(of(StateScope::None, "a", Some("s")), None);
    assert_eq!(of(StateScope::Call, "a", Some("s")), Some(Place::Call));
    assert_eq!(of(StateScope::Session, "a", None), Some(Place::Call));
    let places = [
        of(StateScope::Session, "a", Some("s")),
        of(StateScope::Session, "a", Some("t")),
        of(StateScope::Session, "b", Some("s")),
        of(StateScope::Session, "a", Some("persistent")),
        of(StateScope::Persistent, "a", Some("s")),
        of(StateScope::Persistent, "a/b", None),
        of(StateScope::Persistent, "a.b", None),
        of(StateScope::Persistent, "../a", None),
    ];
    for (index, place) in places.iter().enumerate() {
        assert!(!places[..index].contains(place), "{place:?}");
        let Some(Place::File { file, .. }) = place else { unreachable!("{place:?}") };
        assert_eq!(file.parent(), Some(folder));
    }
    assert_eq!(of(StateScope::Persistent, "a", Some("s")), of(StateScope::Persistent, "a", None));
}

#[cfg(feature = "state")]
mod files {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_its_owners_and_keeps_scopes_apart() {
        let folder = tempfile::tempdir().unwrap();
        let mut one = Store::open(&place(folder.path(), "session one"), PATIENCE).unwrap();
        let mut two = Store::open(&place(folder.path(), "session two"), PATIENCE).unwrap();
        one.set("b", &entries(&[("x", "1")]), ROOM).unwrap();
        assert_eq!(two.get("b", "x").unwrap(), None);
        two.set("b", &entries(&[("x", "2")]), ROOM).unwrap();
        drop((one, two));
        let one = Store::open(&place(folder.path(), "session one"), PATIENCE).unwrap();
        assert_eq!(one.get("b", "x").unwrap().unwrap(), b"1");
        for file in std::fs::read_dir(folder.path().join("state")).unwrap() {
            let mode = file.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0);
        }
    }

    #[test]
    fn what_is_no_store_of_ours_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::DirBuilder::new().create(folder.path().join("state")).unwrap();
        let open = || {
            Store::open(&place(folder.path(), "persistent"), PATIENCE).map(|_| ()).unwrap_err().to_string()
        };
        std::fs::write(folder.path().join("state/a.db"), "x".repeat(4096)).unwrap();
        assert_eq!(open(), "the store cannot be used (its file is damaged)");
        std::fs::remove_file(folder.path().join("state/a.db")).unwrap();
        std::os::unix::fs::symlink("/dev/null", folder.path().join("state/a.db")).unwrap();
        assert!(open().starts_with("the store cannot be used"));
        std::fs::set_permissions(folder.path().join("state"), std::fs::Permissions::from_mode(0o777))
            .unwrap();
        assert_eq!(open(), "the store cannot be used (its folder is not there for us alone)");
    }

    /// The variable that tells the child of the next test where to count.
    const CHILD: &str = "TOOLCELL_TEST_COUNTS_IN";

    /// Counts up without end where it is told to, and says each number that it was told is kept.
    #[test]
    #[expect(clippy::print_stdout, reason = "its parent reads it")]
    fn child_that_counts() {
        let Some(folder) = std::env::var_os(CHILD) else { return };
        let mut store = Store::open(&place(Path::new(&folder), "persistent"), PATIENCE).unwrap();
        loop {
            let sum = store.increment("b", "n", 1, ROOM).unwrap();
            let pair = entries(&[("one", &sum.to_string()), ("two", &sum.to_string())]);
            store.set("b", &pair, ROOM).unwrap();
            println!("kept {sum}");
        }
    }

    /// Kills two counting processes over and over: nothing that was kept is lost, no pair is torn, nothing is damaged.
    #[test]
    fn what_was_kept_survives_kills_at_any_moment() {
        use std::io::BufRead as _;
        use std::process::{Command, Stdio};

        let folder = tempfile::tempdir().unwrap();
        let spawn = || {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "kept::tests::files::child_that_counts", "--nocapture"])
                .env(CHILD, folder.path())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut known = 0;
        for round in 0..30_u64 {
            let mut children = [spawn(), spawn()];
            for (index, child) in children.iter_mut().enumerate() {
                // Killed after a different number of lines, wherever it is then.
                let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
                let numbers = lines.map_while(Result::ok).filter_map(|line| {
                    line.trim_start_matches("test kept::tests::files::child_that_counts ... ")
                        .strip_prefix("kept ")
                        .map(|number| number.parse::<u64>().unwrap())
                });
                let take = usize::try_from((round * 7 + 3) % 4).unwrap() * (1 - index) + 1;
                for number in numbers.take(take) {
                    known = number.max(known);
                }
                child.kill().unwrap();
                child.wait().unwrap();
            }
            let mut store = Store::open(&place(folder.path(), "persistent"), PATIENCE).unwrap();
            let number = |key: &str| -> u64 {
                String::from_utf8(store.get("b", key).unwrap().unwrap()).unwrap().parse().unwrap()
            };
            assert!(number("n") >= known, "round {round}: {known} was kept and {} is there", number("n"));
            assert_eq!(number("one"), number("two"), "round {round}");
            known = store.increment("b", "n", 0, ROOM).unwrap();
        }
        assert!(known >= 60, "{known}");
        let Store::File(file) = Store::open(&place(folder.path(), "persistent"), PATIENCE).unwrap() else {
            unreachable!("it is a file")
        };
        assert_eq!(file.integrity(), "ok");
    }
}
