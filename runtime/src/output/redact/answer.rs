//! Secrets taken out of the parts of an answer.

use super::Redactor;
use crate::call::{CallError, Content, Ended, Returned, Warning};

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
        self.in_place(&mut error.message);
        error.help.iter_mut().for_each(|help| self.in_place(help));
        for violation in &mut error.violations {
            self.in_place(&mut violation.path);
            self.in_place(&mut violation.expected);
            violation.got = self.shortened(&violation.got);
            violation.hint.iter_mut().for_each(|hint| self.in_place(hint));
        }
        error.details.iter_mut().for_each(|details| self.value(details));
    }

    pub(crate) fn warning(&self, warning: &mut Warning) {
        self.in_place(&mut warning.message);
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
        if let std::borrow::Cow::Owned(redacted) = self.text(text) {
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
