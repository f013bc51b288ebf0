//! The name of a component in a registry.

use std::fmt;
use std::str::FromStr;

use crate::net::{Host, Origin, Scheme};
use crate::policy::Digest;

/// What every reference begins with.
const SCHEME: &str = "oci://";

/// The longest name of a repository that registries take, and of a tag.
const MAX_REPOSITORY: usize = 255;
const MAX_TAG: usize = 128;

/// What stands for a tag that is not written, as everywhere else.
const DEFAULT_TAG: &str = "latest";

/// The registry that these names mean, where it answers, and the key of its credentials in the file of docker.
const DOCKER_NAMES: [&str; 2] = ["docker.io", "index.docker.io"];
const DOCKER_HOST: &str = "registry-1.docker.io";
const DOCKER_KEY: &str = "index.docker.io";

/// Where a component is in a registry: `oci://host:port/repository:tag`, or `…@sha256:…` for one manifest and no other. Without
/// both, the tag is `latest`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Host and port as they are written, the host in its one spelling.
    authority: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

impl Reference {
    /// Whether `text` is meant to be one.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// The registry, spoken to in this way.
    ///
    /// # Errors
    /// None that reading it has let through.
    pub fn origin(&self, scheme: Scheme) -> Result<Origin, String> {
        let authority = if DOCKER_NAMES.contains(&&*self.authority) { DOCKER_HOST } else { &self.authority };
        Origin::of(scheme, authority)
    }

    /// Whether the registry is on this host by its name or its address.
    pub fn is_on_this_host(&self) -> bool {
        self.origin(Scheme::Https).is_ok_and(|origin| match origin.host {
            Host::Address(address) => address.is_loopback(),
            Host::Name(_) => origin.host.is_localhost(),
        })
    }

    /// The name under which docker keeps the registry's credentials: host, and port if one is written.
    pub fn credentials_key(&self) -> &str {
        let is_docker = DOCKER_NAMES.contains(&&*self.authority) || self.authority == DOCKER_HOST;
        if is_docker { DOCKER_KEY } else { &self.authority }
    }

    /// The repository, without its registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// What the registry is asked for: the digest of a manifest if there is one, else the tag.
    pub fn wanted(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, tag) => tag.clone().unwrap_or_else(|| DEFAULT_TAG.to_owned()),
        }
    }

    /// The digest of the one manifest that it means, if it does.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// The component's name that it suggests: the last part of the repository.
    pub fn suggested_name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or(&self.repository)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCHEME}{}/{}", self.authority, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(formatter, ":{tag}")?;
        }
        match self.digest {
            Some(digest) => write!(formatter, "@{digest}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXAMPLE: &str = "write for example `oci://ghcr.io/owner/tool:1.0`";
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| format!("is no reference; {EXAMPLE}"))?;
        let (authority, rest) =
            rest.split_once('/').ok_or_else(|| format!("names no repository; {EXAMPLE}"))?;
        if authority.contains('@') {
            return Err("must not carry a user or password; `docker login` keeps them".to_owned());
        }
        let origin = Origin::of(Scheme::Https, authority).map_err(|told| format!("{told}; {EXAMPLE}"))?;
        let port = authority.rsplit_once(':').map(|(_, port)| port);
        let has_port =
            port.is_some_and(|port| !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit()));
        let authority = match has_port {
            true => format!("{}:{}", origin.host, origin.port),
            false => origin.host.to_string(),
        };
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.parse::<Digest>()?)),
            None => (rest, None),
        };
        let (repository, tag) = match rest.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag.to_owned())),
            None if digest.is_some() => (rest, None),
            None => (rest, Some(DEFAULT_TAG.to_owned())),
        };
        if !is_repository(repository) {
            return Err(format!(
                "has no repository that registries take: lower-case letters, digits and `.`, `-`, `_` between them, in parts \
                 between `/`; {EXAMPLE}"
            ));
        }
        if tag.as_deref().is_some_and(|tag| !is_tag(tag)) {
            return Err(format!(
                "has no tag that registries take: letters, digits, `.`, `-` and `_`, at most {MAX_TAG}; {EXAMPLE}"
            ));
        }
        Ok(Self { authority, repository: repository.to_owned(), tag, digest })
    }
}

