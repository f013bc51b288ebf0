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
