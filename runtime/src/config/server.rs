//! How the server over HTTP is guarded.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::time::Duration;

use super::document::Address;
use super::raw::RawKey;
use super::raw_server::RawServer;
use super::shared::Shared;
use super::validate::{Validator, count};
use crate::limits::{Limit, Origin};
use crate::policy::SecretSource;

/// A message: arguments have 16 MiB by default, which escapes may double. More is not read of any.
pub(crate) const MAX_BODY: u64 = 32 << 20;

/// Who may reach the server over HTTP, and how much of it each may take up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// Hosts that it is reached by, beside loopback's names and the address that it listens on.
    pub hosts: Vec<String>,
    /// Origins of web pages that may use it, beside its own.
    pub origins: Vec<String>,
    /// Principals, with where the token of each comes from. Default none: then whoever reaches it is one principal, and
    /// it refuses to listen beyond loopback.
    pub tokens: BTreeMap<String, SecretSource>,
    /// Bytes of one message. Default 32 MiB, and not more.
    pub max_body: u64,
    /// Connections at once; others wait, but the oldest on which nobody has shown yet who asks gives way. Default 1,024.
    pub connections: u32,
    /// Requests of one principal at once; subscriptions, answers to questions and notifications are none. Default 64.
    pub requests: u32,
    /// Sessions of one principal, and as many subscriptions outside of sessions. Default 256.
    pub sessions: u32,
    /// For how long a session lives that nobody uses. Default 30 minutes.
    pub session_timeout: Duration,
    /// For how long a connection may say nothing, and how long the headers of a request may take. Default 30 seconds.
    pub header_timeout: Duration,
    /// How long a message may take to come. Default 30 seconds.
    pub body_timeout: Duration,
    /// For how long a peer may read nothing of what it is sent. Default 30 seconds.
    pub write_timeout: Duration,
    /// How long calls may go on when the server is to end. Default 10 seconds.
    pub drain_timeout: Duration,
    /// What it shares with other instances of itself. Default none: then a session is this instance's alone.
    pub shared: Option<Shared>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            origins: Vec::new(),
            tokens: BTreeMap::new(),
            max_body: MAX_BODY,
            connections: 1_024,
            requests: 64,
            sessions: 256,
            session_timeout: Duration::from_mins(30),
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(10),
            shared: None,
        }
    }
}

/// The settings of `[server]`, by name.
pub(super) const SETTINGS: [&str; 13] = [
    "hosts",
    "origins",
    "tokens",
    "max_body",
    "connections",
    "requests",
    "sessions",
    "session_timeout",
    "header_timeout",
    "body_timeout",
    "write_timeout",
    "drain_timeout",
    "shared",
];

impl Server {
    /// A host that it is reached by: a name or an address, with a port where only that one is meant.
    ///
    /// # Errors
    /// When it is none, or any: a check that every host passes is none.
    pub fn host(written: &str) -> Result<String, String> {
        let (name, port) = match written.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
            _ => (written, None),
        };
        let in_brackets = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let is_host = match in_brackets {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => !name.is_empty() && name.bytes().all(fits),
        };
        if !is_host || port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return Err(format!(
                "`{written}` is no host; write for example `tools.example.org` or `10.0.0.7:8080`"
            ));
        }
        Ok(written.to_ascii_lowercase())
    }

    /// The origin of web pages: scheme, host and port where that is not the scheme's own.
    ///
    /// # Errors
    /// When it is none, or any.
    pub fn origin(written: &str) -> Result<String, String> {
        let host = written.strip_prefix("http://").or_else(|| written.strip_prefix("https://"));
        match host.map(Self::host) {
            Some(Ok(_)) => Ok(written.to_ascii_lowercase()),
            _ => Err(format!("`{written}` is no origin; write for example `https://app.example.org`")),
        }
    }

    /// The settings in which it differs from `other`, but for those of who may come in: they hold as long as a server runs.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only HTTP has such a server"))]
    pub(crate) fn fixed_differences(&self, other: &Self) -> Vec<&'static str> {
        // Taken apart as a whole, so that a new setting cannot be left out.
        let Self { hosts: _, origins: _, tokens: _, max_body, connections, requests, sessions, .. } = self;
        let Self {
            session_timeout, header_timeout, body_timeout, write_timeout, drain_timeout, shared, ..
        } = self;
        let all = [
            ("max_body", *max_body == other.max_body),
            ("connections", *connections == other.connections),
            ("requests", *requests == other.requests),
            ("sessions", *sessions == other.sessions),
            ("session_timeout", *session_timeout == other.session_timeout),
            ("header_timeout", *header_timeout == other.header_timeout),
            ("body_timeout", *body_timeout == other.body_timeout),
            ("write_timeout", *write_timeout == other.write_timeout),
            ("drain_timeout", *drain_timeout == other.drain_timeout),
            ("shared", *shared == other.shared),
        ];
        all.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
    }

    /// The name of a principal.
    ///
    /// # Errors
    /// When it cannot be one.
    pub fn principal(written: &str) -> Result<String, String> {
        let fits =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
        if written.is_empty() || written.len() > 64 || !written.bytes().all(fits) {
            return Err(format!(
                "`{written}` is no principal's name; use a-z, 0-9, - and _, at most 64 of them"
            ));
        }
        Ok(written.to_owned())
    }
}

