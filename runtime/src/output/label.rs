//! Blocks of content as a reader may see them: cleaned, their labels bounded.

use serde_json::Value;

use super::{clean, clean_value};
use crate::call::Content;

/// Bytes of an address that a reader gets; browsers take as many.
const MAX_URI_BYTES: usize = 2048;

/// Bytes of a name or a media type.
const MAX_LABEL_BYTES: usize = 256;

/// The block with its addresses, names and media types cleaned and bounded: they are the guest's words as well.
pub(crate) fn labelled(block: Content) -> Content {
    let label = |text: String| short(text, MAX_LABEL_BYTES);
    let address = |text: String| short(text, MAX_URI_BYTES);
    match block {
        Content::Image { data, mime_type } => Content::Image { data, mime_type: label(mime_type) },
        Content::Audio { data, mime_type } => Content::Audio { data, mime_type: label(mime_type) },
        Content::Blob { data, mime_type, uri } => {
            Content::Blob { data, mime_type: label(mime_type), uri: uri.map(address) }
        }
        Content::Link { uri, name, mime_type } => {
            Content::Link { uri: address(uri), name: name.map(label), mime_type: mime_type.map(label) }
        }
        other => other,
    }
}

fn short(text: String, bytes: usize) -> String {
    let start = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default();
    clean(start).replace(['\n', '\t'], " ")
}

/// The block with all of its words cleaned.
pub(crate) fn clean_content(block: Content) -> Content {
    match block {
        Content::Text { text } => Content::Text { text: clean(&text).into_owned() },
        Content::Json { json } => Content::Json { json: cleaned(json) },
        other => labelled(other),
    }
}

/// The value with every string in it cleaned; keys come from types, or from a tool's own objects.
pub(crate) fn cleaned(mut value: Value) -> Value {
    clean_value(&mut value);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_names_and_media_types_are_cleaned_and_bounded() {
        let hostile = "\u{1b}[31mred\nline".to_owned();
        let link = Content::Link {
            uri: hostile.clone(),
            name: Some(hostile.clone()),
            mime_type: Some(hostile.clone()),
        };
        let plain = || "red line".to_owned();
        let expected = Content::Link { uri: plain(), name: Some(plain()), mime_type: Some(plain()) };
        assert_eq!(labelled(link), expected);
        let long = "x".repeat(1 << 20);
        let image = labelled(Content::Image { data: String::new(), mime_type: long.clone() });
        assert_eq!(image, Content::Image { data: String::new(), mime_type: "x".repeat(MAX_LABEL_BYTES) });
        let blob = labelled(Content::Blob { data: String::new(), mime_type: hostile, uri: Some(long) });
        let uri = Some("x".repeat(MAX_URI_BYTES));
        assert_eq!(blob, Content::Blob { data: String::new(), mime_type: plain(), uri });
    }
}
