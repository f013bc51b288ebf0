//! What one file is, asks for and lacks.

use std::path::Path;

use serde_json::{Value, json};
use toolcell::Grant;
use toolcell::call::LimitHit;
use toolcell::config::Locked;
use toolcell::limits::EffectiveLimits;
use toolcell::schema::{Signature, tool_name};
use toolcell::tool::inspect::{Inspection, check_code, classify_imports, inspect, lints};
use toolcell_package::{Need, Package};

use crate::terminal::print;

/// The findings about one file.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub file: String,
    /// What it was in its registry, if it is of one.
    pub from: Option<Locked>,
    /// What it is, in words.
    pub what: String,
    pub tools: Vec<String>,
    /// What its author says that it needs.
    pub asks: Vec<String>,
    /// Imports that are refused when used, until something is granted.
    pub imports: Vec<String>,
    pub errors: Vec<String>,
    pub warnings: Vec<String>,
}

impl Checked {
    /// A file that is no tool.
    pub fn wrong(file: String, why: impl Into<String>) -> Self {
        Self { file, errors: vec![why.into()], ..Self::default() }
    }

    pub fn to_json(&self) -> Value {
        let mut document = json!({
            "file": self.file, "what": self.what, "tools": self.tools, "asks": self.asks,
            "imports": self.imports, "errors": self.errors, "warnings": self.warnings,
        });
        if let (Some(document), Some(from)) = (document.as_object_mut(), &self.from) {
            let Locked { reference, manifest, digest, bytes, .. } = from;
            let registry = json!({
                "reference": reference.to_string(), "manifest": manifest.to_string(), "digest": digest.to_string(),
                "bytes": bytes, "signature": "unverified",
            });
            document.insert("registry".to_owned(), registry);
        }
        document
    }

    /// What is known of where it comes from, and what is not; nothing of a file.
    pub fn origin_lines(&self) -> Vec<String> {
        let Some(Locked { manifest, digest, .. }) = &self.from else { return Vec::new() };
        vec![
            format!("manifest: {manifest}"),
            format!("content: {digest}"),
            "signature: unverified; the digests say that it is what the registry gave, not who made it"
                .to_owned(),
        ]
    }

    /// One line for a file that is no tool, a few for one that is.
    pub fn print(&self) -> std::io::Result<()> {
        if let ([error], true) = (self.errors.as_slice(), self.what.is_empty()) {
            return print(format!("{}: error: {error}\n", self.file));
        }
        let mut text = format!("{}: {}\n", self.file, self.what);
        for line in self.origin_lines() {
            text.push_str(&format!("  {line}\n"));
        }
        if !self.tools.is_empty() {
            text.push_str(&format!("  tools: {}\n", self.tools.join(", ")));
        }
        for (label, lines) in [
            ("asks for", &self.asks),
            ("refused when used", &self.imports),
            ("error", &self.errors),
            ("warning", &self.warnings),
        ] {
            for line in lines {
                text.push_str(&format!("  {label}: {line}\n"));
            }
        }
        print(text)
    }
}

/// What a component is looked at with, beside its bytes.
#[derive(Debug, Default)]
pub(crate) struct Terms<'a> {
    /// The WIT that describes it, if it is not packed, and the world in there.
    pub wit: Option<(&'a Path, Option<&'a str>)>,
    /// The limits under which it would be called, where they are known to hold for all of its tools.
    pub limits: Option<EffectiveLimits>,
    /// What it is granted; nothing where that is not known.
    pub grant: Grant,
}

