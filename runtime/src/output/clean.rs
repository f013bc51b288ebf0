//! Text without what terminals obey and what readers do not see.
//!
//! What a tool returns reaches models, JSON, terminals and the questions that a person approves. Removed are:
//! - escape sequences (ECMA-48: CSI, and OSC, DCS, SOS, PM and APC strings with what they carry), in both the 7-bit
//!   and the 8-bit form. A string ends at BEL or ST; one that never ends stops at the end of its line, so that a
//!   stray introducer cannot take the rest of the output with it;
//! - C0 controls but tab and newline, DEL, and C1 controls;
//! - byte order marks, and the bidirectional embeddings, overrides and isolates (U+202A to U+202E, U+2066 to
//!   U+2069), which show a text in another order than it has. Joiners stay: emoji and some scripts need them.
//!
//! CR LF becomes LF. So does a lone CR: on a terminal it draws a line over the one before (progress bars do), and
//! what was drawn over would otherwise run into what follows.

use std::borrow::Cow;

use serde_json::Value;

/// `text` without control characters other than tab and newline; borrowed where there was nothing to remove.
pub fn clean(text: &str) -> Cow<'_, str> {
    let mut cleaned = String::new();
    let mut copied = 0;
    let mut position = 0;
    while let Some(found) = next_suspect(text.as_bytes(), position) {
        let (length, replacement) = judge(text.get(found..).unwrap_or_default());
        position = found + length;
        if let Some(replacement) = replacement {
            cleaned.push_str(text.get(copied..found).unwrap_or_default());
            cleaned.push_str(replacement);
            copied = position;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    cleaned.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(cleaned)
}

/// The same for bytes that should be text: invalid UTF-8 becomes U+FFFD.
pub fn clean_bytes(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match clean(&text) {
        Cow::Owned(cleaned) => cleaned,
        Cow::Borrowed(_) => text.into_owned(),
    }
}

/// Whether a byte may begin something to remove: a control character, or the lead byte of C1 controls (C2), of
/// bidirectional controls (E2) or of the byte order mark (EF).
const fn is_suspect(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\t') & (byte != b'\n'))
        | (byte == 0x7F)
        | (byte == 0xC2)
        | (byte == 0xE2)
        | (byte == 0xEF)
}

/// The position of the next suspect byte at or after `start`.
fn next_suspect(bytes: &[u8], start: usize) -> Option<usize> {
    // Whole blocks without early exit: the compiler turns the inner loop into vector instructions.
    const BLOCK: usize = 64;
    let rest = bytes.get(start..)?;
    let clean_blocks = rest
        .chunks_exact(BLOCK)
        .take_while(|block| !block.iter().fold(false, |suspect, byte| suspect | is_suspect(*byte)))
        .count();
    let skipped = clean_blocks * BLOCK;
    let found = rest.get(skipped..)?.iter().position(|byte| is_suspect(*byte))?;
    Some(start + skipped + found)
}

/// How many bytes the suspect thing at the start of `text` has, and what stands for it, if it does not stay.
fn judge(text: &str) -> (usize, Option<&'static str>) {
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return (1, None) };
    let rest = characters.as_str().as_bytes();
    let length = first.len_utf8();
    match first {
        '\r' => (1 + usize::from(rest.first() == Some(&b'\n')), Some("\n")),
        '\u{1b}' => (1 + escape_length(rest), Some("")),
        '\u{9b}' => (length + csi_length(rest), Some("")),
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => (length + string_length(rest), Some("")),
        '\t' | '\n' => (1, None),
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => (length, Some("")),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => (length, Some("")),
        _ => (length, None),
    }
}

/// The bytes after ESC that belong to its sequence.
fn escape_length(rest: &[u8]) -> usize {
    let Some((first, after)) = rest.split_first() else { return 0 };
    match first {
        b'[' => 1 + csi_length(after),
        b']' | b'P' | b'X' | b'^' | b'_' => 1 + string_length(after),
        0x20..=0x2F => {
            let intermediates = rest.iter().take_while(|byte| (0x20..=0x2F).contains(*byte)).count();
            intermediates
                + usize::from(rest.get(intermediates).is_some_and(|byte| (0x30..=0x7E).contains(byte)))
        }
        0x30..=0x7E => 1,
        _ => 0,
    }
}

/// The bytes after a control sequence introducer that belong to it: parameters, intermediates, one final byte.
fn csi_length(rest: &[u8]) -> usize {
    let parameters = rest.iter().take_while(|byte| (0x30..=0x3F).contains(*byte)).count();
    let intermediates = rest.iter().skip(parameters).take_while(|byte| (0x20..=0x2F).contains(*byte)).count();
    let length = parameters + intermediates;
    length + usize::from(rest.get(length).is_some_and(|byte| (0x40..=0x7E).contains(byte)))
}

/// The bytes of a control string with its terminator, or up to the end of its line.
fn string_length(rest: &[u8]) -> usize {
    let mut position = 0;
    while let Some(byte) = rest.get(position) {
        match (byte, rest.get(position + 1)) {
            (0x07, _) => return position + 1,
            (0x1B, Some(b'\\')) | (0xC2, Some(0x9C)) => return position + 2,
            (b'\n' | b'\r' | 0x1B, _) => return position,
            _ => position += 1,
        }
    }
    position
}

