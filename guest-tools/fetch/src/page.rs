//! A response as text: what it is, its body as far as it fits, and where to go on.

use client::{Response, Url, status_words};

use crate::markdown;

/// What of an error's body is worth reading.
const MAX_ERROR_CHARS: usize = 2000;

/// What a result needs beside the text.
const ROOM_FOR_WORDS: usize = 400;

/// How a text is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Whether HTML becomes Markdown.
    pub markdown: bool,
    /// The first character.
    pub start: usize,
    /// The bytes that the result may have.
    pub max_bytes: usize,
    /// The lines that it may have.
    pub max_lines: usize,
}

/// The response in words; an error for a status of 400 and more.
///
/// # Errors
/// The status and the beginning of the body.
pub fn page(response: &Response, url: &Url, wanted: Wanted) -> Result<String, String> {
    let content_type = response.header("content-type").unwrap_or("no content type");
    let status = format!("{} {}", response.status, status_words(response.status));
    let mut head = format!("HTTP {}, {content_type}, from {url}", status.trim_end());
    if let (Some(location), 300..=399) = (response.header("location"), response.status) {
        head.push_str(&format!(", leads to {location}"));
    }
    let Some(text) = text(response, content_type, url, wanted.markdown) else {
        let bytes = response.body.len();
        let more = if response.is_cut { "more than " } else { "" };
        let what = match encoding(response) {
            Some(encoding) => {
                format!("compressed ({encoding}), though nobody asked for that, and is not unpacked")
            }
            None => "no text".to_owned(),
        };
        return Ok(format!("{head}\n\nThe body is {what}: {more}{bytes} bytes."));
    };
    if response.status >= 400 {
        let start: String = text.trim().chars().take(MAX_ERROR_CHARS).collect();
        return Err(format!("{head}\n\n{start}").trim_end().to_owned());
    }
    Ok(part(&head, &text, response.is_cut, wanted))
}

/// The part of the text that begins where it is wanted and fits.
fn part(head: &str, text: &str, is_cut: bool, wanted: Wanted) -> String {
    let total = text.chars().count();
    if wanted.start > 0 && wanted.start >= total {
        return format!(
            "{head}\n\nThe text has {total} characters; there is nothing from {} on.",
            wanted.start
        );
    }
    let room = wanted.max_bytes.saturating_sub(head.len() + ROOM_FOR_WORDS).max(1);
    let mut lines = wanted.max_lines.saturating_sub(6).max(1);
    let (mut bytes, mut chars) = (0, 0);
    let rest = text.char_indices().nth(wanted.start).map_or("", |(at, _)| text.get(at..).unwrap_or_default());
    for character in rest.chars() {
        if bytes + character.len_utf8() > room || (character == '\n' && lines == 1) {
            break;
        }
        lines -= usize::from(character == '\n');
        bytes += character.len_utf8();
        chars += 1;
    }
    let shown = rest.get(..bytes).unwrap_or(rest);
    let end = wanted.start + chars;
    let mut whole = format!("{head}\n\n{shown}");
    if end < total {
        whole.push_str(&format!(
            "\n\n[characters {} to {end} of {total}; go on with \"start\": {end}]",
            wanted.start
        ));
    } else if is_cut {
        whole.push_str("\n\n[the response was longer than this tool reads]");
    }
    whole
}

/// The body as text, if it is one.
fn text(response: &Response, content_type: &str, url: &Url, wants_markdown: bool) -> Option<String> {
    let lower = content_type.to_ascii_lowercase();
    let kind = lower.split(';').next().unwrap_or_default().trim().to_owned();
    let is_text = kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || [
            "application/json",
            "application/xml",
            "application/javascript",
            "application/x-ndjson",
            "application/yaml",
            "application/toml",
            "application/graphql",
            "application/x-www-form-urlencoded",
        ]
        .contains(&kind.as_str());
    let is_unknown = response.header("content-type").is_none() || kind == "application/octet-stream";
    if response.body.is_empty() {
        return Some(String::new());
    }
    let is_readable = is_text || (is_unknown && looks_like_text(&response.body));
    if !is_readable {
        return None;
    }
    if encoding(response).is_some() {
        return None;
    }
    let text = decode(&response.body, &lower);
    let is_html = kind == "text/html" || kind == "application/xhtml+xml";
    Some(if is_html && wants_markdown { markdown::of(&text, url) } else { text })
}

