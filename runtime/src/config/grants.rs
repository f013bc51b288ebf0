//! What a component is granted, checked at load: a grant that cannot work is an error here, not at the first call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::document::Address;
use super::raw::{RawDir, RawGrant, RawSecret};
use super::raw_http::{RawHttp, RawHttpTable};
use super::validate::{Validator, reason};
use crate::limits::Origin;
use crate::net::OriginPattern;
use crate::policy::{Access, Credential, DenySet, DirGrant, FaultItem, Grant, HttpGrant, Secret};

impl Validator<'_, '_> {
    /// The grant, and where each of its directories was set. Folders of a switched-off component may be missing.
    pub(super) fn grant(&mut self, table: &Address, raw: RawGrant, enabled: bool) -> (Grant, Vec<Origin>) {
        let mut grant = Grant::none();
        let mut origins = Vec::new();
        for (index, raw) in raw.dirs.into_iter().enumerate() {
            let address = table.key("dirs").item(index);
            let Some(dir) = self.dir(&address, raw, enabled) else { continue };
            if let Some(other) = grant.dirs.iter().find(|other| overlap(&other.guest, &dir.guest)) {
                let message = format!(
                    "`guest = \"{}\"` overlaps with `\"{}\"` of another entry; give each its own place",
                    dir.guest, other.guest
                );
                self.problem(&address, message);
            }
            grant.dirs.push(dir);
            origins.push(self.document.origin(&address));
        }
        grant.env = self.strings(&table.key("env"), raw.env);
        grant.state = raw.state.unwrap_or_default();
        (grant, origins)
    }

    /// The places for requests over HTTP, and where each was set; `secrets` are those of the component.
    pub(super) fn http(
        &mut self,
        list: &Address,
        raw: Vec<RawHttp>,
        secrets: &BTreeMap<String, Secret>,
    ) -> (Vec<HttpGrant>, Vec<Origin>) {
        let mut entries = Vec::new();
        let mut origins = Vec::new();
        for (index, RawHttp(raw)) in raw.into_iter().enumerate() {
            let address = list.item(index);
            let Some(entry) = self.http_entry(&address, raw) else { continue };
            for fault in entry.faults(secrets) {
                let key = address.key(fault.key);
                let at = match fault.item {
                    None => key,
                    Some(FaultItem::Index(index)) => key.item(index),
                    Some(FaultItem::Name(name)) => key.key(&name),
                };
                self.problem(&at, fault.message);
            }
            entries.push(entry);
            origins.push(self.document.origin(&address));
        }
        (entries, origins)
    }

    fn http_entry(&mut self, address: &Address, raw: RawHttpTable) -> Option<HttpGrant> {
        let Some(origin) = raw.origin else {
            self.problem(
                address,
                "has no `origin`; write for example `origin = \"https://api.example.org\"`",
            );
            return None;
        };
        let origin = self.checked(address, OriginPattern::parse(&origin));
        for (key, list) in [("methods", &raw.methods), ("paths", &raw.paths)] {
            if list.as_ref().is_some_and(Vec::is_empty) {
                self.problem(&address.key(key), "names none; take it out for all of them");
            }
        }
        let mut entry = HttpGrant::of(origin?)
            .methods(raw.methods.unwrap_or_default())
            .paths(raw.paths.unwrap_or_default());
        entry.private = raw.private.unwrap_or_default();
        entry.read_only = raw.read_only.unwrap_or_default();
        for (name, raw) in raw.headers {
            let at = address.key("headers").key(&name);
            if entry.headers.contains_key(&name.to_ascii_lowercase()) {
                self.problem(&at, "is there twice: headers are the same in any case");
            }
            match raw.secret {
                Some(secret) => entry = entry.header(name, Credential::secret(secret).prefix(raw.prefix)),
                None => self.problem(&at, "has no `secret`; write for example `{ secret = \"api_key\" }`"),
            }
        }
        if let Some(file) = raw.ca {
            let path = self.host_path(&file);
            entry.ca = self.checked(&address.key("ca"), path);
        }
        Some(entry)
    }

    fn dir(&mut self, address: &Address, raw: RawDir, enabled: bool) -> Option<DirGrant> {
        let host = self.host_folder(&raw.host, enabled);
        let host = self.checked(&address.key("host"), host);
        let guest = self.checked(&address.key("guest"), guest_path(&raw.guest));
        for (index, pattern) in raw.deny.iter().enumerate() {
            // Compiled when the folder is opened, which most processes of one call do not.
            self.checked(&address.key("deny").item(index), DenySet::check(pattern));
        }
        let mut dir = DirGrant::new(host?, guest?, raw.access.unwrap_or(Access::Read));
        dir.deny = raw.deny;
        Some(dir)
    }

