//! What a hook waits for of the host is not its own time: a busy host makes calls wait or puts them off, and never makes
//! a hook's failure of it. A hook that holds a call itself is named.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcell::call::Ended;
use toolcell::hook::{
    CommandHook, ComponentHook, Events, Hook, HookCall, HookEntry, HookResult, Next, Pre, async_trait,
};
use toolcell::limits::Admission;
use toolcell::sandbox::Compiler;
use toolcell::{ErrorKind, Grant, Limits, Outcome, Runtime, RuntimeBuilder, Status};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::{builder, built, call, guest, probe};

fn probing() -> RuntimeBuilder {
    builder().component(probe(Grant::none(), Limits::new()))
}

async fn echoed(runtime: &Runtime) -> Outcome {
    call(runtime, "echo_string", json!({"value": "x"})).await
}

/// A program of which every run waits until the gate is opened.
struct Gated {
    folder: tempfile::TempDir,
    hook: Arc<CommandHook>,
}

impl Gated {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let gate = folder.path().join("gate");
        assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
        let script = "echo $$ >> runs; cat > /dev/null; [ -e open ] || read line < gate";
        let hook = CommandHook::new(["sh", "-c", script]).folder(folder.path());
        Self { folder, hook: Arc::new(hook) }
    }

    /// A runtime whose calls it decides on.
    fn runtime(&self, change: impl Fn(HookEntry) -> HookEntry, call_timeout: Duration) -> Runtime {
        let entry = HookEntry::shared(Arc::clone(&self.hook) as Arc<dyn Hook>).on(Events::PRE);
        built(probing().hook(change(entry)).call_timeout(call_timeout))
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.folder.path().join("runs")).unwrap_or_default().lines().count()
    }

    /// Lets all runs go on, those that begin later too.
    fn open(&self) {
        fs::write(self.folder.path().join("open"), "").unwrap();
        let gate = fs::OpenOptions::new().read(true).write(true).open(self.folder.path().join("gate"));
        // One line for each that reads.
        std::io::Write::write_all(&mut gate.unwrap(), "\n".repeat(100).as_bytes()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waits_for_a_place_of_a_program_is_not_refused_for_it() {
    let minutes = Duration::from_secs(600);
    let gated = Gated::new();
    let patient = gated.runtime(|entry| entry.timeout(minutes), minutes);
    let holding: Vec<_> = (0..32)
        .map(|_| {
            let patient = patient.clone();
            tokio::spawn(async move { echoed(&patient).await })
        })
        .collect();
    while gated.runs() < 32 {
        tokio::task::yield_now().await;
    }
    // No place is left: the time of the call ends, and says what it waited for.
    let short = gated.runtime(|entry| entry.timeout(Duration::from_secs(60)), Duration::from_millis(300));
    let put_off = echoed(&short).await;
    assert_eq!((put_off.status, put_off.error_kind()), (Status::Error, Some(ErrorKind::Busy)), "{put_off:?}");
    let error = put_off.error.unwrap();
    assert!(error.retryable && error.kind.exit_code() == 7);
    insta::assert_snapshot!(error.message, @"the host is busy: a check before the call waited for one of the 32 places for runs of its program until the time of the call was over; try again later");
    insta::assert_snapshot!(error.help.unwrap(), @"hook `sh`: make its program quicker, name the tools that it is for, or raise `policy.call_timeout`");

    // Longer than the hook may take itself.
    let quick = gated.runtime(|entry| entry.timeout(Duration::from_secs(3)), minutes);
    let mut waiting = Box::pin(echoed(&quick));
    let passed = tokio::time::timeout(Duration::from_secs(4), &mut waiting).await;
    assert!(passed.is_err(), "it waits: {passed:?}");
    assert_eq!(gated.runs(), 32, "and its program does not run");
    gated.open();
    let outcome = waiting.await;
    assert_eq!((outcome.status, outcome.text().as_str()), (Status::Success, "x"), "{outcome:?}");
    for held in holding {
        assert!(held.await.unwrap().is_success());
    }
}

/// A runtime with one cell, in which the judge decides about `echo_string`, and the call that holds the cell.
async fn one_cell_taken(
    change: impl Fn(&mut Admission),
    timeout: Duration,
    held: Duration,
) -> (Runtime, tokio::task::JoinHandle<Outcome>) {
    let mut admission = Admission::default();
    admission.concurrent_cells = 1;
    change(&mut admission);
    let judge = HookEntry::new(ComponentHook::file(guest("judge")).unwrap()).tools(["echo_string"]);
    let runtime = built(probing().admission(admission).hook(judge.timeout(timeout)));
    runtime.warm().await.unwrap();
    let (holder, ms) = (runtime.clone(), u64::try_from(held.as_millis()).unwrap());
    let holding = tokio::spawn(async move { call(&holder, "sleep", json!({"ms": ms})).await });
    while runtime.cells_running() == 0 {
        tokio::task::yield_now().await;
    }
    (runtime, holding)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_gets_no_cell_puts_the_call_off() {
    let hour = Duration::from_secs(3600);
    let impatient = |admission: &mut Admission| admission.queue_timeout = Duration::from_millis(100);
    let unqueued = |admission: &mut Admission| admission.max_waiting = 0;
    type Change<'a> = &'a dyn Fn(&mut Admission);
    let cases: [(&str, Change<'_>); 2] = [("no cell was free", &impatient), ("too many", &unqueued)];
    for (told, change) in cases {
        let (runtime, holding) = one_cell_taken(change, Duration::from_secs(60), hour).await;
        let outcome = echoed(&runtime).await;
        assert_eq!(
            (outcome.status, outcome.error_kind()),
            (Status::Error, Some(ErrorKind::Busy)),
            "{outcome:?}"
        );
        let error = outcome.error.unwrap();
        assert!(error.retryable && error.message.contains(told), "{error:?}");
        let help = error.help.unwrap();
        assert!(help.starts_with("hook `judge`: raise `limits."), "{help}");
        holding.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_waits_for_a_cell_spends_none_of_its_time() {
    let (runtime, holding) = one_cell_taken(|_| {}, Duration::from_secs(3), Duration::from_secs(4)).await;
    let outcome = echoed(&runtime).await;
    assert_eq!((outcome.status, outcome.text().as_str()), (Status::Success, "x"), "{outcome:?}");
    assert!(holding.await.unwrap().is_success());
}

/// A compiler that takes its time.
fn slow_compiler(folder: &Path, seconds: &str) -> Compiler {
    let program = folder.join("compiler");
    let script = format!("#!/bin/sh\nsleep {seconds}; exec {} \"$@\"\n", env!("CARGO_BIN_EXE_compile-child"));
    fs::write(&program, script).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&program, executable).unwrap();
    Compiler::Child { program }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_may_take_longer_to_compile_than_to_decide() {
    let folder = tempfile::tempdir().unwrap();
    let judged = |seconds: &str, cache: &str, call_timeout: Duration| {
        let judge = ComponentHook::file(guest("judge")).unwrap();
        let native =
            toolcell::NativeTool::new("now", "The time", |_: Nothing, _| async { Ok::<_, String>(7) });
        let runtime = Runtime::builder()
            .cache(folder.path().join(cache))
            .compiler(slow_compiler(folder.path(), seconds))
            .native(native)
            .call_timeout(call_timeout)
            .hook(HookEntry::new(judge).timeout(Duration::from_secs(3)));
        built(runtime)
    };
    let cold = judged("4", "one", Duration::from_secs(600));
    let outcome = call(&cold, "now", json!({})).await;
    assert_eq!((outcome.status, outcome.warnings.len()), (Status::Success, 0), "{outcome:?}");

    let put_off = call(&judged("600", "other", Duration::from_millis(300)), "now", json!({})).await;
    assert_eq!(put_off.error_kind(), Some(ErrorKind::Busy), "{put_off:?}");
    assert!(put_off.error.unwrap().help.unwrap().contains("`toolcell cache warm`"));
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[test]
fn warming_the_cache_makes_the_code_of_hooks_too() {
    let line = CommandLine::cold();
    let judge = fs::copy(guest("judge"), line.folder().join("judge.wasm"));
    judge.unwrap();
    let config = "[component.basics]\npath = \"builtin:basics\"\n\
                  [[hook]]\nuse = \"component\"\npath = \"judge.wasm\"\ntimeout = \"5s\"\n";
    line.write("toolcell.toml", config);
    let warmed = line.run(&["cache", "warm", "--config", "toolcell.toml"]);
    assert_eq!((warmed.code, warmed.stdout.as_str()), (0, "compiled: basics, judge\n"), "{warmed:?}");
    let cached = || {
        let listed = line.run(&["cache", "list", "--json"]).json();
        let entries = listed["entries"].as_array().unwrap().iter();
        entries.map(|entry| entry["digest"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let before = cached();
    assert_eq!(before.len(), 2, "{before:?}");
    let called = line.run(&["call", "add", r#"{"a":2,"b":3}"#, "--config", "toolcell.toml"]);
    assert_eq!((called.code, called.stdout.as_str()), (0, "5\n"), "{called:?}");
    assert_eq!(cached(), before, "nothing was left to compile");
}

/// Never goes on, before or around a call.
struct Holding {
    name: &'static str,
    events: Events,
    /// Where around the call.
    runs_first: bool,
}

#[async_trait]
impl Hook for Holding {
    fn name(&self) -> &str {
        self.name
    }

    fn events(&self) -> Events {
        self.events
    }

    async fn pre(&self, _: &HookCall) -> HookResult<Pre> {
        std::future::pending().await
    }

    async fn around(&self, _: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        if self.runs_first {
            next.run().await;
        }
        std::future::pending().await
    }
}

/// Does nothing around a call.
struct Through;

#[async_trait]
impl Hook for Through {
    fn events(&self) -> Events {
        Events::AROUND
    }
}

#[tokio::test]
async fn a_hook_that_holds_a_call_to_the_end_of_its_time_is_named() {
    let holding = |events, runs_first| Holding { name: "holding", events, runs_first };
    let minutes = Duration::from_secs(600);
    for (events, runs_first) in [(Events::PRE, false), (Events::AROUND, false), (Events::AROUND, true)] {
        let runtime = probing()
            .hook(Through)
            .hook(HookEntry::new(holding(events, runs_first)).timeout(minutes))
            .hook(Through)
            .call_timeout(Duration::from_millis(300));
        let outcome = echoed(&built(runtime)).await;
        assert_eq!((outcome.status, outcome.error_kind()), (Status::Error, Some(ErrorKind::Timeout)));
        let error = outcome.error.unwrap();
        assert_eq!(error.limit.unwrap().setting, "policy.call_timeout");
        let help = error.help.unwrap();
        assert!(help.starts_with("hook `holding` held the call until its time was over; "), "{help}");
        assert!(help.contains("policy.call_timeout"), "{help}");
        assert!(!error.message.contains("holding"), "the model reads of a hook: {}", error.message);
    }
    // Where the tool itself takes the time, no hook is blamed.
    let runtime = built(probing().hook(Through).call_timeout(Duration::from_millis(300)));
    let outcome = call(&runtime, "sleep", json!({"ms": 60_000})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout));
    assert!(!outcome.error.unwrap().help.unwrap().contains("hook"));
}
