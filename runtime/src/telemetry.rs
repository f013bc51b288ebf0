//! What a subscriber of `tracing` sees of calls. The names and fields here are stable; ARCHITECTURE.md lists them. Where no
//! subscriber is installed, each of these is one load of an atomic.

use std::pin::Pin;
use std::time::Duration;

use tracing::field::Empty;
use tracing::{Span, error, info, info_span};

use crate::call::{ErrorKind, Outcome, Status};
use crate::error::Error;

/// The target of every span and event.
const TARGET: &str = "toolcell";

/// The whole path of a call of `tool`, a name that a model wrote, with the metadata of the call and of its session.
/// [`called`] fills in the rest.
pub(crate) fn call(tool: &str, meta: [&[(String, String)]; 2]) -> Span {
    info_span!(
        target: TARGET,
        "toolcell.call",
        tool,
        traceparent = traceparent(meta),
        component = Empty,
        status = Empty,
        kind = Empty,
        duration_ms = Empty,
        http_requests = Empty
    )
}

/// The span of the caller, for whoever joins traces. Metadata is any text; a field is only what has the header's form.
fn traceparent(meta: [&[(String, String)]; 2]) -> Option<&str> {
    let (_, value) = meta.into_iter().flatten().find(|(key, _)| key == "traceparent")?;
    let fits = |(at, letter)| match at {
        2 | 35 | 52 => letter == b'-',
        _ => matches!(letter, b'0'..=b'9' | b'a'..=b'f'),
    };
    let has_form = value.len() == 55 && value.bytes().enumerate().all(fits);
    has_form.then_some(value)
}

/// Says which component the tool of a call is of.
pub(crate) fn found(span: &Span, component: &str) {
    span.record("component", component);
}

/// Says how a call ended, on its span and as the event `toolcell.outcome`.
pub(crate) fn called(span: &Span, outcome: &Outcome) {
    let status = match outcome.status {
        Status::Success => "success",
        Status::Error => "error",
        Status::Denied => "denied",
        Status::Interrupted => "interrupted",
    };
    let duration_ms = outcome.usage.duration_ms;
    let kind = outcome.error_kind().map(ErrorKind::as_str);
    span.record("status", status);
    span.record("kind", kind);
    span.record("duration_ms", duration_ms);
    if outcome.usage.http_requests > 0 {
        span.record("http_requests", outcome.usage.http_requests);
    }
    info!(name: "toolcell.outcome", target: TARGET, parent: span, status, kind, duration_ms);
}

/// Polls `future` inside of `span`, where it is: futures that take it in would move it.
pub(crate) async fn within<F: Future>(span: &Span, mut future: Pin<&mut F>) -> F::Output {
    std::future::poll_fn(move |context| span.in_scope(|| future.as_mut().poll(context))).await
}

/// One run of a hook's `step`: `pre`, `around` or `post`. [`decided`] says what it decided.
pub(crate) fn hook(hook: &str, step: &'static str) -> Span {
    info_span!(target: TARGET, "toolcell.hook", hook, step, action = Empty)
}

/// Says what a hook decided: an action as in the audit.
pub(crate) fn decided(span: &Span, action: &'static str) {
    span.record("action", action);
}

/// One run of a tool in a cell, or of a native tool in its place.
pub(crate) fn cell(component: &str, tool: &str) -> Span {
    info_span!(target: TARGET, "toolcell.cell", component, tool)
}

/// Making or loading a component's native code. [`compiled`] says which it was.
pub(crate) fn compile(component: &str) -> Span {
    info_span!(target: TARGET, "toolcell.compile", component, cached = Empty, duration_ms = Empty)
}

/// Says whether native code was in the cache, and how long it took to have it.
pub(crate) fn compiled(span: &Span, cached: bool, duration: Duration) {
    span.record("cached", cached);
    span.record("duration_ms", duration.as_secs_f64() * 1e3);
}