impl Validator<'_, '_> {
    /// The server as `[server]` sets it.
    pub(super) fn server(&mut self, raw: RawServer) -> Server {
        let table = Address::of(&["server"]);
        let mut server = Server {
            hosts: self.each(&table.key("hosts"), &raw.hosts, Server::host),
            origins: self.each(&table.key("origins"), &raw.origins, Server::origin),
            tokens: self.tokens(&table.key("tokens"), raw.tokens),
            shared: raw.shared.and_then(|raw| self.shared(&table.key("shared"), raw)),
            ..Server::default()
        };
        if let Some(amount) = &raw.max_body {
            let address = table.key("max_body");
            let bytes = Limit::ResultBytes.parse(&amount.0).and_then(|bytes| match bytes {
                1024..=MAX_BODY => Ok(bytes),
                _ => Err(format!("`{}` is not from 1KiB to 32MiB", amount.0)),
            });
            server.max_body = self.checked(&address, bytes).unwrap_or(server.max_body);
        }
        for (name, amount, value) in [
            ("connections", &raw.connections, &mut server.connections),
            ("requests", &raw.requests, &mut server.requests),
            ("sessions", &raw.sessions, &mut server.sessions),
        ] {
            let Some(amount) = amount else { continue };
            *value = self.checked(&table.key(name), count(&amount.0, 1, 100_000)).unwrap_or(*value);
        }
        for (name, amount, value) in [
            ("session_timeout", &raw.session_timeout, &mut server.session_timeout),
            ("header_timeout", &raw.header_timeout, &mut server.header_timeout),
            ("body_timeout", &raw.body_timeout, &mut server.body_timeout),
            ("write_timeout", &raw.write_timeout, &mut server.write_timeout),
            ("drain_timeout", &raw.drain_timeout, &mut server.drain_timeout),
        ] {
            let Some(amount) = amount else { continue };
            let nanos = self.checked(&table.key(name), Limit::Timeout.parse(&amount.0));
            *value = nanos.map_or(*value, Duration::from_nanos);
        }
        server
    }

    fn each(
        &mut self,
        list: &Address,
        written: &[String],
        check: fn(&str) -> Result<String, String>,
    ) -> Vec<String> {
        let checked = written.iter().enumerate();
        checked.filter_map(|(index, one)| self.checked(&list.item(index), check(one))).collect()
    }

    fn tokens(&mut self, table: &Address, raw: BTreeMap<String, RawKey>) -> BTreeMap<String, SecretSource> {
        let mut tokens = BTreeMap::new();
        for (name, raw) in raw {
            let address = table.key(&name);
            let Some(name) = self.checked(&address, Server::principal(&name)) else { continue };
            tokens.extend(self.key_source(&address, raw).map(|source| (name, source)));
        }
        tokens
    }

    /// Where a token or a key comes from.
    pub(super) fn key_source(&mut self, address: &Address, raw: RawKey) -> Option<SecretSource> {
        match (raw.env, raw.file) {
            (Some(name), None) if !name.is_empty() && !name.contains(['=', '\0']) => {
                Some(SecretSource::Env(name))
            }
            (None, Some(file)) => {
                let path = self.host_path(&file);
                self.checked(&address.key("file"), path).map(|path: PathBuf| SecretSource::File(path))
            }
            _ => {
                self.problem(address, "write either `{ env = \"NAME\" }` or `{ file = \"PATH\" }`");
                None
            }
        }
    }

    /// Where the settings of `[server]` were set.
    pub(super) fn server_origins(&self) -> impl Iterator<Item = (String, Origin)> + use<'_> {
        let all =
            SETTINGS.map(|name| Address::of(&["server", name])).into_iter().chain([Address::of(&["server"])]);
        all.filter(|address| self.document.has(address))
            .map(|address| (address.to_string(), self.document.origin(&address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_origins_and_principals_are_what_they_say() {
        for fine in ["tools.example.org", "LOCALHOST:80", "10.0.0.7", "[::1]", "[2001:db8::1]:8443", "a_b"] {
            assert_eq!(Server::host(fine), Ok(fine.to_ascii_lowercase()));
        }
        for wrong in
            ["", "*", "*.example.org", "a b", "a@b", "http://a", "a:70000", "a:", "[::1", "::1", "[x]"]
        {
            assert!(Server::host(wrong).is_err(), "{wrong}");
        }
        for fine in ["https://app.example.org", "http://localhost:6274"] {
            assert_eq!(Server::origin(fine).as_deref(), Ok(fine));
        }
        for wrong in [
            "",
            "*",
            "null",
            "app.example.org",
            "https://",
            "https://*",
            "https://a/",
            "ftp://a",
            "https://a@b",
        ] {
            assert!(Server::origin(wrong).is_err(), "{wrong}");
        }
        assert!(Server::principal("ci-bot_2").is_ok());
        for wrong in ["", "Ada", "a b", &"a".repeat(65)] {
            assert!(Server::principal(wrong).is_err(), "{wrong}");
        }
    }
}
