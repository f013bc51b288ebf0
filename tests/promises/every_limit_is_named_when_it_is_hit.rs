//! Every limit: a hostile guest that hits it is told which one, how much was allowed and where to raise it, and a
//! well-behaved neighbour in the same runtime notices nothing.

use std::time::Duration;

use serde_json::{Value, json};
use toolcell::limits::Admission;
use toolcell::{Access, Content, ErrorKind, Grant, Limit, Limits, Outcome, Status, ToolCall};
use toolcell_tests::{builder, built, call, component, crafted, probe, probing};

const MIB: u64 = 1 << 20;

/// The outcome is a failure of `kind` for `limit`, and says what its two readers need.
fn assert_hit(outcome: &Outcome, kind: ErrorKind, limit: &str, allowed: &str) {
    let shown = format!("{:#?}", outcome.error);
    assert_eq!(outcome.error_kind(), Some(kind), "{shown}");
    let error = outcome.error.as_ref().unwrap();
    let hit = error.limit.as_ref().unwrap_or_else(|| panic!("no limit is named: {shown}"));
    assert_eq!((hit.name.as_str(), hit.allowed.as_str()), (limit, allowed), "{shown}");
    assert_eq!(hit.setting, format!("limits.{limit}"), "{shown}");
    assert!(!hit.used.is_empty(), "{shown}");
    assert!(error.help.as_ref().is_some_and(|help| help.contains(&hit.setting)), "{shown}");
    assert!(!error.retryable, "{shown}");
    assert_eq!(outcome.exit_code(), if kind == ErrorKind::InvalidArguments { 3 } else { 5 }, "{shown}");
}

