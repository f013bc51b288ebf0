//! The lock file: what each component of a registry was when its operator took it. It stands beside the configuration and is kept
//! with it; a tag that means something else later changes nothing until the file does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::component::Source;
use super::discovery::read;
use super::reference::Reference;
use super::settings::Config;
use crate::error::{Error, Result};
use crate::policy::Digest;

/// The only version of the file so far.
const VERSION: u32 = 1;

const HEADING: &str =
    "# What `toolcell add` and `toolcell update` took from registries. Keep it with the configuration.\n";

/// What a component of a registry was when it was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Locked {
    /// Where it was asked for.
    pub reference: Reference,
    /// The digest of its manifest there.
    pub manifest: Digest,
    /// The digest of the component itself.
    pub digest: Digest,
    /// How long it is.
    pub bytes: u64,
}

impl Locked {
    /// The component `digest` of so many bytes, which `manifest` named at `reference`.
    pub fn new(reference: Reference, manifest: Digest, digest: Digest, bytes: u64) -> Self {
        Self { reference, manifest, digest, bytes }
    }
}

/// The content of a lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    components: BTreeMap<String, Locked>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLock {
    version: u32,
    #[serde(default)]
    component: BTreeMap<String, RawLocked>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLocked {
    reference: String,
    manifest: String,
    digest: String,
    bytes: u64,
}

impl Lock {
    /// The lock file of a configuration: `toolcell.lock` beside `toolcell.toml`.
    pub fn path_for(config: &Path) -> PathBuf {
        match config.extension() {
            Some(ending) if ending == "lock" => config.with_added_extension("lock"),
            _ => config.with_extension("lock"),
        }
    }

    /// Reads the file; an empty one where there is none. `label` names it in errors.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub fn read(path: &Path, label: &str) -> Result<Self> {
        Self::read_text(path, label).map(|(lock, _)| lock)
    }

    /// The same with the digest of its bytes, if it is there.
    fn read_text(path: &Path, label: &str) -> Result<(Self, Option<Digest>)> {
        if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Ok((Self::default(), None));
        }
        let text = read(path, label)?;
        Ok((Self::parse(&text, label)?, Some(Digest::of(text.as_bytes()))))
    }

    /// Reads the text of a lock file.
    ///
    /// # Errors
    /// When anything in it is not as it was written.
    pub fn parse(text: &str, label: &str) -> Result<Self> {
        let wrong = |at: String, what: &str| Error::Config {
            at,
            message: format!(
                "the lock file is damaged ({what}); restore it, or remove it and run `toolcell update` to take every component of a \
                 registry as it is there now"
            ),
        };
        let raw: RawLock = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
            wrong(format!("{label}:{line}"), &error.message().trim().replace('\n', ", "))
        })?;
        if raw.version != VERSION {
            let message = format!(
                "the lock file is of version {}, and this toolcell reads version {VERSION}; use the one that wrote it",
                raw.version
            );
            return Err(Error::Config { at: label.to_owned(), message });
        }
        let read = |(name, raw): (String, RawLocked)| {
            let wrong = |key: &str, told: String| wrong(format!("{label}: `component.{name}.{key}`"), &told);
            let locked = Locked {
                reference: raw.reference.parse().map_err(|told| wrong("reference", told))?,
                manifest: raw.manifest.parse().map_err(|told| wrong("manifest", told))?,
                digest: raw.digest.parse().map_err(|told| wrong("digest", told))?,
                bytes: raw.bytes,
            };
            Ok((name, locked))
        };
        Ok(Self { components: raw.component.into_iter().map(read).collect::<Result<_>>()? })
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = format!("{HEADING}version = {VERSION}\n");
        for (name, locked) in &self.components {
            let Locked { reference, manifest, digest, bytes } = locked;
            text.push_str(&format!(
                "\n[component.{name}]\nreference = \"{reference}\"\nmanifest = \"{manifest}\"\ndigest = \"{digest}\"\nbytes = {bytes}\n"
            ));
        }
        text
    }

    /// What is locked of the component of that name.
    pub fn get(&self, component: &str) -> Option<&Locked> {
        self.components.get(component)
    }

    /// Locks a component.
    pub fn insert(&mut self, component: impl Into<String>, locked: Locked) {
        self.components.insert(component.into(), locked);
    }

    /// Forgets those components that `is_kept` does not say of.
    pub fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.components.retain(|name, _| is_kept(name));
    }

    /// Whether nothing is locked.
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }
}

impl Config {
    /// Whether a component of it comes from a registry: then a lock file counts.
    pub fn has_registries(&self) -> bool {
        self.components.iter().any(|component| matches!(component.source, Source::Registry { .. }))
    }

