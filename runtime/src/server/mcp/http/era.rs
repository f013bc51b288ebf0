//! A request that says everything itself: what its headers say must be what its message says, since a proxy decides by
//! the ones and the server by the other.

use http::HeaderMap;
use serde_json::{Map, Value};

use super::guard::one;
use crate::server::mcp::frame::{INVALID_PARAMS, Refusal};
use crate::server::mcp::version::{HANDSHAKE, VERSION_KEY};
use crate::tool::{Mirrored, decoded};

/// The header that names a request's revision.
pub(super) const VERSION: &str = "mcp-protocol-version";

/// The header that names a request's method.
pub(super) const METHOD: &str = "mcp-method";

/// The header that names what a request is for.
pub(super) const NAME: &str = "mcp-name";

/// Of the protocol: headers and message differ.
const HEADER_MISMATCH: i32 = -32020;

/// Whether the request is one that says everything itself; otherwise it is part of a session.
pub(super) fn is_current(headers: &HeaderMap) -> bool {
    headers.contains_key(VERSION) && one(headers, VERSION).is_none_or(|named| !HANDSHAKE.contains(&named))
}

/// Holds the headers of a request against its message, whose tool wants the arguments `mirrored` in headers.
///
/// # Errors
/// When they differ, or the message does not name its revision.
pub(super) fn check(
    headers: &HeaderMap,
    method: &str,
    params: &Map<String, Value>,
    mirrored: &[Mirrored],
) -> Result<(), Refusal> {
    let version = params.get("_meta").and_then(|meta| meta.get(VERSION_KEY)).and_then(Value::as_str);
    let missing = || Refusal::new(INVALID_PARAMS, format!("`_meta` must have `{VERSION_KEY}`"));
    let version = version.ok_or_else(missing)?;
    let differs = |header: &str| {
        let told = format!("the header `{header}` must be there once, and say what the message says");
        Refusal::new(HEADER_MISMATCH, told)
    };
    if one(headers, VERSION) != Some(version) {
        return Err(differs("MCP-Protocol-Version"));
    }
    if one(headers, METHOD) != Some(method) {
        return Err(differs("Mcp-Method"));
    }
    let named = match method {
        "tools/call" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => None,
    };
    if let Some(Value::String(named)) = named
        && one(headers, NAME).and_then(decoded).as_ref() != Some(named)
    {
        return Err(differs("Mcp-Name"));
    }
    let arguments = params.get("arguments").unwrap_or(&Value::Null);
    let agrees = |one: &&Mirrored| {
        let is_there = headers.contains_key(one.header.as_str());
        let header = super::guard::one(headers, one.header.as_str());
        is_there == header.is_some() && one.agrees(header, arguments)
    };
    match mirrored.iter().find(|one| !agrees(one)) {
        Some(one) => Err(differs(&one.header)),
        None => Ok(()),
    }
}

/// Whether the message is of the current era, although its headers do not say so.
pub(super) fn is_unannounced(method: &str, params: &Map<String, Value>) -> bool {
    method == "server/discover" || params.get("_meta").is_some_and(|meta| meta.get(VERSION_KEY).is_some())
}

/// The refusal of such a message.
pub(super) fn unannounced() -> Refusal {
    let told = "the header `MCP-Protocol-Version` must name the revision that the message names";
    Refusal::new(HEADER_MISMATCH, told)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use serde_json::json;

    use super::*;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn headers_say_what_the_message_says() {
        let call = |name: &str| {
            let params = json!({ "name": name, "_meta": { VERSION_KEY: "2026-07-28" } });
            params.as_object().unwrap().clone()
        };
        let all = [(VERSION, "2026-07-28"), (METHOD, "tools/call"), (NAME, "add")];
        assert_eq!(check(&headers(&all), "tools/call", &call("add"), &[]), Ok(()));
        let encoded = [(VERSION, "2026-07-28"), (METHOD, "tools/call"), (NAME, "=?base64?w6k=?=")];
        assert_eq!(check(&headers(&encoded), "tools/call", &call("é"), &[]), Ok(()));
        for (at, _) in all.iter().enumerate() {
            let mut wrong = all;
            wrong[at].1 = "2025-11-25";
            let mut twice = all.to_vec();
            twice.push(all[at]);
            let mut without = all.to_vec();
            without.remove(at);
            for headers in [headers(&wrong), headers(&twice), headers(&without)] {
                let refused = check(&headers, "tools/call", &call("add"), &[]).unwrap_err();
                assert_eq!(refused.code, HEADER_MISMATCH, "{headers:?}");
            }
        }
        let bad = [(VERSION, "2026-07-28"), (METHOD, "tools/call"), (NAME, "=?base64?w6k?=")];
        assert_eq!(check(&headers(&bad), "tools/call", &call("é"), &[]).unwrap_err().code, HEADER_MISMATCH);
        assert_eq!(check(&headers(&all), "tools/call", &Map::new(), &[]).unwrap_err().code, INVALID_PARAMS);
    }

    #[test]
    fn an_era_is_told_by_the_header() {
        assert!(!is_current(&headers(&[])));
        assert!(!is_current(&headers(&[(VERSION, "2025-06-18")])));
        assert!(is_current(&headers(&[(VERSION, "2026-07-28")])) && is_current(&headers(&[(VERSION, "x")])));
        assert!(is_current(&headers(&[(VERSION, "2025-06-18"), (VERSION, "2026-07-28")])));
    }
}
