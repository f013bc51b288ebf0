//! Several calls of one message: an outcome for each, in their order; reads at the same time, all else one by one.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use toolcell::hook::{Hook, HookCall, HookResult, Pre, async_trait};
use toolcell::limits::Admission;
use toolcell::policy::{Answer, Approver, Question, Rule};
use toolcell::{Access, ErrorKind, Grant, Limits, Outcome, Runtime, Status, ToolCall, ToolComponent};
use toolcell_tests::{builder, built, guest, probe, probing, repository};

fn with_ids(calls: &[(&str, Value)]) -> Vec<ToolCall> {
    calls
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| ToolCall::new(*name, arguments.clone()).id(at))
        .collect()
}

fn kinds(outcomes: &[Outcome]) -> Vec<Option<ErrorKind>> {
    outcomes.iter().map(Outcome::error_kind).collect()
}

/// The probe, described by a WIT in which `sleep` claims to be read-only.
fn sleeper(grant: Grant) -> Runtime {
    let wit = TempDir::new().unwrap();
    let source = repository().join("tests/guests/wit");
    for entry in std::fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.replace("  sleep: func", "  /// @read-only\n  sleep: func");
            // Of the worlds only the probe's, or it would have to be named.
            let text = match text.find("/// Claims to be read-only, and lies.") {
                Some(other) => text[..other].to_owned(),
                None => text,
            };
            std::fs::write(wit.path().join(path.file_name().unwrap()), text).unwrap();
        }
    }
    std::os::unix::fs::symlink(source.join("deps"), wit.path().join("deps")).unwrap();
    let runtime =
        built(builder().component(ToolComponent::file(guest("probe")).wit(wit.path()).grant(grant)));
    assert!(runtime.get("sleep").unwrap().is_read_only());
    runtime
}

async fn time_of(runtime: &Runtime, count: usize, milliseconds: u64) -> Duration {
    let calls = vec![("sleep", json!({ "ms": milliseconds })); count];
    let started = Instant::now();
    let outcomes = runtime.call_batch(with_ids(&calls)).await;
    let took = started.elapsed();
    assert_eq!(kinds(&outcomes), vec![None; count], "{outcomes:#?}");
    took
}

#[tokio::test]
async fn two_reads_take_as_long_as_one_also_with_a_grant_to_write() {
    let folder = TempDir::new().unwrap();
    for grant in [Grant::none(), Grant::none().dir(folder.path(), "/work", Access::ReadWrite)] {
        let runtime = sleeper(grant);
        runtime.warm().await.unwrap();
        let serial = time_of(&runtime, 1, 200).await + time_of(&runtime, 1, 200).await;
        let together = time_of(&runtime, 2, 200).await;
        assert!(together < serial.mul_f64(0.8), "{together:?} together, {serial:?} one after the other");
    }
}

#[tokio::test]
async fn what_is_not_read_only_runs_alone() {
    let runtime = probing(Grant::none(), Limits::new());
    let two = time_of(&runtime, 2, 100).await;
    assert!(two >= Duration::from_millis(200), "{two:?}");
}

#[tokio::test]
async fn more_reads_than_run_at_once_keep_their_order() {
    let runtime = sleeper(Grant::none());
    let calls: Vec<ToolCall> =
        (0..30_u64).map(|at| ToolCall::new("sleep", json!({ "ms": (30 - at) % 7 })).id(at)).collect();
    let outcomes = runtime.call_batch(calls).await;
    let ids: Vec<Value> = outcomes.iter().map(|outcome| outcome.id.clone()).collect();
    assert_eq!(ids, (0..30_u64).map(Value::from).collect::<Vec<_>>());
    assert!(outcomes.iter().all(Outcome::is_success), "{outcomes:#?}");
}

#[tokio::test]
async fn a_read_after_a_write_sees_it() {
    let folder = TempDir::new().unwrap();
    let runtime = files(folder.path());
    let mut calls = Vec::new();
    for round in 0..5 {
        calls.push(("write_file", json!({ "path": "n", "content": format!("round {round}\n") })));
        calls.push(("read_file", json!({ "path": "n" })));
    }
    let outcomes = runtime.call_batch(with_ids(&calls)).await;
    for (round, pair) in outcomes.chunks(2).enumerate() {
        assert!(pair[1].text().contains(&format!("round {round}")), "{pair:#?}");
    }
}

