//! Outcomes as the messages that carry them back to a model.

use serde_json::{Map, Value, json};

use super::Format;
use crate::call::{Content, Outcome};

/// What every provider that looks at pictures can look at.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The pictures among them that Gemini takes in a function's response.
const GEMINI_PICTURES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// For a tool that has nothing to say: some servers refuse an empty text.
const NOTHING: &str = "(no output)";

impl Format {
    /// The outcomes as this format has them, in their order, each with the id of its call.
    ///
    /// `openai`: a list of `tool` messages. `openai-responses`: a list of `function_call_output` items. `anthropic`:
    /// one `user` message of `tool_result` blocks. `gemini`: one `user` content of `functionResponse` parts. `mcp`: a
    /// list of `CallToolResult`, with the id in `_meta`. `toolcell`: the outcomes. A failure is marked as one where the
    /// format has a mark, and its text begins with `error` and its kind where it has none. What is no text goes
    /// through where the format has a place for it; elsewhere a note in brackets says what was there. What the format
    /// [has no place for](Self::has_place_for) is left out.
    pub fn results(self, outcomes: &[Outcome]) -> Value {
        let placed = || outcomes.iter().filter(|outcome| self.has_place_for(outcome));
        let each = |result: fn(&Outcome) -> Value| placed().map(result).collect::<Vec<_>>();
        match self {
            Self::OpenAi => each(open_ai).into(),
            Self::OpenAiResponses => each(responses).into(),
            Self::Anthropic => json!({ "role": "user", "content": each(anthropic) }),
            Self::Gemini => json!({ "role": "user", "parts": each(gemini) }),
            Self::Mcp => each(mcp).into(),
            Self::Toolcell => json!(outcomes),
        }
    }

    /// Whether [`results`](Self::results) has this outcome. OpenAI and Anthropic refuse a whole request for one result
    /// without the id of its call, and an id that the model did not write would be that of no call:
    /// [`give_ids`](Self::give_ids) writes one into the message itself.
    pub fn has_place_for(self, outcome: &Outcome) -> bool {
        let needs_id = matches!(self, Self::OpenAi | Self::OpenAiResponses | Self::Anthropic);
        !needs_id || !(outcome.id.is_null() || outcome.id == "")
    }
}

fn open_ai(outcome: &Outcome) -> Value {
    let text = joined(outcome.content.iter().map(text_of), outcome, Marking::Text);
    json!({ "role": "tool", "tool_call_id": outcome.id, "content": text })
}

fn responses(outcome: &Outcome) -> Value {
    let pictures: Vec<Value> = outcome
        .content
        .iter()
        .filter_map(|block| match block {
            Content::Image { data, mime_type } if PICTURES.contains(&mime_type.as_str()) => {
                let url = format!("data:{mime_type};base64,{data}");
                Some(json!({ "type": "input_image", "image_url": url, "detail": "auto" }))
            }
            _ => None,
        })
        .collect();
    let texts = outcome.content.iter().filter(|block| !is_picture(block, &PICTURES)).map(text_of);
    let output: Value = if pictures.is_empty() {
        joined(texts, outcome, Marking::Text).into()
    } else {
        let text = joined(texts, outcome, Marking::Text);
        let text = Some(json!({ "type": "input_text", "text": text })).filter(|_| has_text(outcome));
        text.into_iter().chain(pictures).collect::<Vec<_>>().into()
    };
    json!({ "type": "function_call_output", "call_id": outcome.id, "output": output })
}

fn anthropic(outcome: &Outcome) -> Value {
    let block = |block: &Content| match block {
        Content::Image { data, mime_type } if PICTURES.contains(&mime_type.as_str()) => {
            Some(json!({ "type": "image", "source": base64_source(mime_type, data) }))
        }
        Content::Blob { data, mime_type, .. } if mime_type == "application/pdf" => {
            Some(json!({ "type": "document", "source": base64_source(mime_type, data) }))
        }
        // An empty text is refused there.
        block => Some(text_of(block)).filter(|text| !text.trim().is_empty()).map(text_block),
    };
    let mut blocks: Vec<Value> = outcome.content.iter().filter_map(block).collect();
    if blocks.is_empty() {
        blocks.push(text_block(NOTHING.to_owned()));
    }
    let mut result = json!({ "type": "tool_result", "tool_use_id": outcome.id, "content": blocks });
    if let (false, Value::Object(result)) = (outcome.is_success(), &mut result) {
        result.insert("is_error".to_owned(), true.into());
    }
    result
}