/// How the body is compressed, if the server did that unasked. Unpacked here, a few kilobytes could become gigabytes.
fn encoding(response: &Response) -> Option<String> {
    let encoding = response.header("content-encoding")?.trim().to_ascii_lowercase();
    let shown: String = encoding.chars().take(40).collect();
    (!matches!(encoding.as_str(), "" | "identity")).then_some(shown)
}

fn looks_like_text(body: &[u8]) -> bool {
    let start = body.get(..512).unwrap_or(body);
    !start.contains(&0) && std::str::from_utf8(start).is_ok_or_cut()
}

/// Whether bytes are text as far as they go.
trait OkOrCut {
    fn is_ok_or_cut(&self) -> bool;
}

impl OkOrCut for Result<&str, std::str::Utf8Error> {
    fn is_ok_or_cut(&self) -> bool {
        match self {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        }
    }
}

/// Text in the encoding that the type names: Latin-1 and its kin, or UTF-8.
fn decode(body: &[u8], content_type: &str) -> String {
    let charset = content_type.split("charset=").nth(1).unwrap_or_default();
    let charset = charset.split(';').next().unwrap_or_default().trim_matches(['"', '\'', ' ']);
    match charset {
        "iso-8859-1" | "latin1" | "windows-1252" | "iso-8859-15" | "us-ascii" => {
            body.iter().map(|byte| latin(*byte)).collect()
        }
        _ => String::from_utf8_lossy(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)).into_owned(),
    }
}

/// A byte in windows-1252, which the web means by Latin-1 as well.
fn latin(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => HIGH.get(usize::from(byte - 0x80)).copied().unwrap_or('\u{fffd}'),
        byte => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a table of addresses that are right")]

    use super::*;

    fn wanted(start: usize, max_bytes: usize) -> Wanted {
        Wanted { markdown: true, start, max_bytes, max_lines: 1000 }
    }

    fn response(status: u16, content_type: &str, body: &[u8]) -> Response {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Response { status, headers, body: body.to_vec(), is_cut: false }
    }

    fn shown(status: u16, content_type: &str, body: &[u8]) -> Result<String, String> {
        page(
            &response(status, content_type, body),
            &Url::parse("https://a.org/x").unwrap(),
            wanted(0, 10_000),
        )
    }

    #[test]
    fn a_body_is_shown_by_its_type() {
        let head = |kind: &str| format!("HTTP 200 OK, {kind}, from https://a.org/x\n\n");
        for (kind, body, expected) in [
            ("application/json", &b"{\"a\": 1}"[..], "{\"a\": 1}"),
            ("text/html; charset=utf-8", b"<h1>T</h1><p>a <b>b</b>", "# T\n\na **b**"),
            ("text/plain; charset=ISO-8859-1", b"caf\xe9 \x93x\x94", "caf\u{e9} \u{201c}x\u{201d}"),
            ("image/png", b"\x89PNG", "The body is no text: 4 bytes."),
            ("application/octet-stream", b"text", "text"),
            ("application/octet-stream", b"\0\x01", "The body is no text: 2 bytes."),
            ("text/plain", b"", ""),
        ] {
            assert_eq!(shown(200, kind, body), Ok(format!("{}{expected}", head(kind))), "{kind}");
        }
        let error = shown(404, "text/plain", b"no such page").unwrap_err();
        assert_eq!(error, "HTTP 404 Not Found, text/plain, from https://a.org/x\n\nno such page");
    }

    #[test]
    fn a_long_text_comes_in_parts_without_a_gap() {
        let text: String = (0..2000).map(|number| format!("ä{number} ")).collect();
        let response = response(200, "text/plain", text.as_bytes());
        let url = Url::parse("https://a.org/").unwrap();
        let (mut start, mut all) = (0, String::new());
        loop {
            let part = page(&response, &url, wanted(start, 2000)).unwrap();
            assert!(part.len() <= 2000);
            let body = part.split_once("\n\n").unwrap().1;
            let Some((shown, note)) = body.rsplit_once("\n\n[characters ") else {
                all.push_str(body);
                break;
            };
            all.push_str(shown);
            start = note.split("\"start\": ").nth(1).unwrap().trim_end_matches(']').parse().unwrap();
        }
        assert_eq!(all, text);
        assert!(
            page(&response, &url, wanted(1_000_000, 2000))
                .unwrap()
                .contains("there is nothing from 1000000 on")
        );
    }
}
