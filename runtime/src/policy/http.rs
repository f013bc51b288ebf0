//! Where a component may send requests over HTTP, and which credentials the host adds to them there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Secret;
#[cfg(feature = "http")]
use super::target::is_below;
use super::target::is_plain;
use crate::error::{Error, Result};
#[cfg(feature = "http")]
use crate::net::{Origin, Reach};
use crate::net::{OriginPattern, Scheme, is_header_name};

/// Headers that say where a message goes, where it ends, and what becomes of its connection: the host's alone.
pub(crate) const HOST_HEADERS: [&str; 15] = [
    "host",
    "content-length",
    "transfer-encoding",
    "te",
    "trailer",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "upgrade",
    "http2-settings",
    "expect",
    "forwarded",
    "via",
];

/// A header that the host adds, from a secret of the component.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credential {
    /// The name of the secret.
    pub secret: String,
    /// What stands before its value, as `Bearer `.
    pub prefix: String,
}

impl Credential {
    /// The value of the component's secret of that name.
    pub fn secret(name: impl Into<String>) -> Self {
        Self { secret: name.into(), prefix: String::new() }
    }

    /// Puts `prefix` before it.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }
}

/// One place to which a component may send requests. Of several that fit a request, the first one is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpGrant {
    /// Where to.
    pub origin: OriginPattern,
    /// The only methods; empty is all but CONNECT, TRACE and TRACK, which are never sent.
    pub methods: Vec<String>,
    /// The only paths, and what is below them; empty is all.
    pub paths: Vec<String>,
    /// Headers that the host adds, by name in lower case. The component neither sees nor sets them.
    pub headers: BTreeMap<String, Credential>,
    /// Whether its names may lead to loopback, private and shared addresses too. An address, and
    /// `localhost`, that the origin names outright needs no more.
    pub private: bool,
    /// Whether its operator says that these requests only read. Functions that claim to be read-only have no others.
    pub read_only: bool,
    /// A file with further root certificates (PEM) by which its servers may prove who they are.
    pub ca: Option<PathBuf>,
}

/// What is wrong with an entry, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpFault {
    /// The key, and below it the index or the name.
    pub key: &'static str,
    pub item: Option<FaultItem>,
    pub message: String,
}

/// The part of a list or a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FaultItem {
    Index(usize),
    Name(String),
}

impl HttpGrant {
    /// All requests to `origin`: `https://api.example.org`, `https://*.example.org:8443` (one label), or `https://*` for
    /// every name that has a public address.
    ///
    /// # Errors
    /// [`Error::Grant`] says what is wrong with it and what to write.
    pub fn to(origin: &str) -> Result<Self> {
        let wrong = |message| Error::Grant { setting: "grant.http".to_owned(), message };
        OriginPattern::parse(origin).map(Self::of).map_err(wrong)
    }

    /// Reads an entry as flags have it: an origin, with `::ro` after it where requests there only read.
    ///
    /// # Errors
    /// Says what is wrong and gives an example of a good one.
    pub fn from_flag(text: &str) -> Result<Self, String> {
        let (origin, read_only) = match text.strip_suffix("::ro") {
            Some(origin) => (origin, true),
            None => (text, false),
        };
        OriginPattern::parse(origin).map(|origin| Self { read_only, ..Self::of(origin) })
    }

    /// All requests to `origin`.
    pub fn of(origin: OriginPattern) -> Self {
        Self {
            origin,
            methods: Vec::new(),
            paths: Vec::new(),
            headers: BTreeMap::new(),
            private: false,
            read_only: false,
            ca: None,
        }
    }

    /// Only these methods.
    #[must_use]
    pub fn methods(mut self, methods: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.methods = methods.into_iter().map(Into::into).collect();
        self
    }

