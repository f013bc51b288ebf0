//! Full outputs that were cut: as resources, and by a tool.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::bytes::RegexBuilder;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcell_package::Hints;

use super::answer::listed;
use super::frame::{INVALID_PARAMS, RESOURCE_NOT_FOUND, Refusal};
use super::version::Terms;
use crate::call::Outcome;
use crate::error::{Error, Result};
use crate::output::{Handle, StoredOutput, range};
use crate::runtime::{Runtime, Session};
use crate::tool::{NativeCall, NativeTool};

/// The tool that reads them.
pub(super) const TOOL: &str = "read_output";

const SCHEME: &str = "toolcell://output/";

/// Outputs that are listed; older ones can still be read.
pub(super) const LISTED: usize = 100;

/// Bytes that are read at once.
const PART: usize = 1 << 20;

/// Bytes of a resource: it is sent whole.
const MAX_RESOURCE: u64 = 16 << 20;

/// Memory of a compiled pattern; a larger one is refused.
const PATTERN_BYTES: usize = 4 << 20;

/// An output of this connection.
#[derive(serde::Serialize, Deserialize)]
pub(super) struct Kept {
    handle: String,
    tool: String,
    bytes: u64,
}

impl Kept {
    /// The output of a call, if it was cut and kept.
    pub fn of(outcome: &Outcome) -> Option<Self> {
        let truncated = outcome.truncated.as_ref()?;
        let handle = truncated.handle.clone()?;
        Some(Self { handle, tool: outcome.name.clone(), bytes: truncated.total_bytes })
    }

    /// As it is written down for other instances.
    pub fn written(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// What was written down so.
    pub fn read(written: &[u8]) -> Option<Self> {
        serde_json::from_slice(written).ok()
    }
}

pub(super) fn add(all: &mut Vec<Kept>, kept: Kept) {
    if all.len() >= LISTED {
        all.remove(0);
    }
    all.push(kept);
}

pub(super) fn uri(handle: &str) -> String {
    format!("{SCHEME}{handle}")
}

pub(super) fn list(kept: &[Kept]) -> Value {
    let resource = |kept: &Kept| {
        json!({
            "uri": uri(&kept.handle), "name": kept.handle,
            "title": format!("Full output of {}", kept.tool), "mimeType": "text/plain", "size": kept.bytes,
        })
    };
    json!({ "resources": kept.iter().map(resource).collect::<Vec<_>>() })
}

pub(super) fn templates() -> Value {
    json!({ "resourceTemplates": [{
        "uriTemplate": format!("{SCHEME}{{handle}}"), "name": "output", "title": "Full output of a call",
        "description": "What was cut from a result of this connection, by the handle that the result names.",
        "mimeType": "text/plain",
    }] })
}

pub(super) fn read(
    session: &Session,
    runtime: &Runtime,
    params: &Map<String, Value>,
    terms: &Terms,
) -> Result<Value, Refusal> {
    let Some(Value::String(uri)) = params.get("uri") else {
        return Err(Refusal::new(INVALID_PARAMS, "`uri` must be a string"));
    };
    let code = if terms.is_current() { INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
    let refused = |message: String| Refusal::new(code, message).data(json!({ "uri": uri }));
    let handle = uri.strip_prefix(SCHEME).ok_or_else(|| refused("there is no such resource".to_owned()))?;
    let bytes = whole(session, runtime, handle).map_err(|error| refused(error.to_string()))?;
    let contents = match String::from_utf8(bytes) {
        Ok(text) => json!({ "uri": uri, "mimeType": "text/plain", "text": text }),
        Err(error) => {
            let blob = STANDARD.encode(error.as_bytes());
            json!({ "uri": uri, "mimeType": "application/octet-stream", "blob": blob })
        }
    };
    Ok(listed(json!({ "contents": [contents] }), terms))
}

fn whole(session: &Session, runtime: &Runtime, handle: &str) -> Result<Vec<u8>> {
    let mut output = runtime.outputs().open(session.name(), &handle.parse()?)?;
    if output.length() > MAX_RESOURCE {
        let told = format!("it has {} bytes; read it in parts with the tool {TOOL}", output.length());
        return Err(Error::Output(told));
    }
    let mut bytes = Vec::new();
    output.bytes(0..MAX_RESOURCE, &mut bytes).map_err(|error| Error::Output(error.to_string()))?;
    Ok(bytes)
}

/// What to read of an output.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Part {
    /// The handle that the note about the cut names.
    handle: String,
    /// Only these lines, counting from 1, both ends included: 10:20, 10: or :20
    lines: Option<String>,
    /// Only these bytes, counting from 0, without the end: 0:1000, 1000: or :1000
    bytes: Option<String>,
    /// Only lines that this regular expression matches, with their numbers
    grep: Option<String>,
}

/// Adds the tool to a session, unless the runtime has one of that name.
pub(super) fn add_tool(runtime: &Runtime, session: &Session) {
    let store = runtime.clone();
    let mut hints = Hints::default();
    hints.read_only = Some(true);
    hints.idempotent = Some(true);
    hints.open_world = Some(false);
    let tool = NativeTool::blocking(
        TOOL,
        "Reads a full output that was cut from an earlier result, or a part of it: lines, bytes, or the lines that a \
         pattern matches. Name one of the three; what is longer than a result may be is cut again.",
        move |part: Part, call: NativeCall| read_part(&store, &part, &call).map_err(|error| error.to_string()),
    )
    .title("Read an output that was cut")
    .hints(hints);
    // A tool of the operator's with this name is the better one.
    let _ = session.tools([tool]);
}

fn read_part(runtime: &Runtime, part: &Part, call: &NativeCall) -> Result<String> {
    let handle: Handle = part.handle.parse()?;
    let mut output = runtime.outputs().open(call.session.as_deref().unwrap_or_default(), &handle)?;
    let mut buffer = vec![0; PART];
    let mut room = buffer.as_mut_slice();
    write(part, &mut output, &mut room)?;
    let left = room.len();
    buffer.truncate(PART - left);
    Ok(String::from_utf8_lossy(&buffer).into_owned())
}

fn write(part: &Part, output: &mut StoredOutput, out: &mut dyn std::io::Write) -> Result<()> {
    let said = |name: &str, problem: &str| Error::Output(format!("`{name}`: {problem}"));
    let written = match (&part.lines, &part.bytes, &part.grep) {
        (None, None, None) => output.bytes(0..u64::MAX, out),
        (Some(lines), None, None) => {
            let lines = range(lines, 1).ok_or_else(|| said("lines", "write A:B, as in 1:100"))?;
            // From numbers with both ends included to indices without the end.
            output.lines(lines.start.saturating_sub(1)..lines.end, out)
        }
        (None, Some(bytes), None) => {
            let bytes = range(bytes, 0).ok_or_else(|| said("bytes", "write A:B, as in 0:1000"))?;
            output.bytes(bytes, out)
        }
        (None, None, Some(pattern)) => {
            let pattern = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
            output.grep(&pattern.map_err(|error| said("grep", &error.to_string()))?, out)
        }
        _ => return Err(Error::Output("name one of `lines`, `bytes` and `grep`".to_owned())),
    };
    written.map(drop).map_err(|error| match error.kind() {
        std::io::ErrorKind::WriteZero => {
            Error::Output(format!("that is more than {PART} bytes; ask for a smaller part"))
        }
        _ => Error::Output(format!("the output cannot be read: {error}")),
    })
}
