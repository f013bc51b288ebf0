//! Hooks run in the order in which they are registered, from the outside in and back, and none is skipped that began.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolcell::call::{Ended, Response};
use toolcell::hook::{Events, Hook, HookCall, HookEntry, HookResult, Next, Post, Pre, async_trait};
use toolcell::{Content, ErrorKind, Grant, Limits, Outcome, Runtime, RuntimeBuilder, Status, ToolCall};

use toolcell_tests::{builder, call, probe};

fn probing() -> RuntimeBuilder {
    builder().component(probe(Grant::none(), Limits::new()))
}

type Seen = Arc<Mutex<Vec<String>>>;

/// Writes down what it sees, and does in each step what it is told to.
struct Scribe {
    name: &'static str,
    seen: Seen,
    pre: fn() -> HookResult<Pre>,
    before: fn() -> HookResult<()>,
    after: fn() -> HookResult<()>,
    post: fn(&Response) -> HookResult<Post>,
}

impl Scribe {
    fn new(name: &'static str, seen: &Seen) -> Self {
        let (before, after) = (|| Ok(()), || Ok(()));
        Self {
            name,
            seen: Arc::clone(seen),
            pre: || Ok(Pre::pass()),
            before,
            after,
            post: |_| Ok(Post::Accept),
        }
    }

    fn note(&self, what: &str) {
        self.seen.lock().unwrap().push(format!("{} {what}", self.name));
    }
}

#[async_trait]
impl Hook for Scribe {
    fn name(&self) -> &str {
        self.name
    }

    async fn pre(&self, _: &HookCall) -> HookResult<Pre> {
        self.note("pre");
        (self.pre)()
    }

    async fn around(&self, _: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        self.note("in");
        (self.before)()?;
        let ended = next.run().await;
        self.note(if ended.is_success() { "out" } else { "out (failed)" });
        (self.after)()?;
        Ok(ended)
    }

    async fn post(&self, _: &HookCall, response: &Response) -> HookResult<Post> {
        self.note(&match &response.error {
            None => "post".to_owned(),
            Some(error) => format!("post ({})", error.kind),
        });
        (self.post)(response)
    }
}

/// What three nested hooks saw of one call, the middle one as `middle` makes it.
async fn order(tool: &str, arguments: Value, middle: fn(&mut Scribe)) -> (Vec<String>, Outcome) {
    let seen = Seen::default();
    let mut second = Scribe::new("b", &seen);
    middle(&mut second);
    let runtime = probing()
        .hook(Scribe::new("a", &seen))
        .hook(HookEntry::new(second).timeout(Duration::from_millis(50)))
        .hook(Scribe::new("c", &seen))
        .build()
        .await
        .unwrap();
    let outcome = runtime.call(ToolCall::new(tool, arguments)).timeout(Duration::from_millis(200)).await;
    let seen = seen.lock().unwrap().clone();
    (seen, outcome)
}

