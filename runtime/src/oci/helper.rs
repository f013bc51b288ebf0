//! Programs that keep credentials for docker: `docker-credential-NAME get`, the registry on its standard input, and on its output
//! a user and a secret.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use serde::Deserialize;

use super::credentials::Credential;
use crate::process::Program;

/// How long such a program may take: some ask their user first.
const PATIENCE: Duration = Duration::from_secs(60);

/// More than any credential.
const MAX_OUTPUT: u64 = 64 << 10;

/// The user whose secret is what a token is given for.
const IDENTITY_USER: &str = "<token>";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Kept {
    username: String,
    secret: String,
}

/// What the program `docker-credential-NAME` of the user's `PATH` keeps for the registry `key`, if anything.
///
/// # Errors
/// When it cannot be run, or says something else.
pub(super) fn ask(name: &str, key: &str) -> Result<Option<Credential>, String> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !name.bytes().all(is_name) {
        return Err("the file of docker names a credential helper by what is no name of one".to_owned());
    }
    // Of the registry that everybody means, docker keeps the address.
    let server = if key == "index.docker.io" { "https://index.docker.io/v1/" } else { key };
    let program = format!("docker-credential-{name}");
    let said = run(&program, server, PATIENCE)
        .map_err(|what| format!("the credential helper `{program}` {what}"))?;
    if let Ok(Kept { username, secret }) = serde_json::from_slice(&said) {
        return Ok(match (username.as_str(), secret.is_empty()) {
            (_, true) => None,
            (IDENTITY_USER, false) => Some(Credential::Identity(secret)),
            _ => Some(Credential::Password { user: username, password: secret }),
        });
    }
    // These words are the only sign for it that there is.
    match String::from_utf8_lossy(&said).to_lowercase().contains("credentials not found") {
        true => Ok(None),
        false => Err(format!(
            "the credential helper `{program}` gave no credentials for `{key}`; run `docker login {key}`"
        )),
    }
}

/// What the program says to the question; it has ended, or is killed.
fn run(program: &str, question: &str, patience: Duration) -> Result<Vec<u8>, String> {
    let variables = std::env::vars_os();
    let env =
        variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let program = Program {
        command: vec![program.into(), "get".into()],
        folder: Path::new("/").to_owned(),
        env: env.collect(),
    };
    let mut group = program.start().map_err(|error| format!("is not run: {error}"))?;
    let (mut stdin, stdout, mut stderr) = group.streams().ok_or("has no streams")?;
    let (sender, said) = mpsc::channel();
    let question = question.to_owned();
    let talk = move || {
        // One that wants no question says what it has to say nevertheless.
        let _ = stdin.write_all(question.as_bytes());
        drop(stdin);
        let mut all = Vec::new();
        let read = stdout.take(MAX_OUTPUT).read_to_end(&mut all);
        let _ = sender.send(read.map(|_| all));
    };
    let listen = move || std::io::copy(&mut stderr, &mut std::io::sink());
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let no_thread = |error: std::io::Error| format!("is not run: {}", error.kind());
    thread("toolcell-helper").spawn(talk).map_err(no_thread)?;
    thread("toolcell-helper").spawn(listen).map_err(no_thread)?;
    match said.recv_timeout(patience) {
        Ok(said) => said.map_err(|error| format!("says nothing: {}", error.kind())),
        Err(_) => Err(format!("said nothing for {}", humantime::format_duration(patience))),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn said(script: &str, patience: Duration) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("helper");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        run(program.to_str().unwrap(), "a.io", patience)
    }

    #[test]
    fn a_program_is_asked_and_bounded() {
        let long = Duration::from_secs(60);
        assert_eq!(said("[ $1 = get ] && cat; echo x >&2", long).unwrap(), b"a.io");
        assert_eq!(said("echo unasked; exit 1", long).unwrap(), b"unasked\n");
        assert_eq!(said("yes", long).unwrap().len(), 64 << 10);
        let told = said("sleep 1000", Duration::from_millis(50)).unwrap_err();
        assert_eq!(told, "said nothing for 50ms");
        assert!(
            run("docker-credential-that-nobody-has", "a.io", long).unwrap_err().starts_with("is not run")
        );
    }
}