fn files(folder: &Path) -> Runtime {
    let grant = Grant::none().dir(folder, "/work", Access::ReadWrite);
    built(builder().component(ToolComponent::builtin("files").grant(grant)))
}

#[tokio::test]
async fn a_failure_stops_nothing() {
    let runtime = probing(Grant::none(), Limits::new());
    let outcomes = runtime
        .call_batch(with_ids(&[
            ("trap", json!({})),
            ("echo_string", json!({ "value": "a" })),
            ("no_such_tool", json!({})),
            ("echo_string", json!({ "value": 1, "other": 2 })),
            ("echo_string", json!({ "value": "b" })),
        ]))
        .await;
    let expected = [
        Some(ErrorKind::Trapped),
        None,
        Some(ErrorKind::UnknownTool),
        Some(ErrorKind::InvalidArguments),
        None,
    ];
    assert_eq!(kinds(&outcomes), expected, "{outcomes:#?}");
}

#[tokio::test]
async fn a_call_without_an_id_of_its_own_is_refused_and_the_others_run() {
    let runtime = built(builder().component(probe(Grant::none(), Limits::new())));
    let long = "i".repeat(10_000);
    let taken = [json!(1), json!("1"), json!(0), json!(-1), json!(9_007_199_254_740_993_u64), json!(long)];
    let refused = [json!(1), json!(""), json!(null), json!(long)];
    let ids: Vec<Value> = taken.iter().chain(&refused).cloned().collect();
    let call = |id: &Value| ToolCall::new("echo_string", json!({ "value": id.to_string() })).id(id.clone());
    let outcomes = runtime.call_batch(ids.iter().map(call).collect()).await;
    let kinds = kinds(&outcomes);
    assert_eq!(kinds[..taken.len()], [None; 6]);
    assert_eq!(kinds[taken.len()..], [Some(ErrorKind::InvalidArguments); 4]);
    for (id, outcome) in ids.iter().zip(&outcomes) {
        assert_eq!(outcome.id, *id);
        let own = id.to_string();
        assert!(!outcome.is_success() || outcome.text() == own, "{outcome:#?}");
    }
    for (outcome, told) in outcomes[taken.len()..].iter().zip(["same id", "no id", "no id", "same id"]) {
        assert!(outcome.text().contains(told), "{}", outcome.text());
    }
}

#[tokio::test]
async fn cancelling_leaves_what_is_finished() {
    let runtime = probing(Grant::none(), Limits::new());
    runtime.warm().await.unwrap();
    let token = CancellationToken::new();
    let calls = with_ids(&[
        ("echo_string", json!({ "value": "done" })),
        ("poll_forever", json!({})),
        ("echo_string", json!({ "value": "never" })),
    ]);
    let batch = runtime.call_batch(calls).cancel(token.clone()).into_future();
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel();
    };
    let (outcomes, ()) = tokio::join!(batch, cancel);
    let cancelled = Some(ErrorKind::Cancelled);
    assert_eq!(kinds(&outcomes), [None, cancelled, cancelled], "{outcomes:#?}");
    assert_eq!(outcomes[2].status, Status::Interrupted);
}

#[tokio::test]
async fn no_calls_have_no_outcomes() {
    let runtime = built(builder().component(ToolComponent::builtin("basics")));
    assert!(runtime.call_batch(Vec::new()).await.is_empty());
}

fn bounded(calls: u32, bytes: u64) -> Runtime {
    let mut admission = Admission::default();
    (admission.batch_calls, admission.batch_bytes) = (calls, bytes);
    built(builder().component(probe(Grant::none(), Limits::new())).admission(admission))
}

/// The limits that ended calls, in their order.
fn limits(outcomes: &[Outcome]) -> Vec<Option<String>> {
    let limit = |outcome: &Outcome| Some(outcome.error.as_ref()?.limit.as_ref()?.name.clone());
    outcomes.iter().map(limit).collect()
}