/// Each way in which a call of three nested hooks can go, the middle one being what fails.
#[tokio::test]
async fn the_order_of_three_nested_hooks_is_as_written_whatever_happens() {
    type Case = (&'static str, &'static str, Value, fn(&mut Scribe));
    let text = || json!({"value": "x"});
    let cases: [Case; 9] = [
        ("success", "echo_string", text(), |_| {}),
        ("denial", "echo_string", text(), |hook| hook.pre = || Ok(Pre::deny("not today"))),
        ("guest error", "echo_result", json!({"value": {"err": "no"}}), |_| {}),
        ("timeout", "sleep", json!({"ms": 60_000}), |_| {}),
        ("pre hook fails", "echo_string", text(), |hook| hook.pre = || Err("no".into())),
        ("around hook fails before", "echo_string", text(), |hook| hook.before = || Err("no".into())),
        ("around hook fails after", "echo_string", text(), |hook| hook.after = || Err("no".into())),
        ("post hook fails", "echo_string", text(), |hook| hook.post = |_| Err("no".into())),
        ("post hook withholds", "echo_string", text(), |hook| {
            hook.post = |_| Ok(Post::Withhold("not for you".into()));
        }),
    ];
    let mut written = String::new();
    for (name, tool, arguments, middle) in cases {
        let (seen, outcome) = order(tool, arguments, middle).await;
        let end = outcome.error_kind().map_or("success", ErrorKind::as_str);
        writeln!(written, "{name}: {} => {end}", seen.join(", ")).unwrap();
    }
    #[expect(clippy::print_stdout, reason = "the order is worth reading in a passing run as well")]
    let () = println!("{written}");
    insta::assert_snapshot!(written, @r"
    success: a pre, b pre, c pre, a in, b in, c in, c out, b out, a out, c post, b post, a post => success
    denial: a pre, b pre => denied
    guest error: a pre, b pre, c pre, a in, b in, c in, c out (failed), b out (failed), a out (failed), c post (tool_error), b post (tool_error), a post (tool_error) => tool_error
    timeout: a pre, b pre, c pre, a in, b in, c in, c out (failed), b out (failed), a out (failed), c post (timeout), b post (timeout), a post (timeout) => timeout
    pre hook fails: a pre, b pre => hook_failed
    around hook fails before: a pre, b pre, c pre, a in, b in, a out (failed), c post (hook_failed), b post (hook_failed), a post (hook_failed) => hook_failed
    around hook fails after: a pre, b pre, c pre, a in, b in, c in, c out, b out, a out (failed), c post (hook_failed), b post (hook_failed), a post (hook_failed) => hook_failed
    post hook fails: a pre, b pre, c pre, a in, b in, c in, c out, b out, a out, c post, b post, a post => success
    post hook withholds: a pre, b pre, c pre, a in, b in, c in, c out, b out, a out, c post, b post, a post (denied) => denied
    ");
}

const FIRST: [&str; 6] = ["a pre", "b pre", "c pre", "a in", "b in", "c in"];

#[tokio::test]
async fn three_nested_hooks_see_success_error_and_timeout_in_the_written_order() {
    let (seen, outcome) = order("echo_string", json!({"value": "x"}), |_| {}).await;
    assert_eq!(outcome.status, Status::Success);
    let inside_out = ["c out", "b out", "a out", "c post", "b post", "a post"];
    assert_eq!(seen, [FIRST, inside_out].concat());

    let (seen, outcome) = order("echo_result", json!({"value": {"err": "no"}}), |_| {}).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::ToolError));
    let failed = ["c out (failed)", "b out (failed)", "a out (failed)"];
    let told = ["c post (tool_error)", "b post (tool_error)", "a post (tool_error)"];
    assert_eq!(seen, [&FIRST[..], &failed, &told].concat());

    let (seen, outcome) = order("sleep", json!({"ms": 60_000}), |_| {}).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Timeout));
    let told = ["c post (timeout)", "b post (timeout)", "a post (timeout)"];
    assert_eq!(seen, [&FIRST[..], &failed, &told].concat());
}

#[tokio::test]
async fn a_denial_skips_all_that_comes_after_it() {
    let (seen, outcome) =
        order("echo_string", json!({"value": "x"}), |hook| hook.pre = || Ok(Pre::deny("not today"))).await;
    assert_eq!(seen, ["a pre", "b pre"]);
    assert_eq!((outcome.status, outcome.error_kind()), (Status::Denied, Some(ErrorKind::Denied)));
    assert_eq!(outcome.text(), "the call was refused: not today");
    assert_eq!(outcome.usage.fuel, None, "nothing ran");
}

#[tokio::test]
async fn a_pre_hook_that_errs_panics_or_is_too_slow_denies() {
    let broken: [fn(&mut Scribe); 2] = [
        |hook| hook.pre = || Err("the disk is on fire: /etc/shadow".into()),
        |hook| hook.pre = || panic!("at the disco"),
    ];
    for broken in broken {
        let (seen, outcome) = order("echo_string", json!({"value": "x"}), broken).await;
        assert_eq!(seen, ["a pre", "b pre"]);
        assert_eq!((outcome.status, outcome.error_kind()), (Status::Denied, Some(ErrorKind::HookFailed)));
        assert!(!outcome.text().contains("disk"), "the model reads of a hook's insides: {}", outcome.text());
        assert!(outcome.error.unwrap().help.unwrap().contains("hook `b`"));
    }
    let slow = probing().hook(HookEntry::new(Slow).timeout(Duration::from_millis(20))).build().await.unwrap();
    let outcome = slow.call(ToolCall::new("echo_string", json!({"value": "x"}))).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::HookFailed));
}