    /// Takes what is locked from the file beside the configuration's own, which `label` names.
    pub(super) fn read_lock(&mut self, label: &str) -> Result<()> {
        let Some(file) = self.file.clone().filter(|_| self.has_registries()) else { return Ok(()) };
        let label = Lock::path_for(Path::new(label)).display().to_string();
        let (lock, digest) = Lock::read_text(&Lock::path_for(&file), &label)?;
        self.apply_lock(&lock);
        self.lock = digest;
        Ok(())
    }

    /// Takes what is locked from `lock`, as if that were the file already.
    pub fn locked_by(&mut self, lock: &Lock) {
        self.apply_lock(lock);
        self.lock = Some(Digest::of(lock.text().as_bytes()));
    }

    fn apply_lock(&mut self, lock: &Lock) {
        for component in &mut self.components {
            if let Source::Registry { reference, locked } = &mut component.source {
                // Of another reference nothing was ever taken under this name.
                let known = lock.get(&component.name).filter(|locked| locked.reference == **reference);
                *locked = known.cloned().map(Box::new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    fn lock() -> Lock {
        let mut lock = Lock::default();
        let reference = "oci://ghcr.io/a/b:1".parse().unwrap();
        lock.insert("b", Locked::new(reference, Digest::of(b"manifest"), Digest::of(b"b"), 1));
        lock
    }

    #[test]
    fn a_lock_is_read_as_it_is_written() {
        let text = lock().text();
        assert_eq!(Lock::parse(&text, "toolcell.lock").unwrap(), lock());
        assert_eq!(Lock::parse("version = 1", "toolcell.lock").unwrap(), Lock::default());
    }

    #[test]
    fn damage_of_every_kind_is_refused() {
        let text = lock().text();
        let digest = Digest::of(b"b").to_string();
        for (damaged, told) in [
            (String::new(), "toolcell.lock:1"),
            (text.replace("version = 1", "version = 2"), "of version 2"),
            (text.replace("version = 1\n", ""), "missing field `version`"),
            (text.replace(&digest, &digest[..40]), "`component.b.digest`"),
            (text.replace("oci://", "https://"), "`component.b.reference`"),
            (text.replace("bytes = 1", "bytes = -1"), "toolcell.lock:8"),
            (text.replace("bytes = 1", ""), "missing field `bytes`"),
            (format!("{text}more = 1\n"), "unknown field `more`"),
            (format!("{text}[component.b]\n"), "duplicate key"),
            (text[..text.len() - 40].to_owned(), "toolcell.lock:"),
            ("<<<<<<< ours\n".to_owned() + &text, "toolcell.lock:1"),
        ] {
            let error = Lock::parse(&damaged, "toolcell.lock").unwrap_err().to_string();
            assert!(error.starts_with("toolcell.lock") && error.contains(told), "{told}: {error}");
        }
    }

    #[test]
    fn no_configuration_is_its_own_lock() {
        for (config, lock) in
            [("a/toolcell.toml", "a/toolcell.lock"), ("x", "x.lock"), ("a.lock", "a.lock.lock")]
        {
            assert_eq!(Lock::path_for(Path::new(config)), Path::new(lock));
        }
    }

    #[test]
    fn what_is_locked_of_another_reference_does_not_count() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("toolcell.toml");
        std::fs::write(scratch.path().join("toolcell.lock"), lock().text()).unwrap();
        for (tag, is_locked) in [("1", true), ("2", false)] {
            let text = format!(
                "[component.b]\npath = \"oci://ghcr.io/a/b:{tag}\"\n[component.c]\npath = \"oci://ghcr.io/a/b:1\""
            );
            let config = Config::parse(&text, &file, "toolcell.toml", None).unwrap();
            let locked = config.components.iter().map(|component| match &component.source {
                Source::Registry { locked, .. } => locked.is_some(),
                _ => unreachable!(),
            });
            assert_eq!(locked.collect::<Vec<_>>(), [is_locked, false]);
        }
        std::fs::write(scratch.path().join("toolcell.lock"), "version = ").unwrap();
        let with = |path: &str| {
            Config::parse(&format!("[component.b]\npath = \"{path}\""), &file, "x/toolcell.toml", None)
        };
        assert!(
            with("oci://ghcr.io/a/b:1")
                .unwrap_err()
                .to_string()
                .starts_with("x/toolcell.lock:1: the lock file is damaged")
        );
        assert!(with("builtin:files").is_ok(), "where no component is of a registry, it is nobody's");
    }
}
