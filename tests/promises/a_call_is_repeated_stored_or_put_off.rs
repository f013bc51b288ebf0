//! The hooks around calls: what is run again, what is answered without running, and what is put off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolcell::call::{CallError, Ended};
use toolcell::hook::{
    CacheHook, Events, Hook, HookCall, HookEntry, HookResult, Next, RateLimitHook, RetryHook, Scope,
    async_trait,
};
use toolcell::{
    Access, ErrorKind, Grant, Limits, Outcome, Runtime, RuntimeBuilder, Session, Status, ToolCall,
    ToolComponent,
};

use toolcell_tests::{builder, built, call, crafted, probe};

/// Fails so often before it lets a call run, and counts.
struct Failing {
    kind: ErrorKind,
    times: u32,
    seen: Arc<AtomicU32>,
}

#[async_trait]
impl Hook for Failing {
    fn events(&self) -> Events {
        Events::AROUND
    }

    async fn around(&self, _: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        if self.seen.fetch_add(1, Ordering::SeqCst) < self.times {
            return Ok(Ended::failed(CallError::new(self.kind, "not now")));
        }
        Ok(next.run().await)
    }
}

/// How a call ends that fails so often with `kind`, and how often it ran.
async fn retried(
    base: RuntimeBuilder,
    tool: &str,
    arguments: Value,
    kind: ErrorKind,
    times: u32,
) -> (Outcome, u32) {
    let seen = Arc::new(AtomicU32::new(0));
    let retry = RetryHook::new().attempts(3).delay(Duration::from_millis(1));
    let failing = Failing { kind, times, seen: Arc::clone(&seen) };
    let runtime = built(base.hook(retry).hook(failing));
    let outcome = call(&runtime, tool, arguments).await;
    (outcome, seen.load(Ordering::SeqCst))
}

fn basics() -> RuntimeBuilder {
    builder().component(ToolComponent::builtin("basics"))
}

#[tokio::test]
async fn a_call_that_met_a_busy_host_runs_again() {
    let sum = json!({"a": 1, "b": 2});
    for kind in [ErrorKind::Busy, ErrorKind::Unavailable] {
        let (outcome, runs) = retried(basics(), "add", sum.clone(), kind, 2).await;
        assert_eq!((outcome.status, runs), (Status::Success, 3));
        let (outcome, runs) = retried(basics(), "add", sum.clone(), kind, 9).await;
        assert_eq!((outcome.error_kind(), runs), (Some(kind), 3), "attempts are bounded");
    }
    for kind in [ErrorKind::Timeout, ErrorKind::Trapped, ErrorKind::ToolError, ErrorKind::Denied] {
        let (outcome, runs) = retried(basics(), "add", sum.clone(), kind, 2).await;
        assert_eq!((outcome.error_kind(), runs), (Some(kind), 1), "{kind}");
    }
}

#[tokio::test]
async fn what_may_change_something_runs_once() {
    let probing = builder().component(probe(Grant::none(), Limits::new()));
    let (outcome, runs) = retried(probing, "echo_u32", json!({"value": 1}), ErrorKind::Busy, 2).await;
    assert_eq!((outcome.error_kind(), runs), (Some(ErrorKind::Busy), 1));
}

#[tokio::test]
async fn no_pause_goes_past_the_deadline_of_the_call() {
    let seen = Arc::new(AtomicU32::new(0));
    let failing = Failing { kind: ErrorKind::Busy, times: 9, seen: Arc::clone(&seen) };
    let retry = RetryHook::new().delay(Duration::from_secs(3600)).max_delay(Duration::from_secs(3600));
    let runtime = built(basics().call_timeout(Duration::from_secs(60)).hook(retry).hook(failing));
    let outcome = call(&runtime, "add", json!({"a": 1, "b": 2})).await;
    assert_eq!((outcome.error_kind(), seen.load(Ordering::SeqCst)), (Some(ErrorKind::Busy), 1));
}

fn cached(component: ToolComponent, cache: CacheHook) -> Runtime {
    built(builder().component(component).hook(cache))
}

fn bare() -> ToolComponent {
    probe(Grant::none(), Limits::new())
}

fn hour() -> CacheHook {
    CacheHook::new().ttl(Duration::from_secs(3600))
}

async fn is_stored(session: &Session, tool: &str, arguments: Value) -> bool {
    let outcome = session.call(ToolCall::new(tool, arguments)).await;
    assert_eq!(outcome.usage.from_cache, outcome.usage.fuel.is_none(), "{outcome:?}");
    outcome.usage.from_cache
}

const SEVEN: &str = r#"(memory (export "memory") 1) (func (export "run") (result i32) i32.const 7)"#;

