//! A function of the embedder's program is a tool like others: typed, validated, bounded, and never in the way.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc as std_mpsc};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcell::limits::Admission;
use toolcell::tool::NativeCall;
use toolcell::{CancellationToken, ErrorKind, Limit, Limits, NativeTool, Runtime, ToolCall};
use toolcell_tests::{block_on, built, call};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Arguments of every shape that schemas describe differently.
#[derive(Deserialize, JsonSchema)]
struct Order {
    /// What is ordered.
    item: String,
    count: Option<u8>,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Receipt {
    item: String,
    count: u8,
}

fn ordering() -> NativeTool<Receipt> {
    NativeTool::new("order", "Orders something.", |order: Order, _| async move {
        match order.item.as_str() {
            "nothing" => Err("there is nothing to order".to_owned()),
            item => Ok(Receipt {
                item: item.to_owned(),
                count: order.count.unwrap_or(1) + u8::from(!order.tags.is_empty()),
            }),
        }
    })
}

fn runtime(tool: impl Into<toolcell::tool::AnyNativeTool>) -> Runtime {
    built(Runtime::builder().native(tool))
}

#[tokio::test]
async fn a_typed_function_has_closed_schemas_and_typed_results() {
    let runtime = runtime(ordering());
    let tool = runtime.get("order").unwrap();
    let schema = tool.input_schema();
    assert_eq!((&schema["additionalProperties"], &schema["required"]), (&json!(false), &json!(["item"])));
    assert_eq!(schema["properties"]["item"]["description"], "What is ordered.");
    assert_eq!(tool.output_schema().unwrap()["properties"]["count"]["maximum"], 255);
    let ordered = call(&runtime, "order", json!({ "item": "tea", "tags": ["hot"] })).await;
    assert_eq!(ordered.structured, Some(json!({ "item": "tea", "count": 2 })));
    assert_eq!(ordered.text(), r#"{"item":"tea","count":2}"#);
    let failed = call(&runtime, "order", json!({ "item": "nothing" })).await;
    assert_eq!(
        (failed.error_kind(), failed.text()),
        (Some(ErrorKind::ToolError), "there is nothing to order".to_owned())
    );
    for wrong in [
        json!({}),
        json!({ "item": 1 }),
        json!({ "item": "tea", "count": 256 }),
        json!({ "item": "tea", "more": 1 }),
        json!({ "item": "tea", "tags": "hot" }),
    ] {
        let invalid = call(&runtime, "order", wrong.clone()).await;
        assert_eq!(invalid.error_kind(), Some(ErrorKind::InvalidArguments), "{wrong}: {invalid:#?}");
        assert!(!invalid.error.unwrap().violations.is_empty(), "{wrong}");
    }
}

#[tokio::test]
async fn a_result_that_is_no_object_is_wrapped_and_a_text_of_its_own_is_read_instead() {
    let number = NativeTool::new("number", "A number.", |_: Nothing, _| async { Ok::<_, String>(7_u32) });
    let runtime = built(
        Runtime::builder()
            .native(number.text(|number| format!("seven, or {number}")))
            .native(NativeTool::new("words", "Words.", |_: Nothing, _| async {
                Ok::<_, String>("said".to_owned())
            }))
            .native(NativeTool::new("nothing", "Nothing.", |_: Nothing, _| async { Ok::<_, String>(()) }))
            .native(NativeTool::new("list", "A list.", |_: Nothing, _| async {
                Ok::<_, String>(vec![1_u8, 2])
            })),
    );
    for (name, text, value) in [
        ("number", "seven, or 7", json!(7)),
        ("words", "said", json!("said")),
        ("nothing", "", Value::Null),
        ("list", "[1,2]", json!([1, 2])),
    ] {
        let outcome = call(&runtime, name, json!({})).await;
        assert_eq!((outcome.text().as_str(), &outcome.structured), (text, &Some(json!({ "result": value }))));
        let tool = runtime.get(name).unwrap();
        let schema = tool.output_schema().unwrap();
        assert!(jsonschema::is_valid(schema, &outcome.structured.unwrap()), "{name}: {schema}");
    }
}

#[tokio::test]
async fn a_panic_is_an_outcome() {
    let broken = |name: &str| NativeTool::new(name, "Fails.", |_: Nothing, _| async { fail::<u8>() });
    let blocking = NativeTool::blocking("blocking", "Fails.", |_: Nothing, _| fail::<u8>());
    let at_once = NativeTool::new("at_once", "Fails.", |_: Nothing, _| {
        if true {
            panic!("before there is a future: /etc/secret")
        }
        std::future::ready(Ok::<u8, String>(1))
    });
    let runtime =
        built(Runtime::builder().native(broken("later")).native(blocking).native(at_once).native(ordering()));
    for name in ["later", "blocking", "at_once"] {
        let outcome = call(&runtime, name, json!({})).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Panicked), "{name}: {outcome:#?}");
        assert!(!outcome.text().contains("secret"), "{}", outcome.text());
    }
    assert!(call(&runtime, "order", json!({ "item": "tea" })).await.is_success());
}

