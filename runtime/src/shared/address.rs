//! Where a shared store is.

use crate::net::{Origin, Scheme};

const EXAMPLE: &str = "write for example `redis://10.0.0.5:6379` or `redis://10.0.0.5:6379/1`";

/// The port that such servers listen on.
const PORT: u16 = 6379;

/// The address of a shared store: `redis://HOST:PORT/DATABASE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreAddress {
    written: String,
    /// Host and port, as they are connected to.
    pub(super) place: (String, u16),
    /// The number of the database.
    pub(super) database: u32,
}

impl StoreAddress {
    /// Reads an address.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("rediss://") {
            return Err(
                "is with TLS, which is not spoken to a store; reach it by a tunnel or a private network"
                    .to_owned(),
            );
        }
        let rest =
            text.strip_prefix("redis://").ok_or_else(|| format!("must begin with `redis://`; {EXAMPLE}"))?;
        if rest.contains('@') {
            return Err("must not carry a user or password; use `password`".to_owned());
        }
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let origin = Origin::of(Scheme::Http, authority).map_err(|told| format!("{told}; {EXAMPLE}"))?;
        let database = match database {
            "" => 0,
            number => number.parse().map_err(|_| format!("names no database; {EXAMPLE}"))?,
        };
        let has_port = authority
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()) && !port.is_empty());
        let host = origin.host.to_string().trim_matches(['[', ']']).to_owned();
        let place = (host, if has_port { origin.port } else { PORT });
        Ok(Self { written: text.to_owned(), place, database })
    }

    /// The address as it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_or_refused() {
        for (text, host, port, database) in [
            ("redis://10.0.0.5", "10.0.0.5", 6379, 0),
            ("redis://cache.internal:6380/3", "cache.internal", 6380, 3),
            ("redis://[::1]/", "::1", 6379, 0),
            ("redis://[::1]:1", "::1", 1, 0),
        ] {
            let read = StoreAddress::parse(text).map(|address| (address.place, address.database));
            assert_eq!(read, Ok(((host.to_owned(), port), database)), "{text}");
        }
        for text in [
            "",
            "10.0.0.5",
            "http://a",
            "rediss://a",
            "redis://",
            "redis://u:p@a",
            "redis://a/x",
            "redis://a:99999",
        ] {
            assert!(StoreAddress::parse(text).is_err(), "{text}");
        }
    }
}
