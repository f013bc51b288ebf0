#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::call::Given;
use super::*;
use crate::call::{Arguments, CallError, ErrorKind, Outcome, ToolCall};
use crate::output::Redactor;
use crate::policy::{Digest, StateScope};
use crate::schema::RepairMode;

fn called() -> Called {
    Called {
        tool: "t".to_owned(),
        id: json!("c1"),
        arguments: Given::Value(json!({ "a": 1 })),
        meta: vec![("k".to_owned(), "v".to_owned())],
        session: None,
        component: Component {
            name: "c".to_owned(),
            digest: Digest::of(b"bytes").to_string(),
            origin: "t".to_owned(),
            flag: None,
            repair: RepairMode::default(),
        },
        env: BTreeMap::new(),
        config: BTreeMap::new(),
        secrets: BTreeMap::new(),
        limits: BTreeMap::new(),
        output: (1, 1),
        state: State { scope: StateScope::None, read_only: false, setting: String::new() },
    }
}

fn recorded(answers: &[Result<Vec<u8>, String>]) -> Recording {
    let recorder = Recorder::new();
    recorder.begin(called(), b"bytes", None);
    for (number, answer) in answers.iter().enumerate() {
        recorder.note(format!("read {number}"), answer);
    }
    recorder.outcome(&Outcome::begin(&ToolCall::new("t", json!({}))));
    recorder.finish().unwrap()
}

fn error_of(path: &Path) -> String {
    let shown = path.display().to_string();
    Recording::read(path).unwrap_err().to_string().replace(&shown, "FILE")
}

#[test]
fn a_recording_is_read_as_it_was_written_by_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    let recording =
        recorded(&[Ok(b"same".to_vec()), Ok(vec![0xff, 0]), Ok(b"same".to_vec()), Err("no".into())]);
    recording.write(&path).unwrap();
    assert_eq!(Recording::read(&path).unwrap(), recording);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("\"same\"").count(), 1, "a content is there once: {text}");
    Recording::may_be_written(&path).unwrap();
    recording.write(&path).unwrap();
}

#[test]
fn a_damaged_or_foreign_file_is_one_error_at_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    recorded(&[Ok(b"x".to_vec()), Ok(b"y".to_vec())]).write(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = error_of(&path);
        assert!(error.contains("is damaged") || error.contains("no recording"), "{length}: {error}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        assert!(Recording::read(&path).is_err(), "{at}");
    }
    std::fs::write(&path, "{\"toolcell_recording\":7}\n").unwrap();
    assert!(error_of(&path).contains("of version 7, and this toolcell reads version 1"));
    for foreign in [&b""[..], b"[]", b"{}\n", b"\xff\xfe\0", b"hello\nworld\n"] {
        std::fs::write(&path, foreign).unwrap();
        assert_eq!(error_of(&path), "the recording FILE: this is no recording of toolcell");
        assert!(Recording::may_be_written(&path).unwrap_err().to_string().contains("something else"));
    }
    assert_eq!(
        error_of(&folder.path().join("gone")),
        "cannot read FILE: No such file or directory (os error 2)"
    );
    assert!(error_of(folder.path()).contains("no regular file"));
    let fifo = folder.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(error_of(&fifo).contains("no regular file"));
}

