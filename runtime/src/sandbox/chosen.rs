//! What a tool gives that chooses its content itself, by `toolcell:tool/types.output`.

use serde_json::Value;

use crate::call::{CallError, Content, ErrorKind, Returned};

/// Content blocks and data that a tool chose, from the value of its `output`.
pub(crate) fn chosen_output(value: &Value) -> Result<Returned, CallError> {
    let blocks = value.get("content").and_then(Value::as_array);
    let content = blocks.into_iter().flatten().filter_map(content_block).collect();
    let structured = match value.get("structured").and_then(Value::as_str).map(serde_json::from_str::<Value>)
    {
        None => None,
        Some(Ok(structured)) if structured.is_object() => Some(structured),
        Some(_) => {
            return Err(CallError::new(ErrorKind::Trapped, "the tool's structured output is no JSON object"));
        }
    };
    Ok(Returned::Output { content, structured })
}

/// One block; `tag` and `val` are those of `toolcell:tool/types.content`.
pub(crate) fn content_block(block: &Value) -> Option<Content> {
    let value = block.get("val")?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let media = |value: (Option<String>, Option<String>)| Some((value.0?, value.1?));
    Some(match block.get("tag")?.as_str()? {
        "text" => Content::Text { text: value.as_str()?.to_owned() },
        "json" => {
            let text = value.as_str()?;
            serde_json::from_str(text)
                .map_or_else(|_| Content::Text { text: text.to_owned() }, |json| Content::Json { json })
        }
        "image" => {
            let (data, mime_type) = media((text("data"), text("mime_type")))?;
            Content::Image { data, mime_type }
        }
        "audio" => {
            let (data, mime_type) = media((text("data"), text("mime_type")))?;
            Content::Audio { data, mime_type }
        }
        "blob" => {
            let (data, mime_type) = media((text("data"), text("mime_type")))?;
            Content::Blob { data, mime_type, uri: text("uri") }
        }
        "link" => Content::Link { uri: text("uri")?, name: text("name"), mime_type: text("mime_type") },
        _ => return None,
    })
}