fn fail<T>() -> Result<T, String> {
    panic!("/etc/secret")
}

#[tokio::test]
async fn a_deadline_ends_an_async_function_and_tells_it() {
    let told = Arc::new(AtomicBool::new(false));
    let telling = Arc::clone(&told);
    let tool = NativeTool::new("wait", "Waits.", move |_: Nothing, call: NativeCall| {
        let telling = Arc::clone(&telling);
        let cancel = call.cancel.clone();
        tokio::spawn(async move {
            cancel.cancelled().await;
            telling.store(true, Ordering::Relaxed);
        });
        std::future::pending::<Result<u8, String>>()
    });
    let runtime = runtime(tool.limits(Limits::new().timeout(Duration::from_millis(30))));
    let outcome = call(&runtime, "wait", json!({})).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout), "{outcome:#?}");
    let limit = outcome.error.unwrap().limit.unwrap();
    assert_eq!((limit.name.as_str(), limit.allowed.as_str()), ("timeout", "30ms"));
    while !told.load(Ordering::Relaxed) {
        tokio::task::yield_now().await;
    }
}

/// A blocking function that returns when the channel closes, and how many of it run.
fn blocked() -> (NativeTool<u8>, std_mpsc::Sender<()>, Arc<AtomicUsize>) {
    let (release, wait) = std_mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let running = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&running);
    let tool = NativeTool::blocking("block", "Blocks.", move |_: Nothing, _| {
        count.fetch_add(1, Ordering::Relaxed);
        let _ = wait.lock().unwrap().recv();
        Ok::<_, String>(1)
    });
    (tool, release, running)
}

#[tokio::test(flavor = "current_thread")]
async fn a_blocking_function_never_holds_its_caller_s_thread() {
    let (tool, release, running) = blocked();
    let runtime = built(Runtime::builder().native(tool).native(ordering()));
    let blocked = tokio::spawn(runtime.call(ToolCall::new("block", json!({}))).into_future());
    while running.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    assert!(call(&runtime, "order", json!({ "item": "tea" })).await.is_success(), "another call goes on");
    drop(release);
    assert!(blocked.await.unwrap().is_success());
}

#[tokio::test(flavor = "current_thread")]
async fn a_blocking_function_past_its_deadline_still_counts_as_running() {
    let (tool, release, running) = blocked();
    let mut admission = Admission::default();
    (admission.concurrent_cells, admission.queue_timeout) = (1, Duration::from_millis(20));
    let runtime = built(Runtime::builder().native(tool).native(ordering()).admission(admission));
    let stopped = runtime.call(ToolCall::new("block", json!({}))).timeout(Duration::from_millis(50)).await;
    assert_eq!(stopped.error_kind(), Some(ErrorKind::Timeout), "{stopped:#?}");
    assert_eq!(running.load(Ordering::Relaxed), 1);
    let tea = json!({ "item": "tea" });
    assert_eq!(call(&runtime, "order", tea.clone()).await.error_kind(), Some(ErrorKind::Busy));
    drop(release);
    let begun = Instant::now();
    while !call(&runtime, "order", tea.clone()).await.is_success() {
        assert!(begun.elapsed() < Duration::from_secs(20), "its place is given back when it returns");
    }
}

