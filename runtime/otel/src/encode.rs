//! Spans in the JSON of OTLP 1: identifiers are hexadecimal, 64-bit numbers are text, cases of enumerations are numbers.

use std::time::{Duration, SystemTime};

use serde_json::{Value as Json, json};

use crate::field::{Fields, Value};
use crate::layer::{Span, TARGET};

/// `SPAN_KIND_INTERNAL`: the caller is in the same process.
const INTERNAL: u8 = 1;

/// `STATUS_CODE_ERROR`.
const FAILED: u8 = 2;

/// The body of one request.
pub(crate) fn request(resource: &[(String, String)], spans: &[Span]) -> Json {
    let resource: Vec<Json> =
        resource.iter().map(|(key, value)| attribute(key, &Value::Text(value.clone()))).collect();
    let spans: Vec<Json> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{
            "scope": { "name": TARGET, "version": env!("CARGO_PKG_VERSION") },
            "spans": spans,
        }],
    }] })
}

fn span(span: &Span) -> Json {
    let began = span.began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut json = json!({
        "traceId": span.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": nanoseconds(began),
        "endTimeUnixNano": nanoseconds(began.saturating_add(span.duration)),
        "attributes": attributes(&span.fields),
        "status": if failed(&span.fields) { json!({ "code": FAILED }) } else { json!({}) },
    });
    if let (Some(parent), Some(object)) = (span.parent, json.as_object_mut()) {
        object.insert("parentSpanId".to_owned(), parent.to_string().into());
    }
    json
}

/// Whether a call ended as anything but a success.
fn failed(fields: &Fields) -> bool {
    fields.text("status").is_some_and(|status| status != "success")
}

fn nanoseconds(time: Duration) -> String {
    time.as_nanos().to_string()
}

fn attributes(fields: &Fields) -> Vec<Json> {
    fields.values.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(key: &str, value: &Value) -> Json {
    let value = match value {
        Value::Text(text) => json!({ "stringValue": text }),
        Value::Integer(number) => json!({ "intValue": number.to_string() }),
        Value::Float(number) if number.is_finite() => json!({ "doubleValue": number }),
        Value::Float(number) => json!({ "doubleValue": number.to_string() }),
        Value::Boolean(value) => json!({ "boolValue": value }),
    };
    json!({ "key": key, "value": value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{SpanId, TraceId};

    #[test]
    fn a_span_is_written_as_the_protocol_has_it() {
        let fields = Fields {
            values: vec![
                ("tool", Value::Text("grep".to_owned())),
                ("status", Value::Text("denied".to_owned())),
                ("cached", Value::Boolean(true)),
                ("count", Value::Integer(-3)),
                ("duration_ms", Value::Float(1.5)),
            ],
            parent: None,
        };
        let span = Span {
            name: "toolcell.call",
            trace: TraceId([0x1a; 16]),
            id: SpanId([2; 8]),
            parent: Some(SpanId([3; 8])),
            began: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            duration: Duration::from_nanos(42),
            fields,
        };
        insta::assert_json_snapshot!(request(&[("service.name".to_owned(), "toolcell".to_owned())], &[span]));
    }
}
