//! A response as text: what it is, its body as far as it fits, and where to go on.

use client::{Response, Url};

use crate::body::{self, Body};
use crate::head::head;
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
    let is_error = response.status >= 400;
    let told = match body::read(response) {
        Body::Text(text, note) => {
            let head = head(response, url, note.as_deref());
            let text = readable(response, text, url, wanted);
            if !is_error {
                return Ok(part(&head, &text, response.is_cut, wanted));
            }
            let start: String = text.trim().chars().take(MAX_ERROR_CHARS).collect();
            format!("{head}\n\n{start}").trim_end().to_owned()
        }
        Body::Compressed(encoding) => {
            let what = format!("compressed ({encoding}), though nobody asked for that, and is not unpacked");
            without_text(response, url, &what)
        }
        Body::Binary => without_text(response, url, "no text"),
    };
    if is_error { Err(told) } else { Ok(told) }
}

/// The text of a page as Markdown, any other as it is.
fn readable(response: &Response, text: String, url: &Url, wanted: Wanted) -> String {
    let kind = body::kind(response.header("content-type").unwrap_or_default());
    if wanted.markdown && body::is_html(&kind) { markdown::of(&text, url) } else { text }
}

fn without_text(response: &Response, url: &Url, what: &str) -> String {
    let more = if response.is_cut { "more than " } else { "" };
    let bytes = response.body.len();
    format!("{}\n\nThe body is {what}: {more}{bytes} bytes.", head(response, url, None))
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
    let mut lines = wanted.max_lines.saturating_sub(5 + head.lines().count()).max(1);
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
            ("image/png", b"\x89PNG", "The body is no text: 4 bytes."),
            ("application/octet-stream", b"text", "text"),
            ("application/octet-stream", b"\0\x01", "The body is no text: 2 bytes."),
            ("text/plain", b"", ""),
        ] {
            assert_eq!(shown(200, kind, body), Ok(format!("{}{expected}", head(kind))), "{kind}");
        }
        let error = shown(404, "text/plain", b"no such page").unwrap_err();
        assert_eq!(error, "HTTP 404 Not Found, text/plain, from https://a.org/x\n\nno such page");
        // Also where there is nothing to be read.
        let error = shown(500, "image/png", b"\x89PNG").unwrap_err();
        assert!(error.ends_with("The body is no text: 4 bytes."), "{error}");
        let mut packed = response(502, "text/html", b"\x1f\x8b");
        packed.headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
        let error = page(&packed, &Url::parse("https://a.org/").unwrap(), wanted(0, 1000)).unwrap_err();
        assert!(error.contains("502 Bad Gateway") && error.contains("compressed (gzip)"), "{error}");
        let note = shown(200, "text/html", b"<p>a\xcf</p>").unwrap();
        assert!(note.contains("x\n[its encoding is not named") && note.ends_with("\n\na\u{fffd}"), "{note}");
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
