//! Calls are exported to a collector of OpenTelemetry as spans of their caller's trace: what ran and how it ended, and
//! nothing of what was said.

use std::time::Duration;

use serde_json::{Value, json};
use toolcell::hook::{Hook, HookCall, HookResult, Pre, async_trait};
use toolcell::otel::{Error, Exporter, Sampling, Settings};
use toolcell::{Grant, Limits, Outcome, Runtime, ToolCall};
use tracing_subscriber::layer::SubscriberExt as _;

use toolcell_tests::command_line::{CommandLine, ended};
use toolcell_tests::model_server::{ModelServer, Reply};
use toolcell_tests::{builder, built, guest, probe};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// In arguments, results and metadata, and in no span.
const SECRET: &str = "words-that-only-the-tool-may-see";

struct Passing;

#[async_trait]
impl Hook for Passing {
    fn name(&self) -> &str {
        "passing"
    }

    async fn pre(&self, _: &HookCall) -> HookResult<Pre> {
        Ok(Pre::pass().meta("from_hook", SECRET))
    }
}

fn runtime() -> Runtime {
    built(builder().component(probe(Grant::none(), Limits::new())).hook(Passing))
}

fn echo(traceparent: &str) -> ToolCall {
    ToolCall::new("echo_string", json!({ "value": SECRET }))
        .meta("traceparent", traceparent)
        .meta("k", SECRET)
}

fn sampled() -> String {
    format!("00-{TRACE}-{CALLER}-01")
}

fn collector(statuses: impl IntoIterator<Item = u16>) -> ModelServer {
    ModelServer::start(statuses.into_iter().map(|status| Reply::Answer(status, "{}".to_owned())))
}

fn settings(collector: &ModelServer) -> Settings {
    Settings::endpoint(collector.url()).unwrap()
}

/// Makes calls on this thread, seen by the exporter's layer.
fn observed(
    exporter: &Exporter,
    runtime: &Runtime,
    calls: impl IntoIterator<Item = ToolCall>,
) -> Vec<Outcome> {
    let subscriber = tracing_subscriber::registry().with(exporter.layer());
    let _guard = tracing::subscriber::set_default(subscriber);
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    executor.block_on(async {
        let mut outcomes = Vec::new();
        for call in calls {
            outcomes.push(runtime.call(call).await);
        }
        outcomes
    })
}

/// The spans that a collector got, in the order in which they ended.
fn spans(collector: &ModelServer) -> Vec<Value> {
    let of_request = |body: &Value| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned();
    collector.requests().iter().filter_map(|request| of_request(&request.body)).flatten().collect()
}

fn named<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let found: Vec<&Value> = spans.iter().filter(|span| span["name"] == name).collect();
    assert_eq!(found.len(), 1, "{name} in {spans:#?}");
    found[0]
}

/// The attributes as `key=value`.
fn attributes(span: &Value) -> Vec<String> {
    let attributes = span["attributes"].as_array().unwrap();
    let text = |attribute: &Value| {
        let value = attribute["value"].as_object().unwrap().values().next().unwrap();
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}={value}", attribute["key"].as_str().unwrap())
    };
    // How long something took is another number each time.
    let is_time = |attribute: &&Value| attribute["key"] == "duration_ms";
    assert!(attributes.iter().filter(is_time).all(|time| time["value"]["doubleValue"].is_number()));
    attributes.iter().filter(|attribute| !is_time(attribute)).map(text).collect()
}