    /// Names with values, for the environment and for the configuration store.
    pub(super) fn strings(
        &mut self,
        table: &Address,
        raw: BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        for (name, value) in &raw {
            if name.is_empty() || name.contains(['=', '\0']) {
                self.problem(&table.key(name), "a name must not be empty nor contain `=` or a zero byte");
            }
            if value.contains('\0') {
                self.problem(&table.key(name), "a value must not contain a zero byte");
            }
        }
        raw
    }

    /// Secrets, of which nothing is read yet.
    pub(super) fn secrets(
        &mut self,
        table: &Address,
        raw: BTreeMap<String, RawSecret>,
        config: &BTreeMap<String, String>,
    ) -> BTreeMap<String, Secret> {
        let mut secrets = BTreeMap::new();
        for (name, raw) in raw {
            let address = table.key(&name);
            self.checked(&address, secret_name_fits(&name));
            let readable = raw.readable.unwrap_or_default();
            if readable && config.contains_key(&name) {
                self.problem(&address, format!("there is `config.{name}` too; rename one of them"));
            }
            if let Some(secret) = self.secret(&address, raw) {
                secrets.insert(name, Secret { readable, ..secret });
            }
        }
        secrets
    }

    fn secret(&mut self, address: &Address, raw: RawSecret) -> Option<Secret> {
        match (raw.env, raw.file) {
            (Some(name), None) if !name.is_empty() && !name.contains(['=', '\0']) => Some(Secret::env(name)),
            (Some(name), None) => {
                self.problem(&address.key("env"), format!("`{name}` is no variable's name"));
                None
            }
            (None, Some(file)) => {
                let path = self.host_path(&file);
                self.checked(&address.key("file"), path).map(Secret::file)
            }
            _ => {
                self.problem(address, "write either `{ env = \"NAME\" }` or `{ file = \"PATH\" }`");
                None
            }
        }
    }

    /// The absolute path that `written` means: relative to the file's folder, or to the home with `~/`, which no
    /// shell is there to expand.
    pub(super) fn host_path(&self, written: &str) -> Result<PathBuf, String> {
        if written.is_empty() || written.contains('\0') {
            return Err(
                "a path must not be empty nor contain a zero byte; `.` is this file's folder".to_owned()
            );
        }
        let Some(tilde) = written.strip_prefix('~') else { return Ok(self.folder.join(written)) };
        let below = match tilde.strip_prefix('/') {
            Some(below) => below.trim_start_matches('/'),
            None if tilde.is_empty() => "",
            None => {
                return Err(format!(
                    "only `~/` is understood, not `~` before a name; for a file of that name write `./{written}`"
                ));
            }
        };
        let home = self.home.as_ref().ok_or("`~/` stands for the home folder, and none is known here")?;
        Ok(home.join(below))
    }

    fn host_folder(&self, written: &str, enabled: bool) -> Result<PathBuf, String> {
        let path = self.host_path(written)?;
        if !enabled {
            return Ok(path);
        }
        let folder = path.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                format!("the folder `{written}` does not exist; create it, or correct the path")
            }
            std::io::ErrorKind::NotADirectory => file_instead(written),
            _ => format!("cannot use the folder `{written}`: {}", reason(&error)),
        })?;
        if folder.is_dir() { Ok(folder) } else { Err(file_instead(written)) }
    }
}

/// A name that may stand in texts in the secret's place.
fn secret_name_fits(name: &str) -> Result<(), String> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err("a secret's name has 1 to 64 of the letters a to z, digits, `_`, `-` and `.`".to_owned());
    }
    Ok(())
}

fn file_instead(written: &str) -> String {
    let parent =
        Path::new(written.trim_end_matches('/')).parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new(".")).display();
    format!("`{written}` is not a folder; grant its folder `{parent}`, with `deny` for what else is there")
}

/// The guest's path without a final slash, if it can be one.
fn guest_path(written: &str) -> Result<String, String> {
    let Some(below) = written.strip_prefix('/') else {
        let absolute = written.trim_start_matches("./");
        let example = if absolute.is_empty() || absolute.contains("..") { "work" } else { absolute };
        return Err(format!("a guest's path is absolute; write for example `\"/{example}\"`"));
    };
    if below.is_empty() {
        return Ok("/".to_owned());
    }
    let below = below.strip_suffix('/').unwrap_or(below);
    for part in below.split('/') {
        if part.is_empty() || part == "." || part == ".." {
            return Err(format!("`{written}` must not contain empty parts, `.` or `..`"));
        }
        if part.chars().any(char::is_control) {
            return Err("a guest's path must not contain control characters".to_owned());
        }
    }
    Ok(format!("/{below}"))
}

/// Whether one of two clean guest paths is the other or lies in it.
fn overlap(one: &str, other: &str) -> bool {
    Path::new(one).starts_with(other) || Path::new(other).starts_with(one)
}
