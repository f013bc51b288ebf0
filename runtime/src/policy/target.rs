//! What servers may take for another target than the one that a grant was asked about.

use std::borrow::Cow;

/// How often a path may have been encoded; what is encoded more often is nothing that anybody means.
const MAX_ENCODED: usize = 4;

/// Whether `path` is `prefix` or below it.
#[cfg(feature = "http")]
pub(super) fn is_below(path: &str, prefix: &str) -> bool {
    match path.strip_prefix(prefix) {
        Some(rest) => rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}

/// Whether every server takes `path` for the same: nothing in it climbs or ends a name, also not encoded once or more
/// often, in more bytes than it takes, by a parameter or by the other slash.
pub(super) fn is_plain(path: &str) -> bool {
    let mut bytes = Cow::Borrowed(path.as_bytes());
    if climbs(&bytes) {
        return false;
    }
    for _ in 0..MAX_ENCODED {
        let slashes = count(&bytes, b'/');
        let Some(decoded) = decoded(&bytes) else { return true };
        if climbs(&decoded) || count(&decoded, b'/') != slashes {
            return false;
        }
        bytes = Cow::Owned(decoded);
    }
    decoded(&bytes).is_none()
}

fn count(bytes: &[u8], wanted: u8) -> usize {
    bytes.iter().filter(|byte| **byte == wanted).count()
}

/// Whether a segment leads elsewhere, or a byte is one that some servers take for another or leave out.
fn climbs(bytes: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() || *byte == b'\\';
    // A dot or a slash in more bytes than one, as no encoder writes and old decoders read it.
    let is_overlong =
        |pair: &[u8]| matches!(pair, [0xc0 | 0xc1, _] | [0xe0, 0x80..=0x9f] | [0xf0, 0x80..=0x8f]);
    // As servers of one maker read it.
    let is_wide = |code: &[u8]| matches!(code, [b'%', b'u' | b'U', digits @ ..] if digits.iter().all(u8::is_ascii_hexdigit));
    let climbs = |segment: &[u8]| {
        let name = segment.split(|byte| *byte == b';').next().unwrap_or(segment);
        !name.is_empty() && name.iter().all(|byte| matches!(byte, b'.' | b' ')) && name.contains(&b'.')
    };
    bytes.iter().any(is_odd)
        || bytes.windows(2).any(is_overlong)
        || bytes.windows(6).any(is_wide)
        || bytes.split(|byte| *byte == b'/').any(climbs)
}

/// `bytes` with each `%41` as what it stands for; none where there is none.
fn decoded(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    let mut any = false;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                decoded.push(digit(*high) << 4 | digit(*low));
                rest = after;
                any = true;
            }
            _ => decoded.push(*first),
        }
    }
    any.then_some(decoded)
}

fn digit(letter: u8) -> u8 {
    match letter {
        b'0'..=b'9' => letter - b'0',
        _ => (letter | 0x20).saturating_sub(b'a' - 10),
    }
}

/// Headers of other names by which a server may be told of another path, method or host.
#[cfg(any(feature = "http", test))]
const ELSEWHERE: [&str; 7] =
    ["destination", "request-uri", "base-url", "http-url", "path-info", "path-translated", "script-name"];

/// Words in the names of headers by which proxies and frameworks are told of another path, method or host.
#[cfg(any(feature = "http", test))]
const WORDS: [&str; 11] = [
    "url",
    "uri",
    "path",
    "method",
    "override",
    "rewrite",
    "rewritten",
    "host",
    "forwarded",
    "original",
    "destination",
];

/// Whether a header of that name, in lower case, may make a server answer for another path, method or host than those of
/// the request: `x-original-url`, `x-http-method-override`, `x-forwarded-host` and their like.
#[cfg(any(feature = "http", test))]
pub(crate) fn leads_elsewhere(header: &str) -> bool {
    let name = hyphened(header);
    let mut words = name.split('-');
    ELSEWHERE.contains(&&*name)
        || (words.next() == Some("x") && words.any(|word| WORDS.contains(&word)))
        || name.ends_with("-method-override")
}

/// The name of a header as what stands behind many servers takes it: an underscore for a hyphen.
#[cfg(any(feature = "http", test))]
pub(crate) fn hyphened(header: &str) -> Cow<'_, str> {
    if header.contains('_') { Cow::Owned(header.replace('_', "-")) } else { Cow::Borrowed(header) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_climbs_in_any_spelling_is_not_plain() {
        for path in [
            "/v1/../v3",
            "/v1/%2e%2E/v3",
            "/v1/.%2e/v3",
            "/v1/..;x/v3",
            "/v1/..\\v3",
            "/v1/..%2fv3",
            "/v1/..%5Cv3",
            "/v1/%00",
            "/v1/%252e%252e/x",
            "/v1/%25252e%25252e/x",
            "/v1/x%252fy",
            "/v1/x%255cy",
            "/v1/%c0%ae%c0%ae/x",
            "/v1/%25c0%25ae%25c0%25ae/x",
            "/v1/x%c0%afy",
            "/v1/x%c1%9cy",
            "/v1/%e0%80%ae%e0%80%ae/x",
            "/v1/%f0%80%80%ae./x",
            "/v1/%u002e%u002e/x",
            "/v1/x%u2215y",
            "/v1/.%09./x",
            "/v1/..%20/x",
            "/v1/..%3bx/y",
            "/v1/.../x",
            "/v1/.",
            "/v1/%25252525252e",
        ] {
            assert!(!is_plain(path), "{path}");
        }
        for path in [
            "/",
            "/v1/x..y",
            "/v1/.hidden",
            "/v1/100%25",
            "/v1/a%20b",
            "/v1/%E2%82%AC",
            "/v1/%d0%bf",
            "//a",
            "/a%3Bb",
            "/%",
        ] {
            assert!(is_plain(path), "{path}");
        }
    }

    #[test]
    fn headers_that_lead_elsewhere_are_known() {
        for name in [
            "x-original-url",
            "x-rewrite-url",
            "x_original_url",
            "x-http-method-override",
            "x-http-method",
            "x-method-override",
            "x-forwarded-host",
            "x-forwarded-prefix",
            "x-forwarded-uri",
            "x-forwarded-method",
            "x-original-host",
            "x-original-method",
            "x-envoy-original-path",
            "x-host",
            "x-override-url",
            "destination",
            "http-method-override",
        ] {
            assert!(leads_elsewhere(name), "{name}");
        }
        for name in [
            "accept",
            "content-type",
            "x-api-key",
            "x-requested-with",
            "x-github-api-version",
            "if-match",
            "prefer",
        ] {
            assert!(!leads_elsewhere(name), "{name}");
        }
    }
}
