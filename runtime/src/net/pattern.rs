//! The origins that an operator names: one, those below a name, or all.

use std::fmt;

use super::address::{Reach, classify, is_inside};
use super::origin::{Host, Origin, Scheme, parse_port, shown, split_port, split_scheme};

/// Origins that an operator names. `https://*.example.org` is every name of one label below it, not the name itself;
/// `https://*` is every name, and no address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OriginPattern {
    scheme: Scheme,
    host: HostPattern,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum HostPattern {
    Exactly(Host),
    /// A label, and then this name.
    LabelBelow(String),
    AnyName,
}

impl OriginPattern {
    /// Reads a pattern as a person writes it.
    ///
    /// # Errors
    /// Says what is wrong and gives an example of a good one.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::read(text).map_err(|told| match told.contains("://") {
            true => told,
            false => {
                format!("{told}; write for example `https://api.example.org` or `http://localhost:8080`")
            }
        })
    }

    fn read(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Err("`*` has no scheme; write `https://*` for every name of the Internet".to_owned());
        }
        let (scheme, authority) = split_scheme(text)?;
        let (host, port) = split_port(authority)?;
        let port = port.map_or(Ok(scheme.default_port()), parse_port)?;
        Ok(Self { scheme, host: HostPattern::parse(host)?, port })
    }

    /// Whether `origin` is one of those.
    pub fn matches(&self, origin: &Origin) -> bool {
        self.scheme == origin.scheme && self.port == origin.port && self.host.matches(&origin.host)
    }

    /// How servers are spoken to.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Whether it stands for every name.
    pub fn is_any(&self) -> bool {
        self.host == HostPattern::AnyName
    }

    /// How far connections by it go on their own: to the address that it names, to this host for `localhost`, to
    /// public addresses otherwise.
    pub fn reach(&self) -> Reach {
        match &self.host {
            HostPattern::Exactly(Host::Address(_)) => Reach::Any,
            HostPattern::Exactly(host) if host.is_localhost() => Reach::Loopback,
            _ => Reach::Public,
        }
    }

    /// The same where its names may be `private`.
    pub(crate) fn reach_if(&self, private: bool) -> Reach {
        match self.reach() {
            Reach::Public | Reach::Loopback if private => Reach::Private,
            reach => reach,
        }
    }

    /// The same for what has a credential in it. With TLS it goes as far as anything; in clear nowhere where others could
    /// read it on the way. None where that leaves nothing.
    pub(crate) fn reach_with_credentials(&self, private: bool) -> Option<Reach> {
        let reach = self.reach_if(private);
        match (reach, &self.host) {
            _ if self.scheme == Scheme::Https => Some(reach),
            (_, HostPattern::Exactly(Host::Address(address))) => {
                is_inside(classify(*address)).then_some(reach)
            }
            (Reach::Private, _) => Some(Reach::Inside),
            (Reach::Loopback, _) => Some(Reach::Loopback),
            _ => None,
        }
    }
}

impl From<Origin> for OriginPattern {
    /// The pattern of this origin alone.
    fn from(origin: Origin) -> Self {
        Self { scheme: origin.scheme, host: HostPattern::Exactly(origin.host), port: origin.port }
    }
}

impl HostPattern {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::AnyName);
        }
        let Some(below) = text.strip_prefix("*.") else {
            if text.contains('*') {
                return Err(format!(
                    "`*` stands for one whole label at the beginning, as in `https://*.example.org`, not as in `{}`",
                    shown(text)
                ));
            }
            return Host::parse(text).map(Self::Exactly);
        };
        match Host::parse(below)? {
            Host::Name(name) if name.contains('.') => Ok(Self::LabelBelow(name)),
            _ => Err(format!(
                "`{}` would be everybody's; write at least two labels after the `*`, as in `https://*.example.org`",
                shown(text)
            )),
        }
    }

    fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Exactly(expected), host) => expected == host,
            (Self::LabelBelow(below), Host::Name(name)) => {
                name.split_once('.').is_some_and(|(_, rest)| rest == below)
            }
            (Self::AnyName, Host::Name(_)) => !host.is_localhost(),
            (_, Host::Address(_)) => false,
        }
    }
}