#[tokio::test]
async fn a_tool_that_depends_on_nothing_but_its_arguments_is_asked_once() {
    let runtime = cached(crafted(SEVEN, "u32"), CacheHook::new());
    let session = runtime.session("a");
    assert!(!is_stored(&session, "run", json!({})).await);
    assert!(is_stored(&session, "run", json!({})).await);
    assert_eq!(session.call(ToolCall::new("run", json!({}))).await.structured, Some(json!({"result": 7})));
    // What imports a clock depends on more, used or not.
    let runtime = cached(bare(), CacheHook::new());
    let session = runtime.session("a");
    for _ in 0..2 {
        assert!(!is_stored(&session, "echo_u32", json!({"value": 1})).await);
    }
}

#[tokio::test]
async fn a_stored_result_is_of_an_equal_call() {
    let runtime = cached(bare(), hour());
    let session = runtime.session("a");
    assert!(!is_stored(&session, "echo_string", json!({"value": "x"})).await);
    assert!(is_stored(&session, "echo_string", json!({"value": "x"})).await);
    assert!(!is_stored(&session, "echo_string", json!({"value": "y"})).await);
    assert!(!is_stored(&session, "metadata_of", json!({"key": "k"})).await);
    let other_metadata = ToolCall::new("metadata_of", json!({"key": "k"})).meta("k", "v");
    assert_eq!(session.call(other_metadata).await.text(), "v");
    assert!(!is_stored(&session.clone().user("u"), "echo_string", json!({"value": "x"})).await);
    assert!(!is_stored(&runtime.session("b"), "echo_string", json!({"value": "x"})).await);
    let shared = cached(bare(), hour().shared());
    assert!(!is_stored(&shared.session("a"), "echo_string", json!({"value": "x"})).await);
    assert!(is_stored(&shared.session("b"), "echo_string", json!({"value": "x"})).await);
}

#[tokio::test]
async fn a_stored_result_has_its_chunks_and_logs() {
    let runtime = cached(bare(), hour());
    for (tool, arguments) in [
        ("emit_many", json!({"count": 3, "bytes": 10})),
        ("log_many", json!({"level": "info", "text": "hello", "count": 2})),
    ] {
        let first = call(&runtime, tool, arguments.clone()).await;
        let second = call(&runtime, tool, arguments).await;
        assert!(second.usage.from_cache && !first.usage.from_cache);
        assert!(first.content.len() + first.logs.len() >= 3);
        assert_eq!(
            (first.content, first.logs, first.structured),
            (second.content, second.logs, second.structured)
        );
    }
}

#[tokio::test]
async fn failures_and_changes_are_never_stored() {
    let runtime = cached(bare(), hour());
    let session = runtime.session("a");
    for _ in 0..2 {
        assert!(!is_stored(&session, "echo_result", json!({"value": {"err": "no"}})).await);
    }
    let folder = tempfile::tempdir().unwrap();
    let grant = Grant::none().dir(folder.path(), "/w", Access::ReadWrite);
    let runtime = cached(probe(grant, Limits::new()), hour());
    for _ in 0..2 {
        assert!(!is_stored(&runtime.session("a"), "echo_u32", json!({"value": 1})).await);
    }
    let grant = Grant::none().dir(folder.path(), "/w", Access::Read);
    let runtime = cached(probe(grant, Limits::new()), hour());
    assert!(!is_stored(&runtime.session("a"), "echo_u32", json!({"value": 1})).await);
    assert!(is_stored(&runtime.session("a"), "echo_u32", json!({"value": 1})).await);
}

async fn echo(session: &Session) -> Outcome {
    session.call(ToolCall::new("echo_string", json!({"value": "x"}))).await
}

#[tokio::test]
async fn too_many_calls_are_put_off_with_a_time() {
    let limit = RateLimitHook::new(2, Duration::from_secs(7200));
    let runtime = built(builder().component(bare()).hook(limit));
    let session = runtime.session("a");
    assert_eq!([echo(&session).await.status, echo(&session).await.status], [Status::Success; 2]);
    let outcome = echo(&session).await;
    let error = outcome.error.clone().unwrap();
    assert_eq!((error.kind, error.retryable), (ErrorKind::Busy, true));
    assert!(error.message.starts_with("the tool is called too often; try again in "), "{}", error.message);
    assert!(error.help.unwrap().contains("2 in 2h"));
    assert_eq!(outcome.usage.fuel, None, "nothing ran");
    // Other tools, sessions and users have their own.
    assert_eq!(call(&runtime, "echo_u32", json!({"value": 1})).await.status, Status::Success);
    assert_eq!(echo(&runtime.session("b")).await.status, Status::Success);
    assert_eq!(echo(&session.clone().user("u")).await.status, Status::Success);
}

