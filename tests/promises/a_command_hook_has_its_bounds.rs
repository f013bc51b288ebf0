//! A program that is a hook decides within its bounds, and leaves nothing behind, whatever it does.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::hook::{CommandHook, Hook, HookCall, HookEntry, HookResult, Pre, async_trait};
use toolcell::policy::{Answer, Question, Rule};
use toolcell::{ErrorKind, Grant, Limits, Outcome, Runtime, RuntimeBuilder, Status, ToolCall};

use toolcell_tests::{builder, call, probe, process};

/// A runtime whose calls are decided by a script.
fn guarded(script: &str, change: impl Fn(HookEntry) -> HookEntry) -> Runtime {
    let hook = HookEntry::new(CommandHook::new(["/bin/sh", "-c", script]));
    let builder = builder().component(probe(Grant::none(), Limits::new())).hook(change(hook));
    toolcell_tests::built(builder)
}

async fn echoed(script: &str) -> Outcome {
    call(&guarded(script, |hook| hook), "echo_string", json!({"value": "x"})).await
}

/// What is done before calls alone.
fn before(script: &str) -> String {
    format!("grep -q PreToolUse || exit 0\n{script}")
}

/// What is done after calls alone.
fn after(script: &str) -> String {
    format!("grep -q PostToolUse || exit 0\n{script}")
}

#[tokio::test]
async fn it_reads_the_call_and_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("cat >> {}/seen; echo >> {0}/seen", folder.path().display());
    let runtime = guarded(&script, |hook| hook);
    let session = runtime.session("s1");
    let called = ToolCall::new("echo_string", json!({"value": "x"})).id("toolu_1");
    assert_eq!(session.call(called).await.text(), "x");
    call(&runtime, "echo_result", json!({"value": {"err": "no"}})).await;
    let seen = fs::read_to_string(folder.path().join("seen")).unwrap();
    let seen: Vec<Value> = seen.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    insta::assert_json_snapshot!(seen);
}