/// Where the rest of an escape sequence may end that `text` begins within, since what was before was cut off.
pub(super) fn torn(text: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    let string = string_length(bytes);
    let is_ended = matches!(bytes.get(..string).and_then(<[u8]>::last), Some(0x07 | b'\\' | 0x9C));
    let ends = [escape_length(bytes), csi_length(bytes), if is_ended { string } else { 0 }];
    ends.into_iter().filter(|end| *end > 0 && text.is_char_boundary(*end))
}

/// Cleans every string in a value, keys included.
pub fn clean_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(cleaned) = clean(text) {
                *text = cleaned;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean_value),
        Value::Object(members) => {
            members.values_mut().for_each(clean_value);
            if members.keys().any(|key| matches!(clean(key), Cow::Owned(_))) {
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(key, value)| (clean(&key).into_owned(), value))
                    .collect();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A document of JSON, in which whatever terminals obey or readers do not see is spelled out: nothing of it is left out, as
/// where somebody is asked about it.
pub fn visible(document: &str) -> Cow<'_, str> {
    if !document.contains(is_hidden) {
        return Cow::Borrowed(document);
    }
    let mut shown = String::with_capacity(document.len());
    for letter in document.chars() {
        if is_hidden(letter) {
            let units = &mut [0; 2];
            shown.extend(letter.encode_utf16(units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// What a reader does not see in a document of JSON, where C0 controls are spelled out already: other controls, what changes the
/// order of a text, and what has no width and no use in words. Joiners have: emoji and some scripts need them.
fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'
        | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_terminals_obey_goes_and_text_stays() {
        for (text, cleaned) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}[?25l\u{1b}[2 qx", "x"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]0;title\u{9c}x", "x"),
            ("\u{1b}Pq#0;2\u{1b}\\x\u{1b}_G\u{7}y\u{1b}^p\u{1b}\\z", "xyz"),
            ("a\u{1b}]0;never ends", "a"),
            ("a\u{1b}]0;never ends\nERROR", "a\nERROR"),
            ("a\u{1b}]0;cut \u{1b}[1mshort", "ashort"),
            ("a\u{1b}[12;3", "a"),
            ("a\u{1b}[12;3\nb", "a\nb"),
            ("a\u{1b}", "a"),
            ("\u{1b}(Ba\u{1b}7b\u{1b}cc\u{1b}\u{e9}", "abc\u{e9}"),
            ("\u{9b}31mx\u{9d}0;t\u{7}y\u{85}z", "xyz"),
            ("a\0b\u{8}c\u{7f}d\u{1f}", "abcd"),
            ("one\r\ntwo\rthree\r", "one\ntwo\nthree\n"),
            ("\u{feff}\u{feff}a\u{feff}", "a"),
            ("ab\u{202e}cd\u{202c} \u{2066}x\u{2069}", "abcd x"),
            (
                "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{a3}\u{20ac}\u{201c}\u{ff01}",
                "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{a3}\u{20ac}\u{201c}\u{ff01}",
            ),
        ] {
            assert_eq!(clean(text), cleaned, "{text:?}");
            assert_eq!(matches!(clean(text), Cow::Borrowed(_)), text == cleaned, "{text:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(clean_bytes(b"a\x80\xFFb\x1B[0m\xE2\x82"), "a\u{fffd}\u{fffd}b\u{fffd}");
        assert_eq!(clean_bytes(b"fine"), "fine");
    }

    #[test]
    fn a_megabyte_of_introducers_is_cleaned_in_linear_time() {
        let text = "\u{1b}]".repeat(1 << 20);
        assert_eq!(clean(&text), "");
    }

    /// Text rich in what `clean` looks for.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("\u{1b}".to_owned()),
            "[\\[\\]P;0-9m\\\\ (B]",
            "[\u{0}-\u{ff}]",
            "[\u{2028}-\u{206f}\u{feff}\r\n]",
            any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn no_control_character_survives_and_a_second_cleaning_finds_nothing(text in hostile()) {
            let cleaned = clean(&text).into_owned();
            prop_assert!(!cleaned.chars().any(|c| c.is_control() && c != '\t' && c != '\n'));
            prop_assert!(matches!(clean(&cleaned), Cow::Borrowed(_)));
            prop_assert!(cleaned.len() <= text.len());
        }

        #[test]
        fn any_bytes_become_text(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let cleaned = clean_bytes(&bytes);
            prop_assert!(!cleaned.chars().any(|c| c.is_control() && c != '\t' && c != '\n'));
        }
    }

    proptest! {
        #[test]
        fn a_visible_document_is_the_same_and_has_nothing_to_be_cleaned(text in any::<String>(), hidden in "[\\x1b\\x9b\\x7f\u{202e}\u{e0041}\u{200b}\u{feff}]{0,4}") {
            let value = Value::String(format!("{text}{hidden}{text}"));
            let document = value.to_string();
            let shown = visible(&document);
            prop_assert_eq!(&*clean(&shown), &*shown);
            prop_assert!(!shown.contains(is_hidden), "{}", shown);
            prop_assert_eq!(serde_json::from_str::<Value>(&shown).unwrap_or_default(), value);
        }
    }
}