#[test]
fn a_replay_is_answered_as_long_as_it_asks_the_same() {
    let recording = Arc::new(recorded(&[Ok(b"x".to_vec()), Err("no".into())]));
    let player = Player::new(Arc::clone(&recording));
    let tape = Tape::Replay(player.clone());
    assert_eq!(tape.given::<Result<Vec<u8>, String>>("read 0").unwrap(), Some(Ok(b"x".to_vec())));
    let left = player.difference().unwrap();
    assert_eq!((left.event, left.expected.as_str(), left.got.as_str()), (Some(2), "read 1", "nothing more"));
    assert_eq!(tape.given::<Result<Vec<u8>, String>>("read 1").unwrap(), Some(Err("no".to_owned())));
    assert_eq!(player.difference(), None);
    let more = tape.given::<bool>("read 2").unwrap_err();
    assert_eq!((more.event, more.expected.as_str(), more.got.as_str()), (Some(3), "nothing more", "read 2"));
    let other = Tape::Replay(Player::new(Arc::clone(&recording))).given::<bool>("write 0").unwrap_err();
    let told = "event 1: what the tool asks of the host is `read 0` in the recording, and `write 0` now";
    assert_eq!(other.to_string(), told);
    let kind = Tape::Replay(Player::new(recording)).given::<bool>("read 0").unwrap_err();
    assert_eq!(kind.got, "an answer of another kind");
}

#[test]
fn every_answer_comes_back_as_it_was() {
    fn check<T: Taped + PartialEq + std::fmt::Debug>(value: T) {
        let mut contents = Contents::default();
        let taped: Value = value.to_tape(&mut contents);
        let text = taped.to_string();
        let taped = serde_json::from_str(&text).unwrap();
        assert_eq!(T::from_tape(&taped, &contents), Some(value), "{text}");
    }
    check(());
    check(u64::MAX);
    check(Some(Some(String::new())));
    check(None::<Option<u32>>);
    check(Some(None::<u32>));
    check(Ok::<_, String>((true, vec![3_u32, 1])));
    check(Err::<(), _>(vec![(1_u64, "é".to_owned())]));
    check(vec![0_u8, 255]);
    check(Vec::<u8>::new());
}

#[test]
fn no_secret_gets_into_a_recording() {
    let redactor = Redactor::new([("key", "hunter2-hunter2")]).unwrap().map(Arc::new);
    let begun = || {
        let recorder = Recorder::new();
        recorder.begin(called(), b"bytes", redactor.as_ref());
        recorder
    };
    let ended = |recorder: Recorder| {
        recorder.note("last".to_owned(), &true);
        recorder.outcome(&Outcome::begin(&ToolCall::new("t", json!({}))));
        recorder.finish().unwrap()
    };
    let recorder = begun();
    recorder.note("first".to_owned(), &7_u64);
    recorder.note("read".to_owned(), &b"..hunter2-hunter2..".to_vec());
    let recording = ended(recorder);
    assert_eq!(recording.events(), 1);
    assert!(recording.unreplayable().unwrap().contains("event 2"), "{recording:?}");
    let recorder = begun();
    recorder.note("open `hunter2-hunter2`".to_owned(), &true);
    assert!(ended(recorder).unreplayable().is_some());
    let recorder = Recorder::new();
    let mut with = called();
    with.arguments = Given::from(&Arguments::Text("{\"a\":\"hunter2-hunter2\"}".to_owned()));
    recorder.begin(with, b"bytes", redactor.as_ref());
    assert!(recorder.finish().unwrap_err().contains("a secret is in the call's arguments"));
}

#[test]
fn what_a_replay_cannot_repeat_is_told() {
    let of = |kind: ErrorKind| {
        let recorder = Recorder::new();
        recorder.begin(called(), b"bytes", None);
        let mut outcome = Outcome::begin(&ToolCall::new("t", json!({})));
        outcome.error = Some(CallError::new(kind, "x"));
        recorder.outcome(&outcome);
        recorder.finish().unwrap().unreplayable().map(str::to_owned)
    };
    assert!(of(ErrorKind::Timeout).unwrap().contains("ended by its time"));
    assert!(of(ErrorKind::Cancelled).unwrap().contains("cancelled"));
    assert_eq!(of(ErrorKind::ToolError), None);
    assert!(Recorder::new().finish().unwrap_err().contains("did not run"));
    let twice = Recorder::new();
    twice.begin(called(), b"bytes", None);
    assert!(twice.finish().unwrap_err().contains("has not ended"));
}
