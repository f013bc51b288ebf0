//! Tools that a component names only when it runs: asked for once, when it is loaded, and held to what it said.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolcell_package::{Export, Hints, ToolDoc};

use super::announced::{MAX_DESCRIPTION_BYTES, MAX_TOOLS, bounded_length, object_schema};
use super::argument_schema::ArgumentSchema;
use super::candidate::{Candidate, Offered};
use super::inspect::Inspection;
use super::{Entry, LoadedComponent};
use crate::call::Returned;
use crate::error::{Error, Result};
use crate::limits::{Limit, Limits};
use crate::output::Shrink;
use crate::output::{EventSinks, clean, cleaned};
use crate::sandbox::{
    CallContext, Cell, DirTemplate, Function, HttpAccess, Invocation, KeepGrant, Meter, Sandbox,
};
use crate::schema::{Signature, tool_name};

/// The tools of a provider. It runs without grants but its configuration, and under small limits.
///
/// # Errors
/// When it does not say them: it traps, takes too long, or names too many.
pub(super) fn provided(
    component: &Arc<LoadedComponent>,
    inspection: &Inspection,
    sandbox: &Arc<Sandbox>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Candidate>> {
    let wrong = |message: String| Error::component(&component.owner.name, message);
    let functions = inspection.provider_functions();
    let entry = |name: &str| {
        let export = functions.iter().find(|export| export.function.name == name);
        export
            .ok_or_else(|| wrong(format!("it provides tools but has no `{name}`")))
            .and_then(|export| typed(inspection, export).map_err(&wrong))
    };
    let (list, call) = (entry("list-tools")?, Arc::new(entry("call-tool")?));
    let listed = list_tools(component, sandbox, &list).map_err(&wrong)?;
    if listed.len() > MAX_TOOLS {
        return Err(wrong(format!("it names {} tools, and {MAX_TOOLS} are allowed", listed.len())));
    }
    let mut candidates: Vec<Candidate> = Vec::new();
    for definition in listed {
        let name = definition.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_taken = |found: &Candidate| {
            candidates.iter().any(|other: &Candidate| other.offered.name == found.offered.name)
        };
        match candidate(&name, &cleaned(definition), &call) {
            Ok(second) if is_taken(&second) => warnings.push(format!(
                "{}: a second `{}` is no tool: the first one has the name",
                component.owner.name, second.offered.name
            )),
            Ok(candidate) => candidates.push(candidate),
            Err(why) => {
                let name = clean(name.get(..name.floor_char_boundary(64)).unwrap_or_default()).into_owned();
                let why = clean(&why);
                warnings.push(format!("{}: `{name}` is no tool: {why}", component.owner.name));
            }
        }
    }
    if candidates.is_empty() {
        return Err(wrong("it provides tools, and named none that can be one".to_owned()));
    }
    Ok(candidates)
}

fn typed(inspection: &Inspection, export: &Export<'_>) -> std::result::Result<Entry, String> {
    let types = std::collections::BTreeMap::new();
    let signature = Signature::from_wit(&inspection.resolve, export.function, None, &types)
        .map_err(|error| format!("its `{}`: {error}", export.function.name))?;
    Ok(Entry::Typed {
        interface: export.interface.clone(),
        function: export.function.name.clone(),
        typed: None,
        shrink: Shrink::Any,
        signature: Arc::new(signature),
        exports: [OnceLock::new(), OnceLock::new()],
    })
}

/// Runs `list-tools`, on a thread of its own: the caller may be one that must not wait.
fn list_tools(
    component: &Arc<LoadedComponent>,
    sandbox: &Arc<Sandbox>,
    list: &Entry,
) -> std::result::Result<Vec<Value>, String> {
    let asking = async {
        let prepared = component.prepared(sandbox, Meter::Fuel).await.map_err(|error| error.to_string())?;
        let Entry::Typed { signature, .. } = list else { return Err("it has no `list-tools`".to_owned()) };
        let export = list.export(&prepared).ok_or("it does not export `list-tools`")?;
        let function = Function { export, signature: Arc::clone(signature), typed: None };
        let cell = Cell {
            prepared,
            invocation: Invocation::Typed { function, arguments: Value::Object(serde_json::Map::new()) },
            limits: Arc::new(Limits::resolve([&listing_limits()])),
            dirs: DirTemplate::open(&[], "").map_err(|error| error.to_string())?,
            env: Arc::default(),
            config: Arc::clone(&component.config),
            keeping: KeepGrant {
                setting: "none: while tools are listed nothing is granted".into(),
                ..KeepGrant::default()
            },
            http: HttpAccess::none(),
            context: Arc::new(CallContext::default()),
            cancel: CancellationToken::new(),
            events: EventSinks::default(),
            deterministic: None,
            tape: None,
        };
        let ended = sandbox.run(cell, ()).await;
        match ended.end {
            Ok(Returned::Value(Some(Value::Array(tools)))) => Ok(tools),
            Ok(_) => Err("its `list-tools` gives no list".to_owned()),
            Err(error) => Err(format!("asked for its tools, it failed ({}): {}", error.kind, error.message)),
        }
    };
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| sandbox.handle().block_on(asking)).join();
        asked.unwrap_or_else(|_| Err("the host failed while it asked for its tools".to_owned()))
    })
}