/// Never answers.
struct Slow;

#[async_trait]
impl Hook for Slow {
    async fn pre(&self, _: &HookCall) -> HookResult<Pre> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_post_hook_that_fails_is_reported_and_the_result_stays() {
    let broken: [fn(&mut Scribe); 2] =
        [|hook| hook.post = |_| Err("no".into()), |hook| hook.post = |_| panic!("no")];
    for broken in broken {
        let (seen, outcome) = order("echo_string", json!({"value": "x"}), broken).await;
        assert_eq!(seen.last().map(String::as_str), Some("a post"), "{seen:?}");
        assert_eq!((outcome.status, outcome.text().as_str()), (Status::Success, "x"));
        let warning = &outcome.warnings[0];
        assert_eq!((warning.kind, warning.source.as_str()), (ErrorKind::HookFailed, "b"));
    }
}

#[tokio::test]
async fn a_redactor_that_fails_withholds_the_result_and_the_tool_is_not_run_again() {
    let seen = Seen::default();
    let mut redactor = Scribe::new("redactor", &seen);
    redactor.post = |_| Err("no".into());
    let runtime = probing().hook(HookEntry::new(redactor).redacts()).build().await.unwrap();
    let outcome = runtime.call(ToolCall::new("echo_string", json!({"value": "hunter2"}))).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::HookFailed));
    assert!(outcome.text().contains("the tool ran"), "{}", outcome.text());
    assert!(!serde_json::to_string(&outcome).unwrap().contains("hunter2"));
    assert_eq!(seen.lock().unwrap().iter().filter(|line| line.ends_with(" in")).count(), 1);
}

/// Keeps what it is shown after each call, as one that keeps a record does.
struct Recording(Seen);

#[async_trait]
impl Hook for Recording {
    fn events(&self) -> Events {
        Events::POST
    }

    async fn post(&self, _: &HookCall, response: &Response) -> HookResult<Post> {
        self.0.lock().unwrap().push(serde_json::to_string(response)?);
        Ok(Post::Accept)
    }
}

