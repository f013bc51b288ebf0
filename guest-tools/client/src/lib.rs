//! Requests over HTTP for the shipped tools: addresses, one exchange, and errors in words for a model.

#[cfg(target_os = "wasi")]
mod send;
mod url;

#[cfg(target_os = "wasi")]
pub use send::send;
pub use url::Url;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// Where to.
    pub url: &'a Url,
    /// Headers, of which the host adds its own.
    pub headers: &'a [(String, String)],
    /// The body, if there is one.
    pub body: Option<&'a str>,
    /// How much of the response's body is read.
    pub max_bytes: usize,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as far as it was read.
    pub body: Vec<u8>,
    /// Whether there was more of it.
    pub is_cut: bool,
}

impl Response {
    /// The first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// Names that are told at a time.
#[cfg(any(target_os = "wasi", test))]
const MAX_NAMED: usize = 8;

/// The headers that a caller chose, for a message; none if it chose none. What every client says of itself is no choice.
#[cfg(any(target_os = "wasi", test))]
fn named(headers: &[(String, String)]) -> Option<String> {
    let chosen = headers.iter().map(|(name, _)| name).filter(|name| !name.eq_ignore_ascii_case("user-agent"));
    let quoted = |name: &String| format!("`{}`", name.chars().take(64).collect::<String>());
    let names: Vec<String> = chosen.take(MAX_NAMED).map(quoted).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The usual words for a status.
#[must_use]
pub fn status_words(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        409 => "Conflict",
        410 => "Gone",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_named_that_somebody_chose() {
        let headers = |names: &[&str]| -> Vec<(String, String)> {
            names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect()
        };
        assert_eq!(named(&headers(&["User-Agent"])), None);
        let chosen = named(&headers(&["user-agent", "Authorization", "range"]));
        assert_eq!(chosen.as_deref(), Some("`Authorization`, `range`"));
        let many = named(&headers(&["a"; 100]));
        assert!(many.is_some_and(|many| many.matches('`').count() == 2 * MAX_NAMED));
    }
}