fn is_repository(text: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let part = |part: &str| {
        let bytes = part.as_bytes();
        edge(bytes.first())
            && edge(bytes.last())
            && bytes.iter().all(|byte| inner(*byte))
            && !part.contains("..")
    };
    text.len() <= MAX_REPOSITORY && text.split('/').all(part)
}

fn is_tag(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=MAX_TAG).contains(&text.len()) && text.bytes().all(inner) && !text.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    const DIGEST: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_reference_is_read_and_written_in_one_spelling() {
        for (text, written, wanted, key) in [
            ("oci://ghcr.io/a/b:1.0", "oci://ghcr.io/a/b:1.0", "1.0", "ghcr.io"),
            ("oci://GHCR.io./a/b", "oci://ghcr.io/a/b:latest", "latest", "ghcr.io"),
            ("oci://localhost:5000/a:V_1", "oci://localhost:5000/a:V_1", "V_1", "localhost:5000"),
            ("oci://[::1]:5000/a__b/c-d.e:x", "oci://[::1]:5000/a__b/c-d.e:x", "x", "[::1]:5000"),
            ("oci://docker.io/a/b:1", "oci://docker.io/a/b:1", "1", "index.docker.io"),
            ("oci://registry-1.docker.io/a/b:1", "oci://registry-1.docker.io/a/b:1", "1", "index.docker.io"),
        ] {
            let reference: Reference = text.parse().unwrap();
            assert_eq!(reference.to_string(), written, "{text}");
            assert_eq!((&*reference.wanted(), reference.credentials_key()), (wanted, key), "{text}");
            assert_eq!(written.parse(), Ok(reference), "{text}");
        }
        let pinned: Reference = format!("oci://a.io/b/c:1@{DIGEST}").parse().unwrap();
        assert_eq!((pinned.wanted(), pinned.suggested_name()), (DIGEST.to_owned(), "c"));
        let untagged = format!("oci://a.io/b@{DIGEST}");
        assert_eq!(untagged.parse::<Reference>().unwrap().to_string(), untagged);
        let docker: Reference = "oci://docker.io/a/b".parse().unwrap();
        assert_eq!(docker.origin(Scheme::Https).unwrap().to_string(), "https://registry-1.docker.io");
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        for text in [
            "",
            "ghcr.io/a/b",
            "oci://",
            "oci://ghcr.io",
            "oci:///a",
            "oci://ghcr.io/",
            "oci://ghcr.io/A",
            "oci://ghcr.io/a//b",
            "oci://ghcr.io/a/",
            "oci://ghcr.io/../a",
            "oci://ghcr.io/a/..",
            "oci://ghcr.io/-a",
            "oci://ghcr.io/a:",
            "oci://ghcr.io/a:.x",
            "oci://ghcr.io/a:x/y",
            "oci://ghcr.io/a:x:y",
            "oci://ghcr.io/a?b",
            "oci://ghcr.io/a%2fb",
            "oci://ghcr.io/a@sha256:12",
            "oci://ghcr.io/a@sha512:12",
            "oci://u:p@ghcr.io/a",
            "oci://ghcr.io:0/a",
            "oci://gh cr.io/a",
            "oci://ghcr.io/a\n",
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text:?}");
        }
        assert!(format!("oci://a.io/{}", "a".repeat(256)).parse::<Reference>().is_err());
        assert!(format!("oci://a.io/b:{}", "a".repeat(129)).parse::<Reference>().is_err());
    }

    #[test]
    fn registries_on_this_host_are_known_by_name_and_address() {
        for (text, is_here) in [
            ("oci://localhost/a", true),
            ("oci://registry.localhost:5000/a", true),
            ("oci://127.0.0.2:5000/a", true),
            ("oci://[::1]/a", true),
            ("oci://10.0.0.1/a", false),
            ("oci://localhost.example.org/a", false),
        ] {
            assert_eq!(text.parse::<Reference>().unwrap().is_on_this_host(), is_here, "{text}");
        }
    }
}
