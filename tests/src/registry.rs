//! A registry of components on this machine: Debian's `docker-registry`, and what is published to it.

use std::fmt::Write as _;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};
use toolcell::policy::Digest;

use crate::http_client::{HttpRequest, HttpServer};

/// The type of a manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The type of an index.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The one user of a registry that has one.
pub const USER: (&str, &str) = ("ada", "s3cret-of-ada");

/// That password as the registry keeps it.
const HASH: &str = "$2y$05$abcdefghijklmnopqrstuuitFbFC.tJuUuBIoKqGq8ZH9Y5KVtvNK";

/// A registry that ends with its test.
pub struct Registry {
    child: Child,
    port: u16,
    user: Option<(&'static str, &'static str)>,
    _folder: tempfile::TempDir,
}

#[expect(clippy::panic, reason = "a test that cannot set up fails")]
impl Registry {
    /// One that everybody may read and write.
    pub fn open() -> Self {
        Self::start(None)
    }

    /// One that knows [`USER`] alone.
    pub fn guarded() -> Self {
        Self::start(Some(USER))
    }

    fn start(user: Option<(&'static str, &'static str)>) -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = listener.unwrap_or_else(|error| panic!("{error}")).port();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let mut text = format!(
            "version: 0.1\nlog: {{ level: error }}\nstorage: {{ filesystem: {{ rootdirectory: {} }} }}\nhttp: {{ addr: \"127.0.0.1:{port}\" }}\n",
            at("blobs")
        );
        if let Some((name, _)) = user {
            let _ = writeln!(text, "auth: {{ htpasswd: {{ realm: test, path: {} }} }}", at("users"));
            std::fs::write(at("users"), format!("{name}:{HASH}\n")).unwrap_or_else(|error| panic!("{error}"));
        }
        std::fs::write(at("config.yml"), text).unwrap_or_else(|error| panic!("{error}"));
        let mut command = Command::new("docker-registry");
        command.args(["serve", &at("config.yml")]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.unwrap_or_else(|error| panic!("{command:?}: {error}; Debian has it as a package"));
        let registry = Self { child, port, user, _folder: folder };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{command:?} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        registry
    }

    /// Host and port.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The reference of what is in it.
    pub fn reference(&self, repository_and_tag: &str) -> String {
        format!("oci://{}/{repository_and_tag}", self.address())
    }

    /// Publishes a component of this layer type; the digest of its manifest.
    pub fn publish(&self, repository: &str, tag: &str, component: &[u8], layer: &str) -> Digest {
        let manifest = manifest(component, layer).to_string();
        self.blob(repository, b"{}");
        self.blob(repository, component);
        self.manifest(repository, tag, MANIFEST, manifest.as_bytes())
    }

    /// Publishes a manifest; its digest.
    pub fn manifest(&self, repository: &str, tag: &str, kind: &str, bytes: &[u8]) -> Digest {
        let request = HttpRequest::new("PUT", &format!("/v2/{repository}/manifests/{tag}"));
        self.send(request.header("Content-Type", kind).body(bytes), 201);
        Digest::of(bytes)
    }

    /// Publishes some bytes.
    pub fn blob(&self, repository: &str, bytes: &[u8]) {
        let started = self.send(HttpRequest::new("POST", &format!("/v2/{repository}/blobs/uploads/")), 202);
        let (_, path) = started.split_once(&self.address()).unwrap_or_else(|| panic!("{started}"));
        let path = format!("{path}&digest={}", Digest::of(bytes));
        let request = HttpRequest::new("PUT", &path).header("Content-Type", "application/octet-stream");
        self.send(request.body(bytes), 201);
    }

    /// Where the answer leads.
    fn send(&self, mut request: HttpRequest, status: u16) -> String {
        if let Some((name, password)) = self.user {
            let pair = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
            request = request.header("Authorization", &format!("Basic {pair}"));
        }
        let mut answer = HttpServer::at(self.address()).send(request);
        if answer.status != status {
            panic!("{}, not {status}: {}", { answer.status }, answer.text());
        }
        answer.header("location").unwrap_or_default().to_owned()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The manifest of a component of this layer type.
pub fn manifest(component: &[u8], layer: &str) -> Value {
    json!({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": { "mediaType": "application/vnd.wasm.config.v0+json", "digest": Digest::of(b"{}").to_string(), "size": 2 },
        "layers": [{ "mediaType": layer, "digest": Digest::of(component).to_string(), "size": component.len() }],
    })
}

/// A component with one tool, `answer`, which gives this number.
#[expect(clippy::panic, reason = "a test that cannot set up fails")]
pub fn answering(number: u32) -> Vec<u8> {
    let text = format!(
        r#"(component
            (core module $module (func (export "answer") (result i32) i32.const {number}))
            (core instance $instance (instantiate $module))
            (func (export "answer") (result u32) (canon lift (core func $instance "answer"))))"#
    );
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}