#[test]
fn a_call_is_a_span_below_its_caller_and_above_what_it_does() {
    let collector = collector([200]);
    let exporter = Exporter::start(settings(&collector)).unwrap();
    let outcomes = observed(&exporter, &runtime(), [echo(&sampled())]);
    assert_eq!(outcomes[0].text(), SECRET);
    exporter.shutdown().unwrap();

    let requests = collector.requests();
    assert_eq!(requests[0].target, "POST /v1/traces HTTP/1.1");
    let resource = &requests[0].body["resourceSpans"][0]["resource"]["attributes"];
    assert_eq!(*resource, json!([{ "key": "service.name", "value": { "stringValue": "toolcell" } }]));

    let spans = spans(&collector);
    let call = named(&spans, "toolcell.call");
    assert_eq!(call["parentSpanId"], CALLER);
    assert_eq!(attributes(call), ["tool=echo_string", "component=probe", "status=success"]);
    assert_eq!(call["status"], json!({}));
    let begun: u64 = call["startTimeUnixNano"].as_str().unwrap().parse().unwrap();
    let over: u64 = call["endTimeUnixNano"].as_str().unwrap().parse().unwrap();
    assert!(begun < over, "{call:#?}");

    assert!(spans.iter().all(|span| span["traceId"] == TRACE), "{spans:#?}");
    let cell = named(&spans, "toolcell.cell");
    assert_eq!(attributes(cell), ["component=probe", "tool=echo_string"]);
    let compile = named(&spans, "toolcell.compile");
    assert_eq!(attributes(compile)[0], "component=probe");
    assert!(attributes(compile)[1].starts_with("cached="), "{compile:#?}");
    let hook = |step: &str| spans.iter().find(|span| attributes(span).contains(&format!("step={step}")));
    let [pre, around, post] = ["pre", "around", "post"].map(|step| hook(step).unwrap());
    assert_eq!(attributes(pre)[0], "hook=passing");
    assert!(attributes(pre)[2].starts_with("action="), "{pre:#?}");
    for (inner, outer) in [(pre, call), (around, call), (post, call), (cell, around), (compile, cell)] {
        assert_eq!(inner["parentSpanId"], outer["spanId"], "{inner:#?} {outer:#?}");
    }
}

#[test]
fn nothing_that_was_said_leaves_with_a_span() {
    let collector = collector([200]);
    let exporter = Exporter::start(settings(&collector)).unwrap();
    let calls = [
        echo(&sampled()),
        echo(SECRET),
        ToolCall::new("echo_string", json!({ SECRET: 1 })),
        ToolCall::new("echo_string", SECRET),
        ToolCall::new("fail", json!({ "message": SECRET })),
    ];
    let outcomes = observed(&exporter, &runtime(), calls);
    exporter.shutdown().unwrap();
    let said = outcomes.iter().filter(|outcome| format!("{outcome:?}").contains(SECRET)).count();
    assert!(said >= 2, "{outcomes:#?}");
    let sent = collector.requests().iter().map(|request| request.body.to_string()).collect::<String>();
    assert_eq!(sent.matches("toolcell.call").count(), outcomes.len(), "{sent}");
    assert!(!sent.contains(SECRET), "{sent}");
}

#[test]
fn a_call_that_failed_says_why() {
    let collector = collector([200]);
    let exporter = Exporter::start(settings(&collector).service_name("agents")).unwrap();
    let long = "x".repeat(100_000);
    observed(&exporter, &runtime(), [ToolCall::new(long, json!({}))]);
    exporter.shutdown().unwrap();
    let sent = &collector.requests()[0].body;
    let service = &sent["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"];
    assert_eq!(service, "agents");
    let spans = spans(&collector);
    let call = named(&spans, "toolcell.call");
    assert_eq!(call.get("parentSpanId"), None, "nobody said what is above it");
    assert_eq!(attributes(call)[1..], ["status=error", "kind=unknown_tool"]);
    assert_eq!(call["status"], json!({ "code": 2 }));
    assert!(sent.to_string().len() < 4096, "a model's name of a tool is cut");
}

#[test]
fn a_trace_that_its_caller_does_not_record_is_not_exported() {
    let unsampled = format!("00-{TRACE}-{CALLER}-00");
    let runtime = runtime();
    let collector = collector([200]);
    let exporter = Exporter::start(settings(&collector)).unwrap();
    observed(&exporter, &runtime, [echo(&unsampled)]);
    exporter.flush().unwrap();
    assert_eq!(collector.requests().len(), 0);

    let always = Exporter::start(settings(&collector).sampling(Sampling::Always)).unwrap();
    observed(&always, &runtime, [echo(&unsampled)]);
    always.shutdown().unwrap();
    assert_eq!(named(&spans(&collector), "toolcell.call")["parentSpanId"], CALLER);
}

