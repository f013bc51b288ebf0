//! A secret as other people's programs write it: by encoders that are real, and by what the documentation of others says,
//! each written down as it stands there. It shares nothing with what looks for secrets.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// The inside of a JSON string by serde.
fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&quoted).to_owned()
}

fn replaced(text: &str, table: &[(&str, &str)]) -> String {
    table.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Letters beyond ASCII as `\uXXXX`.
fn ascii(text: &str, unit: impl Fn(u16) -> String) -> String {
    let mut written = String::new();
    for letter in text.chars() {
        match letter.is_ascii() {
            true => written.push(letter),
            false => written.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|code| unit(*code))),
        }
    }
    written
}

fn lower(code: u16) -> String {
    format!("\\u{code:04x}")
}

fn upper(code: u16) -> String {
    format!("\\u{code:04X}")
}

/// In JSON strings of other libraries.
fn in_json(text: &str) -> Vec<String> {
    let plain = json(text);
    let apart = |text: &str| json(text).replace("\\\"", "\u{1}");
    let quotes = |text: &str, code: &str| text.replace('\u{1}', code);
    vec![
        plain.clone(),
        json(&plain),
        // Python's `json`, and PHP's `json_encode`.
        ascii(&plain, lower),
        ascii(&plain.replace('/', "\\/"), lower),
        plain.replace('/', "\\/"),
        // PHP's with JSON_HEX_TAG | JSON_HEX_AMP | JSON_HEX_APOS | JSON_HEX_QUOT.
        quotes(
            &replaced(
                &apart(text),
                &[("<", "\\u003C"), (">", "\\u003E"), ("&", "\\u0026"), ("'", "\\u0027")],
            ),
            "\\u0022",
        ),
        // Go's `encoding/json`, and Rails.
        replaced(&plain, &[("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")]),
        // Gson.
        replaced(
            &plain,
            &[("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("=", "\\u003d"), ("'", "\\u0027")],
        ),
        // System.Text.Json.
        ascii(
            &quotes(
                &replaced(
                    &apart(text),
                    &[
                        ("<", "\\u003C"),
                        (">", "\\u003E"),
                        ("&", "\\u0026"),
                        ("'", "\\u0027"),
                        ("+", "\\u002B"),
                        ("`", "\\u0060"),
                    ],
                ),
                "\\u0022",
            ),
            upper,
        ),
        // Newtonsoft's with EscapeHtml.
        quotes(
            &replaced(
                &apart(text),
                &[("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("'", "\\u0027")],
            ),
            "\\u0022",
        ),
        // serialize-javascript.
        replaced(&plain, &[("<", "\\u003C"), (">", "\\u003E"), ("/", "\\u002F")]),
    ]
}

/// In HTML and XML.
fn in_markup(text: &str) -> Vec<String> {
    let base = replaced(text, &[("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")]);
    let numbered = |write: &dyn Fn(u32) -> String| -> String {
        text.chars()
            .map(|letter| match letter.is_ascii_alphanumeric() {
                true => letter.to_string(),
                false => write(letter.into()),
            })
            .collect()
    };
    let python = replaced(&base, &[("\"", "&quot;"), ("'", "&#x27;")]);
    let go = replaced(&base, &[("\"", "&#34;"), ("'", "&#39;")]);
    vec![
        base.clone(),
        python.clone(),
        json(&python),
        go.clone(),
        // Go's templates.
        go.replace('+', "&#43;"),
        // PHP's `htmlspecialchars`, of one version and the next.
        replaced(&base, &[("\"", "&quot;"), ("'", "&#039;")]),
        base.replace('"', "&quot;"),
        // Jinja, lodash.
        replaced(&base, &[("\"", "&#34;"), ("'", "&#39;")]),
        replaced(&base, &[("\"", "&quot;"), ("'", "&#39;")]),
        // XML.
        replaced(&base, &[("\"", "&quot;"), ("'", "&apos;")]),
        // Mustache, Handlebars.
        replaced(
            &base,
            &[("\"", "&quot;"), ("'", "&#39;"), ("/", "&#x2F;"), ("`", "&#x60;"), ("=", "&#x3D;")],
        ),
        replaced(&base, &[("\"", "&quot;"), ("'", "&#x27;"), ("`", "&#x60;"), ("=", "&#x3D;")]),
        // Whatever is neither a letter nor a digit.
        numbered(&|code| format!("&#{code};")),
        numbered(&|code| format!("&#x{code:x};")),
        numbered(&|code| format!("&#x{code:X};")),
        // JSON in an attribute.
        replaced(
            &json(text),
            &[("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")],
        ),
    ]
}

fn percent(text: &str, kept: &str, is_lower: bool) -> String {
    let letter = |byte: u8| match char::from(byte) {
        letter if letter.is_ascii_alphanumeric() || kept.contains(letter) => letter.to_string(),
        _ if is_lower => format!("%{byte:02x}"),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(letter).collect()
}

/// In URLs, and in URLs within URLs.
fn in_urls(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for is_lower in [false, true] {
        let once = percent(text, "-._~", is_lower);
        all.push(percent(text, "", is_lower));
        all.push(percent(&once, "-._~", false));
        all.push(once.replace('%', "%25"));
        all.push(once);
    }
    // `encodeURIComponent` and `encodeURI`, and forms.
    all.push(percent(text, "-_.!~*'()", false));
    all.push(percent(text, "-_.!~*'();/?:@&=+$,#", false));
    all.push(percent(text, "-._* ", false).replace(' ', "+"));
    all
}

/// As languages show a text.
fn in_languages(text: &str) -> Vec<String> {
    let debug = format!("{text:?}");
    vec![
        debug.trim_matches('"').to_owned(),
        text.escape_default().to_string(),
        // Python's `repr` where it chooses either quotes.
        replaced(text, &[("\\", "\\\\"), ("\n", "\\n"), ("'", "\\'")]),
        replaced(text, &[("\\", "\\\\"), ("\n", "\\n")]),
        // JSON pointers.
        replaced(text, &[("~", "~0"), ("/", "~1")]),
    ]
}

/// In one encoding, and that in another.
fn in_two(text: &str) -> Vec<String> {
    let (base64, in_json) = (STANDARD_NO_PAD.encode(text), json(text));
    vec![
        // Base64 by PHP's and .NET's JSON, in a query, in a cookie, and in Go's templates.
        base64.replace('/', "\\/"),
        base64.replace('+', "\\u002B"),
        replaced(&base64, &[("/", "\\/"), ("+", "\\u002b")]),
        percent(&base64, "-._~", false),
        percent(&base64, "-._~", true),
        base64.replace('+', "%2B"),
        base64.replace('+', "&#43;"),
        // JSON in a query, and in base64.
        percent(&in_json, "-._~", false),
        STANDARD_NO_PAD.encode(&in_json),
    ]
}

/// In base64, wherever in a group it begins and whatever follows.
fn in_base64(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for before in ["", "x", "xy", "xyz"] {
        for after in ["", "q", "qr"] {
            let bytes = format!("{before}{text}{after}");
            for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
                all.push(engine.encode(&bytes));
            }
        }
    }
    all
}

/// By what everybody has: plain, JSON and that in JSON, percent signs, hexadecimal, base64.
pub fn common(text: &str) -> Vec<String> {
    let mut all = vec![text.to_owned(), json(text), json(&json(text))];
    for is_lower in [false, true] {
        all.extend(["-._~", ""].map(|kept| percent(text, kept, is_lower)));
    }
    all.push(text.bytes().map(|byte| format!("{byte:02x}")).collect());
    all.extend(in_base64(text));
    all
}

/// All but plain base64, each once, the text itself first.
pub fn written(text: &str) -> Vec<String> {
    let mut all = [in_json(text), in_markup(text), in_urls(text), in_languages(text), in_two(text)].concat();
    all.push(text.bytes().map(|byte| format!("{byte:02x}")).collect());
    all.push(text.bytes().map(|byte| format!("{byte:02X}")).collect());
    all.extend([text.replace('"', "\"\""), text.replace('\'', "''"), text.to_ascii_lowercase()]);
    all.retain(|form| form != text);
    all.sort();
    all.dedup();
    all.insert(0, text.to_owned());
    all
}

/// All, base64 with what may stand around it.
pub fn all(text: &str) -> Vec<String> {
    let mut all = written(text);
    all.extend(in_base64(text));
    all
}
