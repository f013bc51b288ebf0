#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::borrow::Cow;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::call::{
    Action, CallError, Denial, ErrorKind, LimitHit, Outcome, Status, Step, ToolCall, Truncation, Usage,
    Verdict,
};
use crate::config::Folders;
use crate::error::Result;
use crate::policy::Digest;

const KEY: &[u8] = b"a key for the tests";

fn outcome(name: &str) -> Outcome {
    let mut outcome = Outcome::begin(&ToolCall::new(name, json!({})).id("toolu_1"));
    outcome.usage = Usage { duration_ms: 3.125, ..Usage::default() };
    outcome
}

fn record<'a>(outcome: &'a Outcome, arguments: &'a Value) -> Record<'a> {
    Record {
        outcome,
        tool: Some(Facts { component: "files", digest: None, origin: "files.read-file" }),
        arguments: Some(arguments),
        original: None,
        session: Some("s1"),
        principal: None,
        decisions: &[],
        started: SystemTime::UNIX_EPOCH + Duration::from_millis(1_775_000_000_123),
        redact: None,
    }
}

fn open(audit: &Audit) -> AuditLog {
    audit.open(&Folders::under(Path::new("/nowhere"))).unwrap()
}

fn write(log: &AuditLog, name: &str) -> Result<()> {
    log.write(&record(&outcome(name), &json!({ "path": "/work/x" })))
}

/// A file of `calls` lines.
fn written(folder: &Path, calls: usize, key: Option<&[u8]>) -> (Audit, PathBuf) {
    let path = folder.join("audit.jsonl");
    let mut audit = Audit::file(&path);
    if let Some(key) = key {
        audit = audit.key(key);
    }
    let log = open(&audit);
    for call in 0..calls {
        write(&log, &format!("tool_{call}")).unwrap();
    }
    (audit, path)
}

/// The line and the words of the first break.
fn broken(path: &Path, key: Option<&[u8]>) -> Option<(u64, String)> {
    let verification = verify(path, key, &[]).unwrap();
    let file = &verification.files[0];
    let broken = file.broken.clone();
    assert_eq!(verification.is_intact(), broken.is_none() && file.uncovered.is_none());
    broken.map(|broken| (broken.line, broken.reason))
}

#[test]
fn a_line_says_everything_about_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = open(&Audit::file(&path).arguments(Detail::Full));
    let mut full = outcome("grep");
    full.status = Status::Error;
    full.truncated = Some(Truncation::new(9000, 12, vec![(0, 100)]));
    full.denials = vec![Denial::new("dirs", "open", "/work/x", "component.files.grant.dirs")];
    full.error = Some(CallError::new(ErrorKind::Timeout, "secret words of a tool").limit(LimitHit::new(
        "timeout",
        "5s",
        "5.001s",
        "limits.timeout",
    )));
    let decisions = [
        Verdict::new(Step::PreHook, "check", Action::Rewrite),
        Verdict::new(Step::Rule, "write_* (toolcell.toml:9)", Action::Ask)
            .reason(Some("a \"reason\"\n".to_owned())),
    ];
    let arguments = json!({ "pattern": "x", "limit": 2 });
    let tool = Facts { component: "files", digest: Some(Digest::of(b"")), origin: "toolcell:files/api.grep" };
    log.write(&Record {
        tool: Some(tool),
        decisions: &decisions,
        principal: Some("u42"),
        ..record(&full, &arguments)
    })
    .unwrap();
    let mut unknown = outcome("nothing");
    unknown.id = Value::Null;
    unknown.status = Status::Error;
    unknown.error = Some(CallError::new(ErrorKind::UnknownTool, "there is none"));
    log.write(&Record { tool: None, arguments: None, session: None, ..record(&unknown, &json!({})) })
        .unwrap();
    // What is random: the log, and with it the hashes.
    let text = fs::read_to_string(&path).unwrap();
    let random = regex::Regex::new(r#"("log":"|"prev":"sha256:|"hash":"sha256:)[0-9a-f]+"#).unwrap();
    insta::assert_snapshot!(random.replace_all(&text, "$1…"));
    assert_eq!(verify(&path, None, &[]).unwrap().files[0].calls, 2);
}

