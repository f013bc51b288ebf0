//! Credentials where docker keeps them: in its own file, or with a program that the file names.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::helper;

/// Larger than any file of credentials.
const MAX_FILE: u64 = 1 << 20;

/// What proves to a registry who asks. Never shown.
#[derive(PartialEq, Eq)]
pub(super) enum Credential {
    /// A user and a password.
    Password { user: String, password: String },
    /// What a token is given for.
    Identity(String),
    /// A token.
    Token(String),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DockerConfig {
    auths: BTreeMap<String, Auth>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Auth {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
    registrytoken: String,
}

/// The file in which docker keeps credentials: in the folder `directory`, which is the value of `DOCKER_CONFIG`, else below `home`.
pub fn docker_config(directory: Option<OsString>, home: Option<&Path>) -> Option<PathBuf> {
    let named = directory.filter(|it| !it.is_empty()).map(PathBuf::from);
    let folder = named.or_else(|| Some(home?.join(".docker")))?;
    Some(folder.join("config.json"))
}

/// What docker keeps for the registry `key`; nothing where there is no file, or none for it.
///
/// # Errors
/// When the file or the program that keeps credentials cannot be used: going on without would ask as somebody else.
pub(super) fn find(file: Option<&Path>, key: &str) -> Result<Option<Credential>, String> {
    let Some(file) = file else { return Ok(None) };
    let Some(text) = read(file)? else { return Ok(None) };
    let wrong = |what: String| format!("the credentials in {}: {what}", file.display());
    // What the parser says of a place shows nothing of what is there.
    let config: DockerConfig = serde_json::from_slice(&text).map_err(|error| {
        wrong(format!(
            "the file is not what docker writes (line {}, column {})",
            error.line(),
            error.column()
        ))
    })?;
    let of_key = |name: &&String| registry_of(name) == key;
    let helper = config.cred_helpers.iter().find(|(name, _)| of_key(name)).map(|(_, helper)| helper);
    let helper = helper.or(Some(&config.creds_store)).filter(|helper| !helper.is_empty());
    if let Some(helper) = helper
        && let Some(found) = helper::ask(helper, key)?
    {
        return Ok(Some(found));
    }
    let Some((_, auth)) = config.auths.into_iter().find(|(name, _)| of_key(&name)) else { return Ok(None) };
    auth.credential().map_err(|what| wrong(format!("the entry of `{key}` {what}")))
}

/// The file's bytes, if there is one.
fn read(file: &Path) -> Result<Option<Vec<u8>>, String> {
    let failed = |error: std::io::Error| {
        format!("cannot read the credentials in {}: {}", file.display(), error.kind())
    };
    let metadata = match std::fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata.map_err(failed)?,
    };
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return Err(format!("the credentials in {}: this is no file that docker writes", file.display()));
    }
    let mut text = Vec::new();
    std::fs::File::open(file).and_then(|file| file.take(MAX_FILE).read_to_end(&mut text)).map_err(failed)?;
    Ok(Some(text))
}

/// Host and port of a key, which may be an address as `https://index.docker.io/v1/`.
fn registry_of(key: &str) -> &str {
    let after = key.split_once("://").map_or(key, |(_, after)| after);
    let registry = after.split('/').next().unwrap_or(after);
    if registry == "docker.io" { "index.docker.io" } else { registry }
}

impl Auth {
    fn credential(self) -> Result<Option<Credential>, &'static str> {
        if !self.registrytoken.is_empty() {
            return Ok(Some(Credential::Token(self.registrytoken)));
        }
        if !self.identitytoken.is_empty() {
            return Ok(Some(Credential::Identity(self.identitytoken)));
        }
        if !self.username.is_empty() {
            return Ok(Some(Credential::Password { user: self.username, password: self.password }));
        }
        // So docker writes an entry whose credentials a program keeps.
        if self.auth.is_empty() {
            return Ok(None);
        }
        let decoded = STANDARD.decode(self.auth.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let pair = decoded.as_deref().and_then(|text| text.trim_end_matches('\0').split_once(':'));
        let (user, password) = pair.ok_or("is not a user and a password in base64")?;
        Ok(Some(Credential::Password { user: user.to_owned(), password: password.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    fn found(text: &str, key: &str) -> Result<String, String> {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("config.json");
        std::fs::write(&file, text).unwrap();
        let shown = |credential| match credential {
            None => "nothing".to_owned(),
            Some(Credential::Password { user, password }) => format!("{user} {password}"),
            Some(Credential::Identity(token)) => format!("identity {token}"),
            Some(Credential::Token(token)) => format!("token {token}"),
        };
        find(Some(&file), key).map(shown)
    }

    #[test]
    fn the_file_of_docker_is_read_as_docker_reads_it() {
        let text = r#"{
            "auths": {
                "ghcr.io": { "auth": "YWRhOnM6M2NyZXQ=" },
                "https://index.docker.io/v1/": { "auth": "aHViOnB3", "identitytoken": "" },
                "localhost:5000": { "username": "u", "password": "p" },
                "https://a.io": { "identitytoken": "i" },
                "b.io": { "registrytoken": "r" },
                "empty.io": {}
            },
            "HttpHeaders": { "x": "y" }, "currentContext": "default"
        }"#;
        for (key, expected) in [
            ("ghcr.io", "ada s:3cret"),
            ("index.docker.io", "hub pw"),
            ("localhost:5000", "u p"),
            ("localhost", "nothing"),
            ("a.io", "identity i"),
            ("b.io", "token r"),
            ("empty.io", "nothing"),
            ("other.io", "nothing"),
        ] {
            assert_eq!(found(text, key).as_deref(), Ok(expected), "{key}");
        }
        assert_eq!(found("{}", "ghcr.io").as_deref(), Ok("nothing"));
    }

    #[test]
    fn a_damaged_file_is_told_and_shows_no_secret() {
        for text in [
            "",
            "s3cret",
            r#"{"auths":{"ghcr.io":{"auth":"s3cret"}}"#,
            r#"{"auths":{"ghcr.io":{"auth":"s3cret!!"}}}"#,
            r#"{"auths":{"ghcr.io":{"auth":"czNjcmV0"}}}"#,
            r#"{"auths":{"ghcr.io":{"password":["s3cret"]}}}"#,
            r#"{"credsStore":"../s3cret"}"#,
            r#"{"credsStore":"no-such-helper"}"#,
        ] {
            let told = found(text, "ghcr.io").unwrap_err();
            assert!(
                !told.contains("auth\":") && !told.contains("s3cret!") && !told.ends_with("s3cret"),
                "{told}"
            );
        }
        assert!(find(Some(Path::new("/no/such/config.json")), "a.io").is_ok_and(|found| found.is_none()));
        assert!(find(Some(Path::new("/dev/zero")), "a.io").is_err());
        assert!(find(None, "a.io").is_ok_and(|found| found.is_none()));
    }

    #[test]
    fn the_file_is_where_the_variable_or_the_home_says() {
        let home = Some(Path::new("/home/a"));
        for (variable, home, expected) in [
            (None, home, Some("/home/a/.docker/config.json")),
            (Some(""), home, Some("/home/a/.docker/config.json")),
            (Some("/x"), home, Some("/x/config.json")),
            (None, None, None),
        ] {
            let file = docker_config(variable.map(Into::into), home);
            assert_eq!(file.as_deref(), expected.map(Path::new));
        }
    }
}