/// One limit, set to `value`: what hits it and what does not.
struct Case {
    limit: Limit,
    value: u64,
    kind: ErrorKind,
    allowed: &'static str,
    hostile: (&'static str, Value),
    neighbour: (&'static str, Value),
}

fn cases() -> Vec<Case> {
    let case = |limit, value, kind, allowed, hostile, neighbour| Case {
        limit,
        value,
        kind,
        allowed,
        hostile,
        neighbour,
    };
    use ErrorKind::{
        InvalidArguments, MemoryLimit, OutOfFuel, ResourceLimit, ResultTooLarge, StackOverflow, Timeout,
    };
    vec![
        case(
            Limit::Timeout,
            100_000_000,
            Timeout,
            "100ms",
            ("sleep", json!({ "ms": 60_000 })),
            ("sleep", json!({ "ms": 1 })),
        ),
        case(
            Limit::Fuel,
            1_000_000,
            OutOfFuel,
            "1000000",
            ("compute", json!({ "steps": 1_000_000_000 })),
            ("compute", json!({ "steps": 100 })),
        ),
        // Crossings cost fuel as well: a loop of host calls has a budget.
        case(
            Limit::Fuel,
            1_000_000,
            OutOfFuel,
            "1000000",
            ("loop_clock", json!({})),
            ("time_now", json!({})),
        ),
        case(
            Limit::Memory,
            16 * MIB,
            MemoryLimit,
            "16MiB",
            ("alloc", json!({ "mib": 64 })),
            ("alloc", json!({ "mib": 8 })),
        ),
        case(
            Limit::Handles,
            100,
            ResourceLimit,
            "100",
            ("bomb_pollables", json!({ "most": 50_000_000 })),
            ("bomb_pollables", json!({ "most": 50 })),
        ),
        case(
            Limit::Handles,
            100,
            ResourceLimit,
            "100",
            ("bomb_streams", json!({ "most": 50_000_000 })),
            ("bomb_streams", json!({ "most": 50 })),
        ),
        case(
            Limit::HostBytes,
            MIB,
            ResourceLimit,
            "1MiB",
            ("log_many", json!({ "level": "info", "text": "x".repeat(64 << 10), "count": 17 })),
            ("log_many", json!({ "level": "info", "text": "x".repeat(64 << 10), "count": 15 })),
        ),
        case(
            Limit::HostBytes,
            MIB,
            ResourceLimit,
            "1MiB",
            ("emit_many", json!({ "count": 30, "bytes": 64 << 10 })),
            ("emit_many", json!({ "count": 3, "bytes": 1000 })),
        ),
        case(
            Limit::RandomBytes,
            64 << 10,
            ResourceLimit,
            "64KiB",
            ("loop_random", json!({ "chunk": 1000 })),
            ("random", json!({ "length": 50_000 })),
        ),
        case(
            Limit::RandomBytes,
            64 << 10,
            ResourceLimit,
            "64KiB",
            ("random_insecure", json!({ "length": 1_u64 << 40 })),
            ("random_insecure", json!({ "length": 50_000 })),
        ),
        case(
            Limit::Stack,
            512 << 10,
            StackOverflow,
            "512KiB",
            ("recurse", json!({ "depth": 10_000_000 })),
            ("recurse", json!({ "depth": 1000 })),
        ),
        case(
            Limit::Chunks,
            100,
            ResourceLimit,
            "100",
            ("emit_many", json!({ "count": 101, "bytes": 10 })),
            ("emit_many", json!({ "count": 100, "bytes": 10 })),
        ),
        // What is emitted is part of the result.
        case(
            Limit::ResultBytes,
            MIB,
            ResultTooLarge,
            "1MiB",
            ("emit_many", json!({ "count": 100, "bytes": 64 << 10 })),
            ("emit_many", json!({ "count": 10, "bytes": 1000 })),
        ),
        case(
            Limit::ResultBytes,
            MIB,
            ResultTooLarge,
            "1MiB",
            ("blob", json!({ "bytes": 2 * MIB })),
            ("blob", json!({ "bytes": MIB / 2 })),
        ),
        case(
            Limit::ResultBytes,
            MIB,
            ResultTooLarge,
            "1MiB",
            ("text", json!({ "bytes": 2 * MIB })),
            ("text", json!({ "bytes": MIB / 2 })),
        ),
        case(
            Limit::ResultBytes,
            MIB,
            ResultTooLarge,
            "1MiB",
            ("many", json!({ "count": 100_000 })),
            ("many", json!({ "count": 1000 })),
        ),
        case(
            Limit::ArgumentBytes,
            64 << 10,
            InvalidArguments,
            "64KiB",
            ("echo_string", json!({ "value": "x".repeat(65 << 10) })),
            ("echo_string", json!({ "value": "x".repeat(63 << 10) })),
        ),
    ]
}

#[tokio::test]
async fn a_hostile_guest_hits_it_and_a_neighbour_does_not() {
    for case in cases() {
        let runtime = probing(Grant::none(), Limits::new().with(case.limit, case.value));
        let (hostile, neighbour) = (case.hostile, case.neighbour);
        let (hit, fine) =
            tokio::join!(call(&runtime, hostile.0, hostile.1), call(&runtime, neighbour.0, neighbour.1));
        assert_hit(&hit, case.kind, case.limit.name(), case.allowed);
        assert!(fine.is_success(), "{} beside {}: {:#?}", neighbour.0, case.limit, fine.error);
    }
}

#[tokio::test]
async fn arguments_as_text_are_bounded_before_they_are_parsed() {
    let runtime = probing(Grant::none(), Limits::new().with(Limit::ArgumentBytes, 1000));
    let text = format!("{{\"value\": \"{}\"}}", "x".repeat(1000));
    let outcome = runtime.call(ToolCall::new("echo_string", text)).await;
    assert_hit(&outcome, ErrorKind::InvalidArguments, "argument_bytes", "1000B");
}

#[tokio::test]
async fn handles_are_bounded_whatever_they_are_handles_of() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "content").unwrap();
    let grant = || Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    for (tool, arguments) in [
        ("bomb_descriptors", json!({ "preopen": 0, "path": "file", "most": 0 })),
        ("bomb_file_streams", json!({ "preopen": 0, "path": "file", "most": 0 })),
        ("bomb_listings", json!({ "preopen": 0, "most": 0 })),
        ("bomb_replacements", json!({ "path": "/work/file", "most": 0 })),
    ] {
        let most = |most: u64| {
            let mut arguments = arguments.clone();
            arguments["most"] = most.into();
            arguments
        };
        let limits = || Limits::new().with(Limit::Handles, 60).with(Limit::OpenFiles, 1_000_000);
        let runtime = probing(grant(), limits());
        assert_hit(&call(&runtime, tool, most(50_000)).await, ErrorKind::ResourceLimit, "handles", "60");
        let fine = call(&runtime, tool, most(30)).await;
        assert_eq!(fine.structured, Some(json!({ "result": [30, null] })), "{tool}: {:#?}", fine.error);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "what was being replaced is cleaned up");
}

