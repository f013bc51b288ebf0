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
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Child, Command, Stdio};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;
    use crate::error::Result;

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
        let place = place(Path::new(&folder), "persistent");
        let mut store = patiently(|| Store::open(&place, PATIENCE));
        loop {
            let sum = patiently(|| store.increment("b", "n", 1, ROOM));
            let pair = entries(&[("one", &sum.to_string()), ("two", &sum.to_string())]);
            patiently(|| store.set("b", &pair, ROOM));
            println!("kept {sum}");
        }
    }

    /// Tries again for as long as others hold the file: on a machine with much to do that may be longer than a call waits.
    fn patiently<T>(mut attempt: impl FnMut() -> Kept<T>) -> T {
        loop {
            match attempt() {
                Err(KeepError::Busy) => {}
                done => return done.unwrap(),
            }
        }
    }

    /// Stores that processes are killed over at the same time, and how often.
    const STORES: u64 = 4;
    const ROUNDS: u64 = 25;
    const _: () = assert!(STORES * ROUNDS * 2 == 200);

    /// Kills counting processes over and over, two at a time: nothing that was kept is lost, no pair is torn, nothing is
    /// damaged.
    #[test]
    fn what_was_kept_survives_two_hundred_kills_at_random_moments() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seed = u64::from(now.subsec_nanos()) << 8;
        let killing = |store| std::thread::spawn(move || kill_over_and_over(seed.wrapping_add(store)));
        let all: Vec<_> = (0..STORES).map(killing).collect();
        all.into_iter().for_each(|thread| thread.join().unwrap());
    }

    fn kill_over_and_over(seed: u64) {
        let folder = tempfile::tempdir().unwrap();
        let mut known = 0;
        for round in 0..ROUNDS {
            let children = [0, 1].map(|_| counting(folder.path()));
            for (child, random) in children.into_iter().zip([random(seed, round), random(!seed, round)]) {
                // Whatever was said is kept, also what nobody had read when it was killed.
                known = known.max(killed(child, random));
            }
            let place = place(folder.path(), "persistent");
            let mut store = patiently(|| Store::open(&place, PATIENCE));
            let number = |key: &str| -> u64 {
                let value = store.get("b", key).unwrap().unwrap_or_else(|| b"0".to_vec());
                String::from_utf8(value).unwrap().parse().unwrap()
            };
            let context = format!("seed {seed}, round {round}");
            assert!(number("n") >= known, "{context}: {known} was kept and {} is there", number("n"));
            assert_eq!(number("one"), number("two"), "{context}");
            known = patiently(|| store.increment("b", "n", 0, ROOM));
        }
        assert!(known >= 50, "seed {seed}: they hardly counted, to {known}");
        let Store::File(file) = Store::open(&place(folder.path(), "persistent"), PATIENCE).unwrap() else {
            unreachable!("it is a file")
        };
        assert_eq!(file.integrity(), "ok", "seed {seed}");
    }

    fn counting(folder: &Path) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kept::tests::files::child_that_counts", "--nocapture"])
            .env(CHILD, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Kills the child when it has said some numbers and a moment later, and gives the largest number that it said.
    fn killed(mut child: Child, random: u64) -> u64 {
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let number = |line: String| -> Option<u64> {
            let line = line.trim_start_matches("test kept::tests::files::child_that_counts ... ");
            line.strip_prefix("kept ")?.parse().ok()
        };
        let before = lines.by_ref().filter_map(number).take(usize::try_from(random % 4).unwrap() + 1).max();
        std::thread::sleep(Duration::from_micros((random >> 8) % 3_000));
        child.kill().unwrap();
        // One that failed by itself was not killed.
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        before.max(lines.filter_map(number).max()).unwrap_or(0)
    }

    /// A number of which nothing can be said.
    fn random(seed: u64, round: u64) -> u64 {
        let digest = Digest::of(format!("{seed} {round}").as_bytes()).to_string();
        u64::from_str_radix(&digest[digest.len() - 16..], 16).unwrap()
    }

    #[test]
    fn an_operator_sees_and_removes_what_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state");
        let folder = StateFolder::at(&path);
        assert!(folder.list().unwrap().is_empty());
        let place = |component: &str, session: Option<&str>| {
            let scope = session.map_or(StateScope::Persistent, |_| StateScope::Session);
            Place::of(scope, &path, component, session).unwrap()
        };
        let mut store = Store::open(&place("my-tool", None), PATIENCE).unwrap();
        store.set("b", &entries(&[("x", "1"), ("y", "22")]), ROOM).unwrap();
        for session in ["s", "t"] {
            let mut store = Store::open(&place("my-tool", Some(session)), PATIENCE).unwrap();
            store.set("b", &entries(&[("x", "1")]), ROOM).unwrap();
        }
        let mut strange = Store::open(&place("Strange/../name", None), PATIENCE).unwrap();
        strange.set("b", &entries(&[("x", "1")]), ROOM).unwrap();
        std::fs::write(path.join("damaged-0123.db"), "x".repeat(4096)).unwrap();
        let shown = || -> Vec<String> {
            let line = |kept: Result<KeptScope>| match kept {
                Ok(kept) => {
                    assert!(kept.changed > 0);
                    format!("{} {:?} {} {}", kept.component, kept.session, kept.values, kept.bytes)
                }
                Err(error) => error.to_string().replace(&path.display().to_string(), "FOLDER"),
            };
            folder.list().unwrap().into_iter().map(line).collect()
        };
        let all = shown();
        assert!(all[0].starts_with("Strange____name-") && all[0].ends_with(" None 1 66"), "{all:?}");
        let damaged = "the state in FOLDER/damaged-0123.db: the store cannot be used (its file is damaged); \
            `toolcell state clear damaged-0123` removes it with all that is in it";
        let rest = ["my-tool None 2 133", "my-tool Some(\"s\") 1 66", "my-tool Some(\"t\") 1 66"];
        assert_eq!(all[1..], [[damaged].as_slice(), &rest].concat());
        assert_eq!(folder.clear("my-tool", Some("s")).unwrap().scopes.len(), 1);
        assert_eq!(shown()[2..], [rest[0], rest[2]]);
        // Who has it open sees it gone, and goes on.
        let removed = folder.clear("my-tool", None).unwrap();
        assert_eq!(removed.scopes.iter().map(|kept| kept.values).sum::<u64>(), 3);
        assert_eq!(store.get("b", "x").unwrap(), None);
        store.set("b", &entries(&[("x", "1")]), ROOM).unwrap();
        assert_eq!(shown()[2..], ["my-tool None 1 66"]);
        let strange = all[0].split(' ').next().unwrap();
        assert_eq!(folder.clear(strange, None).unwrap().scopes.len(), 1);
        for (component, session, told) in [
            ("other", None, "no component `other` keeps anything"),
            ("../my-tool", None, "no component `../my-tool` keeps anything"),
            ("my-tool", Some("persistent"), "keeps nothing for a session `persistent`"),
            ("damaged-0123", Some("s"), "its file is damaged"),
        ] {
            let refused = folder.clear(component, session).unwrap_err().to_string();
            assert!(refused.contains(told), "{refused}");
        }
        assert!(folder.components().unwrap().contains(&"damaged-0123".to_owned()));
        let cleared = folder.clear("damaged-0123", None).unwrap();
        assert_eq!(cleared.unreadable.as_deref(), Some("its file is damaged"));
        assert!(!folder.components().unwrap().contains(&"damaged-0123".to_owned()));
    }

    #[test]
    fn a_file_with_damaged_pages_is_told_and_can_be_removed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state");
        let folder = StateFolder::at(&path);
        let place = Place::of(StateScope::Persistent, &path, "pr", None).unwrap();
        let mut store = Store::open(&place, PATIENCE).unwrap();
        let many: Vec<_> = (0..300).map(|number| (format!("{number}"), vec![b'v'; 200])).collect();
        store.set("b", &many, ROOM).unwrap();
        drop(store);
        assert!(folder.list().unwrap().iter().all(Result::is_ok));
        let file = path.join(file_name("pr"));
        let mut bytes = std::fs::read(&file).unwrap();
        bytes.iter_mut().skip(4096).step_by(97).for_each(|byte| *byte ^= 0xff);
        std::fs::write(&file, bytes).unwrap();
        let told: Vec<String> =
            folder.list().unwrap().into_iter().filter_map(|kept| Some(kept.err()?.to_string())).collect();
        assert!(told.len() == 1 && told[0].contains("damaged"), "{told:?}");
        assert!(told[0].contains("`toolcell state clear pr` removes it with all that is in it"), "{told:?}");
        let cleared = folder.clear("pr", None).unwrap();
        assert_eq!(cleared.unreadable.as_deref(), Some("its file is damaged"));
        assert!(!file.exists() && folder.components().unwrap().is_empty());
    }

    #[test]
    fn whoever_changes_values_without_end_leaves_others_their_turn() {
        let folder = tempfile::tempdir().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (place, is_over) = (place(folder.path(), &format!("session {number}")), &is_over);
                scope.spawn(move || {
                    let mut store = Store::open(&place, PATIENCE).unwrap();
                    while !is_over.load(Ordering::Relaxed) {
                        store.increment("b", "n", 1, ROOM).unwrap();
                    }
                });
            }
            let _over = Over(&is_over);
            for _ in 0..20 {
                // As each call does it, opening included.
                let mut store = Store::open(&place(folder.path(), "session own"), PATIENCE).unwrap();
                store.increment("b", "n", 1, ROOM).unwrap();
            }
        });
    }

    /// Ends what runs beside a test, however that ends.
    struct Over<'a>(&'a AtomicBool);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(feature = "state")]