#[tokio::test]
async fn its_answers_are_followed() {
    let specific = |text: &str| before(&format!("echo '{{\"hookSpecificOutput\": {{{text}}}}}'"));
    let denied = echoed(&specific(r#""permissionDecision": "deny", "permissionDecisionReason": "no""#)).await;
    assert_eq!((denied.status, denied.error_kind()), (Status::Denied, Some(ErrorKind::Denied)));
    assert_eq!(denied.text(), "the call was refused: no");
    let refused = echoed(&before(r"printf 'not\033[31m today\n' >&2; exit 2")).await;
    assert_eq!(refused.text(), "the call was refused: not today");
    let rewritten = echoed(&specific(r#""updatedInput": {"value": "y"}"#)).await;
    assert_eq!(rewritten.text(), "y");
    let unfit = echoed(&specific(r#""permissionDecision": "allow", "updatedInput": {"value": 7}"#)).await;
    assert_eq!((unfit.status, unfit.error_kind()), (Status::Denied, Some(ErrorKind::HookFailed)));

    let replaced = echoed(&after(r#"echo '{"updatedOutput": "other"}'"#)).await;
    assert_eq!((replaced.text().as_str(), replaced.structured), ("other", Some(json!({"result": "other"}))));
    let runtime = guarded(&after(r#"echo '{"updatedOutput": 8}'"#), |hook| hook);
    let data = call(&runtime, "echo_u32", json!({"value": 7})).await;
    assert_eq!(data.structured, Some(json!({"result": 8})));
    let withheld = echoed(&after("echo private >&2; exit 2")).await;
    assert_eq!(withheld.error_kind(), Some(ErrorKind::Denied));
    assert_eq!(withheld.text(), "the tool ran, and its result is withheld: private");
}

/// Refuses everything.
struct Refusing;

#[async_trait]
impl Hook for Refusing {
    async fn pre(&self, _: &HookCall) -> HookResult<Pre> {
        Ok(Pre::deny("no"))
    }
}

#[tokio::test]
async fn to_allow_takes_back_only_its_own_objection() {
    let allow = r#"echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}'"#;
    let allowing = || HookEntry::new(CommandHook::new(["sh", "-c", &before(allow)]));
    for outer_refuses in [true, false] {
        let probing = builder().component(probe(Grant::none(), Limits::new()));
        let builder = match outer_refuses {
            true => probing.hook(Refusing).hook(allowing()),
            false => probing.hook(allowing()).hook(Refusing),
        };
        let runtime = builder.build().await.unwrap();
        let outcome = call(&runtime, "echo_string", json!({"value": "x"})).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Denied));
    }
}

#[tokio::test]
async fn whatever_else_it_does_refuses_the_call() {
    for script in [
        "exit 1",
        "exit 3",
        "kill -9 $$",
        "kill -TERM $$",
        "echo ok",
        r#"printf '{"hookSpecificOutput": {"permissionDecision": "al'"#,
        r#"echo '{"decision": "block", "reason": "old style"}'"#,
        r#"echo '{"hookSpecificOutput": {"permissionDecision": "maybe"}}'"#,
        "yes",
        "yes >&2",
        "head -c 2000000 /dev/zero",
        "exec /nowhere/to/be/found",
    ] {
        let outcome = echoed(&before(script)).await;
        assert_eq!(
            (outcome.status, outcome.error_kind()),
            (Status::Denied, Some(ErrorKind::HookFailed)),
            "{script}"
        );
        assert_eq!(outcome.usage.fuel, None, "{script}: nothing ran");
        assert!(outcome.error.unwrap().help.unwrap().contains("hook `sh`"), "{script}");

        let outcome = echoed(&after(script)).await;
        assert_eq!((outcome.status, outcome.text().as_str()), (Status::Success, "x"), "{script}");
        assert_eq!(outcome.warnings.len(), 1, "{script}");

        let runtime = guarded(&after(script), HookEntry::redacts);
        let outcome = call(&runtime, "echo_string", json!({"value": "hunter2"})).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::HookFailed), "{script}");
        assert!(outcome.text().contains("the tool ran"), "{script}");
        assert!(!serde_json::to_string(&outcome).unwrap().contains("hunter2"), "{script}");
    }
    let missing = builder()
        .component(probe(Grant::none(), Limits::new()))
        .hook(CommandHook::new(["./no-such-program"]))
        .build()
        .await
        .unwrap();
    let outcome = call(&missing, "echo_string", json!({"value": "x"})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::HookFailed));
}

#[tokio::test]
async fn it_sees_nothing_of_the_host_but_what_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    // A descriptor that every other child of this process gets.
    let null = fs::File::open("/dev/null").unwrap();
    let open = rustix::io::fcntl_dupfd_cloexec(&null, 200).unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    let is_open = format!("[ -e /proc/$$/fd/{} ]", open.as_raw_fd());
    assert!(std::process::Command::new("sh").args(["-c", &is_open]).status().unwrap().success());
    let look =
        format!("tr '\\0' '\\n' < /proc/$$/environ >&2; {is_open} && echo leaked >&2; pwd >&2; exit 2");
    let hook = CommandHook::new(["sh", "-c", &look]).folder(folder.path()).env("TOKEN", "t");
    let runtime = builder().component(probe(Grant::none(), Limits::new())).hook(hook).build().await.unwrap();
    let outcome = call(&runtime, "echo_string", json!({"value": "x"})).await;
    let mut told: Vec<String> = outcome.text().lines().map(str::to_owned).collect();
    let last = told.pop().unwrap();
    assert_eq!(last, folder.path().canonicalize().unwrap().display().to_string());
    told[0] = told[0].replace("the call was refused: ", "");
    told.sort();
    assert_eq!(told, ["PATH=/usr/local/bin:/usr/bin:/bin", "TOKEN=t"]);
}

#[tokio::test]
async fn it_need_not_read_what_it_is_told() {
    let long = "x".repeat(900_000);
    for script in ["exit 0", "exec 0<&-; exit 0", "head -c 1 > /dev/null"] {
        let outcome = call(&guarded(script, |hook| hook), "echo_string", json!({"value": long})).await;
        assert_eq!(outcome.status, Status::Success, "{script}: {:?}", outcome.warnings);
        assert_eq!(outcome.warnings, [], "{script}");
    }
}

/// The processes whose numbers are in a file, one a line, once there are so many.
fn written(file: &Path, count: usize) -> Vec<u32> {
    let numbers = || -> Vec<u32> {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().filter_map(|line| line.trim().parse().ok()).collect()
    };
    wait_until("processes", || numbers().len() >= count);
    numbers()
}

/// Whether a process is there and no zombie.
fn lives(number: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "waited for {what}");
        std::thread::yield_now();
    }
}

fn all_die(numbers: &[u32]) {
    wait_until("processes to end", || !numbers.iter().any(|number| lives(*number)));
    // None of them is a zombie of ours.
    wait_until("zombies to be reaped", || {
        let children = process::children();
        !numbers.iter().any(|number| children.contains(number))
    });
}

fn pids() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    (folder, file)
}

#[tokio::test]
async fn a_slow_one_is_killed_with_all_that_it_started() {
    let (_folder, file) = pids();
    // Children, children of children, one in a session of its own, and none that heeds a wish to end.
    let script = format!(
        "trap '' TERM HUP INT; echo $$ >> {0}
        for n in 1 2 3 4 5 6 7 8; do (trap '' TERM; sleep 1000 & echo $! >> {0}; exec sleep 1000) & echo $! >> {0}; done
        setsid sleep 1000 & echo $! >> {0}
        exec 1>&- 2>&-; wait",
        file.display()
    );
    let runtime = guarded(&script, |hook| hook.timeout(Duration::from_secs(5)));
    let outcome = call(&runtime, "echo_string", json!({"value": "x"})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::HookFailed));
    assert!(outcome.error.unwrap().help.unwrap().contains("it took longer than 5s"));
    all_die(&written(&file, 18));
}

