//! What a registry has under a reference.

use serde::Deserialize;

use crate::policy::Digest;
use crate::tool::inspect::MAX_COMPONENT_BYTES;

/// What is asked for, so that a registry gives it as it is.
pub(super) const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
                                   application/vnd.docker.distribution.manifest.v2+json, \
                                   application/vnd.docker.distribution.manifest.list.v2+json";

/// The longest manifest, 4 MiB: what the specification of distribution wants registries to take at least, and common ones at most.
pub(super) const MAX_MANIFEST: u64 = 4 << 20;

const IMAGES: [&str; 2] =
    ["application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"];

const INDEXES: [&str; 2] =
    ["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"];

/// What a component's layer is called: by the guidance for Wasm artifacts of the CNCF, and by tools before it.
const COMPONENTS: [&str; 2] = ["application/wasm", "application/vnd.wasm.content.layer.v1+wasm"];

/// The operating systems of components in an index, the best first.
const SYSTEMS: [&str; 2] = ["wasip2", "wasi"];

/// A manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Manifest {
    /// It names a component.
    Component { digest: Digest, bytes: u64 },
    /// It names other manifests, and this is the one for us.
    Index(Digest),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    schema_version: Option<u64>,
    media_type: Option<String>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    architecture: String,
    os: String,
}

impl Manifest {
    /// Reads a manifest, which came as `content_type`.
    ///
    /// # Errors
    /// Says what it is in place of one that names a component.
    pub fn read(bytes: &[u8], content_type: &str) -> Result<Self, String> {
        let content_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let raw: Raw = serde_json::from_slice(bytes).map_err(|_| {
            let kind = if content_type.is_empty() { "of no type" } else { &content_type };
            format!("what came is no manifest ({}); is this the address of a registry?", shown(kind))
        })?;
        if raw.schema_version != Some(2) {
            return Err("its manifest is not of schema version 2; publish it again".to_owned());
        }
        let is_known = |kind: &str| IMAGES.contains(&kind) || INDEXES.contains(&kind);
        // Who reads one text in two ways takes what another reader has not looked at.
        if let Some(kind) =
            raw.media_type.as_deref().filter(|kind| is_known(&content_type) && *kind != content_type)
        {
            return Err(format!("its manifest says that it is {}, and came as {content_type}", shown(kind)));
        }
        let kind = raw.media_type.filter(|kind| !kind.is_empty()).unwrap_or(content_type);
        match (raw.layers, raw.manifests) {
            (Some(layers), None) if IMAGES.contains(&&*kind) => component(&layers),
            (None, Some(manifests)) if INDEXES.contains(&&*kind) => one_of(&manifests),
            (Some(_), Some(_)) => Err("its manifest is a list of manifests and of layers at once".to_owned()),
            _ => Err(format!("what came is no manifest of an artifact ({})", shown(&kind))),
        }
    }
}

fn component(layers: &[Descriptor]) -> Result<Manifest, String> {
    let is_component = |layer: &Descriptor| COMPONENTS.contains(&&*layer.media_type);
    let layer = match layers {
        [layer] if is_component(layer) => layer,
        [] => return Err("its manifest has no layer, and a component is one".to_owned()),
        [layer] => {
            return Err(format!(
                "its layer is {}, and a component is `application/wasm`; is this a component at all?",
                shown(&layer.media_type)
            ));
        }
        layers if layers.iter().any(is_component) => {
            return Err(format!(
                "it has {} layers, and which of them is the component nobody says",
                layers.len()
            ));
        }
        layers => {
            return Err(format!(
                "it has {} layers, as images of containers have; a component is one",
                layers.len()
            ));
        }
    };
    let digest = digest(layer)?;
    let most = u64::try_from(MAX_COMPONENT_BYTES).unwrap_or(u64::MAX);
    match layer.size <= most {
        true => Ok(Manifest::Component { digest, bytes: layer.size }),
        false => Err(format!("it has {} bytes, and a component may have {most}", layer.size)),
    }
}

/// The manifest for components in an index, if there is one and no other that is as good.
fn one_of(manifests: &[Descriptor]) -> Result<Manifest, String> {
    for system in SYSTEMS {
        let is_for = |platform: &Platform| platform.architecture == "wasm" && platform.os == system;
        let mut fitting = manifests.iter().filter(|one| one.platform.as_ref().is_some_and(is_for));
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => return Ok(Manifest::Index(digest(one)?)),
            (Some(_), Some(_)) => {
                return Err(format!(
                    "its index has several manifests for wasm/{system}; name one by its digest"
                ));
            }
            (None, _) => {}
        }
    }
    let platforms = manifests.iter().filter_map(|one| one.platform.as_ref());
    let platforms: Vec<String> =
        platforms.take(8).map(|one| shown(&format!("{}/{}", one.os, one.architecture))).collect();
    let there =
        if platforms.is_empty() { String::new() } else { format!(", but for {}", platforms.join(", ")) };
    Err(format!("its index has no manifest for components (wasip2/wasm or wasi/wasm){there}"))
}

fn digest(descriptor: &Descriptor) -> Result<Digest, String> {
    let wrong = || {
        format!(
            "its manifest names {}, and this toolcell knows digests by SHA-256",
            shown(&descriptor.digest)
        )
    };
    descriptor.digest.parse().map_err(|_: String| wrong())
}