#[tokio::test]
async fn what_is_withheld_reaches_no_hook_outside_and_that_it_is_reaches_all() {
    type Judge = fn(&Response) -> HookResult<Post>;
    let withholding: [(bool, Judge); 2] =
        [(false, |_| Ok(Post::Withhold("not for you".into()))), (true, |_| Err("no".into()))];
    for (redacts, post) in withholding {
        let seen = Seen::default();
        let mut inner = Scribe::new("inner", &seen);
        inner.post = post;
        let inner = HookEntry::new(inner).on(Events::POST);
        let inner = if redacts { inner.redacts() } else { inner };
        let shown = Seen::default();
        let outer = || Recording(Arc::clone(&shown));
        let runtime = probing().hook(outer()).hook(outer()).hook(inner).build().await.unwrap();
        for tool in ["echo_string", "panic_with"] {
            let key = if tool == "echo_string" { "value" } else { "message" };
            let outcome = runtime.call(ToolCall::new(tool, json!({key: "hunter2"}))).await;
            assert!(outcome.text().starts_with("the tool ran"), "{outcome:?}");
            assert!(!serde_json::to_string(&outcome).unwrap().contains("hunter2"));
        }
        let shown = shown.lock().unwrap();
        assert_eq!(shown.len(), 4, "{shown:?}");
        for told in shown.iter() {
            assert!(told.contains("the tool ran, and its result is withheld"), "{told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
}

/// Replaces every response by one.
struct Replacing(Response);

#[async_trait]
impl Hook for Replacing {
    async fn post(&self, _: &HookCall, _: &Response) -> HookResult<Post> {
        Ok(Post::replace(self.0.clone()))
    }
}

async fn replaced(tool: &str, arguments: Value, by: Response) -> Outcome {
    let runtime = probing().hook(Replacing(by)).build().await.unwrap();
    call(&runtime, tool, arguments).await
}

#[tokio::test]
async fn a_replacement_must_be_what_the_output_schema_announces() {
    let text = replaced("echo_string", json!({"value": "x"}), Response::text("other")).await;
    assert_eq!((text.text().as_str(), text.structured), ("other", Some(json!({"result": "other"}))));
    let data =
        replaced("echo_string", json!({"value": "x"}), Response::structured(json!({"result": "y"}))).await;
    assert_eq!((data.text().as_str(), data.structured), ("y", Some(json!({"result": "y"}))));
    // A tool, or a hook for it, that chose data alone says it to those who read text alone.
    let chosen = replaced("rich_output", json!({}), Response::structured(json!({"a": [1]}))).await;
    assert_eq!((chosen.text().as_str(), chosen.structured), (r#"{"a":[1]}"#, Some(json!({"a": [1]}))));
    for unfit in [
        Response::structured(json!({"result": 7})),
        Response::structured(json!({"other": "y"})),
        Response::structured(json!("y")),
    ] {
        let outcome = replaced("echo_string", json!({"value": "x"}), unfit).await;
        assert_eq!((outcome.status, outcome.text().as_str()), (Status::Success, "x"));
        assert_eq!(outcome.warnings.len(), 1);
    }
    let failure =
        replaced("echo_result", json!({"value": {"err": "secret"}}), Response::text("it failed")).await;
    assert_eq!(failure.error_kind(), Some(ErrorKind::ToolError), "a failure stays one");
    assert_eq!(failure.text(), "it failed");
    let success =
        replaced("echo_result", json!({"value": {"err": "no"}}), Response::structured(json!({"result": 1})))
            .await;
    assert_eq!(success.error_kind(), Some(ErrorKind::ToolError));
    assert_eq!(success.warnings.len(), 1);
}

/// Rewrites arguments, and adds metadata.
struct Rewriting(Value);

#[async_trait]
impl Hook for Rewriting {
    async fn pre(&self, _: &HookCall) -> HookResult<Pre> {
        Ok(Pre::pass().rewrite(self.0.clone()).meta("who", "hook").meta("city", "hook"))
    }
}

async fn rewritten(to: Value) -> Outcome {
    let runtime = probing().hook(Rewriting(to)).build().await.unwrap();
    call(&runtime, "echo_u32", json!({"value": 1})).await
}

#[tokio::test]
async fn a_rewrite_is_canonicalised_and_validated_again() {
    let outcome = rewritten(json!({"value": "7"})).await;
    assert_eq!(outcome.structured, Some(json!({"result": 7})));
    assert_eq!(outcome.repaired.len(), 1);
    for unfit in [json!({"value": -1}), json!({}), json!({"value": 1, "more": 2}), json!([])] {
        let outcome = rewritten(unfit).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::HookFailed));
        assert_eq!(outcome.usage.fuel, None, "nothing ran");
    }
}

/// Runs what is inside of it three times.
struct Thrice;

#[async_trait]
impl Hook for Thrice {
    async fn around(&self, _: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        next.run().await;
        next.run().await;
        Ok(next.run().await)
    }
}

#[tokio::test]
async fn each_run_is_a_cell_of_its_own_and_all_of_them_count() {
    let once = probing().build().await.unwrap();
    let thrice = probing().hook(Thrice).build().await.unwrap();
    let fuel = |outcome: &Outcome| outcome.usage.fuel.unwrap();
    let arguments = json!({"value": "x"});
    let one = call(&once, "echo_string", arguments.clone()).await;
    let three = call(&thrice, "echo_string", arguments).await;
    assert_eq!(fuel(&three), 3 * fuel(&one));
}

/// Adds a note to every response.
struct Noting;

#[async_trait]
impl Hook for Noting {
    async fn post(&self, _: &HookCall, _: &Response) -> HookResult<Post> {
        Ok(Post::Enrich(vec![Content::Text { text: "a note".to_owned() }]))
    }
}

#[tokio::test]
async fn what_hooks_add_is_bounded_like_the_rest() {
    let runtime = probing().hook(Noting).output(2048, 100).build().await.unwrap();
    let outcome = call(&runtime, "echo_string", json!({"value": "x".repeat(100_000)})).await;
    assert!(outcome.text().len() <= 2048, "{} bytes", outcome.text().len());
    assert!(outcome.truncated.is_some());
    let short = call(&runtime, "echo_string", json!({"value": "x"})).await;
    assert_eq!(short.text(), "x\na note");
    assert_eq!(short.structured, Some(json!({"result": "x"})));
}

#[tokio::test]
async fn a_hook_is_for_the_tools_that_it_names() {
    let seen = Seen::default();
    let runtime = probing()
        .hook(HookEntry::new(Scribe::new("glob", &seen)).tools(["echo_*"]))
        .hook(HookEntry::new(Scribe::new("other", &seen)).component("other*"))
        .build()
        .await
        .unwrap();
    call(&runtime, "echo_u32", json!({"value": 1})).await;
    call(&runtime, "time_now", json!({})).await;
    assert_eq!(*seen.lock().unwrap(), ["glob pre", "glob in", "glob out", "glob post"]);
    let wrong = Runtime::builder().hook(HookEntry::new(Noting).tools(["["])).build().await.unwrap_err();
    assert!(wrong.to_string().contains("hook"), "{wrong}");
}

/// Replaces the words of every response, as one does that takes secrets out.
struct Redacting;

#[async_trait]
impl Hook for Redacting {
    async fn post(&self, _: &HookCall, response: &Response) -> HookResult<Post> {
        assert!(!response.logs.is_empty(), "it sees what was printed");
        Ok(Post::replace(Response::text("redacted")))
    }
}

#[tokio::test]
async fn what_a_redactor_replaces_is_gone_from_the_logs_and_was_not_heard_before() {
    let runtime = probing().hook(HookEntry::new(Redacting).redacts()).build().await.unwrap();
    let (sink, mut events) = tokio::sync::mpsc::channel(8);
    let panicking = ToolCall::new("panic_with", json!({"message": "SECRET-TOKEN"}));
    let outcome = runtime.call(panicking).events(sink).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Panicked), "a failure stays one");
    let shown = serde_json::to_string(&outcome).unwrap();
    assert!(!shown.contains("SECRET-TOKEN"), "{shown}");
    let logging = ToolCall::new("log_many", json!({"level": "info", "text": "SECRET-TOKEN", "count": 2}));
    let (sink, mut logged) = tokio::sync::mpsc::channel(8);
    let outcome = runtime.call(logging).events(sink).await;
    assert!(!serde_json::to_string(&outcome).unwrap().contains("SECRET-TOKEN"));
    assert_eq!((events.recv().await, logged.recv().await), (None, None));
}

/// Never comes to an end after the call.
struct Endless;

#[async_trait]
impl Hook for Endless {
    async fn post(&self, _: &HookCall, _: &Response) -> HookResult<Post> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_post_hook_ends_with_the_time_of_the_whole_call_and_with_its_caller() {
    let entry = || HookEntry::new(Endless).timeout(Duration::from_secs(600));
    let short = probing().hook(entry()).call_timeout(Duration::from_millis(200)).build().await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), async {
        call(&short, "echo_string", json!({"value": "x"})).await
    });
    // The hook's own ten minutes are not waited for.
    let outcome = ended.await.unwrap();
    assert_eq!((outcome.text().as_str(), outcome.warnings.len()), ("x", 1));
    let long = probing().hook(entry()).build().await.unwrap();
    let token = toolcell::CancellationToken::new();
    let calling = long.call(ToolCall::new("echo_string", json!({"value": "x"}))).cancel(token.clone());
    let calling = tokio::spawn(calling.into_future());
    while !calling.is_finished() {
        token.cancel();
        tokio::task::yield_now().await;
    }
    calling.await.unwrap();
}