fn gemini(outcome: &Outcome) -> Value {
    let texts = outcome.content.iter().filter(|block| !is_picture(block, &GEMINI_PICTURES)).map(text_of);
    let (key, marking) =
        if outcome.is_success() { ("output", Marking::Format) } else { ("error", Marking::Text) };
    let said: Value = match outcome.content.as_slice() {
        [Content::Json { json }] => json.clone(),
        _ => joined(texts, outcome, marking).into(),
    };
    let mut response = Map::new();
    // A number is a position: the call had no id.
    if outcome.id.is_string() {
        response.insert("id".to_owned(), outcome.id.clone());
    }
    response.insert("name".to_owned(), outcome.name.as_str().into());
    response.insert("response".to_owned(), json!({ key: said }));
    let pictures: Vec<Value> = outcome
        .content
        .iter()
        .filter_map(|block| match block {
            Content::Image { data, mime_type } if GEMINI_PICTURES.contains(&mime_type.as_str()) => {
                Some(json!({ "inlineData": { "mimeType": mime_type, "data": data } }))
            }
            _ => None,
        })
        .collect();
    if !pictures.is_empty() {
        response.insert("parts".to_owned(), pictures.into());
    }
    json!({ "functionResponse": response })
}

fn mcp(outcome: &Outcome) -> Value {
    let blocks: Vec<Value> = outcome.content.iter().map(mcp_block).collect();
    let mut result = Map::new();
    result.insert("content".to_owned(), blocks.into());
    // An error need not match the announced schema, so it has none.
    if let Some(structured) = outcome.structured.as_ref().filter(|_| outcome.is_success()) {
        result.insert("structuredContent".to_owned(), structured.clone());
    }
    result.insert("isError".to_owned(), (!outcome.is_success()).into());
    result.insert("_meta".to_owned(), json!({ "toolcell/id": outcome.id }));
    Value::Object(result)
}

fn mcp_block(block: &Content) -> Value {
    match block {
        Content::Image { data, mime_type } => json!({ "type": "image", "data": data, "mimeType": mime_type }),
        Content::Audio { data, mime_type } => json!({ "type": "audio", "data": data, "mimeType": mime_type }),
        Content::Blob { data, mime_type, uri } => {
            // A resource must have an address; one without gets one that nobody can read by mistake.
            let uri = uri.as_deref().unwrap_or("toolcell:unnamed");
            json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime_type, "blob": data } })
        }
        Content::Link { uri, name, mime_type } => {
            let name = name.as_deref().unwrap_or(uri);
            let mut link = json!({ "type": "resource_link", "uri": uri, "name": name });
            if let (Some(mime_type), Value::Object(link)) = (mime_type, &mut link) {
                link.insert("mimeType".to_owned(), mime_type.as_str().into());
            }
            link
        }
        block => text_block(text_of(block)),
    }
}

/// How a reader is told of a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marking {
    /// By the text, since the format has no mark.
    Text,
    /// The format marks it, or there is none.
    Format,
}

fn joined(texts: impl Iterator<Item = String>, outcome: &Outcome, marking: Marking) -> String {
    let mut texts: Vec<String> = texts.collect();
    if let (Some(error), Marking::Text) = (&outcome.error, marking) {
        // The message is the last block; what was emitted before it stays in front.
        let message = texts.pop().unwrap_or_else(|| error.message.clone());
        texts.push(format!("error ({}): {message}", error.kind));
    }
    let text = texts.join("\n");
    if text.is_empty() { NOTHING.to_owned() } else { text }
}

fn has_text(outcome: &Outcome) -> bool {
    outcome.error.is_some() || outcome.content.iter().any(|block| !is_picture(block, &PICTURES))
}

fn is_picture(block: &Content, pictures: &[&str]) -> bool {
    matches!(block, Content::Image { mime_type, .. } if pictures.contains(&mime_type.as_str()))
}

fn text_block(text: String) -> Value {
    json!({ "type": "text", "text": text })
}

fn base64_source(mime_type: &str, data: &str) -> Value {
    json!({ "type": "base64", "media_type": mime_type, "data": data })
}

/// The block as text: what is none is told of.
fn text_of(block: &Content) -> String {
    let note = |what: &str, mime_type: &str, data: &str| {
        format!("[{what}, {mime_type}, {} bytes of base64, which cannot be shown here]", data.len())
    };
    match block {
        Content::Text { text } => text.clone(),
        Content::Json { json } => json.to_string(),
        Content::Image { data, mime_type } => note("an image", mime_type, data),
        Content::Audio { data, mime_type } => note("a sound", mime_type, data),
        Content::Blob { data, mime_type, .. } => note("a file", mime_type, data),
        Content::Link { uri, name: Some(name), .. } => format!("{name}: {uri}"),
        Content::Link { uri, name: None, .. } => uri.clone(),
    }
}