#[test]
fn only_spans_of_toolcell_are_exported() {
    let collector = collector([200]);
    let exporter = Exporter::start(settings(&collector)).unwrap();
    let subscriber = tracing_subscriber::registry().with(exporter.layer());
    tracing::subscriber::with_default(subscriber, || {
        let other = tracing::info_span!("of_the_embedder", words = SECRET);
        let _entered = other.enter();
        let ours = tracing::info_span!(target: "toolcell", "toolcell.call", tool = "t");
        ours.in_scope(|| tracing::info!(target: "toolcell", words = SECRET));
    });
    exporter.shutdown().unwrap();
    let spans = spans(&collector);
    assert_eq!(named(&spans, "toolcell.call").get("parentSpanId"), None);
    assert_eq!(spans.len(), 1, "{spans:#?}");
}

#[test]
fn a_collector_that_is_busy_gets_the_spans_later() {
    let collector = collector([503, 200]);
    let exporter = Exporter::start(settings(&collector)).unwrap();
    observed(&exporter, &runtime(), [echo(&sampled())]);
    let error = exporter.flush().unwrap_err();
    let expected =
        format!("the collector at {}/v1/traces did not take the spans: it answered 503", collector.url());
    assert!(error.to_string().starts_with(&expected), "{error}");
    exporter.shutdown().unwrap();
    let requests = collector.requests();
    assert_eq!(requests[0].body, requests[1].body);
}

#[test]
fn a_collector_that_refuses_or_is_not_there_costs_spans_and_no_call() {
    let collector = collector([400]);
    let runtime = runtime();
    let exporter = Exporter::start(settings(&collector)).unwrap();
    observed(&exporter, &runtime, [echo(&sampled())]);
    assert!(matches!(exporter.flush(), Err(Error::Export { .. })));
    let refused = u64::try_from(spans(&collector).len()).unwrap();
    let lost = exporter.flush();
    assert!(matches!(lost, Err(Error::Lost { count }) if count == refused && count > 1), "{lost:?}");
    exporter.flush().unwrap();

    // A port on which nobody listens any longer.
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    drop(socket);
    let absent = Settings::endpoint(&format!("http://{address}")).unwrap().timeout(Duration::from_secs(5));
    let exporter = Exporter::start(absent).unwrap();
    let outcomes = observed(&exporter, &runtime, [echo(&sampled())]);
    assert_eq!(outcomes[0].text(), SECRET);
    assert!(matches!(exporter.shutdown(), Err(Error::Export { .. })));
}

#[test]
fn the_command_line_exports_where_the_environment_says() {
    let collector = collector([200]);
    let line = CommandLine::new();
    let probe = guest("probe");
    let probe = probe.to_string_lossy();
    let argument = format!("value={SECRET}");
    let traceparent = format!("traceparent={}", sampled());
    let call = ["call", "--component", &probe, "echo_string", "--arg", &argument, "--meta", &traceparent];
    let mut command = line.command(&call);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20t")
        .env("OTEL_SERVICE_NAME", "from-the-shell");
    let run = ended(&mut command);
    assert_eq!((run.code, run.stdout.trim()), (0, SECRET), "{run:?}");
    let requests = collector.requests();
    assert!(requests[0].headers.contains(&"authorization: bearer t".to_owned()), "{:?}", requests[0].headers);
    assert!(requests[0].body.to_string().contains("from-the-shell"));
    assert_eq!(named(&spans(&collector), "toolcell.call")["parentSpanId"], CALLER);
}

#[test]
fn the_command_line_warns_of_an_environment_that_it_cannot_follow() {
    let line = CommandLine::new();
    let probe = guest("probe");
    let probe = probe.to_string_lossy();
    let call = ["call", "--component", &probe, "echo_string", "--arg", "value=hello"];
    let run = ended(line.command(&call).env("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector.example"));
    assert_eq!((run.code, run.stdout.trim()), (0, "hello"), "{run:?}");
    let warning = "warning: spans are not exported: OTEL_EXPORTER_OTLP_ENDPOINT: `https` is not supported";
    assert!(run.stderr.starts_with(warning), "{run:?}");
}