#[test]
fn sessions_beyond_their_bounds_are_forgotten_the_oldest_first() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("state/a.db");
    let keep = |scope: &str, bytes: usize| {
        let file = file::File::open(&path, scope, PATIENCE).unwrap();
        let mut file = file.bounded(file::Bounds { sessions: 3, bytes: 10_000 });
        file.set("b", &[("k".to_owned(), vec![0; bytes])], ROOM).unwrap();
    };
    let age = |scope: &str, seconds: i64| {
        let connection = rusqlite::Connection::open(&path).unwrap();
        let sql = "UPDATE scope SET used = used - ?1 WHERE name = ?2";
        assert_eq!(connection.execute(sql, rusqlite::params![seconds, scope]).unwrap(), 1);
    };
    let kept = || {
        let scopes = file::File::open(&path, "", PATIENCE).unwrap().scopes().unwrap();
        scopes.into_iter().map(|(name, ..)| name).collect::<Vec<_>>()
    };
    keep("persistent", 100);
    age("persistent", 1000);
    for (at, scope) in ["session a", "session b", "session c"].into_iter().enumerate() {
        keep(scope, 100);
        age(scope, 100 - i64::try_from(at).unwrap());
    }
    keep("session d", 100);
    assert_eq!(
        kept(),
        ["persistent", "session b", "session c", "session d"],
        "the fourth takes the first's place"
    );
    // By bytes too, and what is for good counts for nothing.
    keep("session c", 9_700);
    assert_eq!(kept(), ["persistent", "session c", "session d"]);
    keep("session c", 20_000);
    assert_eq!(kept(), ["persistent", "session c"], "what is in use stays");
}