#[tokio::test]
async fn a_guest_is_told_that_too_many_files_are_open_and_may_go_on() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "content").unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    let runtime = probing(grant, Limits::new().with(Limit::OpenFiles, 16));
    for (tool, arguments) in [
        ("bomb_descriptors", json!({ "preopen": 0, "path": "file", "most": 500 })),
        ("bomb_listings", json!({ "preopen": 0, "most": 500 })),
        ("bomb_replacements", json!({ "path": "/work/file", "most": 500 })),
    ] {
        let outcome = call(&runtime, tool, arguments).await;
        let result = &outcome.structured.as_ref().unwrap_or_else(|| panic!("{:#?}", outcome.error))["result"];
        assert!(result[0].as_u64().is_some_and(|held| held <= 16), "{tool}: {result}");
        assert!(result[1].is_string(), "{tool}: {result}");
    }
    let fine = call(&runtime, "bomb_descriptors", json!({ "preopen": 0, "path": "file", "most": 10 })).await;
    assert_eq!(fine.structured, Some(json!({ "result": [10, null] })));
}

#[tokio::test]
async fn written_bytes_are_bounded_over_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    let runtime = probing(grant, Limits::new().with(Limit::WriteBytes, 1000));
    let write = |bytes: usize| {
        let content = "x".repeat(bytes);
        let arguments = json!({
            "path": "/work/file", "content": content, "piece": 100, "create_parents": false, "ending": "commit"
        });
        call(&runtime, "replace_file", arguments)
    };
    let refused = write(1001).await;
    assert_eq!(refused.error_kind(), Some(ErrorKind::ToolError), "{:#?}", refused.error);
    assert!(refused.text().contains("limit"), "{}", refused.text());
    let hit = refused.error.as_ref().and_then(|error| error.limit.clone()).unwrap();
    assert_eq!((hit.name.as_str(), hit.allowed.as_str()), ("write_bytes", "1000B"), "{hit:#?}");
    assert!(!folder.path().join("file").exists(), "nothing half written");
    assert!(write(1000).await.is_success());
    assert_eq!(std::fs::metadata(folder.path().join("file")).unwrap().len(), 1000);
}

#[tokio::test]
async fn output_past_its_limit_is_counted_and_never_breaks_the_call() {
    let runtime = probing(Grant::none(), Limits::new());
    for channel in ["stdout", "stderr"] {
        let arguments =
            json!({ "channel": channel, "pattern": "0123456789abcde\n".repeat(1024), "count": 320 });
        let outcome = call(&runtime, "print", arguments).await;
        assert_eq!(outcome.structured, Some(json!({ "result": 5 * MIB })), "{:#?}", outcome.error);
        let log = outcome.logs.iter().find(|log| log.stream == channel).unwrap();
        assert!(log.text.len() < 70_000, "{}", log.text.len());
        let missing = 5 * MIB - (64 << 10);
        assert!(log.text.contains(&format!("{missing} bytes were not kept")), "the true total is told");
    }
    let quiet = call(&runtime, "print", json!({ "channel": "stdout", "pattern": "hi", "count": 1 })).await;
    assert_eq!(quiet.logs.first().map(|log| log.text.as_str()), Some("hi"));
}

#[tokio::test]
async fn log_records_past_their_limit_are_counted_and_never_break_the_call() {
    let runtime = probing(Grant::none(), Limits::new().with(Limit::LogRecords, 10));
    let outcome = call(&runtime, "log_many", json!({ "level": "warn", "text": "again", "count": 30 })).await;
    assert!(outcome.is_success(), "{:#?}", outcome.error);
    assert_eq!(outcome.logs.len(), 11);
    assert!(outcome.logs[..10].iter().all(|log| log.stream == "warn" && log.text == "again"));
    assert!(outcome.logs[10].text.contains("20 more records"), "{:?}", outcome.logs[10]);
    let outcome = call(&runtime, "progress_many", json!({ "count": 3 })).await;
    let steps: Vec<&str> = outcome.logs.iter().map(|log| log.text.as_str()).collect();
    assert_eq!(steps, ["1/3 step 1", "2/3 step 2", "3/3 step 3"]);
}