/// What naming its tools may take.
fn listing_limits() -> Limits {
    Limits::new()
        .timeout(Duration::from_secs(5))
        .with(Limit::Fuel, 10_000_000_000)
        .with(Limit::Memory, 128 << 20)
        .with(Limit::ResultBytes, 4 << 20)
}

/// One tool as the provider describes it.
fn candidate(name: &str, definition: &Value, call: &Arc<Entry>) -> std::result::Result<Candidate, String> {
    let text = |key: &str| definition.get(key).and_then(Value::as_str);
    let offered = Offered {
        name: tool_name(name).map_err(|error| error.to_string())?,
        origin: format!("tools.{name}"),
    };
    let input_schema = schema(text("input_schema").unwrap_or_default(), "input schema")?;
    let output_schema = text("output_schema").map(|text| schema(text, "output schema")).transpose()?;
    if let Some(schema) = &output_schema {
        ArgumentSchema::new(schema).map_err(|error| format!("its output schema: {error}"))?;
    }
    let arguments =
        ArgumentSchema::new(&input_schema).map_err(|error| format!("its input schema: {error}"))?;
    let description = text("description").unwrap_or_default();
    let end = description.floor_char_boundary(MAX_DESCRIPTION_BYTES);
    let mut doc = ToolDoc::default();
    doc.title = text("title").map(str::to_owned);
    doc.description = description.get(..end).map(str::to_owned);
    doc.hints = hints(definition);
    Ok(Candidate {
        offered,
        doc,
        input_schema,
        output_schema,
        entry: Entry::Provided { name: name.to_owned(), arguments, call: Arc::clone(call) },
    })
}

/// A schema whose root is an object's, bounded.
fn schema(text: &str, what: &str) -> std::result::Result<Value, String> {
    bounded_length(text.len(), what)?;
    let schema = serde_json::from_str(text).map_err(|error| format!("its {what} is no JSON: {error}"))?;
    object_schema(schema, what)
}

/// What it claims of itself, by the names of the documentation tags; what is not among them says nothing.
fn hints(definition: &Value) -> Hints {
    let mut hints = Hints::default();
    let entries = definition.get("hints").and_then(Value::as_array);
    for entry in entries.into_iter().flatten() {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let claim = match text("value") {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => continue,
        };
        match text("key") {
            Some("read-only") => hints.read_only = claim,
            Some("destructive") => hints.destructive = claim,
            Some("idempotent") => hints.idempotent = claim,
            Some("concurrency-safe") => hints.concurrency_safe = claim,
            Some("open-world") => hints.open_world = claim,
            _ => {}
        }
    }
    hints
}