#[tokio::test]
async fn calls_beyond_what_a_batch_may_have_are_refused_and_answered() {
    let call = ("echo_string", json!({ "value": "x" }));
    let outcomes = bounded(3, 1 << 20).call_batch(with_ids(&vec![call.clone(); 5])).await;
    let beyond = || Some("batch_calls".to_owned());
    assert_eq!(limits(&outcomes), [None, None, None, beyond(), beyond()]);
    assert_eq!(kinds(&outcomes)[3], Some(ErrorKind::ResourceLimit));
    let error = outcomes[4].error.as_ref().unwrap();
    assert_eq!(
        error.message,
        "this call was not made: at most 3 calls of one message are made, and it is call 5; make it again in a later message"
    );
    assert_eq!(error.help.as_deref(), Some("raise `limits.batch_calls`"));
    let many = bounded(1000, 1 << 20).call_batch(with_ids(&vec![("no_such", json!({})); 5000])).await;
    assert_eq!(many.len(), 5000);
    assert_eq!(kinds(&many)[999..1001], [Some(ErrorKind::UnknownTool), Some(ErrorKind::ResourceLimit)]);
}

#[tokio::test]
async fn no_call_begins_once_the_results_before_it_are_too_much() {
    let call = ("echo_string", json!({ "value": "x".repeat(3000) }));
    let outcomes = bounded(100, 10_000).call_batch(with_ids(&vec![call.clone(); 30])).await;
    let ran = outcomes.iter().take_while(|outcome| outcome.is_success()).count();
    // The eight that run at once, and those that begin before the results are too much.
    assert!((1..=12).contains(&ran), "{ran}");
    assert!(limits(&outcomes)[ran..].iter().all(|limit| limit.as_deref() == Some("batch_bytes")));
    let alone = bounded(100, 10_000).call_batch(with_ids(&[call])).await;
    assert_eq!(kinds(&alone), [None]);
}

/// Lets the first calls wait the longest, so that they come to their questions last.
struct Backwards;

#[async_trait]
impl Hook for Backwards {
    async fn pre(&self, call: &HookCall) -> HookResult<Pre> {
        let at = call.id().as_u64().unwrap();
        tokio::time::sleep(Duration::from_millis(20 * (4 - at))).await;
        Ok(if at == 2 { Pre::deny("not this one") } else { Pre::pass() })
    }
}

/// Notes which calls it is asked about, and how many questions there are at once.
struct Noting {
    asked: Arc<Mutex<Vec<(usize, usize)>>>,
    at_once: AtomicUsize,
}

#[async_trait]
impl Approver for Noting {
    async fn ask(&self, question: &Question) -> Answer {
        assert_eq!(self.at_once.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
        self.asked.lock().unwrap().push(question.batch.unwrap());
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        Answer::Once
    }

    fn is_asked_in_order(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn questions_come_one_at_a_time_in_the_order_of_the_calls() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let approver = Noting { asked: Arc::clone(&asked), at_once: AtomicUsize::new(0) };
    let runtime = built(
        builder()
            .component(ToolComponent::builtin("basics"))
            .rule(Rule::ask("add"))
            .hook(Backwards)
            .approver(approver),
    );
    let calls: Vec<ToolCall> = (0..5_u64)
        .map(|at| {
            let name = if at == 1 { "multiply" } else { "add" };
            ToolCall::new(name, json!({ "a": 1, "b": 1 })).id(at)
        })
        .collect();
    let outcomes = runtime.call_batch(calls).await;
    let denied = Some(ErrorKind::Denied);
    assert_eq!(kinds(&outcomes), [None, None, denied, None, None], "{outcomes:#?}");
    assert_eq!(*asked.lock().unwrap(), [(1, 5), (4, 5), (5, 5)]);
}

/// Allows the first that it is asked about for the rest of the session.
struct ForTheSession(Arc<AtomicUsize>);

#[async_trait]
impl Approver for ForTheSession {
    async fn ask(&self, _: &Question) -> Answer {
        self.0.fetch_add(1, Ordering::SeqCst);
        Answer::Session
    }

    fn is_asked_in_order(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn an_answer_holds_for_the_calls_after_it() {
    let asked = Arc::new(AtomicUsize::new(0));
    let runtime = built(
        builder()
            .component(ToolComponent::builtin("basics"))
            .rule(Rule::ask("add"))
            .approver(ForTheSession(Arc::clone(&asked))),
    );
    let call = |at: u64| ToolCall::new("add", json!({ "a": 1, "b": 1 })).id(at);
    let outcomes = runtime.session("s").call_batch((0..3).map(call).collect()).await;
    assert_eq!(kinds(&outcomes), [None, None, None], "{outcomes:#?}");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "the others are equal to the first");
}