/// What came, bounded and without control characters.
fn shown(text: &str) -> String {
    let text: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    format!("`{text}`")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use serde_json::{Value, json};

    use super::*;

    fn layer(kind: &str) -> Value {
        json!({ "mediaType": kind, "digest": Digest::of(b"a").to_string(), "size": 1 })
    }

    fn read(content_type: &str, manifest: &Value) -> Result<Manifest, String> {
        Manifest::read(manifest.to_string().as_bytes(), content_type)
    }

    fn image(layers: &[Value]) -> Value {
        json!({ "schemaVersion": 2, "mediaType": IMAGES[0], "config": layer("application/vnd.wasm.config.v0+json"), "layers": layers })
    }

    fn for_platform(os: &str, architecture: &str, content: &[u8]) -> Value {
        let platform = json!({ "os": os, "architecture": architecture });
        json!({ "mediaType": IMAGES[0], "digest": Digest::of(content).to_string(), "size": 1, "platform": platform })
    }

    fn index(manifests: &[Value]) -> Value {
        json!({ "schemaVersion": 2, "mediaType": INDEXES[0], "manifests": manifests })
    }

    #[test]
    fn components_are_found_under_each_of_their_types() {
        for kind in COMPONENTS {
            let component = Manifest::Component { digest: Digest::of(b"a"), bytes: 1 };
            for content_type in [
                IMAGES[0],
                "application/vnd.OCI.image.manifest.v1+json; charset=utf-8",
                "application/json",
                "",
            ] {
                assert_eq!(
                    read(content_type, &image(&[layer(kind)])),
                    Ok(component.clone()),
                    "{content_type}"
                );
            }
            let mut unnamed = image(&[layer(kind)]);
            unnamed.as_object_mut().unwrap().remove("mediaType");
            assert_eq!(read(IMAGES[0], &unnamed), Ok(component));
        }
    }

    #[test]
    fn an_index_leads_to_the_one_manifest_for_components() {
        let (two, old, linux) = (
            for_platform("wasip2", "wasm", b"2"),
            for_platform("wasi", "wasm", b"1"),
            for_platform("linux", "amd64", b"3"),
        );
        for (manifests, expected) in [
            (vec![linux.clone(), two.clone(), old.clone()], Ok(b"2")),
            (vec![linux.clone(), old.clone()], Ok(b"1")),
            (vec![two.clone(), two.clone()], Err("several manifests for wasm/wasip2")),
            (vec![linux.clone()], Err("but for `linux/amd64`")),
            (vec![layer(IMAGES[0])], Err("no manifest for components")),
            (vec![], Err("no manifest for components")),
        ] {
            match (read(INDEXES[0], &index(&manifests)), expected) {
                (Ok(found), Ok(content)) => assert_eq!(found, Manifest::Index(Digest::of(content))),
                (Err(told), Err(expected)) => assert!(told.contains(expected), "{told}"),
                (found, expected) => assert_eq!((found.is_ok(), expected.is_ok()), (true, true), "{found:?}"),
            }
        }
    }

    #[test]
    fn whatever_else_comes_is_named() {
        let wasm = || layer(COMPONENTS[0]);
        let with = |key: &str, value: Value| {
            let mut manifest = image(&[wasm()]);
            manifest[key] = value;
            manifest
        };
        let mut large = wasm();
        large["size"] = json!((256_u64 << 20) + 1);
        let mut other_hash = wasm();
        other_hash["digest"] = json!("sha512:00");
        for (content_type, manifest, expected) in [
            (IMAGES[0], image(&[]), "has no layer"),
            (
                IMAGES[0],
                image(&[layer("application/vnd.oci.image.layer.v1.tar+gzip")]),
                "is this a component at all?",
            ),
            (IMAGES[0], image(&[wasm(), wasm()]), "it has 2 layers, and which of them"),
            (IMAGES[0], image(&[layer("x"), layer("y")]), "as images of containers have"),
            (IMAGES[0], image(&[large]), "a component may have 268435456"),
            (IMAGES[0], image(&[other_hash]), "digests by SHA-256"),
            (IMAGES[0], with("schemaVersion", json!(1)), "not of schema version 2"),
            (IMAGES[0], with("manifests", json!([])), "of manifests and of layers at once"),
            (INDEXES[0], image(&[wasm()]), "came as application/vnd.oci.image.index"),
            (
                "application/json",
                with("mediaType", json!("text/\u{1b}[31mx")),
                "no manifest of an artifact (`text/\\u{1b}[31mx`)",
            ),
            (IMAGES[0], json!({ "schemaVersion": 2 }), "no manifest of an artifact"),
            (IMAGES[0], with("layers", json!([{ "digest": 3 }])), "what came is no manifest"),
            (IMAGES[0], json!([]), "what came is no manifest"),
        ] {
            let told = read(content_type, &manifest).unwrap_err();
            assert!(told.contains(expected), "{expected}: {told}");
        }
        let page = Manifest::read(b"<!doctype html>", "text/html; charset=utf-8").unwrap_err();
        assert_eq!(page, "what came is no manifest (`text/html`); is this the address of a registry?");
    }
}