    /// Only these paths, and what is below them: `/v1` is `/v1` and `/v1/x`, and not `/v10`.
    #[must_use]
    pub fn paths(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.paths = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a header to each of these requests.
    #[must_use]
    pub fn header(mut self, name: impl AsRef<str>, value: Credential) -> Self {
        self.headers.insert(name.as_ref().to_ascii_lowercase(), value);
        self
    }

    /// Lets its names lead to loopback and private addresses.
    #[must_use]
    pub fn private(mut self) -> Self {
        self.private = true;
        self
    }

    /// Says that these requests only read.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Trusts the root certificates in a file as well.
    #[must_use]
    pub fn ca(mut self, file: impl Into<PathBuf>) -> Self {
        self.ca = Some(file.into());
        self
    }

    /// Whether it fits a request.
    #[cfg(feature = "http")]
    pub(crate) fn admits(&self, origin: &Origin, method: &str, path: &str) -> bool {
        self.origin.matches(origin) && self.admits_method(method) && self.admits_path(path)
    }

    #[cfg(feature = "http")]
    pub(crate) fn admits_method(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|admitted| admitted == method)
    }

    #[cfg(feature = "http")]
    pub(crate) fn admits_path(&self, path: &str) -> bool {
        self.paths.is_empty() || (is_plain(path) && self.paths.iter().any(|prefix| is_below(path, prefix)))
    }

    /// Whether it is for some of the requests to its origin alone.
    #[cfg(feature = "http")]
    pub(crate) fn restricts(&self) -> bool {
        !self.methods.is_empty() || !self.paths.is_empty()
    }

    /// How far its connections go: with credentials and without TLS, no further than private networks.
    #[cfg(feature = "http")]
    pub(crate) fn reach(&self) -> Reach {
        match self.headers.is_empty() {
            true => self.origin.reach_if(self.private),
            false => self.origin.reach_with_credentials(self.private).unwrap_or(Reach::Inside),
        }
    }

    /// Everything about it that cannot be meant.
    pub(crate) fn faults(&self, secrets: &BTreeMap<String, Secret>) -> Vec<HttpFault> {
        let fault = |key, item, message: String| HttpFault { key, item, message };
        let mut faults = Vec::new();
        for (index, method) in self.methods.iter().enumerate() {
            let wrong = method_fault(method);
            faults.extend(wrong.map(|message| fault("methods", Some(FaultItem::Index(index)), message)));
        }
        for (index, path) in self.paths.iter().enumerate() {
            let wrong = path_fault(path);
            faults.extend(wrong.map(|message| fault("paths", Some(FaultItem::Index(index)), message)));
        }
        for (name, value) in &self.headers {
            let wrong = header_fault(name, value, secrets);
            faults
                .extend(wrong.map(|message| fault("headers", Some(FaultItem::Name(name.clone())), message)));
        }
        if !self.headers.is_empty() && self.origin.is_any() {
            let message = "would go to everybody; name the origin that the credentials are for";
            faults.push(fault("headers", None, message.to_owned()));
        }
        if !self.headers.is_empty() && self.origin.reach_with_credentials(self.private).is_none() {
            let message =
                "would be readable on the way: credentials go to the Internet over `https://` alone";
            faults.push(fault("headers", None, message.to_owned()));
        }
        if self.private && self.origin.is_any() {
            let message = "would open every private network; name the hosts that are meant";
            faults.push(fault("private", None, message.to_owned()));
        }
        if self.ca.is_some() && self.origin.scheme() == Scheme::Http {
            faults.push(fault("ca", None, "is for `https://`, and this origin is without TLS".to_owned()));
        }
        faults
    }
}

/// Whether a method turns a connection into something that no check sees, or repeats what the host added; in any case, as
/// some servers read it.
pub(crate) fn is_never_sent(method: &str) -> bool {
    ["CONNECT", "TRACE", "TRACK"].iter().any(|never| method.eq_ignore_ascii_case(never))
}

fn method_fault(method: &str) -> Option<String> {
    if is_never_sent(method) {
        return Some(format!("`{method}` is never sent"));
    }
    let is_upper = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    (!is_upper || method.len() > 32)
        .then(|| format!("`{}` is no method; write for example `GET` or `POST`", method.escape_debug()))
}