#[tokio::test]
async fn more_calls_than_there_are_places_wait_or_are_refused() {
    let (most, now) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (seen, counter) = (Arc::clone(&most), Arc::clone(&now));
    let tool = NativeTool::new("count", "Counts.", move |_: Nothing, _| {
        let (seen, counter) = (Arc::clone(&seen), Arc::clone(&counter));
        async move {
            seen.fetch_max(counter.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            counter.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, String>(1_u8)
        }
    });
    let mut admission = Admission::default();
    admission.concurrent_cells = 3;
    let runtime = built(Runtime::builder().native(tool).admission(admission));
    let calls: Vec<_> = (0..20)
        .map(|_| tokio::spawn(runtime.call(ToolCall::new("count", json!({}))).into_future()))
        .collect();
    for call in calls {
        assert!(call.await.unwrap().is_success());
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_result_is_bounded_by_its_limit() {
    #[derive(Deserialize, JsonSchema)]
    struct Bytes {
        bytes: usize,
        fails: bool,
    }
    let tool = NativeTool::new("bulk", "Gives much.", |ask: Bytes, _| async move {
        let text = "x".repeat(ask.bytes);
        if ask.fails { Err(text) } else { Ok(text) }
    });
    let runtime = runtime(tool.limits(Limits::new().with(Limit::ResultBytes, 1000)));
    assert!(call(&runtime, "bulk", json!({ "bytes": 900, "fails": false })).await.is_success());
    for fails in [true, false] {
        let large = call(&runtime, "bulk", json!({ "bytes": 2000, "fails": fails })).await;
        assert_eq!(large.error_kind(), Some(ErrorKind::ResultTooLarge), "{large:#?}");
        let limit = large.error.unwrap().limit.unwrap();
        assert_eq!((limit.name.as_str(), limit.allowed.as_str()), ("result_bytes", "1000B"));
    }
    let quiet = NativeTool::new("quiet", "Gives much, says little.", |_: Nothing, _| async {
        Ok::<_, String>("x".repeat(2000))
    });
    let runtime = self::runtime(
        quiet.text(|_| "little".to_owned()).limits(Limits::new().with(Limit::ResultBytes, 1000)),
    );
    assert_eq!(call(&runtime, "quiet", json!({})).await.error_kind(), Some(ErrorKind::ResultTooLarge));
}

#[tokio::test]
async fn a_call_that_is_dropped_or_cancelled_takes_its_function_with_it() {
    struct Told(Arc<AtomicBool>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let gone = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&gone);
    let tool = NativeTool::new("wait", "Waits.", move |_: Nothing, _| {
        let told = Told(Arc::clone(&flag));
        async move {
            let _told = told;
            std::future::pending::<Result<u8, String>>().await
        }
    });
    let runtime = runtime(tool);
    let mut running = Box::pin(runtime.call(ToolCall::new("wait", json!({}))).into_future());
    assert!(futures_poll(&mut running).is_pending());
    assert!(!gone.load(Ordering::Relaxed));
    drop(running);
    assert!(gone.swap(false, Ordering::Relaxed), "dropped with its call");
    let token = CancellationToken::new();
    let mut running =
        Box::pin(runtime.call(ToolCall::new("wait", json!({}))).cancel(token.clone()).into_future());
    assert!(futures_poll(&mut running).is_pending());
    token.cancel();
    assert_eq!(running.await.error_kind(), Some(ErrorKind::Cancelled));
    assert!(gone.load(Ordering::Relaxed));
}

fn futures_poll<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}

#[test]
fn it_works_without_tokio_and_without_an_engine() {
    let before = address_space();
    let sleeping = NativeTool::new("sleep", "Sleeps.", |_: Nothing, _| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok::<_, String>("slept".to_owned())
    });
    let waiting =
        NativeTool::new("wait", "Waits.", |_: Nothing, _| std::future::pending::<Result<u8, String>>());
    let limits = Limits::new().timeout(Duration::from_millis(20));
    let blocking = NativeTool::blocking("block", "Blocks.", |_: Nothing, _| Ok::<_, String>(1_u8));
    let runtime = built(
        Runtime::builder()
            .native(sleeping)
            .native(waiting.limits(limits))
            .native(blocking)
            .native(ordering()),
    );
    assert_eq!(block_on(runtime.call(ToolCall::new("sleep", json!({})))).text(), "slept");
    assert!(block_on(runtime.call(ToolCall::new("block", json!({})))).is_success());
    let waited = block_on(runtime.call(ToolCall::new("wait", json!({}))));
    assert_eq!(waited.error_kind(), Some(ErrorKind::Timeout));
    // A pool of instances reserves more than a hundred times of this.
    let grown = address_space().saturating_sub(before);
    assert!(grown < 8 << 20, "the address space grew by {grown} KiB");
}

/// What this process has of it, in KiB; each test is a process of its own, or shares what others reserved.
fn address_space() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmSize:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Speaks to itself over the network, waits and spawns, all in the runtime of that id.
async fn talk(id: tokio::runtime::Id) -> Result<bool, String> {
    assert_eq!(tokio::runtime::Handle::current().id(), id);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let (ours, theirs) = tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
    tokio::time::sleep(Duration::from_millis(1)).await;
    let spawned = tokio::spawn(async move { ours.is_ok() && theirs.is_ok() });
    spawned.await.map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_function_uses_its_caller_s_runtime() {
    let id = tokio::runtime::Handle::current().id();
    let tool = || NativeTool::new("talk", "Talks.", move |_: Nothing, _| talk(id));
    let blocking = NativeTool::blocking("block", "Talks.", move |_: Nothing, _| {
        tokio::runtime::Handle::current().block_on(talk(id))
    });
    let hooked = Runtime::builder().native(tool()).hook(toolcell::hook::RetryHook::new());
    for (runtime, name) in [(runtime(tool()), "talk"), (runtime(blocking), "block"), (built(hooked), "talk")]
    {
        let talked = call(&runtime, name, json!({})).await;
        assert_eq!(talked.structured, Some(json!({ "result": true })), "{talked:#?}");
    }
}

#[test]
fn a_name_or_a_schema_that_cannot_be_used_is_refused() {
    let named = |name: &str| NativeTool::new(name, "", |_: Nothing, _| async { Ok::<_, String>(1_u8) });
    for name in ["", "Bad!", "1st", "a b", &"x".repeat(65)] {
        let error = Runtime::builder().native(named(name)).build_blocking().unwrap_err().to_string();
        assert!(error.contains("native tool `"), "{error}");
    }
    let twice = Runtime::builder().native(named("one")).native(named("one")).build_blocking();
    assert!(twice.unwrap_err().to_string().contains("two tools are named `one`"));
}
