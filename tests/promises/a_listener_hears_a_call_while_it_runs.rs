//! What a tool says before its end reaches whoever listens as it happens, bounded, and the outcome is the sum of it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolcell::call::{Ended, Event, Response};
use toolcell::hook::{Hook, HookCall, HookResult, Next, Post, async_trait};
use toolcell::{
    Content, ErrorKind, Grant, Limits, NativeTool, Outcome, Runtime, RuntimeBuilder, Status, ToolCall,
};
use toolcell_tests::{builder, built, probe};

fn probing() -> RuntimeBuilder {
    builder().component(probe(Grant::none(), Limits::new()))
}

/// The events of a call, in order, and its outcome.
async fn heard(runtime: &Runtime, name: &str, arguments: Value) -> (Vec<Event>, Outcome) {
    let (sink, mut events) = mpsc::channel(1);
    let call = runtime.call(ToolCall::new(name, arguments)).timeout(Duration::from_secs(2)).events(sink);
    let listening = async {
        let mut all = Vec::new();
        while let Some(event) = events.recv().await {
            all.push(event);
        }
        all
    };
    let (outcome, events) = tokio::join!(call.into_future(), listening);
    (events, outcome)
}

fn chunks(events: &[Event]) -> Vec<Content> {
    let chunk = |event: &Event| match event {
        Event::Chunk { content } => Some(content.clone()),
        _ => None,
    };
    events.iter().filter_map(chunk).collect()
}

#[tokio::test]
async fn the_outcome_is_the_sum_of_what_was_heard() {
    let runtime = built(probing());
    let (events, outcome) = heard(&runtime, "emit_many", json!({"count": 5, "bytes": 10})).await;
    assert_eq!(chunks(&events).len(), 5);
    assert_eq!(chunks(&events), outcome.content[..5]);
    let (events, outcome) = heard(
        &runtime,
        "log_many",
        json!({"level": "warn", "text": "a \u{1b}[31mred\u{1b}[0m word", "count": 3}),
    )
    .await;
    assert_eq!(events.len(), 3);
    assert_eq!(outcome.logs.len(), 3);
    for event in &events {
        let Event::Log { log } = event else { panic!("{event:?}") };
        assert_eq!(*log, outcome.logs[0], "a listener hears what the outcome says, cleaned");
        assert!(!log.text.contains('\u{1b}'));
    }
    let (events, _) = heard(&runtime, "progress_many", json!({"count": 4})).await;
    let done = |event: &Event| match event {
        Event::Progress { done, .. } => *done,
        other => panic!("{other:?}"),
    };
    let done: Vec<u64> = events.iter().map(done).collect();
    assert_eq!(done.len(), 4);
    assert!(done.is_sorted());
}

#[tokio::test]
async fn chunks_are_heard_before_the_end_and_kept_when_the_call_is_stopped() {
    let runtime = built(probing());
    let (sink, mut events) = mpsc::channel(8);
    let call = runtime
        .call(ToolCall::new("emit_and_spin", json!({"text": "the first half"})))
        .timeout(Duration::from_millis(300))
        .events(sink);
    let running = tokio::spawn(call.into_future());
    let first = events.recv().await.unwrap();
    assert!(!running.is_finished(), "the chunk came before the end");
    assert_eq!(first, Event::Chunk { content: Content::Text { text: "the first half".to_owned() } });
    let outcome = running.await.unwrap();
    assert_eq!((outcome.status, outcome.error_kind()), (Status::Interrupted, Some(ErrorKind::Timeout)));
    assert!(outcome.text().starts_with("the first half"));
}

#[tokio::test]
async fn a_slow_listener_slows_the_tool_and_its_deadline_still_holds() {
    let runtime = built(probing());
    // Nobody reads: the second chunk has no room, and the guest waits for it.
    let (sink, events) = mpsc::channel(1);
    let call = runtime
        .call(ToolCall::new("emit_many", json!({"count": 100, "bytes": 10})))
        .timeout(Duration::from_millis(200))
        .events(sink);
    let outcome = call.await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout));
    assert!(outcome.content.len() < 10, "{} blocks were emitted", outcome.content.len());
    drop(events);
    let (sink, events) = mpsc::channel(1);
    drop(events);
    let call = runtime.call(ToolCall::new("emit_many", json!({"count": 100, "bytes": 10}))).events(sink);
    assert_eq!(call.await.status, Status::Success, "a listener that went away stops nothing");
}

/// Replaces every response.
struct Censor;

#[async_trait]
impl Hook for Censor {
    async fn post(&self, _: &HookCall, _: &Response) -> HookResult<Post> {
        Ok(Post::replace(Response::structured(json!({"result": 0}))))
    }
}

#[tokio::test]
async fn what_a_hook_may_still_replace_is_not_heard_before_it_spoke() {
    let runtime = built(probing().hook(Censor));
    let (events, outcome) = heard(&runtime, "emit_many", json!({"count": 3, "bytes": 10})).await;
    assert_eq!(outcome.warnings, []);
    assert_eq!(outcome.text(), "0");
    assert_eq!(chunks(&events), [], "what was replaced was heard");
}

/// Listens to what runs inside of it.
struct Listening(mpsc::Sender<usize>);

#[async_trait]
impl Hook for Listening {
    async fn around(&self, _: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        let (sink, mut events) = mpsc::channel(1);
        let counting = async {
            let mut count = 0;
            while events.recv().await.is_some() {
                count += 1;
            }
            count
        };
        let (ended, count) = tokio::join!(next.run_watched(sink), counting);
        self.0.send(count).await?;
        Ok(ended)
    }
}

#[tokio::test]
async fn a_hook_around_a_call_can_watch_its_chunks() {
    let (counts, mut counted) = mpsc::channel(1);
    let runtime = built(probing().hook(Listening(counts)));
    let (_, outcome) = heard(&runtime, "emit_many", json!({"count": 3, "bytes": 10})).await;
    assert_eq!(outcome.status, Status::Success);
    assert_eq!(counted.recv().await, Some(3));
}

/// Arguments of a function that takes none.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NoArgs {}

#[tokio::test]
async fn a_native_tool_is_heard_like_a_guest() {
    let tool = NativeTool::new(
        "stepwise",
        "Goes step by step",
        async |_: NoArgs, call: toolcell::tool::NativeCall| {
            call.events.log("info", "begun").await;
            call.events.progress(1, Some(2), None).await;
            call.events
                .emit(Content::Text { text: "half".to_owned() })
                .await
                .map_err(|error| error.message)?;
            std::future::pending::<()>().await;
            Ok::<_, String>(7)
        },
    );
    let runtime = built(Runtime::builder().native(tool));
    let (events, outcome) = heard(&runtime, "stepwise", json!({})).await;
    assert_eq!(events.len(), 3);
    assert_eq!((outcome.status, outcome.error_kind()), (Status::Interrupted, Some(ErrorKind::Timeout)));
    assert_eq!(outcome.logs.len(), 1);
}
