//! Secrets taken out of the parts of an answer.

use std::borrow::Cow;

use super::{Redactor, TOLERATED};
use crate::call::{CallError, Content, Ended, Returned, Violation, Warning};

impl Redactor {
    /// The end of a run: its texts in the order in which they are read, its data, errors, logs and refusals.
    pub(crate) fn ended(&self, ended: &mut Ended) {
        let Ended { end, chunks, logs, denials, .. } = ended;
        self.pieces(&mut logs.iter_mut().map(|log| &mut log.text).collect::<Vec<_>>());
        for log in logs {
            self.in_place(&mut log.stream);
        }
        for denial in denials {
            denial.target = self.shortened(&denial.target);
        }
        let mut texts: Vec<&mut String> = chunks.iter_mut().filter_map(text_of).collect();
        match end {
            Ok(Returned::Output { content, structured }) => {
                texts.extend(content.iter_mut().filter_map(text_of));
                self.pieces(&mut texts);
                content.iter_mut().filter(|block| !is_text(block)).for_each(|block| self.block(block));
                structured.iter_mut().for_each(|value| self.value(value));
            }
            Ok(Returned::Printed(text)) => {
                texts.push(text);
                self.pieces(&mut texts);
            }
            Ok(Returned::Value(value) | Returned::ToolError(value)) => {
                // Large results are texts, and searched once.
                if let Some(serde_json::Value::String(text)) = value {
                    texts.push(text);
                    self.pieces(&mut texts);
                } else {
                    self.pieces(&mut texts);
                    value.iter_mut().for_each(|value| self.value(value));
                }
            }
            Err(error) => {
                self.pieces(&mut texts);
                self.error(error);
            }
        }
        chunks.iter_mut().filter(|block| !is_text(block)).for_each(|block| self.block(block));
    }

    /// An error for both of its readers.
    pub(crate) fn error(&self, error: &mut CallError) {
        self.excerpts_in_place(&mut error.message);
        error.help.iter_mut().for_each(|help| self.excerpts_in_place(help));
        error.violations.iter_mut().for_each(|violation| self.violation(violation));
        error.details.iter_mut().for_each(|details| self.value(details));
    }

    /// What does not fit, in words that may repeat a part of it.
    pub(crate) fn violation(&self, violation: &mut Violation) {
        violation.path = self.pointer(&violation.path);
        self.excerpts_in_place(&mut violation.got);
        self.excerpts_in_place(&mut violation.expected);
        violation.hint.iter_mut().for_each(|hint| self.excerpts_in_place(hint));
    }

    /// A JSON pointer, whose keys have two characters in a spelling of their own.
    fn pointer(&self, path: &str) -> String {
        let keys = path.split('/').map(|key| {
            let key = self.excerpts(&key.replace("~1", "/").replace("~0", "~"));
            key.replace('~', "~0").replace('/', "~1")
        });
        self.text(&keys.collect::<Vec<_>>().join("/")).into_owned()
    }

    /// A text in which others were shortened, as an ellipsis after each of them says: what it may have halved is left out,
    /// unless that is so short that it tells nothing.
    pub(crate) fn excerpts(&self, text: &str) -> String {
        self.excerpts_in(text).into_owned()
    }

    /// The same, borrowed where nothing was left out.
    pub(crate) fn excerpts_in<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = self.text(text);
        if !text.contains('…') {
            return text;
        }
        let mut parts: Vec<&str> = text.split('…').collect();
        let count = parts.len();
        for part in parts.iter_mut().take(count.saturating_sub(1)) {
            let end = self.halved_end(part);
            if part.len() - end > TOLERATED {
                *part = part.get(..end).unwrap_or_default();
            }
        }
        match parts.join("…") {
            same if same == text => text,
            other => Cow::Owned(other),
        }
    }

    fn excerpts_in_place(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.excerpts_in(text) {
            *text = redacted;
        }
    }

    pub(crate) fn warning(&self, warning: &mut Warning) {
        self.excerpts_in_place(&mut warning.message);
    }

    /// Chunks after which one was refused: what may be the beginning of a secret at their end is left out.
    pub(crate) fn cut_last_chunk(&self, chunks: &mut [Content]) {
        self.cut_last(&mut chunks.iter_mut().filter_map(text_of).collect::<Vec<_>>());
    }

    /// A block of content. Media with a secret in them are left out: a changed image is none.
    pub(crate) fn block(&self, block: &mut Content) {
        match block {
            Content::Text { text } => self.in_place(text),
            Content::Json { json } => self.value(json),
            Content::Link { uri, name, mime_type } => {
                self.in_place(uri);
                name.iter_mut().chain(mime_type).for_each(|text| self.in_place(text));
            }
            Content::Image { data, .. } | Content::Audio { data, .. } | Content::Blob { data, .. }
                if self.is_in(data) =>
            {
                *block = Content::Text { text: "[content left out: it has a secret in it]".to_owned() };
            }
            Content::Image { mime_type, .. } | Content::Audio { mime_type, .. } => self.in_place(mime_type),
            Content::Blob { mime_type, uri, .. } => {
                self.in_place(mime_type);
                uri.iter_mut().for_each(|uri| self.in_place(uri));
            }
        }
    }

    pub(crate) fn in_place(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.text(text) {
            *text = redacted;
        }
    }
}

fn is_text(block: &Content) -> bool {
    matches!(block, Content::Text { .. })
}

fn text_of(block: &mut Content) -> Option<&mut String> {
    match block {
        Content::Text { text } => Some(text),
        _ => None,
    }
}
