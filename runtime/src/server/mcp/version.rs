//! The revisions of the protocol, and what a request says of its client.

use serde_json::{Map, Value, json};

use super::frame::{INVALID_PARAMS, Refusal, UNSUPPORTED_VERSION};
use super::speech::Level;

/// The revision whose requests say everything themselves.
pub(super) const CURRENT: &str = "2026-07-28";

/// The revisions that begin with a handshake, oldest first.
pub(super) const HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The revision of a client that has not said which.
pub(super) const NEWEST_HANDSHAKE: &str = "2025-11-25";

pub(super) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// What holds for one request.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// Its revision; revisions are dates, and compare as such.
    pub version: &'static str,
    /// Whether its client shows forms to somebody who answers them.
    pub elicits: bool,
    /// The least level of log records that the client wants; none, if it wants none.
    pub level: Option<Level>,
    /// Where the client wants to hear of progress.
    pub progress: Option<Value>,
}

impl Terms {
    /// The terms of a handshake.
    pub fn handshake(version: &'static str, capabilities: Option<&Value>) -> Self {
        Self { version, elicits: elicits(capabilities), level: Some(Level::Info), progress: None }
    }

    /// Whether the request says everything itself.
    pub fn is_current(&self) -> bool {
        self.version >= CURRENT
    }

    /// The terms of one request: its own, or those of the handshake.
    ///
    /// # Errors
    /// When it names a revision that is not served, or not what that revision wants named.
    pub fn of(method: &str, params: &Map<String, Value>, handshake: &Self) -> Result<Self, Refusal> {
        let meta = params.get("_meta");
        let entry = |key: &str| meta.and_then(|meta| meta.get(key));
        let progress = entry("progressToken").filter(|token| super::id::is_id(token)).cloned();
        let named = entry(VERSION_KEY);
        if named.is_none() && method != "server/discover" {
            return Ok(Self { progress, ..handshake.clone() });
        }
        let missing = |key: &str| Refusal::new(INVALID_PARAMS, format!("`_meta` must have `{key}`"));
        let version = named.and_then(Value::as_str).ok_or_else(|| missing(VERSION_KEY))?;
        if version != CURRENT {
            let told = match HANDSHAKE.contains(&version) {
                true => format!(
                    "revision {version} is one of a session: begin with `initialize`, and leave it out of `_meta`"
                ),
                false => format!("revision {version} is not served"),
            };
            return Err(Refusal::new(UNSUPPORTED_VERSION, told)
                .data(json!({ "supported": supported(), "requested": version })));
        }
        let capabilities = entry(CAPABILITIES_KEY).filter(|given| given.is_object());
        let capabilities = capabilities.ok_or_else(|| missing(CAPABILITIES_KEY))?;
        Ok(Self {
            version: CURRENT,
            elicits: elicits(Some(capabilities)),
            level: entry(LEVEL_KEY).and_then(Value::as_str).and_then(Level::named),
            progress,
        })
    }
}

/// All revisions that are served.
pub(super) fn supported() -> Vec<&'static str> {
    HANDSHAKE.into_iter().chain([CURRENT]).collect()
}

/// An empty capability means forms; one that names other modes alone does not.
fn elicits(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|given| given.get("elicitation")).and_then(Value::as_object);
    elicitation.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}
