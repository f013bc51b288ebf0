//! How another server is reached: by a program, or over HTTP.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::document::Address;
use super::mcp_url::McpUrl;
use super::program::Program;
use super::raw_mcp::RawText;
use super::validate::Validator;
use crate::net::{Scheme, is_header_name};
use crate::policy::Secret;

/// Headers that belong to the protocol or to the connection.
const OWN_HEADERS: [&str; 14] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "transfer-encoding",
];

/// What the headers begin with that repeat arguments of calls.
const MIRRORS: &str = "mcp-param-";

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum McpTransport {
    /// A program that speaks over its standard input and output.
    Command {
        /// The program, absolute, and its arguments.
        command: Vec<String>,
        /// The working directory.
        folder: PathBuf,
        /// The environment.
        env: BTreeMap<String, McpText>,
        /// Files that may decide what it does: the program, and those that its arguments name.
        files: Vec<PathBuf>,
        /// Those of them that are the program itself.
        code: Vec<PathBuf>,
    },
    /// An address of HTTP.
    Url {
        /// The address.
        url: McpUrl,
        /// Headers of every request.
        headers: BTreeMap<String, McpText>,
        /// Whether its name may lead to loopback and private addresses.
        private: bool,
        /// A PEM file with root certificates that are trusted as well.
        ca: Option<PathBuf>,
    },
}

/// A text, or a secret with what stands before it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpText {
    /// The text itself.
    Plain(String),
    /// A secret.
    Secret {
        /// Its name among the server's secrets.
        name: String,
        /// What is written before it.
        prefix: String,
    },
}

/// The keys of a server's table that say how it is reached.
pub(super) struct RawWay {
    pub command: Option<Vec<String>>,
    pub env: BTreeMap<String, RawText>,
    pub url: Option<String>,
    pub headers: BTreeMap<String, RawText>,
    pub private: Option<bool>,
    pub ca: Option<String>,
}

impl Validator<'_, '_> {
    /// The way to a server at `address`, unless it is wrong beyond use.
    pub(super) fn transport(
        &mut self,
        address: &Address,
        way: RawWay,
        secrets: &BTreeMap<String, Secret>,
        enabled: bool,
    ) -> Option<McpTransport> {
        let env = self.texts(&address.key("env"), way.env, secrets);
        let headers = self.texts(&address.key("headers"), way.headers, secrets);
        self.unused_secrets(&address.key("secrets"), secrets, [&env, &headers]);
        match (way.command, way.url) {
            (Some(command), None) => {
                for (key, is_there) in [
                    ("headers", !headers.is_empty()),
                    ("private", way.private.is_some()),
                    ("ca", way.ca.is_some()),
                ] {
                    if is_there {
                        self.problem(&address.key(key), "is about a `url`; a program has an `env`");
                    }
                }
                self.program_way(address, command, env, enabled)
            }
            (None, Some(url)) => {
                if !env.is_empty() {
                    self.problem(&address.key("env"), "is that of a `command`; a `url` has `headers`");
                }
                self.url_way(address, &url, headers, way.private.unwrap_or_default(), way.ca)
            }
            _ => {
                let message = "write either `command = [\"PROGRAM\", …]` or `url = \"https://…\"`, and one of them alone";
                self.problem(address, message);
                None
            }
        }
    }

    fn program_way(
        &mut self,
        address: &Address,
        command: Vec<String>,
        env: BTreeMap<String, McpText>,
        enabled: bool,
    ) -> Option<McpTransport> {
        let path = match env.get("PATH") {
            Some(McpText::Plain(path)) => Some(path.as_str()),
            _ => None,
        };
        // A switched-off one may be missing: that is a reason to switch it off.
        let Program { command, files, code } = match enabled {
            true => self.program(address, command, path, "./server")?,
            false => Program { command, files: Vec::new(), code: Vec::new() },
        };
        Some(McpTransport::Command { command, folder: self.folder.clone(), env, files, code })
    }

    fn url_way(
        &mut self,
        address: &Address,
        url: &str,
        headers: BTreeMap<String, McpText>,
        private: bool,
        ca: Option<String>,
    ) -> Option<McpTransport> {
        let mut names: Vec<String> = Vec::new();
        for name in headers.keys() {
            let lower = name.to_ascii_lowercase();
            self.checked(&address.key("headers").key(name), header_fits(&lower, &names));
            names.push(lower);
        }
        let ca = ca.and_then(|file| {
            let path = self.host_path(&file);
            self.checked(&address.key("ca"), path)
        });
        let url = self.checked(&address.key("url"), McpUrl::parse(url))?;
        let is_plain = url.origin().scheme == Scheme::Http;
        if ca.is_some() && is_plain {
            self.problem(&address.key("ca"), "is for `https://`, and this address is without TLS");
        }
        let has_secret = headers.values().any(|text| matches!(text, McpText::Secret { .. }));
        if has_secret && url.reach_with_secrets(private).is_none() {
            let message = "would be readable on the way: secrets go to the Internet over `https://` alone";
            self.problem(&address.key("headers"), message);
        }
        Some(McpTransport::Url { url, headers, private, ca })
    }

    fn texts(
        &mut self,
        table: &Address,
        raw: BTreeMap<String, RawText>,
        secrets: &BTreeMap<String, Secret>,
    ) -> BTreeMap<String, McpText> {
        let mut texts = BTreeMap::new();
        for (name, text) in raw {
            let address = table.key(&name);
            if name.is_empty() || name.contains(['=', '\0']) {
                self.problem(&address, "a name must not be empty nor contain `=` or a zero byte");
            }
            let text = match text {
                RawText::Plain(text) => McpText::Plain(text),
                RawText::Secret(text) => {
                    if !secrets.contains_key(&text.secret) {
                        let message =
                            format!("there is no secret `{}` in `secrets`", text.secret.escape_debug());
                        self.problem(&address, message);
                    }
                    McpText::Secret { name: text.secret, prefix: text.prefix }
                }
            };
            let (McpText::Plain(plain) | McpText::Secret { prefix: plain, .. }) = &text;
            if plain.contains(['\0', '\r', '\n']) {
                self.problem(&address, "must be one line without a zero byte");
            }
            texts.insert(name, text);
        }
        texts
    }

    /// A secret that nobody gets was meant for somebody.
    fn unused_secrets(
        &mut self,
        table: &Address,
        secrets: &BTreeMap<String, Secret>,
        texts: [&BTreeMap<String, McpText>; 2],
    ) {
        let used: Vec<&String> = texts
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter_map(|text| match text {
                McpText::Secret { name, .. } => Some(name),
                McpText::Plain(_) => None,
            })
            .collect();
        for name in secrets.keys().filter(|name| !used.contains(name)) {
            let message =
                format!("is given to nothing; write it in `env` or `headers` as `{{ secret = \"{name}\" }}`");
            self.problem(&table.key(name), message);
        }
    }
}

/// Whether an operator may set the header `lower` beside `others`, all in lower case.
fn header_fits(lower: &str, others: &[String]) -> Result<(), String> {
    if OWN_HEADERS.contains(&lower) || lower.starts_with(MIRRORS) {
        return Err(format!("`{lower}` belongs to the protocol and is set by toolcell"));
    }
    if others.iter().any(|other| other == lower) {
        return Err("is there twice: headers are the same in any case".to_owned());
    }
    match is_header_name(lower) {
        true => Ok(()),
        false => Err("is no name of a header".to_owned()),
    }
}