#[cfg(feature = "state")]
#[test]
fn a_session_that_is_only_read_is_in_use() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("state/a.db");
    let keep = |scope: &str| {
        let mut file = file::File::open(&path, scope, PATIENCE).unwrap();
        file.set("b", &entries(&[("k", "v")]), ROOM).unwrap();
    };
    keep("session read");
    keep("session left");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE scope SET used = used - ?1", [31 * 24 * 60 * 60]).unwrap();
    let read = file::File::open(&path, "session read", PATIENCE).unwrap();
    assert_eq!(read.get("b", "k").unwrap().unwrap(), b"v");
    keep("session new");
    let scopes = file::File::open(&path, "", PATIENCE).unwrap().scopes().unwrap();
    let names: Vec<String> = scopes.into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["session new", "session read"]);
}

#[cfg(feature = "state")]
#[test]
fn a_session_that_is_over_is_forgotten_in_every_file() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(scratch.path().join("state"));
    folder.forget_session("s");
    for component in ["a", "b"] {
        for scope in ["session s", "session t", "persistent"] {
            let path = folder.path().join(file_name(component));
            let mut file = file::File::open(&path, scope, PATIENCE).unwrap();
            file.set("", &entries(&[("k", "v")]), ROOM).unwrap();
        }
    }
    folder.forget_session("s");
    let left = folder.list().unwrap().into_iter().map(|kept| kept.unwrap().session).collect::<Vec<_>>();
    assert_eq!(left, [None, Some("t".to_owned()), None, Some("t".to_owned())]);
}