/// Looks at a component.
pub(crate) fn check_bytes(file: String, bytes: &[u8], terms: &Terms<'_>) -> Checked {
    let inspection = match inspect(bytes).and_then(|inspection| check_code(bytes).map(|()| inspection)) {
        Ok(inspection) => inspection,
        Err(error) => return Checked::wrong(file, error.to_string()),
    };
    let package = match terms.wit {
        None => inspection.package.clone(),
        Some((folder, world)) => match Package::from_wit_dir(folder, world) {
            Ok(package) => Some(package),
            Err(error) => return Checked::wrong(file, format!("its WIT: {error}")),
        },
    };
    let mut checked = Checked { file, what: what(&inspection), ..Checked::default() };
    let imports = classify_imports(&inspection, &terms.grant);
    checked.errors.extend(imports.refusal());
    if let Some(limits) = &terms.limits {
        checked.errors.extend(inspection.footprint.beyond(limits).iter().map(too_small));
    }
    checked.imports.extend(
        imports.needs_grant.iter().map(|need| format!("{} ({})", need.name, need.capability.setting())),
    );
    let newer = |name| format!("{name} is newer than this host; it loads if nothing new is used");
    checked.warnings.extend(imports.newer.iter().map(newer));
    checked.warnings.extend(lints(&inspection).iter().map(ToString::to_string));
    if package.is_none() && !inspection.functions().is_empty() {
        checked.warnings.push(
            "it is not packed, so models are told nothing about its tools; run `toolcell pack`, or give --wit DIR"
                .to_owned(),
        );
    } else if let Some(package) = &package {
        let undescribed = package.undescribed(&inspection.resolve, inspection.world);
        checked.warnings.extend(undescribed.iter().map(ToString::to_string));
    }
    let package = package.unwrap_or_default();
    checked.asks = package.needs.iter().map(need_text).collect();
    functions(&inspection, &package, &mut checked);
    let has_entry = inspection.is_command || inspection.is_provider || inspection.is_hook;
    if checked.tools.is_empty() && !has_entry && checked.errors.is_empty() {
        checked.errors.push("none of its functions can be a tool".to_owned());
    }
    checked
}

/// A limit under which the component loads nowhere.
fn too_small(hit: &LimitHit) -> String {
    let flag = hit.flag.as_ref().map(|flag| format!(", or pass `{flag}`")).unwrap_or_default();
    format!(
        "`{}`: it needs {} from its start, and {} is allowed; raise `{}`{flag}",
        hit.name, hit.used, hit.allowed, hit.setting
    )
}

fn what(inspection: &Inspection) -> String {
    let functions = inspection.functions().len();
    let memory = inspection.footprint.memory_bytes >> 10;
    let what = match (inspection.is_command, functions) {
        _ if inspection.is_provider => {
            "a provider of tools (`toolcell:tool/tools`), which it names when it is loaded".to_owned()
        }
        (_, 0) if inspection.is_hook => "a hook (`toolcell:tool/hook`), no tool".to_owned(),
        (true, 0) => "a program (`wasi:cli/run`), one tool".to_owned(),
        (_, 1) => "a component with 1 function".to_owned(),
        (_, functions) => format!("a component with {functions} functions"),
    };
    format!("{what}, {memory} KiB of memory to begin with")
}

pub(crate) fn need_text(need: &Need) -> String {
    let detail = if need.detail.is_empty() { String::new() } else { format!(" {}", need.detail) };
    let reason = if need.reason.is_empty() { String::new() } else { format!(": {}", need.reason) };
    format!("{}{detail}{reason}", need.capability)
}

/// The functions that are tools, why others are not, and which of them copy bytes the slow way.
fn functions(inspection: &Inspection, package: &Package, checked: &mut Checked) {
    for export in inspection.functions() {
        let doc = package.tools.get(&export.key);
        let function = &export.function.name;
        let signature = Signature::from_wit(&inspection.resolve, export.function, doc, &package.types);
        match signature {
            Err(error) if error.refuses_component() => checked.errors.push(format!("`{function}`: {error}")),
            Err(error) => checked.warnings.push(format!("`{function}` is no tool: {error}")),
            Ok(signature) => {
                let name = doc.and_then(|doc| doc.name.clone()).unwrap_or_else(|| function.replace('-', "_"));
                let has_bytes = has_bytes(&signature.input_schema())
                    || signature.output_schema().is_some_and(|schema| has_bytes(&schema));
                if has_bytes && signature.fast_path().is_none() {
                    checked.warnings.push(format!(
                        "`{name}` takes or gives a list<u8> beside or inside other types, so each byte is 40 on the \
                         host, bounded by `host_bytes`; pass it by a function of strings, bytes and numbers alone"
                    ));
                }
                match tool_name(&name) {
                    Err(error) => checked.warnings.push(format!("`{function}` is no tool: {error}")),
                    Ok(name) if checked.tools.contains(&name) => checked.errors.push(format!(
                        "two of its functions are named `{name}`; give one of them another by `rename` or `@name`"
                    )),
                    Ok(name) => checked.tools.push(name),
                }
            }
        }
    }
}

/// Whether a `list<u8>` is anywhere in the schema.
fn has_bytes(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.get("contentEncoding").is_some_and(|encoding| encoding == "base64")
                || members.values().any(has_bytes)
        }
        Value::Array(items) => items.iter().any(has_bytes),
        _ => false,
    }
}
