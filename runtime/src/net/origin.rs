//! Scheme, host and port in the one spelling by which grants and requests are compared.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// The longest name that the domain name system has.
const MAX_NAME: usize = 253;

/// The longest part of it between two dots.
const MAX_LABEL: usize = 63;

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// Without encryption.
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port where none is named.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// The scheme of that name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Http, Self::Https].into_iter().find(|scheme| name.eq_ignore_ascii_case(scheme.as_str()))
    }
}

/// A host by name or by address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A name in lower case, without a final dot.
    Name(String),
    /// An address; an IPv4 address in an IPv6 one is the former.
    Address(IpAddr),
}

impl Host {
    /// Reads a host as URLs have it: a name, an IPv4 address in any spelling that systems understand (`0x7f.1`,
    /// `2130706433`), or an IPv6 address in brackets.
    ///
    /// # Errors
    /// Says why it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or_else(|| format!("`{}` has no `]`", shown(text)))?;
            let address: std::net::Ipv6Addr =
                inner.parse().map_err(|_| format!("`{}` is no IPv6 address", shown(text)))?;
            return Ok(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        check_name(&name)?;
        match ends_in_number(&name) {
            true => parse_v4(&name)
                .map(|address| Self::Address(IpAddr::V4(address)))
                .ok_or_else(|| format!("`{}` is neither a name nor an IPv4 address", shown(text))),
            false => Ok(Self::Name(name)),
        }
    }

    /// Whether it means this host by definition: `localhost` and whatever is below it.
    pub fn is_localhost(&self) -> bool {
        matches!(self, Self::Name(name) if name == "localhost" || name.ends_with(".localhost"))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(formatter),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}

/// Where a request goes: scheme, host and port, in one spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Origin {
    /// How the server is spoken to.
    pub scheme: Scheme,
    /// The host.
    pub host: Host,
    /// The port, also where it is the scheme's own.
    pub port: u16,
}

impl Origin {
    /// The origin of a scheme and an authority, as a request has them. A user's name in it counts for nothing.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn of(scheme: Scheme, authority: &str) -> Result<Self, String> {
        let after_user = authority.rsplit_once('@').map_or(authority, |(_, after)| after);
        let (host, port) = split_port(after_user)?;
        let port = port.map_or(Ok(scheme.default_port()), parse_port)?;
        Ok(Self { scheme, host: Host::parse(host)?, port })
    }

    /// Reads `https://host` or `https://host:port`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (scheme, authority) = split_scheme(text)?;
        Self::of(scheme, authority)
    }

    /// Host and port as the header `Host` has them.
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            return self.host.to_string();
        }
        format!("{}:{}", self.host, self.port)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.scheme.as_str(), self.authority())
    }
}

/// Scheme and authority of what an operator wrote, which has nothing else.
pub(super) fn split_scheme(text: &str) -> Result<(Scheme, &str), String> {
    let (scheme, rest) = text.split_once("://").ok_or_else(|| {
        format!("`{}` has no scheme; write for example `https://api.example.org`", shown(text))
    })?;
    let scheme = Scheme::from_name(scheme).ok_or_else(|| {
        format!("`{}` is no scheme that is served; write `https://` or `http://`", shown(scheme))
    })?;
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    if authority.contains(['/', '?', '#', '\\']) {
        return Err(format!(
            "`{}` is more than scheme, host and port; write for example `{{ origin = \"https://api.example.org\", \
             paths = [\"/v1/\"] }}`",
            shown(text)
        ));
    }
    if authority.contains('@') {
        return Err("an origin has no user; credentials are `headers` of an entry, from `secrets`".to_owned());
    }
    Ok((scheme, authority))
}

/// Host and port of an authority; an empty port is none.
pub(super) fn split_port(authority: &str) -> Result<(&str, Option<&str>), String> {
    let after_host = match authority.rfind(']') {
        Some(end) => end + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at(after_host);
    match rest.strip_prefix(':') {
        Some("") => Ok((host, None)),
        Some(port) => Ok((host, Some(port))),
        None if rest.is_empty() => Ok((host, None)),
        None => Err(format!("`{}` is no host and port", shown(authority))),
    }
}

pub(super) fn parse_port(text: &str) -> Result<u16, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse::<u16>().ok().filter(|port| digits && *port > 0);
    port.ok_or_else(|| format!("`{}` is no port; ports are 1 to 65535", shown(text)))
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the host is missing; write for example `https://api.example.org`".to_owned());
    }
    if !name.is_ascii() {
        return Err(format!("`{}` is not ASCII; write the name in its form with `xn--`", shown(name)));
    }
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let label = |label: &str| !label.is_empty() && label.len() <= MAX_LABEL && label.bytes().all(letter);
    if name.len() > MAX_NAME || !name.split('.').all(label) {
        return Err(format!("`{}` is no host name", shown(name)));
    }
    Ok(())
}

