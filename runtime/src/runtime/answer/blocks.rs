//! Blocks of content on their way to a reader: what they take of the output's room, and their labels.

use crate::call::{Content, Truncation};
use crate::output::{Bounds, Handle, clean};

/// Kept free of what a tool emits for what comes last: a result, or the reason why there is none.
const LAST_WORD_BYTES: usize = 1024;
const LAST_WORD_LINES: usize = 16;

/// The text of several blocks together.
pub(super) struct Full {
    pub(super) text: String,
}

impl Full {
    pub(super) fn of(blocks: &[Content]) -> Self {
        let mut text = String::new();
        for block in blocks {
            match block {
                Content::Text { text: block } => text.push_str(&clean(block)),
                Content::Json { json } => text.push_str(&json.to_string()),
                Content::Link { uri, .. } => text.push_str(uri),
                _ => continue,
            }
            text.push('\n');
        }
        Self { text }
    }

    pub(super) fn fits(&self, room: &Room) -> bool {
        self.text.len() <= room.bytes && self.lines() <= room.lines
    }

    pub(super) fn lines(&self) -> usize {
        self.text.lines().count()
    }

    pub(super) fn truncation(&self, handle: Option<&Handle>) -> Truncation {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let mut truncation = Truncation::new(number(self.text.len()), number(self.lines()), Vec::new());
        truncation.handle = handle.map(ToString::to_string);
        truncation
    }
}

/// Bytes of an address that a reader gets; browsers take as many.
const MAX_URI_BYTES: usize = 2048;

/// Bytes of a name or a media type.
const MAX_LABEL_BYTES: usize = 256;

/// The block with its addresses, names and media types cleaned and bounded: they are the guest's words as well.
pub(super) fn labelled(block: Content) -> Content {
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

pub(super) fn short(text: String, bytes: usize) -> String {
    let start = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default();
    clean(start).replace(['\n', '\t'], " ")
}

pub(super) fn is_media(block: &Content) -> bool {
    matches!(block, Content::Image { .. } | Content::Audio { .. } | Content::Blob { .. })
}

/// What is left of the output's bounds for the next block.
pub(super) struct Room {
    pub(super) bytes: usize,
    pub(super) lines: usize,
    pub(super) reserved: Option<(usize, usize)>,
}

impl Room {
    pub(super) fn new(bounds: &Bounds) -> Self {
        Self { bytes: bounds.max_bytes, lines: bounds.max_lines, reserved: None }
    }

    /// Keeps some back, at most half, for what comes last.
    pub(super) fn reserve(&mut self) {
        let bytes = LAST_WORD_BYTES.min(self.bytes / 2);
        let lines = LAST_WORD_LINES.min(self.lines / 2);
        self.bytes -= bytes;
        self.lines -= lines;
        self.reserved = Some((bytes, lines));
    }

    /// Gives back what was kept.
    pub(super) fn release(&mut self) {
        if let Some((bytes, lines)) = self.reserved.take() {
            self.bytes += bytes;
            self.lines += lines;
        }
    }

    /// Takes a block and the newline between it and the next, which makes one more line of a block that ends in one.
    pub(super) fn take(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_sub(text.len() + 1);
        self.lines = self.lines.saturating_sub(text.matches('\n').count() + 1);
    }

    pub(super) fn take_block(&mut self, block: &Content) {
        match block {
            Content::Text { text } => self.take(text),
            Content::Json { json } => self.take(&json.to_string()),
            Content::Link { uri, name, .. } => {
                self.take(uri);
                self.take(name.as_deref().unwrap_or_default());
            }
            _ => {}
        }
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.bytes == 0 || self.lines == 0
    }

    pub(super) fn bounds(&self, bounds: &Bounds) -> Bounds {
        (*bounds).max_bytes(self.bytes).max_lines(self.lines)
    }
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