#[tokio::test]
async fn chunks_come_before_the_result_and_survive_a_call_that_is_stopped() {
    let runtime = probing(Grant::none(), Limits::new().timeout(Duration::from_millis(300)));
    let outcome = call(&runtime, "emit_many", json!({ "count": 2, "bytes": 3 })).await;
    let text = |text: &str| Content::Text { text: text.to_owned() };
    assert_eq!(outcome.content, [text("0 xxx"), text("1 xxx"), text("2")]);
    let stopped = call(&runtime, "emit_and_spin", json!({ "text": "kept" })).await;
    assert_eq!(stopped.error_kind(), Some(ErrorKind::Timeout));
    assert_eq!(stopped.status, Status::Interrupted);
    assert_eq!(stopped.content.first(), Some(&text("kept")));
    let stopped = call(&runtime, "spin", json!({})).await;
    assert_eq!(stopped.status, Status::Error, "nothing was kept");
}

/// Grows two memories of 8 MiB each; the second growth fails if they are summed.
const TWO_MEMORIES: &str = r#"(component
    (core module $first
        (memory (export "memory") 1)
        (func (export "grow") (result i32) (memory.grow (i32.const 127))))
    (core module $second
        (import "first" "grow" (func $grow (result i32)))
        (memory (export "memory") 1)
        (func (export "run")
            (if (i32.lt_s (call $grow) (i32.const 0)) (then unreachable))
            (if (i32.lt_s (memory.grow (i32.const 127)) (i32.const 0)) (then unreachable))))
    (core instance $one (instantiate $first))
    (core instance $two (instantiate $second (with "first" (instance $one))))
    (func (export "run") (canon lift (core func $two "run"))))"#;

#[tokio::test]
async fn memory_is_summed_over_all_memories() {
    for (allowed, is_enough) in [(12, false), (16, true)] {
        let component = component(TWO_MEMORIES).limits(Limits::new().memory(allowed * MIB));
        let runtime = built(builder().component(component));
        let outcome = call(&runtime, "run", json!({})).await;
        if is_enough {
            assert!(outcome.is_success(), "{:#?}", outcome.error);
            assert_eq!(outcome.usage.memory_bytes, 16 * MIB);
        } else {
            assert_hit(&outcome, ErrorKind::MemoryLimit, "memory", "12MiB");
            assert_eq!(outcome.error.unwrap().limit.unwrap().used, "16MiB");
        }
    }
}

#[tokio::test]
async fn tables_are_bounded_when_they_grow() {
    let growing = |by: u32| {
        let module = format!(
            r#"(memory (export "memory") 1) (table $table 10 funcref)
            (func (export "run")
                (if (i32.lt_s (table.grow $table (ref.null func) (i32.const {by})) (i32.const 0))
                    (then unreachable)))"#
        );
        built(
            builder().component(crafted(&module, "").limits(Limits::new().with(Limit::TableElements, 1000))),
        )
    };
    let outcome = call(&growing(991), "run", json!({})).await;
    assert_hit(&outcome, ErrorKind::ResourceLimit, "table_elements", "1000");
    let outcome = call(&growing(990), "run", json!({})).await;
    assert!(outcome.is_success(), "{:#?}", outcome.error);
}

