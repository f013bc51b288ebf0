//! The address of a server that is reached over HTTP.

use crate::net::{Origin, OriginPattern, Reach, Scheme};

const EXAMPLE: &str = "write for example `https://mcp.example.org/mcp`";

/// Where a server is reached over HTTP: an origin, with a path and a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpUrl {
    written: String,
    origin: Origin,
    target: String,
}

impl McpUrl {
    /// Reads `https://host:port/path?query`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split_once("://");
        let parts = parts.and_then(|(scheme, rest)| Some((Scheme::from_name(scheme)?, rest)));
        let (scheme, rest) =
            parts.ok_or_else(|| format!("must begin with `https://` or `http://`; {EXAMPLE}"))?;
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"#\\<>`^|\"{}".contains(&byte)) {
            return Err(format!("is no address; {EXAMPLE}"));
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err("must not carry a user or password; use `headers` with a secret".to_owned());
        }
        let origin = Origin::of(scheme, authority).map_err(|told| format!("{told}; {EXAMPLE}"))?;
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Self { written: text.to_owned(), origin, target })
    }

    /// The address as it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Path and query.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// How far connections to it may go: to the address that it names, to this host for `localhost`, to public addresses
    /// otherwise, and with `private` also to private ones.
    pub fn reach(&self, private: bool) -> Reach {
        OriginPattern::from(self.origin.clone()).reach_if(private)
    }

    /// The same for requests with a secret in them; none where they could go nowhere.
    pub(crate) fn reach_with_secrets(&self, private: bool) -> Option<Reach> {
        OriginPattern::from(self.origin.clone()).reach_with_credentials(private)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn an_address_is_an_origin_with_a_target() {
        for (text, origin, target, reach) in [
            ("https://mcp.example.org/mcp", "https://mcp.example.org", "/mcp", Reach::Public),
            ("HTTPS://Mcp.Example.org:443", "https://mcp.example.org", "/", Reach::Public),
            ("http://localhost:8080?a=b/c", "http://localhost:8080", "/?a=b/c", Reach::Loopback),
            ("http://10.0.0.7/x", "http://10.0.0.7", "/x", Reach::Any),
            ("http://[::1]:1/x", "http://[::1]:1", "/x", Reach::Any),
        ] {
            let url = McpUrl::parse(text).unwrap();
            assert_eq!((url.origin().to_string().as_str(), url.target()), (origin, target), "{text}");
            assert_eq!((url.reach(false), url.as_str()), (reach, text));
        }
        assert_eq!(McpUrl::parse("https://mcp.internal/").unwrap().reach(true), Reach::Private);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "mcp.example.org",
            "ftp://a",
            "https://",
            "https://:80/",
            "https://a:0/",
            "https://a/#b",
            "https://u@a/",
            "https://*.a/",
            "https://a b/",
            "https://a/\u{e9}",
            "https://a/\r\nb",
            "https://a/{x}",
        ] {
            assert!(McpUrl::parse(text).is_err(), "{text:?}");
        }
    }
}