#[tokio::test]
async fn a_slow_one_is_killed_with_those_whose_parents_have_ended() {
    let (folder, file) = pids();
    let link = folder.path().join("link.sh");
    // Each starts the next in a session of its own, and ends: forty generations, of which the last stays.
    let next = "echo $$ >> $1; [ $(wc -l < $1) -lt 42 ] || exec sleep 1000; setsid sh $0 $1 &";
    fs::write(&link, next).unwrap();
    let script = format!(
        "setsid sh -c 'sleep 1000 & echo $! >> {0}'
        (setsid sh -c 'sleep 1000 & echo $! >> {0}' &)
        setsid sh {1} {0}; exec 1>&- 2>&-; sleep 1000",
        file.display(),
        link.display()
    );
    let runtime = guarded(&script, |hook| hook.timeout(Duration::from_secs(5)));
    let outcome = call(&runtime, "echo_string", json!({"value": "x"})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::HookFailed));
    all_die(&written(&file, 42));
}

#[tokio::test]
async fn a_bomb_stays_in_its_group() {
    let (_folder, file) = pids();
    // Each forks and forgets, for as long as it lives.
    let script = format!(
        "bomb() {{ echo $$ >> {0}; while [ $(wc -l < {0}) -lt 300 ]; do sh -c 'echo $$ >> {0}; exec sleep 1000' & done; wait; }}
        bomb & bomb & bomb & wait",
        file.display()
    );
    let runtime = guarded(&script, |hook| hook.timeout(Duration::from_secs(2)));
    let outcome = call(&runtime, "echo_string", json!({"value": "x"})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::HookFailed));
    let all = written(&file, 3);
    all_die(&all);
}

#[tokio::test]
async fn what_it_leaves_behind_is_killed_and_not_waited_for() {
    let (_folder, file) = pids();
    let script = format!("sleep 1000 & echo $! >> {}; exit 0", file.display());
    let begun = Instant::now();
    let outcome = call(&guarded(&script, |hook| hook), "echo_string", json!({"value": "x"})).await;
    assert_eq!((outcome.status, outcome.warnings.len()), (Status::Success, 0));
    assert!(begun.elapsed() < Duration::from_secs(100));
    all_die(&written(&file, 2));
}