impl fmt::Display for OriginPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://", self.scheme.as_str())?;
        match &self.host {
            HostPattern::Exactly(host) => host.fmt(formatter)?,
            HostPattern::LabelBelow(below) => write!(formatter, "*.{below}")?,
            HostPattern::AnyName => formatter.write_str("*")?,
        }
        if self.port == self.scheme.default_port() { Ok(()) } else { write!(formatter, ":{}", self.port) }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a table of patterns that are right")]

    use super::*;

    #[test]
    fn only_scheme_labels_and_port_match() {
        for (pattern, request, expected) in [
            ("https://api.example.org", "https://API.EXAMPLE.ORG.", true),
            ("https://api.example.org", "https://api.example.org:443", true),
            ("https://api.example.org", "http://api.example.org", false),
            ("https://api.example.org", "https://api.example.org:8443", false),
            ("https://api.example.org", "https://api.example.org.evil.test", false),
            ("https://example.org", "https://notexample.org", false),
            ("https://example.org", "https://a.example.org", false),
            ("https://*.example.net:8443", "https://a.example.net:8443", true),
            ("https://*.example.net:8443", "https://a.example.net", false),
            ("https://*.example.net", "https://example.net", false),
            ("https://*.example.net", "https://a.b.example.net", false),
            ("https://*.example.net", "https://aexample.net", false),
            ("https://*", "https://a.b.example.net", true),
            ("https://*", "https://localhost", false),
            ("https://*", "https://127.0.0.1", false),
            ("https://*", "https://[::1]", false),
            ("http://[::1]", "http://[0::1]", true),
            ("http://127.0.0.1:81", "http://[::ffff:127.0.0.1]:81", true),
        ] {
            let matches = OriginPattern::parse(pattern).unwrap().matches(&Origin::parse(request).unwrap());
            assert_eq!(matches, expected, "{pattern} {request}");
        }
    }

    #[test]
    fn a_pattern_that_means_something_else_is_refused() {
        for text in [
            "*",
            "localhost",
            "example.org:99999",
            "https://example.org:99999",
            "https://1.2.3.4.5",
            "https://u:p@example.org",
            "https://[::1",
            "https://*.org",
            "https://*.",
            "https://*.*.org",
            "https://a*.example.org",
            "https://a.*.org",
            "https://*.0.0.1",
            "https://**",
            "https://*/x",
        ] {
            let told = OriginPattern::parse(text).unwrap_err();
            assert!(told.contains("`https://"), "no example in {told}");
        }
        for text in ["https://*.example.org:8443", "http://[::1]", "https://*", "http://a:81"] {
            assert_eq!(OriginPattern::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_credential_goes_in_clear_to_where_nobody_reads_it() {
        for (pattern, private, expected) in [
            ("https://api.example.org", false, Some(Reach::Public)),
            ("https://api.example.org", true, Some(Reach::Private)),
            ("https://93.184.216.34", false, Some(Reach::Any)),
            ("http://api.example.org", false, None),
            ("http://api.example.org", true, Some(Reach::Inside)),
            ("http://*.example.org", true, Some(Reach::Inside)),
            ("http://localhost:81", false, Some(Reach::Loopback)),
            ("http://localhost:81", true, Some(Reach::Inside)),
            ("http://10.0.0.1", false, Some(Reach::Any)),
            ("http://169.254.169.254", false, Some(Reach::Any)),
            ("http://[::ffff:127.0.0.1]", false, Some(Reach::Any)),
            ("http://93.184.216.34", false, None),
            ("http://93.184.216.34", true, None),
            ("http://[2606:2800:220:1::1]", true, None),
            ("http://[64:ff9b::5db8:d822]", false, None),
            ("http://224.0.0.1", false, None),
            ("http://0.0.0.0", false, None),
        ] {
            let reach = OriginPattern::parse(pattern).unwrap().reach_with_credentials(private);
            assert_eq!(reach, expected, "{pattern} {private}");
        }
    }

    #[test]
    fn reach_goes_no_further_than_what_is_named() {
        for (pattern, reach) in [
            ("http://10.0.0.1", Reach::Any),
            ("http://localhost", Reach::Loopback),
            ("http://a.localhost:81", Reach::Loopback),
            ("http://intranet", Reach::Public),
            ("https://*", Reach::Public),
        ] {
            assert_eq!(OriginPattern::parse(pattern).unwrap().reach(), reach, "{pattern}");
        }
    }
}
