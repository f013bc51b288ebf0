//! What the tools of other servers were when their operator approved them: whoever changes a tool's words or schema
//! afterwards changes what a model does with it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::private::{PrivateFile, VERSION, ensure_private};
use crate::error::Result;

/// The identities of approved tools, by server. A clone is the same store.
///
/// A server that nothing is known of was just named by the operator, so what it offers then is what was meant: that is
/// recorded. From then on a tool counts only with the identity that was recorded; what is new or has changed is not
/// approved until somebody says so. A store in a file is read anew each time.
#[derive(Debug, Clone)]
pub struct Pins {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// All of it without a file.
    memory: Mutex<Content>,
    file: Option<(PathBuf, PrivateFile)>,
}

/// The file's content.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    servers: Vec<Server>,
}

/// One server: whoever gives its name another command or address has another server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    server: String,
    name: String,
    tools: BTreeMap<String, String>,
}

impl Default for Content {
    fn default() -> Self {
        Self { version: VERSION, servers: Vec::new() }
    }
}

impl Pins {
    /// A store that is gone with the process.
    pub fn in_memory() -> Self {
        Self { inner: Arc::new(Inner { memory: Mutex::default(), file: None }) }
    }

    /// The store in the file at `path`, whose folder is created for its owner alone when it is first needed.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let consequence =
            "no tool of another server counts as approved; look at it, and take it away to begin anew";
        let file = PrivateFile::new(&path, consequence);
        Self { inner: Arc::new(Inner { memory: Mutex::default(), file: Some((path, file)) }) }
    }

    /// The approved identities of the tools of `server`, a digest of how it is reached. What a server offers that
    /// nothing is known of becomes approved by this.
    ///
    /// # Errors
    /// When the store cannot be read or written: then nothing is approved.
    pub fn approved(
        &self,
        server: Digest,
        name: &str,
        offered: &BTreeMap<String, Digest>,
    ) -> Result<BTreeMap<String, Digest>> {
        let key = server.to_string();
        if let Some(known) = self.read()?.servers.into_iter().find(|known| known.server == key) {
            return Ok(known.identities());
        }
        self.change(|content| {
            // Another process may have been first.
            if let Some(known) = content.servers.iter().find(|known| known.server == key) {
                return known.identities();
            }
            let tools = offered.iter().map(|(tool, digest)| (tool.clone(), digest.to_string())).collect();
            content.servers.push(Server { server: key.clone(), name: name.to_owned(), tools });
            offered.clone()
        })
    }

    /// Approves these tools of `server` as they are now, in place of what they were.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn approve(&self, server: Digest, name: &str, tools: &BTreeMap<String, Digest>) -> Result<()> {
        self.change(|content| {
            let known = content.server(&server.to_string(), name);
            known.tools.extend(tools.iter().map(|(tool, digest)| (tool.clone(), digest.to_string())));
        })
    }

    /// Approves these tools of `server` no longer, whatever they are; nothing else is approved by that.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn revoke<'a>(
        &self,
        server: Digest,
        name: &str,
        tools: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        self.change(|content| {
            let known = content.server(&server.to_string(), name);
            for tool in tools {
                known.tools.remove(tool);
            }
        })
    }

    fn read(&self) -> Result<Content> {
        match &self.inner.file {
            None => Ok(self.inner.memory.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            Some((_, file)) => file.read(),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Content) -> T) -> Result<T> {
        let Some((path, file)) = &self.inner.file else {
            return Ok(change(&mut self.inner.memory.lock().unwrap_or_else(PoisonError::into_inner)));
        };
        if let Some(folder) = path.parent() {
            ensure_private(folder)?;
        }
        let _lock = file.lock()?;
        let mut content: Content = file.read()?;
        let done = change(&mut content);
        file.write(&content)?;
        Ok(done)
    }
}

impl Content {
    fn server(&mut self, key: &str, name: &str) -> &mut Server {
        let at = self.servers.iter().position(|known| known.server == key).unwrap_or_else(|| {
            let (server, name) = (key.to_owned(), name.to_owned());
            self.servers.push(Server { server, name, tools: BTreeMap::new() });
            self.servers.len() - 1
        });
        // The position is that of an entry.
        #[expect(clippy::indexing_slicing, reason = "found or added just before")]
        &mut self.servers[at]
    }
}

impl Server {
    /// An identity that cannot be read is none.
    fn identities(&self) -> BTreeMap<String, Digest> {
        let read = |(tool, digest): (&String, &String)| Some((tool.clone(), digest.parse().ok()?));
        self.tools.iter().filter_map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    fn offered(tools: &[(&str, &str)]) -> BTreeMap<String, Digest> {
        tools.iter().map(|(tool, words)| ((*tool).to_owned(), Digest::of(words.as_bytes()))).collect()
    }

    #[test]
    fn the_first_offer_is_meant_and_no_other_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own/servers.json");
        for pins in [Pins::in_memory(), Pins::file(&path)] {
            let server = Digest::of(b"command");
            let first = offered(&[("a", "1"), ("b", "1")]);
            assert_eq!(pins.approved(server, "s", &first).unwrap(), first);
            let second = offered(&[("a", "2"), ("b", "1"), ("c", "1")]);
            assert_eq!(pins.approved(server, "s", &second).unwrap(), first, "a change approves nothing");
            pins.approve(server, "s", &offered(&[("a", "2")])).unwrap();
            assert_eq!(pins.approved(server, "s", &second).unwrap(), offered(&[("a", "2"), ("b", "1")]));
            pins.revoke(server, "s", ["a", "b"]).unwrap();
            assert_eq!(pins.approved(server, "s", &second).unwrap(), BTreeMap::new(), "nothing comes back");
            let other = Digest::of(b"another command");
            assert_eq!(pins.approved(other, "s", &second).unwrap(), second);
        }
        let again = Pins::file(&path);
        assert!(again.approved(Digest::of(b"command"), "s", &offered(&[("a", "1")])).unwrap().is_empty());
        std::fs::write(&path, "{").unwrap();
        assert!(again.approved(Digest::of(b"command"), "s", &offered(&[("a", "1")])).is_err());
        assert!(again.approve(Digest::of(b"command"), "s", &offered(&[("a", "1")])).is_err());
    }
}
