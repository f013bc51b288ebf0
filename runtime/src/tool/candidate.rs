//! What a component offers as tools, before its operator's settings choose among them.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use toolcell_package::{Export, Package, ToolDoc};

use super::inspect::Inspection;
use super::provider::provided;
use super::{Entry, LoadedComponent};
use crate::error::{Error, Result};
use crate::sandbox::{Sandbox, TypedCall};
use crate::schema::{Signature, tool_name};

/// Why a function is no tool.
enum Unfit {
    Function(String),
    Component(String),
}

/// A function that can be a tool, with what its author says of it.
pub(super) struct Candidate {
    pub(super) offered: Offered,
    pub(super) doc: ToolDoc,
    pub(super) input_schema: Value,
    pub(super) output_schema: Option<Value>,
    pub(super) entry: Entry,
}

/// By what its operator's settings mean a tool.
#[derive(Debug, Clone)]
pub(super) struct Offered {
    /// Its name before it is given another.
    pub(super) name: String,
    /// Where it is in the component.
    pub(super) origin: String,
}

impl Offered {
    /// Whether a setting means this one: by its name or by where it is in the component.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.origin == name
    }
}

/// Everything that a component offers as tools.
pub(super) fn candidates(
    component: &Arc<LoadedComponent>,
    inspection: &Inspection,
    package: &Package,
    sandbox: &Arc<Sandbox>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Candidate>> {
    if inspection.is_provider {
        return provided(component, inspection, sandbox, warnings);
    }
    let functions = inspection.functions();
    let mut candidates = Vec::new();
    for export in &functions {
        match typed(inspection, package, export) {
            Ok(candidate) => candidates.push(candidate),
            Err(Unfit::Component(message)) => return Err(Error::component(&component.owner.name, message)),
            Err(Unfit::Function(message)) => {
                let origin = origin_of(export);
                warnings.push(format!("{}: `{origin}` is no tool: {message}", component.owner.name));
            }
        }
    }
    if functions.is_empty() && inspection.is_command {
        candidates.push(command(component, package)?);
    }
    if candidates.is_empty() {
        let message = match inspection.is_hook {
            true => {
                "it is a hook (`toolcell:tool/hook`) and has no tools; name it as the `path` of a `[[hook]]`"
            }
            false => "none of its functions can be a tool",
        };
        return Err(Error::component(&component.owner.name, message));
    }
    Ok(candidates)
}

/// A function with its types and its author's words.
fn typed(inspection: &Inspection, package: &Package, export: &Export<'_>) -> Result<Candidate, Unfit> {
    let doc = package.tools.get(&export.key);
    let signature =
        Signature::from_wit(&inspection.resolve, export.function, doc, &package.types).map_err(|error| {
            let message = error.to_string();
            if error.refuses_component() { Unfit::Component(message) } else { Unfit::Function(message) }
        })?;
    let name = match doc.and_then(|doc| doc.name.clone()) {
        Some(name) => name,
        None => tool_name(&export.function.name).map_err(|error| Unfit::Function(error.to_string()))?,
    };
    Ok(Candidate {
        offered: Offered { name, origin: origin_of(export) },
        doc: doc.cloned().unwrap_or_default(),
        input_schema: signature.input_schema(),
        output_schema: signature.output_schema(),
        entry: Entry::Typed {
            interface: export.interface.clone(),
            function: export.function.name.clone(),
            typed: TypedCall::of(&signature),
            shrink: signature.returns().shrink(),
            signature: Arc::new(signature),
            exports: [OnceLock::new(), OnceLock::new()],
        },
    })
}

/// `interface.function` without package and version, or `function`.
fn origin_of(export: &Export<'_>) -> String {
    match &export.interface {
        None => export.function.name.clone(),
        Some(interface) => {
            let path = interface.split_once('@').map_or(interface.as_str(), |(path, _)| path);
            let interface = path.rsplit_once('/').map_or(path, |(_, interface)| interface);
            format!("{interface}.{}", export.function.name)
        }
    }
}

/// A program: one tool named after its component, any object as arguments.
fn command(component: &LoadedComponent, package: &Package) -> Result<Candidate> {
    let name = component.owner.name.rsplit('.').next().unwrap_or(&component.owner.name).replace('-', "_");
    let mut doc = package.tools.get("run").cloned().unwrap_or_default();
    if doc.description.is_none() {
        doc.description = package.instructions.clone();
    }
    let name =
        tool_name(&name).map_err(|error| Error::component(&component.owner.name, error.to_string()))?;
    Ok(Candidate {
        offered: Offered { name, origin: "wasi:cli/run".to_owned() },
        doc,
        input_schema: json!({ "type": "object", "properties": {} }),
        output_schema: None,
        entry: Entry::Command,
    })
}
