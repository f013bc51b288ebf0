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
