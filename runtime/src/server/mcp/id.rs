//! Identifiers of messages: kept exactly, and found in what cannot be read otherwise.

use serde_json::Value;

/// Bytes of an identifier in a message that cannot be read; a longer one counts as not there.
const MAX_FOUND: usize = 4 << 10;

/// Whether a value can be an identifier: a string, or an integer that is kept digit for digit.
pub(super) fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_i64() || value.is_u64()
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
    found: Vec<Value>,
}

impl IdScan {
    /// Goes on with the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    /// The identifier, if there is exactly one.
    pub fn id(&self) -> Option<Value> {
        match self.found.as_slice() {
            [id] => Some(id.clone()).filter(is_id),
            _ => None,
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
            self.found.push(serde_json::from_slice(&self.captured).unwrap_or_default());
        }
        self.is_id = false;
        self.captured.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_is_found_in_broken_messages() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"#, Some(json!(7))),
            (r#"{ "params" : {"id":1,"a":"}\"{"} , "id" : "x\"y" }"#, Some(json!("x\"y"))),
            (r#"{"id":9007199254740993,"method":nonsense}"#, Some(json!(9_007_199_254_740_993_u64))),
            (r#"{"id":7"#, None),
            (r#"{"id":1,"id":2}"#, None),
            (r#"{"id":{"a":1}}"#, None),
            (r#"{"id":[1]}"#, None),
            (r#"{"id":1.5}"#, None),
            (r#"{"id":null}"#, None),
            (r#"[{"id":1}]"#, None),
            (r#"["id":1,2]"#, None),
            (r#"{"a":{"id":1}}"#, None),
            ("garbage", None),
            ("}}},,:", None),
        ] {
            let mut scan = IdScan::default();
            scan.feed(text.as_bytes());
            assert_eq!(scan.id(), expected, "{text}");
        }
    }
}
