//! What an approval is bound to.

use std::sync::Arc;

use serde_json::Value;

use super::question::plain_name;
use crate::policy::{
    Access, Credential, Digest, DirGrant, Grant, HttpGrant, RuleSource, Secret, SecretSource,
};

/// A tool as it is at one moment: another name, component, content or grant is another tool.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    /// The name that models call it by.
    pub tool: &'a str,
    /// Where it is in its component.
    pub origin: &'a str,
    /// The name of its component.
    pub component: &'a str,
    /// The digest of its component.
    pub digest: &'a str,
    /// What it is granted in effect.
    pub grant: &'a Grant,
}

/// The two things that can be approved about a call: exactly it, or every call of the tool that the same rules ask
/// about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    identity: Digest,
    pub(super) exact: Digest,
    pub(super) by_rule: Option<Digest>,
    pub(super) user: Option<String>,
}

impl Binding {
    /// The call of a tool with its last, canonical arguments. The order of keys makes no difference.
    pub fn new(bound: &Bound<'_>, arguments: &Value) -> Self {
        let identity = identity(bound);
        let mut fields = Fields::new("exact");
        fields.add(&identity.to_string());
        fields.value(arguments);
        Self { identity, exact: fields.digest(), by_rule: None, user: None }
    }

    /// Adds the wider scope: every call of the tool about which these rules ask and no others. None is no scope.
    #[must_use]
    pub fn by_rule(mut self, asks: &[Arc<RuleSource>]) -> Self {
        let mut words: Vec<&str> = asks.iter().map(|source| source.words.as_str()).collect();
        words.sort_unstable();
        words.dedup();
        let mut fields = Fields::new("rule");
        fields.add(&self.identity.to_string());
        words.iter().for_each(|words| fields.add(words));
        self.by_rule = (!words.is_empty()).then(|| fields.digest());
        self
    }

    /// The user who calls. An approval that is remembered under it holds for this user alone; one without, for everybody.
    #[must_use]
    pub fn of_user(mut self, user: Option<&str>) -> Self {
        self.user = user.map(plain_name);
        self
    }
}

fn identity(bound: &Bound<'_>) -> Digest {
    let mut fields = Fields::new("tool");
    for field in [bound.component, bound.origin, bound.tool, bound.digest] {
        fields.add(field);
    }
    // Taken apart as a whole, so that a new kind of grant cannot be left out.
    let Grant { dirs, http, env, config, secrets, state } = bound.grant;
    fields.list("dirs", dirs.len());
    for DirGrant { host, guest, access, deny } in dirs {
        fields.bytes(host.as_os_str().as_encoded_bytes());
        fields.add(guest);
        fields.add(match access {
            Access::Read => "read",
            Access::ReadWrite => "read-write",
        });
        fields.list("deny", deny.len());
        deny.iter().for_each(|pattern| fields.add(pattern));
    }
    fields.list("http", http.len());
    http.iter().for_each(|entry| fields.http(entry));
    for (name, values) in [("env", env), ("config", config)] {
        fields.list(name, values.len());
        for (key, value) in values {
            fields.add(key);
            fields.add(value);
        }
    }
    // Not their values: a secret that was renewed is the same grant, and no hash of one is kept.
    fields.list("secrets", secrets.len());
    for (name, Secret { source, readable }) in secrets {
        fields.add(name);
        match source {
            SecretSource::Env(name) => fields.add(&format!("env {name}")),
            SecretSource::File(path) => fields.bytes(path.as_os_str().as_encoded_bytes()),
            SecretSource::Value(_) => fields.add("value"),
        }
        fields.add(if *readable { "readable" } else { "kept" });
    }
    fields.add(state.as_str());
    fields.digest()
}

/// Fields to be hashed, each with its length before it, so that no two lists of fields are the same bytes.
struct Fields(Vec<u8>);

impl Fields {
    fn new(kind: &str) -> Self {
        let mut fields = Self(Vec::new());
        fields.add(kind);
        fields
    }

    fn http(&mut self, entry: &HttpGrant) {
        let HttpGrant { origin, methods, paths, headers, private, read_only, ca } = entry;
        self.add(&origin.to_string());
        for (name, values) in [("methods", methods), ("paths", paths)] {
            self.list(name, values.len());
            values.iter().for_each(|value| self.add(value));
        }
        self.list("headers", headers.len());
        for (name, Credential { secret, prefix }) in headers {
            [name, secret, prefix].into_iter().for_each(|field| self.add(field));
        }
        self.add(if *private { "private" } else { "public" });
        self.add(if *read_only { "reads" } else { "writes" });
        self.list("ca", usize::from(ca.is_some()));
        ca.iter().for_each(|path| self.bytes(path.as_os_str().as_encoded_bytes()));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    fn add(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn list(&mut self, name: &str, length: usize) {
        self.add(name);
        self.add(&length.to_string());
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                self.list("object", members.len());
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|(key, _)| key.as_str());
                for (key, value) in members {
                    self.add(key);
                    self.value(value);
                }
            }
            Value::Array(items) => {
                self.list("array", items.len());
                items.iter().for_each(|item| self.value(item));
            }
            scalar => self.add(&scalar.to_string()),
        }
    }

    fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}
