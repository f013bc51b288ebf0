//! Extreme numbers, huge results and endless handles are the guest's own trouble: the process lives, its memory stays
//! bounded, and its other calls go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::{Access, ErrorKind, Grant, Limit, Limits, Runtime};
use toolcell_tests::process::resident;
use toolcell_tests::{call, probing};

const MIB: u64 = 1 << 20;
const HUGE: &str = "18446744073709551615";

/// Calls `name` while a neighbour is being called, and says by how much the process grew at most meanwhile.
async fn grown_by(runtime: &Runtime, name: &str, arguments: Value) -> (toolcell::Outcome, u64) {
    let before = resident();
    let (peak, done) = (Arc::new(AtomicU64::new(before)), Arc::new(AtomicBool::new(false)));
    let watching = std::thread::spawn({
        let (peak, done) = (Arc::clone(&peak), Arc::clone(&done));
        move || {
            while !done.load(Ordering::Relaxed) {
                peak.fetch_max(resident(), Ordering::Relaxed);
                std::thread::yield_now();
            }
        }
    });
    let (outcome, neighbour) = tokio::join!(
        call(runtime, name, arguments),
        call(runtime, "echo_string", json!({ "value": "beside" }))
    );
    assert_eq!(neighbour.text(), "beside", "{:#?}", neighbour.error);
    done.store(true, Ordering::Relaxed);
    watching.join().unwrap();
    (outcome, peak.load(Ordering::Relaxed).saturating_sub(before))
}

#[tokio::test]
async fn a_huge_result_is_refused_before_the_host_pays_for_it() {
    let runtime = probing(Grant::none(), Limits::new().memory(1024 * MIB));
    runtime.warm().await.unwrap();
    for (name, arguments, guest_bytes) in [
        ("blob", json!({ "bytes": 512 * MIB }), 512 * MIB),
        ("text", json!({ "bytes": 128 * MIB }), 256 * MIB),
        ("many", json!({ "count": 2_000_000 }), 128 * MIB),
        ("list_strings", json!({ "count": 1_000_000, "size": 10 }), 64 * MIB),
        ("shared_strings", json!({ "count": 10_000_000, "size": 1024 }), 256 * MIB),
        ("bits", json!({ "count": 50_000_000 }), 128 * MIB),
    ] {
        let (outcome, grown) = grown_by(&runtime, name, arguments).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::ResultTooLarge), "{name}: {:#?}", outcome.error);
        let error = outcome.error.unwrap();
        assert!(error.help.is_some_and(|help| help.contains("limits.result_bytes")), "{name}");
        // What the guest itself holds is bounded by its memory limit; the rest is the host's.
        assert!(grown < guest_bytes + 256 * MIB, "{name}: the process grew by {} MiB", grown / MIB);
    }
}

#[tokio::test]
async fn endless_handles_chunks_and_records_cost_the_host_little() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "content").unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::Read);
    for grant in [Grant::none(), grant] {
        let has_folder = grant != Grant::none();
        let runtime = probing(grant, Limits::new().timeout(Duration::from_secs(2)));
        runtime.warm().await.unwrap();
        let mut calls = vec![
            ("bomb_pollables", json!({ "most": 50_000_000 })),
            ("bomb_streams", json!({ "most": 50_000_000 })),
            ("emit_many", json!({ "count": 1_000_000, "bytes": MIB })),
            ("log_many", json!({ "level": "info", "text": "x".repeat(MIB as usize), "count": 1_000_000 })),
            ("print", json!({ "channel": "stderr", "pattern": "x".repeat(MIB as usize), "count": 100 })),
        ];
        if has_folder {
            calls.push(("bomb_descriptors", json!({ "preopen": 0, "path": "file", "most": 50_000_000 })));
            calls.push(("bomb_listings", json!({ "preopen": 0, "most": 50_000_000 })));
        }
        for (name, arguments) in calls {
            let (outcome, grown) = grown_by(&runtime, name, arguments).await;
            assert!(
                grown < 128 * MIB,
                "{name}: the process grew by {} MiB: {:#?}",
                grown / MIB,
                outcome.error
            );
        }
    }
}

