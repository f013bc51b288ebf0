//! The lines before a body: status, type and address, and of the headers those that tell a reader what to do next.

use client::{Response, Url, status_words};

/// Headers that are shown, where they are there: what leads on, what a later request repeats, and what has to be done first.
const SHOWN: [&str; 8] = [
    "location",
    "link",
    "etag",
    "last-modified",
    "retry-after",
    "allow",
    "www-authenticate",
    "content-disposition",
];

/// Characters of one of them.
const MAX_VALUE: usize = 500;

/// Characters of the type.
const MAX_TYPE: usize = 200;

/// The lines for the answer to a request, with what there is to say of how its body was read.
#[must_use]
pub fn head(response: &Response, url: &Url, note: Option<&str>) -> String {
    let content_type = response.header("content-type").unwrap_or("no content type");
    let status = format!("{} {}", response.status, status_words(response.status));
    let mut head = format!("HTTP {}, {}, from {url}", status.trim_end(), shortened(content_type, MAX_TYPE));
    for name in SHOWN {
        if let Some(value) = value(response, name, url) {
            head.push_str(&format!("\n{name}: {}", shortened(&value, MAX_VALUE)));
        }
    }
    // Of a body that did not come, as of HEAD, this is all that is known.
    let length = response.header("content-length").filter(|_| response.body.is_empty());
    if let Some(length) = length.filter(|length| *length != "0") {
        head.push_str(&format!("\ncontent-length: {}", shortened(length, MAX_VALUE)));
    }
    if let Some(note) = note {
        head.push_str(&format!("\n[{note}]"));
    }
    head
}

/// All values of a header; an address as an absolute one, so that it can be fetched.
fn value(response: &Response, name: &str, url: &Url) -> Option<String> {
    if name == "location" {
        let location = response.header(name)?;
        return Some(url.join(location).map_or_else(|_| location.to_owned(), |url| url.to_string()));
    }
    let all = response.headers.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_str());
    let all: Vec<&str> = all.collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "the address is right")]

    use super::*;

    fn shown(status: u16, headers: &[(&str, &str)], body: &[u8]) -> String {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let response = Response { status, headers, body: body.to_vec(), is_cut: false };
        head(&response, &Url::parse("https://a.org/d/x").unwrap(), None)
    }

    #[test]
    fn what_leads_on_is_shown() {
        let created =
            shown(201, &[("location", "../items/7"), ("etag", "\"v1\""), ("set-cookie", "s")], b"{}");
        assert_eq!(
            created,
            "HTTP 201 Created, no content type, from https://a.org/d/x\nlocation: https://a.org/items/7\netag: \"v1\""
        );
        let link = [("link", "</2>; rel=\"next\""), ("link", "</9>; rel=\"last\""), ("content-length", "2")];
        assert!(shown(200, &link, b"{}").ends_with("\nlink: </2>; rel=\"next\", </9>; rel=\"last\""));
        let known = shown(200, &[("content-type", "image/png"), ("content-length", "4096")], b"");
        assert_eq!(known, "HTTP 200 OK, image/png, from https://a.org/d/x\ncontent-length: 4096");
        assert!(shown(429, &[("retry-after", "30")], b"").ends_with("\nretry-after: 30"));
        assert!(shown(302, &[("location", "mailto:a")], b"").ends_with("\nlocation: mailto:a"));
    }

    #[test]
    fn no_header_fills_the_page() {
        let long = "x".repeat(100_000);
        let all: Vec<(&str, &str)> =
            SHOWN.iter().chain(&["content-type", "content-length"]).map(|name| (*name, &*long)).collect();
        let shown = shown(200, &all, b"");
        assert!(shown.len() < 6_000 && shown.lines().count() == 10, "{}", shown.len());
    }
}