#[test]
fn what_a_component_needs_from_its_start_is_checked_when_it_is_loaded() {
    let memory = crafted(r#"(memory (export "memory") 1024) (func (export "run"))"#, "");
    let table = crafted(r#"(memory (export "memory") 1) (table 5000 funcref) (func (export "run"))"#, "");
    let refused = [
        (memory.clone().limits(Limits::new().memory(16 * MIB)), ["64MiB", "16MiB", "limits.memory"]),
        (
            table.clone().limits(Limits::new().with(Limit::TableElements, 1000)),
            ["5000", "1000", "limits.table_elements"],
        ),
        (
            probe(Grant::none(), Limits::new().with(Limit::Instances, 1)),
            ["instances", "1 is allowed", "limits.instances"],
        ),
        (
            probe(Grant::none(), Limits::new().with(Limit::Stack, MIB)),
            ["stack", "one for all", "limits.stack"],
        ),
    ];
    for (component, words) in refused {
        let error = match builder().component(component).build_blocking() {
            Ok(_) => panic!("loaded: {words:?}"),
            Err(error) => error.to_string(),
        };
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
    built(builder().component(memory).component(table.name("other").rename("run", "other")));
}

#[tokio::test]
async fn four_mebibytes_of_bytes_go_in_and_out_by_default() {
    let runtime = probing(Grant::none(), Limits::new());
    let outcome = call(&runtime, "blob", json!({ "bytes": 4 * MIB })).await;
    assert!(outcome.is_success(), "{:#?}", outcome.error);
    let base64 = "AAEC".repeat(4 << 20 >> 2);
    let outcome = call(&runtime, "echo_bytes", json!({ "value": base64 })).await;
    assert!(outcome.is_success(), "{:#?}", outcome.error);
}

#[tokio::test]
async fn a_larger_result_works_where_the_limit_is_raised() {
    let runtime = probing(Grant::none(), Limits::new().with(Limit::ResultBytes, 64 * MIB));
    let outcome = call(&runtime, "blob", json!({ "bytes": 8 * MIB })).await;
    assert!(outcome.is_success(), "{:#?}", outcome.error);
    let outcome = call(&runtime, "text", json!({ "bytes": 32 * MIB })).await;
    assert!(outcome.is_success(), "{:#?}", outcome.error);
}

#[tokio::test]
async fn a_timeout_of_the_call_counts_if_it_is_shorter_and_is_named() {
    let runtime = probing(Grant::none(), Limits::new().timeout(Duration::from_millis(200)));
    let shorter = runtime.call(ToolCall::new("spin", json!({}))).timeout(Duration::from_millis(100)).await;
    let limit = shorter.error.unwrap().limit.unwrap();
    assert_eq!((limit.name.as_str(), limit.allowed.as_str()), ("timeout", "100ms"));
    assert_eq!(limit.setting, "the call's own timeout");
    let longer = runtime.call(ToolCall::new("spin", json!({}))).timeout(Duration::from_secs(3600)).await;
    assert_hit(&longer, ErrorKind::Timeout, "timeout", "200ms");
    let whole = built(
        builder().component(probe(Grant::none(), Limits::new())).call_timeout(Duration::from_millis(100)),
    );
    let outcome = call(&whole, "sleep", json!({ "ms": 60_000 })).await;
    let limit = outcome.error.unwrap().limit.unwrap();
    assert_eq!((limit.name.as_str(), limit.setting.as_str()), ("timeout", "policy.call_timeout"));
    assert_eq!(limit.allowed, "100ms", "what was set, not what was left of it");
}

#[tokio::test]
async fn a_limit_that_a_file_sets_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(toolcell_tests::guest("probe"), folder.path().join("probe.wasm")).unwrap();
    let text = "[policy]\ncall_timeout = \"100ms\"\n[component.p]\npath = \"probe.wasm\"\n\
                [component.p.limits]\nargument_bytes = 1000\nlog_records = 3\n\
                [component.p.tool.alloc.limits]\nmemory = \"12MiB\"\n";
    let path = folder.path().join("toolcell.toml");
    let config = toolcell::config::Config::parse(text, &path, "toolcell.toml", None).unwrap();
    let runtime = built(builder().config(config));
    runtime.warm().await.unwrap();
    for (tool, arguments, line, allowed) in [
        ("sleep", json!({ "ms": 60_000 }), 2, "100ms"),
        ("echo_string", json!({ "value": "x".repeat(2000) }), 6, "1000B"),
        ("alloc", json!({ "mib": 100 }), 9, "12MiB"),
    ] {
        let error = call(&runtime, tool, arguments).await.error.unwrap();
        let (limit, help) = (error.limit.unwrap(), error.help.unwrap());
        let at = format!("toolcell.toml:{line}");
        assert_eq!((limit.at.as_deref(), limit.allowed.as_str()), (Some(at.as_str()), allowed), "{tool}");
        assert!(help.contains(&format!("`{}` ({at})", limit.setting)), "{help}");
    }
}

#[tokio::test]
async fn the_time_for_a_whole_call_is_told_with_what_was_spent_before_the_cell() {
    let mut admission = Admission::default();
    admission.concurrent_cells = 1;
    let probe = probe(Grant::none(), Limits::new());
    let whole = builder().component(probe).admission(admission).call_timeout(Duration::from_millis(400));
    let runtime = built(whole);
    runtime.warm().await.unwrap();
    // The second waits for the first, and has half of its time left when its cell begins.
    let first = runtime.call(ToolCall::new("sleep", json!({ "ms": 200 })));
    let second = runtime.call(ToolCall::new("sleep", json!({ "ms": 60_000 })));
    let (_, second) = tokio::join!(first.into_future(), second.into_future());
    let limit = second.error.unwrap().limit.unwrap();
    assert_eq!((limit.allowed.as_str(), limit.setting.as_str()), ("400ms", "policy.call_timeout"));
    let used: u64 = limit.used.trim_end_matches("ms").parse().unwrap_or(u64::MAX);
    assert!(used > 400, "{limit:?}");
}

#[tokio::test]
async fn cells_and_places_before_them_are_bounded_and_busy_says_try_again() {
    let mut admission = Admission::default();
    (admission.concurrent_cells, admission.max_waiting) = (1, 1);
    admission.queue_timeout = Duration::from_millis(50);
    let runtime = built(builder().component(probe(Grant::none(), Limits::new())).admission(admission));
    runtime.warm().await.unwrap();
    let token = tokio_util::sync::CancellationToken::new();
    let holder = tokio::spawn(
        runtime.call(ToolCall::new("poll_forever", json!({}))).cancel(token.clone()).into_future(),
    );
    // Until the holder is in its cell, another call still succeeds.
    while call(&runtime, "echo_silence", json!({})).await.is_success() {
        tokio::task::yield_now().await;
    }
    let (waited, refused) =
        tokio::join!(call(&runtime, "echo_silence", json!({})), call(&runtime, "echo_silence", json!({})));
    for (outcome, words, setting) in [
        (waited, "no cell was free for 50ms", "limits.concurrent_cells"),
        (refused, "too many calls are waiting", "limits.max_waiting"),
    ] {
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Busy), "{:#?}", outcome.error);
        let error = outcome.error.as_ref().unwrap();
        assert!(error.retryable && outcome.exit_code() == 7, "{error:#?}");
        assert!(error.message.contains(words), "{}", error.message);
        assert!(error.help.as_ref().unwrap().contains(setting), "{error:#?}");
    }
    token.cancel();
    assert_eq!(holder.await.unwrap().error_kind(), Some(ErrorKind::Cancelled));
    assert!(call(&runtime, "echo_silence", json!({})).await.is_success(), "the cell is free again");
}