#[tokio::test]
async fn extreme_numbers_are_an_error_or_a_trap_and_nothing_worse() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "content").unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    let limits = Limits::new().timeout(Duration::from_millis(100)).with(Limit::WriteBytes, MIB);
    let runtime = probing(grant, limits);
    runtime.warm().await.unwrap();
    let at = |offset: &str| json!({ "preopen": 0, "path": "file", "mode": ["write"], "offset": offset, "content": "AAEC" });
    let times = |seconds: Value, nanoseconds: u32| json!({ "preopen": 0, "path": "file", "follow": true, "seconds": seconds, "nanoseconds": nanoseconds });
    let started = Instant::now();
    let half = "9223372036854775807";
    let over = "9223372036854775808";
    for (name, arguments) in [
        ("raw_set_times", times(json!(HUGE), 0)),
        ("raw_set_times", times(json!(HUGE), u32::MAX)),
        ("raw_set_times", times(json!(half), 999_999_999)),
        ("raw_set_times", times(json!(over), 0)),
        ("raw_set_times", times(json!(0), 1_000_000_000)),
        ("raw_set_times", times(json!(0), u32::MAX)),
        (
            "raw_set_times_open",
            json!({ "preopen": 0, "path": "file", "mode": ["write"], "seconds": HUGE, "nanoseconds": u32::MAX }),
        ),
        ("raw_read", json!({ "preopen": 0, "path": "file", "offset": 0, "length": HUGE })),
        ("raw_read", json!({ "preopen": 0, "path": "file", "offset": HUGE, "length": 1 })),
        ("raw_read", json!({ "preopen": 0, "path": "file", "offset": HUGE, "length": HUGE })),
        ("raw_read_stream", json!({ "preopen": 0, "path": "file", "offset": 0, "length": HUGE })),
        ("raw_read_stream", json!({ "preopen": 0, "path": "file", "offset": HUGE, "length": HUGE })),
        ("raw_write", at(HUGE)),
        ("raw_write", at(half)),
        ("raw_write", at("9223372036854775806")),
        ("raw_write_stream", at(HUGE)),
        ("raw_write_stream", at(half)),
        ("raw_set_size", json!({ "preopen": 0, "path": "file", "mode": ["write"], "size": HUGE })),
        ("raw_set_size", json!({ "preopen": 0, "path": "file", "mode": ["write"], "size": half })),
        ("raw_advise", json!({ "preopen": 0, "path": "file", "offset": HUGE, "length": HUGE })),
        ("random", json!({ "length": HUGE })),
        ("random", json!({ "length": 1_u64 << 40 })),
        ("random_insecure", json!({ "length": HUGE })),
        ("read_stdin_once", json!({ "length": HUGE })),
        ("splice", json!({ "length": HUGE })),
        ("print_zeroes", json!({ "length": HUGE })),
        ("print_zeroes", json!({ "length": 1_u64 << 40 })),
        ("poll_many", json!({ "count": 0 })),
        ("poll_many", json!({ "count": 1_000_000 })),
        ("sleep_nanos", json!({ "nanos": HUGE })),
        ("sleep_until", json!({ "instant": HUGE })),
        ("sleep", json!({ "ms": HUGE })),
        ("alloc", json!({ "mib": u32::MAX })),
        ("recurse", json!({ "depth": HUGE })),
        ("blob", json!({ "bytes": HUGE })),
        ("blob", json!({ "bytes": 1_u64 << 32 })),
        ("progress_many", json!({ "count": HUGE })),
    ] {
        let outcome = call(&runtime, name, arguments.clone()).await;
        assert_ne!(
            outcome.error_kind(),
            Some(ErrorKind::Internal),
            "{name} {arguments}: {:#?}",
            outcome.error
        );
        assert_ne!(outcome.error_kind(), Some(ErrorKind::InvalidArguments), "{name}: {:#?}", outcome.error);
        let good = call(&runtime, "echo_string", json!({ "value": "alive" })).await;
        assert_eq!(good.text(), "alive", "after {name} {arguments}: {:#?}", good.error);
    }
    let took = started.elapsed();
    assert!(took < Duration::from_secs(5), "the table took {took:?}");
    assert!(std::fs::metadata(folder.path().join("file")).unwrap().len() <= MIB);
}
