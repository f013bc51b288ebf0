//! How a secret may be spelled in what a tool says.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::{json, markup, parts};
use crate::output::clean;

/// In how many ways a secret may be spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ways {
    /// In every way that is known here.
    All,
    /// As common libraries do, once, and in JSON twice.
    Common,
}

/// Every spelling that is looked for of a secret and of what is one in it.
pub(super) fn spellings(secret: &str, ways: Ways) -> BTreeSet<Vec<u8>> {
    // What is around it gets lost on the way, and what encodes it with that encodes it.
    // Spaces of every script, and those without a width.
    let is_space = |letter: char| {
        letter.is_whitespace() || matches!(letter, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
    };
    let trimmed = secret.trim_matches(is_space);
    let secret = if trimmed.len() < SHORTEST { secret } else { trimmed };
    let mut all = whole(secret, ways);
    parts::credentials(secret).iter().for_each(|credential| all.append(&mut whole(credential, ways)));
    parts::lines(secret).for_each(|line| all.append(&mut common(line)));
    all
}

/// What cleaning leaves of a secret of control characters is nothing to look for if it is shorter.
const SHORTEST: usize = 8;

/// Plain, cleaned, and in the case of headers' names; as shells, databases and languages write it in their quotes; escaped for
/// URLs, JSON and markup in the ways of common libraries, once or twice; hexadecimal; base64 of both alphabets at each of the
/// three places in a group that a secret can begin at, also within JSON, URLs and markup, and of JSON.
fn whole(secret: &str, ways: Ways) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for plain in [secret, &clean(secret)] {
        if plain.len() < SHORTEST && plain != secret {
            continue;
        }
        let is_common = ways == Ways::Common;
        all.extend(cased(plain));
        all.extend(quoted(plain).map(String::into_bytes));
        all.extend(debugged(plain).into_iter().map(String::into_bytes));
        all.extend(url(plain));
        let (in_json, in_markup) = match is_common {
            true => (json::alike(plain), markup::common(plain)),
            false => (json::nested(plain), markup::nested(plain)),
        };
        all.extend(in_json.into_iter().chain(in_markup).map(String::into_bytes));
        let of_json = if is_common { json::plain(plain) } else { json::common(plain) };
        for json in of_json.iter().filter(|json| *json != plain) {
            all.extend(UNESCAPED.iter().map(|kept| percent(json.as_bytes(), kept, false)));
            all.extend(base64(json.as_bytes()).into_iter().map(String::into_bytes));
        }
        all.extend([false, true].map(|upper| hexadecimal(plain, upper).into_bytes()));
        for encoded in base64(plain.as_bytes()) {
            all.extend(base64_within(&encoded, ways));
        }
    }
    all
}

/// The commonest of all these: a part of a secret is hardly written in another way.
fn common(part: &str) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::from_iter(cased(part));
    all.extend([false, true].map(|lower| percent(part.as_bytes(), UNESCAPED[0], lower)));
    all.extend(json::common(part).into_iter().chain(markup::common(part)).map(String::into_bytes));
    all.extend([false, true].map(|upper| hexadecimal(part, upper).into_bytes()));
    for encoded in base64(part.as_bytes()) {
        all.extend(base64_within(&encoded, Ways::Common));
    }
    all
}

fn cased(plain: &str) -> [Vec<u8>; 3] {
    [
        plain.as_bytes().to_vec(),
        plain.to_ascii_lowercase().into_bytes(),
        plain.to_ascii_uppercase().into_bytes(),
    ]
}

/// Base64 as it is, and where its two signs are escaped: in JSON, in URLs, in markup.
fn base64_within(encoded: &str, ways: Ways) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::from([encoded.as_bytes().to_vec()]);
    if !encoded.contains(['+', '/']) {
        return all;
    }
    if ways == Ways::Common {
        all.extend(json::of_base64(encoded).into_iter().map(String::into_bytes));
        all.extend([false, true].map(|lower| percent(encoded.as_bytes(), UNESCAPED[0], lower)));
        return all;
    }
    let in_json = json::nested(encoded).into_iter().chain(markup::of_base64(encoded));
    all.extend(in_json.map(String::into_bytes));
    all.extend(url(encoded));
    all
}

/// Within quotes of its own, as spreadsheets, databases and shells double or leave them, and as a key in a JSON pointer.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    [("\"", "\"\""), ("'", "''"), ("'", "'\\''")]
        .into_iter()
        .map(|(quote, written)| text.replace(quote, written))
        .chain([text.replace('~', "~0").replace('/', "~1")])
}

/// As Rust, Python and shells show a text.
fn debugged(text: &str) -> [String; 6] {
    let debug = format!("{text:?}");
    let debug = debug.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&debug).to_owned();
    let is_plain = |letter: char| letter.is_alphanumeric() || "@%_+=:,./-".contains(letter);
    let shell = |letter: char| if is_plain(letter) { letter.to_string() } else { format!("\\{letter}") };
    [
        debug,
        text.escape_debug().to_string(),
        text.escape_default().to_string(),
        python(text, '\''),
        python(text, '"'),
        text.chars().map(shell).collect(),
    ]
}

/// As Python shows a text in these quotes.
fn python(text: &str, quote: char) -> String {
    let mut written = String::new();
    for letter in text.chars() {
        match letter {
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            '\\' => written.push_str("\\\\"),
            letter if letter == quote => written.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(written, "\\x{:02x}", u32::from(letter));
            }
            letter => written.push(letter),
        }
    }
    written
}

/// As a part of a URL, and that as a part of another.
fn url(text: &str) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for lower in [false, true] {
        for kept in UNESCAPED {
            all.insert(percent(text.as_bytes(), kept, lower));
        }
        for kept in UNESCAPED_IN_FORMS {
            all.insert(percent(text.as_bytes(), kept, lower).into_iter().map(plus).collect());
        }
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

/// The same for forms, where a space is a plus: browsers', and those of Python and Go.
const UNESCAPED_IN_FORMS: [&[u8]; 2] = [b"-._* ", b"-._~ "];

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
fn base64(secret: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    for engine in [&STANDARD, &URL_SAFE] {
        for before in 0..3_usize {
            let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(secret.iter().copied()).collect();
            let encoded = engine.encode(&bytes);
            let from = (before * 8).div_ceil(6);
            let whole = bytes.len() * 8 / 6;
            let last = (bytes.len() * 8).div_ceil(6);
            for to in [whole, last] {
                all.push(encoded.get(from..to).unwrap_or_default().to_owned());
            }
        }
    }
    all
}
