//! How a secret may be spelled in what a tool says.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::{json, markup};
use crate::output::clean;

/// Every spelling that is looked for: plain, cleaned, and in the case of headers' names; escaped for URLs, JSON and markup in
/// the ways of common libraries, once or twice; hexadecimal; base64 of both alphabets at each of the three places in a group
/// that a secret can begin at.
pub(super) fn spellings(secret: &str) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for plain in [secret, &clean(secret)] {
        // What cleaning leaves of a secret of control characters is nothing to look for.
        if plain.len() < 8 && plain != secret {
            continue;
        }
        all.insert(plain.as_bytes().to_vec());
        all.insert(plain.to_ascii_lowercase().into_bytes());
        all.insert(plain.to_ascii_uppercase().into_bytes());
        all.extend(quoted(plain).map(String::into_bytes));
        all.extend(url(plain));
        all.extend(json::nested(plain).into_iter().map(String::into_bytes));
        all.extend(markup::nested(plain).into_iter().map(String::into_bytes));
        all.insert(hexadecimal(plain, false).into_bytes());
        all.insert(hexadecimal(plain, true).into_bytes());
        all.extend(base64(plain.as_bytes()));
    }
    all
}

/// Within quotes of its own, as spreadsheets, databases and shells double or leave them.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    [("\"", "\"\""), ("'", "''"), ("'", "'\\''")]
        .into_iter()
        .map(|(quote, written)| text.replace(quote, written))
}

/// As a part of a URL, and that as a part of another.
fn url(text: &str) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for lower in [false, true] {
        for kept in UNESCAPED {
            all.insert(percent(text.as_bytes(), kept, lower));
        }
        all.insert(percent(text.as_bytes(), UNESCAPED_IN_FORMS, lower).into_iter().map(plus).collect());
    }
    let again = |once: &Vec<u8>| percent(once, UNESCAPED[0], false);
    let twice: Vec<Vec<u8>> = all.iter().map(again).collect();
    // Some escape of an escaped part the percent signs alone.
    let signs: Vec<Vec<u8>> = all.iter().map(|once| signs_escaped(once)).collect();
    all.extend(twice);
    all.extend(signs);
    all
}

fn signs_escaped(once: &[u8]) -> Vec<u8> {
    let byte = |byte: &u8| if *byte == b'%' { b"%25".to_vec() } else { vec![*byte] };
    once.iter().flat_map(byte).collect()
}

/// What libraries leave as it is beside letters and digits: RFC 3986, JavaScript's two, `curl`'s path, nothing.
const UNESCAPED: [&[u8]; 5] = [b"-._~", b"-._~!*'()", b"-._~!*'();/?:@&=+$,#", b"-._~/", b""];

/// The same for forms, where a space is a plus.
const UNESCAPED_IN_FORMS: &[u8] = b"-._* ";

fn plus(byte: u8) -> u8 {
    if byte == b' ' { b'+' } else { byte }
}

fn percent(text: &[u8], kept: &[u8], lower: bool) -> Vec<u8> {
    let mut escaped = Vec::new();
    for byte in text.iter().copied() {
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
