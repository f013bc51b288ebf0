//! Images, sounds and files of another server: what is not what it says is left out, and that is said.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::call::Content;

/// Bytes of a media type.
const MAX_TYPE_BYTES: usize = 128;

/// What is given where a file does not say what it is.
const UNKNOWN: &str = "application/octet-stream";

/// An image or a sound.
pub(super) fn media(block: &Value, kind: &str) -> Content {
    let given = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    let (data, mime_type) = (given("data"), given("mimeType"));
    if !is_media_type(mime_type, Some(kind)) {
        return left_out(kind, "its type is not one of that kind");
    }
    if !is_base64(data) {
        return left_out(kind, "its data is not base64");
    }
    let (data, mime_type) = (data.to_owned(), mime_type.to_owned());
    if kind == "image" { Content::Image { data, mime_type } } else { Content::Audio { data, mime_type } }
}

/// A file, if the resource is one.
pub(super) fn file(resource: &Value) -> Option<Content> {
    let data = resource.get("blob").and_then(Value::as_str)?;
    let mime_type = resource.get("mimeType").and_then(Value::as_str).unwrap_or(UNKNOWN);
    if !is_media_type(mime_type, None) {
        return Some(left_out("file", "its type cannot be read"));
    }
    if !is_base64(data) {
        return Some(left_out("file", "its data is not base64"));
    }
    let uri = resource.get("uri").and_then(Value::as_str).map(str::to_owned);
    Some(Content::Blob { data: data.to_owned(), mime_type: mime_type.to_owned(), uri })
}

fn left_out(kind: &str, why: &str) -> Content {
    Content::Text { text: format!("[content of the kind `{kind}` was left out: {why}]") }
}

fn is_base64(data: &str) -> bool {
    STANDARD.decode(data).is_ok()
}

/// Whether a text is a media type, of a kind if there is one: `image/png`, `audio/webm; codecs=opus`.
fn is_media_type(text: &str, kind: Option<&str>) -> bool {
    let mut parts = text.split(';');
    let Some((top, sub)) = parts.next().and_then(|essence| essence.trim().split_once('/')) else {
        return false;
    };
    let is_parameter = |part: &str| {
        part.trim().split_once('=').is_some_and(|(name, value)| is_token(name) && is_token(value))
    };
    text.len() <= MAX_TYPE_BYTES
        && is_token(top)
        && is_token(sub)
        && kind.is_none_or(|kind| top.eq_ignore_ascii_case(kind))
        && parts.all(is_parameter)
}

fn is_token(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_what_it_says_is_left_out() {
        for (kind, data, mime_type, is_kept) in [
            ("image", "aQ==", "image/png", true),
            ("image", "aQ==", "IMAGE/svg+xml", true),
            ("audio", "aQ==", "audio/webm; codecs=opus", true),
            ("image", "", "image/png", true),
            ("image", "!!!not base64", "image/png", false),
            ("image", "aQ=", "image/png", false),
            ("image", "aQ==\n", "image/png", false),
            ("image", "aQ==", "text/html; <script>", false),
            ("image", "aQ==", "image/png; <script>", false),
            ("image", "aQ==", "image/png\r\nx: y", false),
            ("image", "aQ==", "image", false),
            ("audio", "aQ==", "image/png", false),
        ] {
            let content = media(&json!({ "data": data, "mimeType": mime_type }), kind);
            let is_text = matches!(content, Content::Text { .. });
            assert_eq!(!is_text, is_kept, "{kind} {data} {mime_type}");
        }
        assert!(matches!(file(&json!({ "blob": "aQ==" })), Some(Content::Blob { .. })));
        assert!(matches!(file(&json!({ "blob": "a" })), Some(Content::Text { .. })));
        assert!(matches!(file(&json!({ "blob": "aQ==", "mimeType": "<" })), Some(Content::Text { .. })));
        assert!(file(&json!({ "text": "a" })).is_none());
    }
}