#[tokio::test]
async fn what_is_counted_together_is_the_operators_choice() {
    let limit = RateLimitHook::new(1, Duration::from_secs(7200)).by([Scope::User]);
    let runtime = built(builder().component(bare()).hook(limit));
    assert_eq!(echo(&runtime.session("a").user("u")).await.status, Status::Success);
    assert_eq!(echo(&runtime.session("b").user("u")).await.error_kind(), Some(ErrorKind::Busy));
    assert_eq!(echo(&runtime.session("a").user("v")).await.status, Status::Success);
}

#[tokio::test]
async fn a_session_is_one_of_its_user() {
    let limit = RateLimitHook::new(1, Duration::from_secs(7200)).by([Scope::Session]);
    let runtime = built(builder().component(bare()).hook(limit));
    assert_eq!(echo(&runtime.session("a").user("u")).await.status, Status::Success);
    assert_eq!(echo(&runtime.session("a").user("v")).await.status, Status::Success, "of the same name");
    assert_eq!(echo(&runtime.session("a").user("u")).await.error_kind(), Some(ErrorKind::Busy));
    let told = runtime.session("a").explain(ToolCall::new("echo_string", json!({"value": "x"}))).hooks;
    assert_eq!(told, ["rate_limit: 1 in 2h for each session of a user, whose name clients may choose"]);
}

/// The shipped files tool, whose reads alone are stored, and a second component with the same folder.
fn reading_and_writing(folder: &std::path::Path) -> Runtime {
    let grant = || Grant::none().dir(folder, "/work", Access::ReadWrite);
    let other = ToolComponent::builtin("files").name("other").prefix("other_").grant(grant());
    let cache = HookEntry::new(hour()).tools(["read_file"]);
    let files = ToolComponent::builtin("files").grant(grant());
    built(builder().component(files).component(other).component(bare()).hook(cache))
}

#[tokio::test]
async fn a_stored_result_is_gone_once_something_may_have_changed_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("n"), "zero\n").unwrap();
    let runtime = reading_and_writing(folder.path());
    let read = || ToolCall::new("read_file", json!({ "path": "n" }));
    let write = |tool: &str, text: &str| ToolCall::new(tool, json!({ "path": "n", "content": text }));
    let numbered = |calls: Vec<ToolCall>| {
        calls.into_iter().enumerate().map(|(at, call)| call.id(at)).collect::<Vec<ToolCall>>()
    };
    // In one batch, and with each call in a session of its own.
    let calls =
        vec![read(), write("write_file", "one\n"), read(), write("other_write_file", "two\n"), read()];
    let session = runtime.session("a");
    let outcomes = session.call_batch(numbered(calls)).await;
    for (at, number) in [(0, "zero"), (2, "one"), (4, "two")] {
        let outcome = &outcomes[at];
        assert!(outcome.text().contains(number) && !outcome.usage.from_cache, "{outcome:?}");
    }
    assert!(session.call(ToolCall::new("echo_u32", json!({ "value": 1 }))).await.is_success());
    let after = session.call(read()).await;
    assert!(after.text().contains("two") && after.usage.from_cache, "{after:?}");
    assert!(runtime.session("b").call(write("write_file", "three\n")).await.is_success());
    let after = session.call(read()).await;
    assert!(after.text().contains("three") && !after.usage.from_cache, "{after:?}");
    // A run that failed may have written before.
    assert!(session.call(read()).await.usage.from_cache);
    let outside = json!({ "path": "/elsewhere/n", "content": "x" });
    assert!(!session.call(ToolCall::new("write_file", outside)).await.is_success());
    assert!(!session.call(read()).await.usage.from_cache);
}

#[tokio::test]
async fn stored_results_are_free_behind_a_cache_and_a_retry_waits_for_its_turn() {
    let limit = || RateLimitHook::new(1, Duration::from_secs(7200));
    let runtime = built(builder().component(bare()).hook(hour()).hook(limit()));
    for _ in 0..3 {
        assert_eq!(echo(&runtime.session("a")).await.status, Status::Success);
    }
    let short = RateLimitHook::new(1, Duration::from_millis(50));
    let retry = RetryHook::new().attempts(10).delay(Duration::from_millis(20));
    let runtime = built(basics().hook(HookEntry::new(retry)).hook(short));
    for _ in 0..3 {
        assert_eq!(call(&runtime, "add", json!({"a": 1, "b": 2})).await.status, Status::Success);
    }
}
