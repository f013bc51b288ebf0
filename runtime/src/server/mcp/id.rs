//! Identifiers of messages: kept exactly, and found in what cannot be read otherwise.

use std::fmt;

use serde::de::IgnoredAny;
use serde_json::Value;

/// Bytes of an identifier in a message that cannot be read; a longer one counts as not there.
const MAX_FOUND: usize = 4 << 10;

/// Whether a value can be an identifier: a string, or an integer that is kept digit for digit.
pub(super) fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_i64() || value.is_u64()
}

/// What a message that is not taken is answered under: its identifier as it came, also where that is a number which none can be,
/// so that its sender knows which of its requests is meant. Null where none is found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Echo(Option<String>);

impl Echo {
    /// That of a message whose identifier can be one.
    pub fn of(id: &Value) -> Self {
        Self(Some(id.to_string()).filter(|_| is_id(id)))
    }

    /// What was written where the identifier stands: a string, or a number of any kind.
    fn written(json: &[u8]) -> Self {
        let text = std::str::from_utf8(json).unwrap_or_default().trim();
        let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        if is_number && serde_json::from_str::<IgnoredAny>(text).is_ok() {
            return Self(Some(text.to_owned()));
        }
        Self::of(&serde_json::from_str(text).unwrap_or_default())
    }
}

/// It as JSON.
impl fmt::Display for Echo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.as_deref().unwrap_or("null"))
    }
}

/// Finds the member `id` of a JSON object that is broken, or too long to be kept, without reading more than strings and
/// brackets. What is there twice counts as not there.
#[derive(Debug, Default)]
pub(super) struct IdScan {
    depth: u32,
    is_list: bool,
    in_string: bool,
    is_escaped: bool,
    /// Whether what is captured is the value of `id`; a key until the colon.
    is_id: bool,
    captured: Vec<u8>,
    found: Vec<Echo>,
}

impl IdScan {
    /// Goes on with the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    /// The identifier, if there is exactly one.
    pub fn echo(&self) -> Echo {
        match self.found.as_slice() {
            [id] => id.clone(),
            _ => Echo::default(),
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            self.capture(byte);
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.capture(byte);
            }
            b'{' | b'[' => {
                self.is_list |= self.depth == 0 && byte == b'[';
                // Makes a value that is no scalar unreadable.
                self.capture(byte);
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                self.end_member();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_member(),
            b':' if self.depth == 1 => {
                self.is_id = self.captured.trim_ascii() == b"\"id\"";
                self.captured.clear();
            }
            _ => self.capture(byte),
        }
    }

    fn capture(&mut self, byte: u8) {
        if self.depth == 1 && self.captured.len() < MAX_FOUND {
            self.captured.push(byte);
        }
    }

    fn end_member(&mut self) {
        if self.depth != 1 {
            return;
        }
        if self.is_id && !self.is_list && self.found.len() < 2 {
            // What was cut is not what was written.
            let is_whole = self.captured.len() < MAX_FOUND;
            self.found.push(if is_whole { Echo::written(&self.captured) } else { Echo::default() });
        }
        self.is_id = false;
        self.captured.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_in_broken_messages() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"#, "7"),
            (r#"{ "params" : {"id":1,"a":"}\"{"} , "id" : "x\"y" }"#, r#""x\"y""#),
            (r#"{"id":9007199254740993,"method":nonsense}"#, "9007199254740993"),
            (r#"{"id": 1.50 }"#, "1.50"),
            (r#"{"id":-1e400}"#, "-1e400"),
            (r#"{"id":18446744073709551616}"#, "18446744073709551616"),
            (r#"{"id":01}"#, "null"),
            (r#"{"id":1.}"#, "null"),
            (r#"{"id":true}"#, "null"),
            (r#"{"id":7"#, "null"),
            (r#"{"id":1,"id":2}"#, "null"),
            (r#"{"id":{"a":1}}"#, "null"),
            (r#"{"id":[1]}"#, "null"),
            (r#"{"id":null}"#, "null"),
            (r#"[{"id":1}]"#, "null"),
            (r#"["id":1,2]"#, "null"),
            (r#"{"a":{"id":1}}"#, "null"),
            ("garbage", "null"),
            ("}}},,:", "null"),
        ] {
            let mut scan = IdScan::default();
            scan.feed(text.as_bytes());
            assert_eq!(scan.echo().to_string(), expected, "{text}");
        }
        let mut scan = IdScan::default();
        scan.feed(format!("{{\"id\":{}}}", "1".repeat(MAX_FOUND)).as_bytes());
        assert_eq!(scan.echo(), Echo::default(), "what is not whole is not what came");
    }
}