#[test]
fn arguments_are_kept_as_a_hash_unless_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let line = |audit: Audit, arguments: &Value| -> Value {
        let path = folder.path().join(format!("{}.jsonl", fs::read_dir(&folder).unwrap().count()));
        let log = open(&Audit { place: crate::config::Place::File(path.clone()), ..audit });
        log.write(&record(&outcome("t"), arguments)).unwrap();
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let (one, other) = (json!({ "a": 1, "b": "x" }), json!({ "b": "x", "a": 1 }));
    let hashed = line(Audit::default(), &one);
    assert_eq!(hashed.get("arguments"), None);
    assert_eq!(hashed["arguments_hash"], Digest::of(br#"{"a":1,"b":"x"}"#).to_string());
    assert_eq!(line(Audit::default(), &other)["arguments_hash"], hashed["arguments_hash"]);
    assert_eq!(line(Audit::default().arguments(Detail::Full), &one)["arguments"], one);
    let keyed = line(Audit::default().key(KEY), &one);
    assert!(
        keyed["arguments_hash"].as_str().unwrap().starts_with("hmac-sha256:"),
        "what is short is guessed"
    );
    let large = json!({ "text": "é".repeat(100_000) });
    let cut = line(Audit::default().arguments(Detail::Full), &large);
    assert_eq!((cut.get("arguments"), &cut["cut"]), (None, &json!(["arguments"])));
    assert!(cut["arguments_start"].as_str().unwrap().starts_with(r#"{"text":"éé"#));
    assert_eq!(cut["arguments_bytes"], json!(large.to_string().len()));
}

#[test]
fn arguments_that_hooks_changed_are_kept_like_those_that_ran() {
    let folder = tempfile::tempdir().unwrap();
    let (original, ran) = (json!({ "path": "/a" }), json!({ "path": "/b" }));
    for detail in [Detail::Hash, Detail::Full] {
        let path = folder.path().join(format!("{detail:?}.jsonl"));
        let log = open(&Audit::file(&path).arguments(detail));
        log.write(&Record { original: Some(&original), ..record(&outcome("t"), &ran) }).unwrap();
        let line: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let shown = (detail == Detail::Full).then_some(&original);
        assert_eq!(line["original"].get("arguments"), shown);
        assert_eq!(line["original"]["arguments_hash"], Digest::of(br#"{"path":"/a"}"#).to_string());
        assert_eq!(line["arguments_hash"], Digest::of(br#"{"path":"/b"}"#).to_string());
        assert_eq!(broken(&path, None), None);
    }
}

#[test]
fn secrets_are_taken_out_of_every_text() {
    fn redact(text: &str) -> Cow<'_, str> {
        text.replace("hidden", "***").into()
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = open(&Audit::file(&path).arguments(Detail::Full));
    let mut outcome = outcome("a hidden tool");
    outcome.id = json!(["hidden"]);
    outcome.denials = vec![Denial::new("hidden", "hidden", "hidden", "hidden")];
    let decisions = [Verdict::new(Step::PreHook, "hidden", Action::Deny).reason(Some("hidden".to_owned()))];
    let arguments = json!({ "hidden": ["hidden"], "large": format!("{}hidden", "x".repeat(99_000)) });
    for arguments in [&arguments, &json!({ "hidden": "hidden" })] {
        log.write(&Record {
            tool: Some(Facts { component: "hidden", digest: None, origin: "hidden" }),
            session: Some("hidden"),
            principal: Some("hidden"),
            decisions: &decisions,
            original: Some(arguments),
            redact: Some(&redact),
            ..record(&outcome, arguments)
        })
        .unwrap();
    }
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains("***") && !text.contains("hidden"), "{text}");
}

#[test]
fn the_longest_line_is_below_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = open(&Audit::file(&path).arguments(Detail::Full).key(KEY));
    let long = "\u{1}\"é".repeat(100_000);
    let mut outcome = outcome(&long);
    outcome.id = json!({ "id": long });
    outcome.denials = vec![Denial::new(&long, &long, &long, &long); 40];
    let verdict = Verdict::new(Step::AroundHook, long.clone(), Action::Metadata).reason(Some(long.clone()));
    let decisions = vec![verdict; 40];
    let arguments = json!({ "x": long });
    log.write(&Record {
        tool: Some(Facts { component: &long, digest: Some(Digest::of(b"")), origin: &long }),
        session: Some(&long),
        principal: Some(&long),
        original: Some(&arguments),
        decisions: &decisions,
        ..record(&outcome, &arguments)
    })
    .unwrap();
    let line = fs::read(&path).unwrap();
    assert!(line.len() > MAX_LINE / 2 && line.len() < MAX_LINE, "{}", line.len());
    let line: Value = serde_json::from_slice(&line).unwrap();
    let cut: Vec<&str> = line["cut"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(
        cut,
        [
            "call",
            "session",
            "principal",
            "tool",
            "component",
            "origin",
            "arguments",
            "original",
            "decisions",
            "denials"
        ]
    );
    assert_eq!(broken(&path, Some(KEY)), None);
}

#[test]
fn a_line_that_is_removed_moved_or_inserted_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (_, path) = written(folder.path(), 6, None);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let told = |lines: &[&str]| {
        fs::write(&path, lines.concat()).unwrap();
        broken(&path, None).map(|(line, _)| line)
    };
    assert_eq!(told(&lines), None);
    for at in 0..6 {
        let mut removed = lines.clone();
        removed.remove(at);
        // The last one leaves no trace but in the head.
        let expected = (at < 5).then_some(at as u64 + 1);
        assert_eq!(told(&removed), expected, "removed {at}");
        for other in 0..at {
            let mut swapped = lines.clone();
            swapped.swap(at, other);
            assert_eq!(told(&swapped), Some(other as u64 + 1), "swapped {at} and {other}");
        }
        for inserted in [lines[at], "{}\n", "\n", "#torn\n", "{\"v\":1,#torn\n"] {
            let mut more = lines.clone();
            more.insert(at, inserted);
            // A copy goes before the line that it is of; the first that does not fit is the line itself.
            let expected = if inserted == lines[at] { at as u64 + 2 } else { at as u64 + 1 };
            assert_eq!(told(&more), Some(expected), "inserted {inserted:?} before {at}");
        }
    }
}

#[test]
fn an_expected_head_notices_what_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let (audit, path) = written(folder.path(), 3, None);
    let three = verify(&path, None, &[]).unwrap().files[0].head;
    write(&open(&audit), "later").unwrap();
    let later = verify(&path, None, &[three]).unwrap();
    assert!(later.is_intact(), "the log has grown since");
    let four = later.files[0].head;
    let text = fs::read_to_string(&path).unwrap();
    let cut: String = text.split_inclusive('\n').take(3).collect();
    fs::write(&path, cut).unwrap();
    assert!(verify(&path, None, &[three]).unwrap().is_intact());
    let verification = verify(&path, None, &[three, four]).unwrap();
    assert_eq!((verification.is_intact(), verification.missing), (false, vec![four]));
}

#[test]
fn a_key_is_needed_to_check_and_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let (audit, path) = written(folder.path(), 2, Some(KEY));
    assert_eq!(broken(&path, Some(KEY)), None);
    for (key, told) in [(None, "none was given"), (Some(b"another key of ours".as_slice()), "another key")] {
        let (line, reason) = broken(&path, key).unwrap();
        assert!(line == 1 && reason.contains(told), "{reason}");
        let other = Audit { key: key.map(|key| crate::config::Key::Bytes(key.to_vec())), ..audit.clone() };
        let error = write(&open(&other), "t").unwrap_err().to_string();
        assert!(error.contains("cannot be continued") && error.contains(told), "{error}");
    }
    let short = Audit::file(&path).key(b"short".as_slice()).open(&Folders::under(Path::new("/nowhere")));
    assert!(short.unwrap_err().to_string().contains("openssl rand"), "a short key is refused");
}

#[test]
fn a_file_that_is_there_goes_on_and_one_that_was_changed_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let (audit, path) = written(folder.path(), 3, None);
    write(&open(&audit), "later").unwrap();
    assert_eq!(broken(&path, None), None);
    assert_eq!(verify(&path, None, &[]).unwrap().files[0].calls, 4);
    let text = fs::read_to_string(&path).unwrap();
    for changed in [
        text.replace("later", "other"),
        text.trim_end().to_owned() + "x",
        text.trim_end().to_owned() + " ",
        text.clone() + "\n",
        text.clone() + "x",
        text.clone() + "#torn x",
        "not an audit\n".to_owned(),
    ] {
        fs::write(&path, &changed).unwrap();
        let log = open(&audit);
        let error = log.ready().unwrap_err().to_string();
        assert!(error.contains("cannot be continued"), "{changed:?}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), changed, "nothing was added");
        assert!(broken(&path, None).is_some(), "{changed:?}");
    }
}

/// A mark takes nothing along that no crash leaves.
#[test]
fn a_forged_end_is_no_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (audit, path) = written(folder.path(), 3, None);
    let text = fs::read_to_string(&path).unwrap();
    let last = text.trim_end().rfind('\n').unwrap() + 1;
    let (before, line) = text.split_at(last);
    let changed = line.trim_end().replacen("\"tool\":\"", "\"tool\":\"x", 1);
    for forged in [
        format!("{text}{{\"tool\":\"FORGED\"}}#torn"),
        format!("{text}{{\"tool\":\"FORGED\"}}#torn\n"),
        format!("{text}{{\"tool\":\"FORGED"),
        format!("{before}hello, not json at all #torn"),
        format!("{before}hello, not json at all #torn\n"),
        format!("{before}{changed}#torn"),
        format!("{before}{changed}#torn\n"),
        format!("{before}{changed}"),
    ] {
        fs::write(&path, &forged).unwrap();
        assert!(broken(&path, None).is_some(), "{forged}");
        let error = open(&audit).ready().unwrap_err().to_string();
        assert!(error.contains("cannot be continued"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), forged, "nothing was added");
    }
    // What a crash could have left is not taken for proof that it did.
    for piece in [&line[..60], line.trim_end(), &format!("{}#torn\n", &line[..60])] {
        fs::write(&path, format!("{before}{piece}")).unwrap();
        let found = verify(&path, None, &[]).unwrap();
        assert_eq!((found.is_intact(), found.files[0].uncovered), (false, Some(3)), "{piece}");
        open(&audit).ready().unwrap();
        assert!(verify(&path, None, &[]).unwrap().is_intact(), "covered: {piece}");
    }
}

/// Whatever a crash leaves of a line, and of what would have mended that.
#[test]
fn what_a_crash_left_is_kept_noted_and_gone_on_from() {
    let folder = tempfile::tempdir().unwrap();
    for key in [None, Some(KEY)] {
        let (audit, path) = written(folder.path(), 3, key);
        let whole = fs::read(&path).unwrap();
        let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let step = if key.is_none() { 1 } else { 7 };
        for end in (last + 1..whole.len()).step_by(step) {
            fs::write(&path, &whole[..end]).unwrap();
            let found = verify(&path, key, &[]).unwrap();
            let file = &found.files[0];
            assert_eq!((file.unfinished.as_slice(), file.uncovered), ([3].as_slice(), Some(3)));
            assert!(!found.is_intact() && file.broken.is_none(), "nothing covers it yet: {found:?}");
            write(&open(&audit), "next").unwrap();
            let found = verify(&path, key, &[]).unwrap();
            assert!(found.is_intact(), "{end}: {found:?}");
            assert_eq!((found.files[0].calls, found.files[0].unfinished.as_slice()), (3, [3].as_slice()));
            assert!(fs::read(&path).unwrap().starts_with(&whole[..end]), "what is there is kept");
        }
        let half = &whole[..last + 20];
        fs::write(&path, half).unwrap();
        open(&audit).ready().unwrap();
        let mended = fs::read(&path).unwrap();
        for end in (half.len()..mended.len()).step_by(step) {
            fs::write(&path, &mended[..end]).unwrap();
            write(&open(&audit), "next").unwrap();
            let found = verify(&path, key, &[]).unwrap();
            assert!(found.is_intact(), "{end}: {found:?}\n{}", fs::read_to_string(&path).unwrap());
            assert_eq!((found.files[0].calls, found.files[0].unfinished.as_slice()), (3, [3].as_slice()));
        }
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_file_is_its_owners_alone_and_one_processs() {
    let folder = tempfile::tempdir().unwrap();
    let (audit, path) = written(folder.path(), 1, None);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let first = open(&audit);
    write(&first, "t").unwrap();
    let error = open(&audit).ready().unwrap_err().to_string();
    assert!(error.contains("another process writes to it; set `folder`"), "{error}");
    drop(first);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
    assert!(open(&audit).ready().unwrap_err().to_string().contains("chmod go-w"));
    let link = folder.path().join("link.jsonl");
    symlink(&path, &link).unwrap();
    assert!(open(&Audit::file(&link)).ready().unwrap_err().to_string().contains("symbolic link"));
    assert!(open(&Audit::file(folder.path())).ready().is_err());
    let fifo = folder.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(open(&Audit::file(&fifo)).ready().is_err());
    let deep = folder.path().join("a/b/audit.jsonl");
    write(&open(&Audit::file(&deep)), "t").unwrap();
    assert_eq!(deep.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_folder_has_a_file_for_each_log_and_none_before_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::folder(folder.path().join("audit")).fsync(true);
    let logs = [(); 3].map(|()| open(&audit));
    assert!(!folder.path().join("audit").exists());
    for log in &logs {
        write(log, "t").unwrap();
        write(log, "t").unwrap();
    }
    let verification = verify(&folder.path().join("audit"), None, &[]).unwrap();
    assert_eq!(verification.files.iter().map(|file| file.calls).collect::<Vec<_>>(), [2, 2, 2]);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder.path().join("audit")), mode(&verification.files[0].path)), (0o700, 0o600));
    fs::set_permissions(folder.path().join("audit"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(open(&audit).ready().unwrap_err().to_string().contains("chmod go-w"));
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(verify(&empty, None, &[]).unwrap_err().to_string().contains("no call was recorded"));
}

#[test]
fn a_log_that_lost_its_file_stays_broken() {
    let folder = tempfile::tempdir().unwrap();
    for (meddle, told) in [
        (&(|path: &Path| fs::remove_file(path).unwrap()) as &dyn Fn(&Path), "was removed"),
        (&|path| fs::write(path, "").unwrap(), "cut it"),
        (
            &|path| {
                fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"x\n").unwrap();
            },
            "wrote to the file",
        ),
    ] {
        let path = folder.path().join("audit.jsonl");
        let log = open(&Audit::file(&path));
        log.ready().unwrap();
        write(&log, "t").unwrap();
        meddle(&path);
        for _ in 0..2 {
            let error = write(&log, "t").unwrap_err().to_string();
            assert!(error.contains(told) && error.contains("no call is made"), "{error}");
            assert!(log.ready().is_err());
        }
        drop(log);
        let _ = fs::remove_file(&path);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Any one byte, changed to any other, in a file of whole lines and of pieces that crashes left.
    #[test]
    fn a_changed_byte_is_noticed_and_its_line_named(
        lines in 1..6_usize,
        torn in any::<bool>(),
        is_keyed in any::<bool>(),
        place in any::<prop::sample::Index>(),
        to in prop_oneof![Just(b'\n'), Just(b'#'), Just(b' '), Just(b'}'), any::<u8>()],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let key = is_keyed.then_some(KEY);
        let (audit, path) = written(folder.path(), lines, key);
        if torn {
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..whole.len() - 30]).unwrap();
            write(&open(&audit), "later").unwrap();
            prop_assert_eq!(broken(&path, key), None);
        }
        let mut bytes = fs::read(&path).unwrap();
        let at = place.index(bytes.len());
        prop_assume!(bytes[at] != to);
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        bytes[at] = to;
        fs::write(&path, &bytes).unwrap();
        let named = broken(&path, key).map(|(line, _)| line);
        prop_assert_eq!(named, Some(line), "byte {} of {}", at, String::from_utf8_lossy(&bytes));
    }
}

/// What a process of [`worker`] is to do, in its environment.
const WORK: &str = "TOOLCELL_TEST_AUDIT_WORK";

/// This test executable again, as a process that does `work` in `folder` by running [`worker`] alone.
fn process(work: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "audit::tests::worker", "--nocapture"])
        .env(WORK, format!("{work} {}", folder.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    command
}

/// Not a test but, with [`WORK`] in its environment, another process of one.
#[test]
fn worker() {
    let Ok(work) = std::env::var(WORK) else { return };
    let (work, folder) = work.split_once(' ').unwrap();
    match work {
        "calls" => {
            let log = open(&Audit::folder(folder));
            std::thread::scope(|scope| {
                for _ in 0..5 {
                    scope.spawn(|| (0..25).for_each(|_| write(&log, "t").unwrap()));
                }
            });
        }
        "forever" => {
            let log = open(&Audit::file(Path::new(folder).join("audit.jsonl")));
            for call in 0.. {
                write(&log, &format!("tool_{call}")).unwrap();
                // As a call would return now.
                let mut stdout = std::io::stdout().lock();
                writeln!(stdout, "\nreturned {call}").unwrap();
                stdout.flush().unwrap();
            }
        }
        "full" => {
            let most = rustix::process::Rlimit { current: Some(5000), maximum: Some(5000) };
            rustix::process::setrlimit(rustix::process::Resource::Fsize, most).unwrap();
            let log = open(&Audit::file(Path::new(folder).join("audit.jsonl")));
            let wrote = (0..100).take_while(|_| write(&log, "t").is_ok()).count();
            let error = write(&log, "t").unwrap_err().to_string();
            println_of_worker(&format!("wrote {wrote}: {error}, {}", log.ready().is_err()));
        }
        _ => unreachable!("no such work"),
    }
}

#[expect(clippy::print_stdout, reason = "its parent reads it")]
fn println_of_worker(text: &str) {
    println!("\n{text}");
}

#[test]
fn eight_processes_record_a_thousand_calls() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("audit");
    let mut children: Vec<_> = (0..8).map(|_| process("calls", &folder).spawn().unwrap()).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let verification = verify(&folder, None, &[]).unwrap();
    assert!(verification.is_intact());
    assert_eq!(verification.files.iter().map(|file| file.calls).collect::<Vec<_>>(), [125; 8]);
    let heads: Vec<Hash> = verification.files.iter().map(|file| file.head).collect();

    let fifth = &verification.files[4].path;
    let whole = fs::read_to_string(fifth).unwrap();
    fs::write(fifth, whole.replacen("\"status\":\"success\"", "\"status\":\"succesS\"", 1)).unwrap();
    let changed = verify(&folder, None, &heads).unwrap();
    let named: Vec<_> = changed.files.iter().filter(|file| file.broken.is_some()).collect();
    assert_eq!((named.len(), &named[0].path, named[0].broken.as_ref().unwrap().line), (1, fifth, 1));

    let cut: String = whole.split_inclusive('\n').take(124).collect();
    fs::write(fifth, cut).unwrap();
    assert!(verify(&folder, None, &[]).unwrap().is_intact(), "a cut tail shows in the head only");
    assert_eq!(verify(&folder, None, &heads).unwrap().missing, [heads[4]]);
    fs::remove_file(fifth).unwrap();
    assert_eq!(verify(&folder, None, &heads).unwrap().missing, [heads[4]], "so does a missing file");
}

#[test]
fn a_killed_process_loses_no_line_that_was_returned() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = process("forever", folder.path()).spawn().unwrap();
    let mut returned = 0;
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while returned < 200 {
        let line = lines.next().unwrap().unwrap();
        returned += u64::from(line.starts_with("returned "));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    returned +=
        lines.map_while(std::io::Result::ok).filter(|line| line.starts_with("returned ")).count() as u64;
    let path = folder.path().join("audit.jsonl");
    let verification = verify(&path, None, &[]).unwrap();
    let file = &verification.files[0];
    assert!(file.broken.is_none() && file.calls >= returned, "{verification:?} {returned}");
    write(&open(&Audit::file(&path)), "later").unwrap();
    assert_eq!(broken(&path, None), None);
}

#[test]
fn a_full_disk_breaks_the_log_and_not_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let output = process("full", folder.path()).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}");
    assert!(told.contains("only a part of it found room") && told.contains("no call is made"), "{told}");
    let path = folder.path().join("audit.jsonl");
    let found = verify(&path, None, &[]).unwrap();
    let calls = found.files[0].calls;
    assert!(told.contains(&format!("wrote {calls}:")), "{found:?} {told}");
    assert_eq!((broken(&path, None), found.files[0].uncovered), (None, Some(calls + 1)));
    assert_eq!(found.files[0].unfinished, [calls + 1]);
    write(&open(&Audit::file(&path)), "later").unwrap();
    assert_eq!(broken(&path, None), None);
}