/// Whether the last part is a number, which makes the whole an address or nothing: no name of the Internet ends so.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.bytes().all(|byte| byte.is_ascii_digit()) || parse_number(last).is_some()
}

/// An IPv4 address as `inet_aton` reads it: one to four parts, decimal, octal or hexadecimal, the last one filling what
/// is left.
fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let parts = text.split('.').map(parse_number).collect::<Option<Vec<u32>>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 0xff) {
        return None;
    }
    let free_bits = 32_u32.saturating_sub(8 * u32::try_from(first.len()).ok()?);
    if u64::from(*last) >= 1_u64 << free_bits {
        return None;
    }
    let high = first.iter().fold(0_u64, |value, part| value << 8 | u64::from(*part));
    u32::try_from(high << free_bits | u64::from(*last)).ok().map(Ipv4Addr::from)
}

fn parse_number(text: &str) -> Option<u32> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some("") => return Some(0),
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    // `from_str_radix` takes a sign too.
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, radix).ok().filter(|_| plain)
}

/// What was written, bounded and without control characters.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(100).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> Result<String, String> {
        Origin::parse(text).map(|origin| format!("{origin} {}", origin.port))
    }

    #[test]
    fn spellings_of_an_origin_become_one() {
        for (text, expected) in [
            ("https://api.example.org", "https://api.example.org 443"),
            ("HTTPS://API.Example.ORG.:443/", "https://api.example.org 443"),
            ("https://api.example.org:", "https://api.example.org 443"),
            ("http://a:0080", "http://a 80"),
            ("http://a:8080", "http://a:8080 8080"),
            ("http://127.0.0.1", "http://127.0.0.1 80"),
            ("http://2130706433", "http://127.0.0.1 80"),
            ("http://0x7f.1", "http://127.0.0.1 80"),
            ("http://0X7F.0.0.1", "http://127.0.0.1 80"),
            ("http://0177.0.0.1", "http://127.0.0.1 80"),
            ("http://127.1", "http://127.0.0.1 80"),
            ("http://127.0.0.1.", "http://127.0.0.1 80"),
            ("http://0", "http://0.0.0.0 80"),
            ("http://[::ffff:127.0.0.1]", "http://127.0.0.1 80"),
            ("http://[::FFFF:7f00:1]:81", "http://127.0.0.1:81 81"),
            ("http://[0:0:0:0:0:0:0:1]", "http://[::1] 80"),
            ("http://[::1]:443", "http://[::1]:443 443"),
        ] {
            assert_eq!(origin(text).as_deref(), Ok(expected), "{text}");
        }
        let user = Origin::of(Scheme::Http, "api.example.org@evil.test").map(|origin| origin.to_string());
        assert_eq!(user.as_deref(), Ok("http://evil.test"));
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for text in [
            "",
            "localhost",
            "*",
            "example.org:99999",
            "ftp://a",
            "https://",
            "https:///",
            "https://a/b",
            "https://a?b",
            "https://a#b",
            "https://a\\b",
            "https://u@a",
            "https://a..b",
            "https://.a",
            "https://a..",
            "https://a:0",
            "https://a:65536",
            "https://a:+80",
            "https://a:80:81",
            "https://[::1",
            "https://[::1]x",
            "https://[::1%25lo]",
            "https://::1",
            "https://1.2.3.4.5",
            "https://256.1.1.1",
            "https://1.2.3.0x100",
            "https://4294967296",
            "https://09",
            "https://a.09",
            "https://a.1",
            "https://ä.example.org",
            "https://a%2eb",
            "https://a b",
            "https://a\u{0}",
        ] {
            assert!(origin(text).is_err(), "{text:?}");
        }
        assert!(origin(&format!("https://{}", "a".repeat(64))).is_err());
        assert!(origin(&format!("https://{}", "a.".repeat(127) + "a")).is_err());
    }
}
