//! A body as text: whether it is one, and in which encoding it is written.

use client::Response;
use encoding_rs::{Encoding, REPLACEMENT, UTF_8};

/// Types that are text, whatever a body looks like.
const TEXTS: [&str; 8] = [
    "application/json",
    "application/xml",
    "application/javascript",
    "application/x-ndjson",
    "application/yaml",
    "application/toml",
    "application/graphql",
    "application/x-www-form-urlencoded",
];

/// Types that are none, whatever a body looks like.
const BINARIES: [&str; 8] = [
    "image/",
    "audio/",
    "video/",
    "font/",
    "application/pdf",
    "application/zip",
    "application/gzip",
    "application/wasm",
];

/// How far into a page its own words about its encoding are looked for, as browsers do.
const PRESCAN: usize = 1024;

/// What a body is.
#[derive(Debug, PartialEq)]
pub enum Body {
    /// Text, and what a reader has to know of how it was read.
    Text(String, Option<String>),
    /// Packed by this method. Unpacked here, a few kilobytes could become gigabytes.
    Compressed(String),
    /// No text.
    Binary,
}

/// The type without its parameters, in lower case.
#[must_use]
pub fn kind(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a type is that of web pages.
#[must_use]
pub fn is_html(kind: &str) -> bool {
    matches!(kind, "text/html" | "application/xhtml+xml")
}

/// Reads the body of a response.
#[must_use]
pub fn read(response: &Response) -> Body {
    let content_type = response.header("content-type").unwrap_or_default();
    let (kind, label) = (kind(content_type), charset(content_type));
    if response.body.is_empty() {
        return Body::Text(String::new(), None);
    }
    if let Some(encoding) = compression(response) {
        return Body::Compressed(encoding);
    }
    let is_text = kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || TEXTS.contains(&kind.as_str());
    let is_binary = BINARIES.iter().any(|binary| kind.starts_with(binary));
    if is_text || (!is_binary && looks_like_text(&response.body, label)) {
        let (text, note) = decoded(&response.body, label, &kind, response.is_cut);
        return Body::Text(text, note);
    }
    Body::Binary
}

/// How the body is compressed, if the server did that unasked.
fn compression(response: &Response) -> Option<String> {
    let encoding = response.header("content-encoding")?.trim().to_ascii_lowercase();
    let shown: String = encoding.chars().take(40).collect();
    (!matches!(encoding.as_str(), "" | "identity")).then_some(shown)
}

/// The encoding that a type names.
fn charset(content_type: &str) -> Option<&str> {
    let charset = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    Some(charset.trim_matches(['"', '\'', ' '])).filter(|label| !label.is_empty())
}

/// Whether the beginning is text: in UTF-8, or without a zero byte where its encoding is named, or as its mark says.
fn looks_like_text(body: &[u8], label: Option<&str>) -> bool {
    let start = body.get(..512).unwrap_or(body);
    let is_utf8 = match std::str::from_utf8(start) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    let is_named = label.is_some_and(|label| Encoding::for_label(label.as_bytes()).is_some());
    Encoding::for_bom(body).is_some() || (!start.contains(&0) && (is_utf8 || is_named))
}

/// The text, by the mark at its beginning, by what its type says, by what it says of itself, or in UTF-8; and what is not right
/// about that.
fn decoded(body: &[u8], label: Option<&str>, kind: &str, is_cut: bool) -> (String, Option<String>) {
    let known = |label: &str| Encoding::for_label(label.as_bytes()).filter(|it| *it != REPLACEMENT);
    let by_mark = Encoding::for_bom(body);
    let body = body.get(by_mark.map_or(0, |(_, length)| length)..).unwrap_or_default();
    let of_itself = || {
        let label = label_inside(body, kind)?;
        // Who can read those letters does not read UTF-16.
        known(&label).map(Encoding::output_encoding)
    };
    let encoding = by_mark.map(|(encoding, _)| encoding).or_else(|| label.and_then(known)).or_else(of_itself);
    let (text, has_errors) = decode(body, encoding.unwrap_or(UTF_8), is_cut);
    let note = match (encoding, label) {
        _ if !has_errors => None,
        (None, Some(label)) => {
            let label: String = label.chars().take(40).collect();
            Some(format!(
                "its encoding `{label}` is not known here; what is no UTF-8 of it is shown as \u{fffd}"
            ))
        }
        (None, None) => {
            Some("its encoding is not named; what is no UTF-8 of it is shown as \u{fffd}".to_owned())
        }
        (Some(encoding), _) => Some(format!("what is no {} of it is shown as \u{fffd}", encoding.name())),
    };
    (text, note)
}

fn decode(body: &[u8], encoding: &'static Encoding, is_cut: bool) -> (String, bool) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length(body.len()).unwrap_or_default();
    let mut text = String::with_capacity(room);
    // Where the rest was not read, the last character may be halved and is no mistake.
    let (_, _, has_errors) = decoder.decode_to_string(body, &mut text, !is_cut);
    (text, has_errors)
}

/// The encoding that a page or a document names in its first lines.
fn label_inside(body: &[u8], kind: &str) -> Option<String> {
    let start = String::from_utf8_lossy(body.get(..PRESCAN).unwrap_or(body)).to_ascii_lowercase();
    if kind.ends_with("xml")
        && let Some(declaration) = start.trim_start().strip_prefix("<?xml")
    {
        return value_after(declaration.split("?>").next()?, "encoding");
    }
    if !is_html(kind) {
        return None;
    }
    let tags =
        start.split("<meta").skip(1).filter(|tag| tag.starts_with(|next: char| !next.is_alphanumeric()));
    tags.filter_map(|tag| value_after(tag.split('>').next()?, "charset")).next()
}

/// What `text` says behind `name` and an equals sign, in quotes or without.
fn value_after(text: &str, name: &str) -> Option<String> {
    let (_, after) = text.split_once(name)?;
    let value = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = value
        .find(|next: char| next.is_whitespace() || matches!(next, '"' | '\'' | ';' | '/'))
        .unwrap_or(value.len());
    value.get(..end).filter(|value| !value.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(content_type: &str, body: &[u8]) -> Body {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        read(&Response { status: 200, headers, body: body.to_vec(), is_cut: false })
    }

    fn text(text: &str) -> Body {
        Body::Text(text.to_owned(), None)
    }

    #[test]
    fn a_text_is_read_in_its_encoding() {
        for (content_type, body, expected) in [
            ("text/plain", &b"caf\xc3\xa9"[..], "caf\u{e9}"),
            ("text/plain; charset=ISO-8859-1", b"caf\xe9 \x93x\x94", "caf\u{e9} \u{201c}x\u{201d}"),
            ("text/html; charset=windows-1251", b"\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"),
            ("text/html; Charset=\"KOI8-R\"", b"\xf0\xd2\xc9\xd7\xc5\xd4", "Привет"),
            ("text/plain; charset=shift_jis", b"\x93\xfa\x96\x7b", "日本"),
            ("text/plain; charset=utf-16", b"H\0i\0", "Hi"),
            ("text/plain; charset=utf-16", b"\xfe\xff\0H\0i", "Hi"),
            ("text/plain; charset=windows-1251", b"\xef\xbb\xbfcaf\xc3\xa9", "café"),
            ("application/octet-stream", b"\xff\xfeH\0i\0", "Hi"),
        ] {
            assert_eq!(read_as(content_type, body), text(expected), "{content_type}");
        }
        for (content_type, head, is_read) in [
            ("text/html", "<html><META charset='windows-1251'>", true),
            ("text/html", "<meta http-equiv=Content-Type content=\"text/html; charset=windows-1251\">", true),
            ("application/xhtml+xml", "<?xml version=\"1.0\" encoding=\"windows-1251\"?>", true),
            ("application/rss+xml", "<?xml version='1.0' encoding='windows-1251' ?>", true),
            ("text/plain", "<meta charset=windows-1251>", false),
            ("text/html", "<metadata charset=windows-1251>", false),
        ] {
            let body = [head.as_bytes(), b"\xcf\xf0"].concat();
            let expected = Body::Text(format!("{head}Пр"), None);
            assert_eq!(read_as(content_type, &body) == expected, is_read, "{content_type} {head}");
        }
        // Who names UTF-16 in letters that are none means UTF-8.
        let page = "<meta charset=utf-16>é";
        assert_eq!(read_as("text/html", page.as_bytes()), text(page));
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for (content_type, told) in [
            ("text/plain", "its encoding is not named"),
            ("text/plain; charset=x-made-up", "its encoding `x-made-up` is not known here"),
            ("text/plain; charset=iso-2022-kr", "is not known here"),
            ("text/plain; charset=utf-8", "what is no UTF-8 of it"),
        ] {
            let Body::Text(text, Some(note)) = read_as(content_type, b"a\xcf") else {
                unreachable!("{content_type}")
            };
            assert!(text == "a\u{fffd}" && note.contains(told), "{content_type}: {note}");
        }
        let cut = Response { status: 200, headers: Vec::new(), body: b"a\xc3".to_vec(), is_cut: true };
        assert_eq!(read(&cut), text("a"), "a character that is halved at our own border is left out");
    }

    #[test]
    fn what_is_no_text_is_told_from_what_is() {
        for (content_type, body, is_text) in [
            ("application/x-yaml", &b"a: 1\nb: [2]\n"[..], true),
            ("application/x-sh", b"#!/bin/sh\necho\n", true),
            ("application/sql; charset=windows-1251", b"-- \xcf\xf0\n", true),
            ("application/octet-stream", b"text", true),
            ("image/svg+xml", b"<svg/>", true),
            ("", b"text", true),
            ("application/octet-stream", b"\0\x01", false),
            ("application/x-sh", b"\x7fELF\x02\x01\x01\0", false),
            ("application/x-thing", b"\xff\xfa", false),
            ("application/pdf", b"%PDF-1.4\n", false),
            ("image/png", b"PNG", false),
        ] {
            let read = read_as(content_type, body);
            assert_eq!(read == Body::Binary, !is_text, "{content_type}: {read:?}");
        }
    }
}