#[tokio::test]
async fn more_calls_than_cells_all_get_their_own_result() {
    let mut admission = Admission::default();
    admission.concurrent_cells = 4;
    let runtime = built(builder().component(probe(Grant::none(), Limits::new())).admission(admission));
    let calls: Vec<_> = (0..200)
        .map(|number| {
            let call = ToolCall::new("echo_u32", json!({ "value": number })).id(number);
            tokio::spawn(runtime.call(call).into_future())
        })
        .collect();
    for (number, task) in calls.into_iter().enumerate() {
        let outcome = task.await.unwrap();
        assert_eq!(outcome.id, json!(number));
        assert_eq!(outcome.structured, Some(json!({ "result": number })), "{:#?}", outcome.error);
    }
}

#[tokio::test]
async fn equal_calls_burn_equal_fuel_also_with_crossings_and_company() {
    let runtime = probing(Grant::none(), Limits::new());
    for (tool, arguments) in [
        ("echo_string", json!({ "value": "hello world" })),
        ("compute", json!({ "steps": 3_000_000 })),
        ("print", json!({ "channel": "stdout", "pattern": "hello\n", "count": 20_000 })),
        ("log_many", json!({ "level": "info", "text": "again", "count": 20_000 })),
        ("environment", json!({})),
    ] {
        let (first, second, third) = tokio::join!(
            call(&runtime, tool, arguments.clone()),
            call(&runtime, tool, arguments.clone()),
            call(&runtime, tool, arguments.clone())
        );
        assert!(first.is_success(), "{tool}: {:#?}", first.error);
        assert!(first.usage.fuel.is_some_and(|fuel| fuel > 0), "{tool}");
        assert_eq!(first.usage.fuel, second.usage.fuel, "{tool}");
        assert_eq!(first.usage.fuel, third.usage.fuel, "{tool}");
    }
    let more = |count: u32| json!({ "level": "info", "text": "", "count": count });
    let few = call(&runtime, "log_many", more(1000)).await.usage.fuel.unwrap();
    let many = call(&runtime, "log_many", more(2000)).await.usage.fuel.unwrap();
    assert!(many - few >= 1000 * 500, "each crossing costs: {few} and {many}");
    let off = probing(Grant::none(), Limits::new().fuel_off());
    assert_eq!(call(&off, "echo_silence", json!({})).await.usage.fuel, None);
}