fn path_fault(path: &str) -> Option<String> {
    let is_path = path.starts_with('/')
        && is_plain(path)
        && path.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'*'));
    (!is_path).then(|| {
        format!(
            "`{}` is no path; write the beginning of one without `?`, `*`, `.` or `..`, as `/v1/`",
            path.escape_debug()
        )
    })
}

fn header_fault(name: &str, value: &Credential, secrets: &BTreeMap<String, Secret>) -> Option<String> {
    if !is_header_name(name) {
        return Some("is no header's name".to_owned());
    }
    if HOST_HEADERS.contains(&name) {
        return Some("is set by the host, from where the request goes".to_owned());
    }
    if !secrets.contains_key(&value.secret) {
        let name = value.secret.escape_debug();
        return Some(format!("there is no secret `{name}`; write it under the component's `secrets`"));
    }
    let is_visible = value.prefix.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    (!is_visible).then(|| "`prefix` must be visible ASCII".to_owned())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a table of entries that are right")]

    use super::*;

    fn entry() -> HttpGrant {
        HttpGrant::to("https://api.example.org").unwrap()
    }

    #[cfg(feature = "http")]
    #[test]
    fn a_request_fits_by_method_and_path() {
        let origin = Origin::parse("https://api.example.org").unwrap();
        assert!(entry().admits(&origin, "PATCH", "/a/../b"));
        let entry = entry().methods(["GET"]).paths(["/v1", "/v2/"]);
        for (method, path, expected) in [
            ("GET", "/v1", true),
            ("GET", "/v1/x", true),
            ("GET", "/v10", false),
            ("GET", "/v2/x", true),
            ("GET", "/v2", false),
            ("POST", "/v1/x", false),
            ("get", "/v1/x", false),
            ("GET", "/v1/../v3", false),
            ("GET", "/v1/%2e%2E/v3", false),
            ("GET", "/v1/.%2e/v3", false),
            ("GET", "/v1/..;x/v3", false),
            ("GET", "/v1/..\\v3", false),
            ("GET", "/v1/..%2fv3", false),
            ("GET", "/v1/..%5Cv3", false),
            ("GET", "/v1/x..y", true),
            ("GET", "/%76%31/x", false),
        ] {
            assert_eq!(entry.admits(&origin, method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let secrets = BTreeMap::from([("key".to_owned(), Secret::env("KEY"))]);
        let key = || Credential::secret("key");
        let any = || HttpGrant::to("https://*").unwrap();
        let plain = || HttpGrant::to("http://api.example.org").unwrap();
        for (entry, expected) in [
            (entry().methods(["get"]), vec!["methods"]),
            (entry().methods(["GET", "CONNECT", "A B", "", "TRACE", "TRACK"]), vec!["methods"; 5]),
            (entry().paths(["v1", "/a/..", "/a?b", "/*", "/ö"]), vec!["paths"; 5]),
            (entry().header("x y", key()).header("Host", key()), vec!["headers"; 2]),
            (entry().header("a", Credential::secret("other")), vec!["headers"]),
            (entry().header("a", key().prefix("\n")), vec!["headers"]),
            (any().header("a", key()), vec!["headers"]),
            (plain().header("a", key()), vec!["headers"]),
            (plain().header("a", key()).private(), vec![]),
            (HttpGrant::to("http://127.0.0.1").unwrap().header("a", key()), vec![]),
            (HttpGrant::to("http://93.184.216.34").unwrap().header("a", key()), vec!["headers"]),
            (HttpGrant::to("http://93.184.216.34").unwrap().header("a", key()).private(), vec!["headers"]),
            (HttpGrant::to("https://93.184.216.34").unwrap().header("a", key()), vec![]),
            (any().private(), vec!["private"]),
            (plain().ca("/x"), vec!["ca"]),
            (entry().methods(["GET"]).paths(["/v1"]).header("A", key().prefix("Bearer ")).ca("/x"), vec![]),
        ] {
            let keys: Vec<&str> = entry.faults(&secrets).iter().map(|fault| fault.key).collect();
            assert_eq!(keys, expected, "{entry:?}");
        }
    }
}
