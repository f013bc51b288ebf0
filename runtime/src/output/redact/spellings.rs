//! How a secret may be spelled in what a tool says.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use crate::output::clean;

/// Every spelling that is looked for: plain and cleaned; escaped for URLs and JSON in the ways of common libraries;
/// hexadecimal; base64 of both alphabets at each of the three places in a group that a secret can begin at.
pub(super) fn spellings(secret: &str) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for plain in [secret, &clean(secret)] {
        // What cleaning leaves of a secret of control characters is nothing to look for.
        if plain.len() < 8 && plain != secret {
            continue;
        }
        all.insert(plain.as_bytes().to_vec());
        for kept in UNESCAPED {
            all.insert(percent(plain, kept, false));
            all.insert(percent(plain, kept, true));
        }
        all.insert(percent(plain, UNESCAPED_IN_FORMS, false).into_iter().map(plus).collect());
        for escaped in json(plain) {
            // JSON within JSON.
            all.extend(json(&escaped).into_iter().map(String::into_bytes));
            all.insert(escaped.into_bytes());
        }
        all.insert(hexadecimal(plain, false).into_bytes());
        all.insert(hexadecimal(plain, true).into_bytes());
        all.extend(base64(plain.as_bytes()));
    }
    all
}

/// What libraries leave as it is beside letters and digits: RFC 3986, JavaScript's two, `curl`'s path, nothing.
const UNESCAPED: [&[u8]; 5] = [b"-._~", b"-._~!*'()", b"-._~!*'();/?:@&=+$,#", b"-._~/", b""];

/// The same for forms, where a space is a plus.
const UNESCAPED_IN_FORMS: &[u8] = b"-._* ";

fn plus(byte: u8) -> u8 {
    if byte == b' ' { b'+' } else { byte }
}

fn percent(text: &str, kept: &[u8], lower: bool) -> Vec<u8> {
    let mut escaped = Vec::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            escaped.push(byte);
        } else if lower {
            escaped.extend(format!("%{byte:02x}").bytes());
        } else {
            escaped.extend(format!("%{byte:02X}").bytes());
        }
    }
    escaped
}

fn hexadecimal(text: &str, upper: bool) -> String {
    text.bytes().fold(String::new(), |mut digits, byte| {
        let _ = if upper { write!(digits, "{byte:02X}") } else { write!(digits, "{byte:02x}") };
        digits
    })
}

/// The inside of JSON strings: as little escaped as can be, with slashes, with what HTML means something by, with
/// everything beyond ASCII, and with all of these.
fn json(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for slash in [false, true] {
        for html in [false, true] {
            for ascii in [false, true] {
                for upper in [false, true] {
                    all.insert(json_escaped(text, Escapes { slash, html, ascii, upper }));
                }
            }
        }
    }
    all
}

#[derive(Clone, Copy)]
struct Escapes {
    slash: bool,
    html: bool,
    ascii: bool,
    upper: bool,
}

fn json_escaped(text: &str, escapes: Escapes) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{c}' => escaped.push_str("\\f"),
            '/' if escapes.slash => escaped.push_str("\\/"),
            '<' | '>' | '&' | '\'' if escapes.html => unicode(&mut escaped, letter, escapes.upper),
            letter if u32::from(letter) < 0x20 || (escapes.ascii && !letter.is_ascii()) => {
                unicode(&mut escaped, letter, escapes.upper);
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

fn unicode(escaped: &mut String, letter: char, upper: bool) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        let _ = if upper { write!(escaped, "\\u{unit:04X}") } else { write!(escaped, "\\u{unit:04x}") };
    }
}

/// In each alphabet and at each place in a group: the letters that depend on the secret alone, and at its end those
/// that are there if nothing follows.
fn base64(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for engine in [&STANDARD, &URL_SAFE] {
        for before in 0..3_usize {
            let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(secret.iter().copied()).collect();
            let encoded = engine.encode(&bytes).into_bytes();
            let from = (before * 8).div_ceil(6);
            let whole = bytes.len() * 8 / 6;
            let last = (bytes.len() * 8).div_ceil(6);
            for to in [whole, last] {
                all.push(encoded.get(from..to).unwrap_or_default().to_vec());
            }
        }
    }
    all
}