/// A line of the audit could not be written, and no call is made from here on: the event `toolcell.audit_failed`.
pub(crate) fn audit_failed(error: &Error) {
    error!(name: "toolcell.audit_failed", target: TARGET, %error);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fmt::{Debug, Write};
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;
    use crate::call::{CallError, ToolCall, Usage};

    /// Writes down what it is told.
    #[derive(Clone, Default)]
    struct Listener(Arc<Mutex<String>>);

    struct Fields<'a>(&'a mut String);

    impl Visit for Fields<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            write!(self.0, " {}={value:?}", field.name()).unwrap();
        }
    }

    impl Listener {
        fn note(&self, what: &str, name: &str, fields: impl FnOnce(&mut Fields<'_>)) {
            let mut told = self.0.lock().unwrap();
            told.push_str(what);
            told.push_str(name);
            fields(&mut Fields(&mut told));
            told.push('\n');
        }
    }

    impl Subscriber for Listener {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == TARGET
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            self.note("span ", span.metadata().name(), |fields| span.record(fields));
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, values: &Record<'_>) {
            self.note("  ", "records", |fields| values.record(fields));
        }

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            self.note("event ", event.metadata().name(), |fields| event.record(fields));
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    fn outcome(error: Option<CallError>) -> Outcome {
        let mut outcome = Outcome::begin(&ToolCall::new("grep", serde_json::json!({})));
        outcome.status = error.as_ref().map_or(Status::Success, |error| error.kind.status());
        outcome.usage = Usage { duration_ms: 1.5, ..Usage::default() };
        outcome.error = error;
        outcome
    }

    #[test]
    fn a_subscriber_sees_stable_names() {
        let listener = Listener::default();
        tracing::subscriber::with_default(listener.clone(), || {
            let span = call("grep", [&[], &[]]);
            found(&span, "files");
            decided(&hook("check", "pre"), "deny");
            compiled(&compile("files"), true, Duration::from_millis(2));
            drop(cell("files", "grep"));
            called(&span, &outcome(None));
            called(&span, &outcome(Some(CallError::new(ErrorKind::Denied, "a model's words"))));
            audit_failed(&Error::Audit { path: "/a".into(), message: "is full".to_owned() });
        });
        insta::assert_snapshot!(listener.0.lock().unwrap(), @r#"
        span toolcell.call tool="grep"
          records component="files"
        span toolcell.hook hook="check" step="pre"
          records action="deny"
        span toolcell.compile component="files"
          records cached=true
          records duration_ms=2.0
        span toolcell.cell component="files" tool="grep"
          records status="success"
          records
          records duration_ms=1.5
        event toolcell.outcome status="success" duration_ms=1.5
          records status="denied"
          records kind="denied"
          records duration_ms=1.5
        event toolcell.outcome status="denied" kind="denied" duration_ms=1.5
        event toolcell.audit_failed error=the audit /a: is full
        "#);
    }

    #[test]
    fn a_traceparent_is_a_field_only_in_its_form() {
        const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let said = |value: &str| vec![("traceparent".to_owned(), value.to_owned())];
        let found = |of_call: &str, of_session: &str| {
            let (of_call, of_session) = (said(of_call), said(of_session));
            traceparent([&of_call, &of_session]).map(str::to_owned)
        };
        assert_eq!(found(PARENT, ""), Some(PARENT.to_owned()));
        assert_eq!(found("", PARENT), None, "the first entry wins");
        assert_eq!(found(&PARENT.to_uppercase(), ""), None);
        assert_eq!(found(&PARENT.replace('-', "0"), ""), None);
        assert_eq!(found(&format!("{PARENT}-a secret"), ""), None);
        assert_eq!(traceparent([&[], &said(PARENT)]), Some(PARENT));
    }

    #[test]
    fn without_a_subscriber_nothing_is_made() {
        let span = call("grep", [&[], &[]]);
        assert!(span.is_disabled());
        called(&span, &outcome(None));
    }
}
