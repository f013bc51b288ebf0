//! What several instances of one server share.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::component::ComponentConfig;
use super::document::Address;
use super::raw::RawKey;
use super::settings::Config;
use super::validate::Validator;
use crate::error::{Error, Result};
use crate::limits::Origin;
#[cfg(feature = "http")]
use crate::policy::Digest;
use crate::policy::{Secret, SecretSource, StateScope};
use crate::shared::{SharedStore, StoreAddress};

/// A shorter key can be guessed; `openssl rand -hex 32` makes a good one.
const MIN_KEY_BYTES: usize = 32;

/// What instances of one server share: sessions, questions, approvals and full outputs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `store` and `key`", default)]
pub(super) struct RawShared {
    /// The store, a server that speaks the protocol of Redis 6.2 or later, as "redis://10.0.0.5:6379/0". Whoever reaches it
    /// can read and change everything in it.
    pub(super) store: Option<String>,
    /// The password of the store. Default none.
    pub(super) password: Option<RawKey>,
    /// The key that seals what clients come back with, the same for all instances: at least 32 bytes.
    pub(super) key: Option<RawKey>,
    /// Says that all instances run on this machine with one state folder. Default false: then no component may keep values
    /// for a session or for good, since each instance would have its own.
    pub(super) one_machine: bool,
}

/// What several instances of one server share.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shared {
    /// Where it is kept.
    pub store: StoreAddress,
    /// The store's password.
    pub password: Option<SecretSource>,
    /// What seals the questions that clients come back with.
    pub key: SecretSource,
    /// Whether all instances have one state folder.
    pub one_machine: bool,
}

impl Shared {
    /// The store.
    ///
    /// # Errors
    /// When its password cannot be read, or nobody answers there.
    pub fn open(&self) -> Result<Arc<SharedStore>> {
        let wrong =
            |key: &str, message: String| Error::Config { at: format!("server.shared.{key}"), message };
        let password =
            self.password.as_ref().map(read).transpose().map_err(|told| wrong("password", told))?;
        let store = SharedStore::new(self.store.clone(), password);
        store.check().map_err(|error| wrong("store", format!("cannot be used: {error}")))?;
        Ok(Arc::new(store))
    }

    /// The key.
    ///
    /// # Errors
    /// When it cannot be read, or could be guessed.
    pub fn read_key(&self) -> Result<String> {
        let wrong = |message: String| Error::Config { at: "server.shared.key".to_owned(), message };
        let key = read(&self.key).map_err(wrong)?;
        if key.len() < MIN_KEY_BYTES {
            return Err(wrong(format!(
                "a key of {} bytes can be guessed; give it at least {MIN_KEY_BYTES}, as from `openssl rand -hex 32`",
                key.len()
            )));
        }
        Ok(key)
    }

    /// What its key and its password are now, by their settings, without telling them.
    ///
    /// # Errors
    /// When one cannot be read, or could be guessed.
    #[cfg(feature = "http")]
    pub(crate) fn secrets(&self) -> Result<[(&'static str, Option<Digest>); 2]> {
        let wrong = |message: String| Error::Config { at: "server.shared.password".to_owned(), message };
        let digest = |text: String| Digest::of(text.as_bytes());
        let password = self.password.as_ref().map(read).transpose().map_err(wrong)?;
        Ok([("shared.key", Some(digest(self.read_key()?))), ("shared.password", password.map(digest))])
    }

    /// It as `config show` has it: where secrets come from, never what they are.
    pub(super) fn show(&self) -> Value {
        let mut shown = Map::from_iter([("store".to_owned(), self.store.as_str().into())]);
        shown.extend(self.password.as_ref().map(|source| ("password".to_owned(), show_source(source))));
        shown.insert("key".to_owned(), show_source(&self.key));
        shown.insert("one_machine".to_owned(), self.one_machine.into());
        Value::Object(shown)
    }
}

fn read(source: &SecretSource) -> std::result::Result<String, String> {
    Secret { source: source.clone(), readable: false }.read()
}

/// Where a secret comes from.
pub(super) fn show_source(source: &SecretSource) -> Value {
    match source {
        SecretSource::Env(name) => json!({ "env": name }),
        SecretSource::File(path) => json!({ "file": path.display().to_string() }),
        SecretSource::Value(_) => "set by the program".into(),
    }
}

impl Config {
    /// Checks that no component keeps values which a client would find at one instance of the server and not at another.
    ///
    /// # Errors
    /// For the first component that would.
    pub(crate) fn check_shared_state(&self) -> Result<()> {
        if self.server.shared.as_ref().is_none_or(|shared| shared.one_machine) {
            return Ok(());
        }
        let keeps = |component: &&ComponentConfig| {
            matches!(component.grant.state, StateScope::Session | StateScope::Persistent)
        };
        let Some(component) = self.components.iter().find(keeps) else { return Ok(()) };
        let Origin { setting, at, .. } = component.origin_of("grant.state");
        let at = at.map_or(String::new(), |at| format!(" ({at})"));
        Err(Error::Grant {
            setting: format!("{setting}{at}"),
            message: "instances that share `[server.shared]` do not share what components keep: where all of them run on one \
                      machine, with one state folder, say so by `server.shared.one_machine = true`; else grant `state = \
                      \"call\"` at most"
                .to_owned(),
        })
    }
}

impl Validator<'_, '_> {
    pub(super) fn shared(&mut self, table: &Address, raw: RawShared) -> Option<Shared> {
        let store = match raw.store {
            Some(store) => self.checked(&table.key("store"), StoreAddress::parse(&store)),
            None => {
                self.problem(table, "has no `store`; write for example `store = \"redis://10.0.0.5:6379\"`");
                None
            }
        };
        let password = raw.password.map(|raw| self.key_source(&table.key("password"), raw));
        let key = match raw.key {
            Some(raw) => self.key_source(&table.key("key"), raw),
            None => {
                self.problem(table, "has no `key`; write for example `key = { file = \"seal.key\" }`");
                None
            }
        };
        Some(Shared { store: store?, password: password.flatten(), key: key?, one_machine: raw.one_machine })
    }
}
