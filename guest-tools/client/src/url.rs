//! The parts of an address that a request needs.

use std::fmt;

/// An absolute address of HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Whether it is `https`.
    pub is_https: bool,
    /// Host and port, as they are written. A user's name and password are no part of it: nothing sends them, and nobody is
    /// to read them again.
    pub authority: String,
    /// Path and query, beginning with `/`.
    pub target: String,
}

impl Url {
    /// Reads an address. What is no part of a request, its fragment, is left out.
    ///
    /// # Errors
    /// Says what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").ok_or_else(|| {
            format!("`{text}` is no absolute URL; write for example https://example.org/page")
        })?;
        let is_https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            other => return Err(format!("`{other}` URLs cannot be fetched, only http and https")),
        };
        let rest = rest.split('#').next().unwrap_or(rest);
        let end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let authority = authority.rsplit('@').next().unwrap_or(authority);
        if authority.is_empty() {
            return Err(format!("`{scheme}://{target}` names no host"));
        }
        Ok(Self { is_https, authority: authority.to_owned(), target: target_of(target) })
    }

    /// The address that a page at this one means by `reference`.
    ///
    /// # Errors
    /// When it is no address of HTTP.
    pub fn join(&self, reference: &str) -> Result<Self, String> {
        let reference = reference.trim();
        let reference = reference.split('#').next().unwrap_or(reference);
        let has_scheme = reference.find(':').is_some_and(|colon| {
            let before = reference.get(..colon).unwrap_or_default();
            !before.is_empty()
                && before.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        });
        if has_scheme {
            return Self::parse(reference);
        }
        if let Some(rest) = reference.strip_prefix("//") {
            return Self::parse(&format!("{}://{rest}", self.scheme()));
        }
        let path = self.target.split('?').next().unwrap_or("/");
        let target = match reference.chars().next() {
            None => self.target.clone(),
            Some('/') => target_of(reference),
            Some('?') => target_of(&format!("{path}{reference}")),
            Some(_) => {
                let folder = path.rfind('/').and_then(|slash| path.get(..=slash)).unwrap_or("/");
                target_of(&without_dots(&format!("{folder}{reference}")))
            }
        };
        Ok(Self { target, ..self.clone() })
    }

    /// `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.is_https { "https" } else { "http" }
    }

    /// Scheme, host and port, in one case.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("{}://{}", self.scheme(), self.authority.to_ascii_lowercase())
    }
}

impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}{}", self.scheme(), self.authority, self.target)
    }
}

/// `target` with its slash, and with what may not stand there encoded.
fn target_of(target: &str) -> String {
    let mut encoded = String::from(if target.starts_with(['/', '\\']) { "" } else { "/" });
    for byte in target.bytes() {
        match byte {
            b'\\' => encoded.push('/'),
            b'!'..=b'~' if !b"\"<>^`{|}".contains(&byte) => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// A path whose `.` and `..` are followed; the query stays.
fn without_dots(target: &str) -> String {
    let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
    let mut kept: Vec<&str> = Vec::new();
    let names: Vec<&str> = path.split('/').skip(1).collect();
    for (at, name) in names.iter().enumerate() {
        let is_last = at + 1 == names.len();
        match *name {
            ".." => {
                kept.pop();
            }
            "." => {}
            name => {
                kept.push(name);
                continue;
            }
        }
        if is_last {
            kept.push("");
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a table of addresses that are right")]

    use super::*;

    #[test]
    fn an_address_is_read() {
        for (text, expected) in [
            ("https://a.org", "https://a.org/"),
            (" HTTP://a.org:81/x?y#z ", "http://a.org:81/x?y"),
            ("https://a.org?q=1", "https://a.org/?q=1"),
            ("https://user:p@ss@a.org:81/x", "https://a.org:81/x"),
            ("https://user@a.org", "https://a.org/"),
            ("https://a.org/ä b", "https://a.org/%C3%A4%20b"),
            ("https://a.org\\x", "https://a.org/x"),
        ] {
            assert_eq!(Url::parse(text).unwrap().to_string(), expected);
        }
        for text in ["", "a.org", "ftp://a", "https://", "https:///x", "file:///etc/passwd"] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_reference_is_followed_from_its_page() {
        let page = Url::parse("https://a.org/d/e/f?q").unwrap();
        for (reference, expected) in [
            ("g", "https://a.org/d/e/g"),
            ("./g/", "https://a.org/d/e/g/"),
            ("../g", "https://a.org/d/g"),
            ("../../../g", "https://a.org/g"),
            ("..", "https://a.org/d/"),
            ("/g?x", "https://a.org/g?x"),
            ("?x", "https://a.org/d/e/f?x"),
            ("//b.org/g", "https://b.org/g"),
            ("http://b.org", "http://b.org/"),
            ("#top", "https://a.org/d/e/f?q"),
        ] {
            assert_eq!(page.join(reference).unwrap().to_string(), expected, "{reference}");
        }
        assert!(page.join("mailto:x@y").is_err());
        assert!(page.join("javascript:alert(1)").is_err());
    }
}