#[tokio::test]
async fn a_call_that_is_dropped_takes_it_along() {
    let (_folder, file) = pids();
    let script = format!("echo $$ >> {0}; sleep 1000 & echo $! >> {0}; wait", file.display());
    let runtime = guarded(&script, |hook| hook.timeout(Duration::from_secs(600)));
    let calling = tokio::spawn(async move { call(&runtime, "echo_string", json!({"value": "x"})).await });
    let watched = file.clone();
    let numbers = tokio::task::spawn_blocking(move || written(&watched, 2)).await.unwrap();
    assert!(numbers.iter().all(|number| lives(*number)));
    calling.abort();
    assert!(calling.await.unwrap_err().is_cancelled());
    all_die(&numbers);
}

#[test]
fn it_runs_without_an_executor_and_leaves_no_descriptors() {
    let (_folder, file) = pids();
    let runtime = guarded(&format!("echo $$ >> {}", file.display()), |hook| hook);
    let run = || toolcell_tests::block_on(runtime.call(ToolCall::new("echo_string", json!({"value": "x"}))));
    assert_eq!(run().text(), "x");
    let before = process::descriptors();
    for _ in 0..20 {
        assert_eq!(run().text(), "x");
    }
    assert_eq!(process::descriptors(), before);
    all_die(&written(&file, 42));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_run_it_at_once() {
    // With a descriptor to withhold, programs start by a fork, which meets the making of the first pool.
    let _inherited = rustix::io::dup(std::io::stderr()).unwrap();
    let (_folder, file) = pids();
    let script = format!("echo $$ >> {}; cat > /dev/null", file.display());
    let runtime = guarded(&script, |hook| hook.timeout(Duration::from_secs(60)));
    let calls: Vec<_> = (0..60)
        .map(|number| {
            let runtime = runtime.clone();
            tokio::spawn(async move { call(&runtime, "echo_u32", json!({"value": number})).await })
        })
        .collect();
    for (number, outcome) in calls.into_iter().enumerate() {
        assert_eq!(outcome.await.unwrap().structured, Some(json!({"result": number})));
    }
    all_die(&written(&file, 120));
}

/// A hook that asks, and a later one that rewrites.
fn asking_and_rewriting() -> RuntimeBuilder {
    let specific = |text: &str| {
        let script = before(&format!("echo '{{\"hookSpecificOutput\": {{{text}}}}}'"));
        CommandHook::new(["sh", "-c", &script])
    };
    builder()
        .component(probe(Grant::none(), Limits::new()))
        .hook(specific(r#""permissionDecision": "ask", "permissionDecisionReason": "sure?""#))
        .hook(specific(r#""permissionDecision": "allow", "updatedInput": {"value": "rewritten"}"#))
}

#[tokio::test]
async fn what_is_approved_is_what_runs() {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&shown);
    let approver = move |question: Question| {
        let reasons: Vec<String> = question.reasons.iter().map(|reason| reason.text.clone()).collect();
        seen.lock().unwrap().push((question.arguments, reasons));
        async { Answer::Always }
    };
    let runtime = asking_and_rewriting().approver(approver).build().await.unwrap();
    let outcome = call(&runtime, "echo_string", json!({"value": "x"})).await;
    assert_eq!(outcome.text(), "rewritten");
    let expected = (json!({"value": "rewritten"}), vec!["sure?".to_owned()]);
    assert_eq!(*shown.lock().unwrap(), [expected]);

    let unasked = asking_and_rewriting().build().await.unwrap();
    let outcome = call(&unasked, "echo_string", json!({"value": "x"})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::ApprovalNeeded));
}

#[tokio::test]
async fn rules_that_deny_hold_before_and_after_a_rewrite() {
    for denied in ["x", "rewritten"] {
        let rule = Rule::deny("echo_string").argument("value", denied);
        let approver = |_: Question| async { Answer::Once };
        let runtime = asking_and_rewriting().rule(rule).approver(approver).build().await.unwrap();
        let outcome = call(&runtime, "echo_string", json!({"value": "x"})).await;
        assert_eq!(
            (outcome.status, outcome.error_kind()),
            (Status::Denied, Some(ErrorKind::Denied)),
            "{denied}"
        );
    }
}
