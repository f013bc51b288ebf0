//! Tools: what a model may call, and the components that they come from.

mod announced;
mod argument_schema;
mod builtin;
mod candidate;
mod component;
mod content;
mod dialect;
mod group_switch;
mod hook;
pub mod inspect;
mod load;
mod loaded;
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "headers are of HTTP"))]
mod mirrored;
mod misset;
mod native;
mod native_events;
mod provider;
mod remote;
mod renewed;
mod schema_reach;
mod schema_words;
mod schema_work;
mod taken;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use toolcell_package::Hints;

pub(crate) use argument_schema::ArgumentSchema;
use builtin::builtin_content;
pub use builtin::{BUILTINS, builtin_bytes};
pub use component::ToolComponent;
pub(crate) use group_switch::{ACTIVATE_GROUP, Activate, Activated, group_switch};
pub(crate) use hook::{LoadedHook, load_hook};
pub(crate) use load::load;
pub(crate) use loaded::LoadedComponent;
pub(crate) use mirrored::Mirrored;
#[cfg(feature = "http")]
pub(crate) use mirrored::decoded;
pub use native::{AnyNativeTool, NativeCall, NativeTool};
pub(crate) use native::{NativeBody, NativeFunction};
pub use native_events::NativeEvents;
pub(crate) use remote::{
    Patience, RemoteBody, Remotes, Running, Server, Tell, Under, load as load_remotes,
    tools_of as remote_tools_of,
};

use crate::error::Result;
use crate::limits::EffectiveLimits;
use crate::output::{Redactor, Shrink};
use crate::policy::{Access, Digest, Grant, HttpGrant, Narrowing, StateScope, Subject};
use crate::sandbox::{DirTemplate, HttpAccess, Meter, Prepared, TypedCall};
use crate::schema::{RepairMode, Signature};

/// One function that a model may call: everything about it is known before the first call.
pub struct Tool {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) input_schema: Value,
    pub(crate) output_schema: Option<Value>,
    pub(crate) hints: Hints,
    /// Whether its operator, or the embedder whose code it is, declared that its calls may run beside others. What a
    /// component claims of itself does not count.
    pub(crate) is_declared_safe: bool,
    /// The same for calls that may be made again.
    pub(crate) is_declared_idempotent: bool,
    pub(crate) examples: Vec<Value>,
    pub(crate) origin: String,
    pub(crate) limits: Arc<EffectiveLimits>,
    pub(crate) owner: Arc<Owner>,
    pub(crate) body: Body,
    /// The output schema, compiled when somebody first replaces or cuts data by it.
    pub(crate) output: OnceLock<Option<ArgumentSchema>>,
    /// Arguments that calls over HTTP repeat in headers.
    pub(crate) mirrored: OnceLock<Box<[Mirrored]>>,
    /// The digest of how it is listed, by which lists are compared.
    pub(crate) shown: OnceLock<Digest>,
}

/// Who a tool belongs to: a component, or an embedder's code. What rules, approvals and records know it by.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    pub name: String,
    pub digest: Digest,
    pub group: Option<String>,
    pub grant: Grant,
    pub instructions: Option<String>,
    pub repair: RepairMode,
    /// What takes its secrets out of all that its tools say; none for a component without.
    pub redactor: Option<Arc<Redactor>>,
}

/// What runs when a tool is called.
#[derive(Clone)]
pub(crate) enum Body {
    /// A function of a component, in a cell.
    Component {
        component: Arc<LoadedComponent>,
        dirs: Arc<DirTemplate>,
        env: Arc<BTreeMap<String, String>>,
        http: HttpAccess,
        entry: Arc<Entry>,
    },
    /// A function of the embedder's program.
    Native(Arc<NativeBody>),
    /// A tool of another server.
    Remote(Arc<RemoteBody>),
}

/// How a tool's component is entered.
pub(crate) enum Entry {
    /// An exported function with types.
    Typed {
        interface: Option<String>,
        function: String,
        signature: Arc<Signature>,
        typed: Option<TypedCall>,
        /// What of its result may be shortened.
        shrink: Shrink,
        exports: [OnceLock<Option<wasmtime::component::ComponentExportIndex>>; 2],
    },
    /// `wasi:cli/run`, arguments as JSON on standard input.
    Command,
    /// A tool of a provider, by the name that it knows it by.
    Provided {
        name: String,
        arguments: ArgumentSchema,
        /// `toolcell:tool/tools.call-tool`, a typed entry.
        call: Arc<Entry>,
    },
}

impl Tool {
    /// The name by which it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A short title for people, if it has one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What it does, for the model; empty if nobody wrote it down.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Whether its schema is made from the types of a component, and canonicalising goes by them.
    pub(crate) fn has_types(&self) -> bool {
        matches!(self.entry(), Some(Entry::Typed { .. }))
    }

    /// The JSON Schema of its arguments, always an object's.
    pub fn input_schema(&self) -> &Value {
        &self.input_schema
    }

    /// The JSON Schema of `structured` in a successful outcome; absent where the tool chooses its content itself.
    pub fn output_schema(&self) -> Option<&Value> {
        self.output_schema.as_ref()
    }

    /// What it claims of itself. A claim to be read-only is enforced; the others are its author's word.
    pub fn hints(&self) -> &Hints {
        &self.hints
    }

    /// Whether its grants are narrowed to reads.
    pub fn is_read_only(&self) -> bool {
        self.hints.read_only == Some(true)
    }

    /// Whether its calls may run beside others: it changes nothing, or its operator says that it may.
    pub fn runs_beside_others(&self) -> bool {
        self.is_read_only() || self.is_declared_safe
    }

    /// Whether a call may be made again after it failed: it changes nothing, or its operator says that a second equal
    /// call changes nothing more.
    pub fn may_be_repeated(&self) -> bool {
        self.is_read_only() || self.is_declared_idempotent
    }

    /// Whether its result depends on its arguments, its component's settings and nothing else: it has no directories,
    /// and imports no clock, no randomness and nothing of its call. Guests of Rust's standard library import clocks and
    /// randomness whether they use them or not, so this is false for most of them.
    pub fn is_self_contained(&self) -> bool {
        match &self.body {
            Body::Component { component, dirs, .. } => component.is_self_contained && dirs.is_empty(),
            Body::Native(_) | Body::Remote(_) => false,
        }
    }

    /// Whether it can change anything outside of its own call, by what it is granted; of an embedder's function, by
    /// what that says.
    pub fn may_change_something(&self) -> bool {
        match &self.body {
            Body::Component { .. } => {
                let grant = self.grant();
                grant.dirs.iter().any(|dir| dir.access == Access::ReadWrite)
                    || grant.http.iter().any(|entry| !entry.read_only)
                    || (!self.is_read_only()
                        && matches!(grant.state, StateScope::Session | StateScope::Persistent))
            }
            Body::Native(_) | Body::Remote(_) => !self.is_read_only(),
        }
    }

    /// Example arguments.
    pub fn examples(&self) -> &[Value] {
        &self.examples
    }

    /// The name of its component.
    pub fn component(&self) -> &str {
        &self.owner.name
    }

    /// The group that it is switched on and off with, if any.
    pub fn group(&self) -> Option<&str> {
        self.owner.group.as_deref()
    }

    /// The digest of its component's bytes; of a native tool and one of another server, that of its name,
    /// description and schema.
    pub fn digest(&self) -> String {
        self.owner.digest.to_string()
    }

    /// Where in the component it is: `interface.function`, `function`, or the command itself.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The limits of its calls, and where each was set.
    pub fn limits(&self) -> &EffectiveLimits {
        &self.limits
    }

    /// What its component is granted, narrowed to what this tool gets.
    pub fn grant(&self) -> Grant {
        if self.is_read_only() { self.owner.grant.read_only() } else { self.owner.grant.clone() }
    }

    /// The entries of its component's `grant.http` that it does not get, since it claims to be read-only and nobody says that
    /// their requests only read.
    pub fn withheld_http(&self) -> Vec<HttpGrant> {
        let all = self.owner.grant.http.iter();
        all.filter(|entry| self.is_read_only() && !entry.read_only).cloned().collect()
    }

    /// The same tool with less of its grants; nothing if all of them are left. Native tools have none.
    ///
    /// # Errors
    /// When the patterns of what is withheld are too large together.
    pub(crate) fn narrowed(&self, narrowing: &Narrowing) -> Result<Option<Self>> {
        let Body::Component { component, dirs, http, entry, .. } = &self.body else { return Ok(None) };
        let granted = self.grant();
        let grant = narrowing.of(&granted);
        if grant == granted {
            return Ok(None);
        }
        let body = Body::Component {
            component: Arc::clone(component),
            dirs: dirs.narrowed(&grant.dirs)?,
            env: Arc::new(grant.env.clone()),
            http: http.narrowed(&grant.http),
            entry: Arc::clone(entry),
        };
        let mut narrowed = self.with(Owner { grant, ..Owner::clone(&self.owner) }.into(), body);
        narrowed.hints.open_world = open_world(&narrowed.grant(), self.hints.open_world);
        Ok(Some(narrowed))
    }

    /// The same tool, described to models in other words. Its identity stays.
    pub(crate) fn described(&self, description: String) -> Self {
        Self { description, ..self.with(Arc::clone(&self.owner), self.body.clone()) }
    }

    fn with(&self, owner: Arc<Owner>, body: Body) -> Self {
        Self {
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            input_schema: self.input_schema.clone(),
            output_schema: self.output_schema.clone(),
            hints: self.hints.clone(),
            is_declared_safe: self.is_declared_safe,
            is_declared_idempotent: self.is_declared_idempotent,
            examples: self.examples.clone(),
            origin: self.origin.clone(),
            limits: Arc::clone(&self.limits),
            owner,
            body,
            output: OnceLock::new(),
            mirrored: OnceLock::new(),
            shown: OnceLock::new(),
        }
    }

    /// The rules of usage that its component brings along.
    pub fn instructions(&self) -> Option<&str> {
        self.owner.instructions.as_deref()
    }

    /// The types of its parameters and result; a program and a native tool have none.
    pub(crate) fn signature(&self) -> Option<&Arc<Signature>> {
        match self.entry() {
            Some(Entry::Typed { signature, .. }) => Some(signature),
            _ => None,
        }
    }

    /// Whether data is what the output schema announces; without one, any is.
    pub(crate) fn admits(&self, structured: &Value) -> bool {
        self.data_schema().is_none_or(|schema| schema.admits(structured))
    }

    /// Whether arguments are checked in no time; what types describe is.
    pub(crate) fn takes_quickly(&self, arguments: &Value) -> bool {
        let schema = match &self.body {
            Body::Component { entry, .. } => match &**entry {
                Entry::Provided { arguments, .. } => arguments,
                Entry::Typed { .. } | Entry::Command => return true,
            },
            Body::Native(native) => &native.arguments,
            Body::Remote(remote) => &remote.arguments,
        };
        schema.takes_quickly(arguments)
    }

    /// Whether data is checked in no time.
    pub(crate) fn gives_quickly(&self, structured: &Value) -> bool {
        self.data_schema().is_none_or(|schema| schema.is_quick(structured))
    }

    /// What of data does not fit what the output schema announces, in words.
    pub(crate) fn misfit(&self, structured: &Value) -> Option<String> {
        let violation = self.data_schema()?.misfit(structured)?;
        let at = if violation.path.is_empty() { "it" } else { violation.path.as_str() };
        Some(format!("{at}: expected {}, got {}", violation.expected, violation.got))
    }

    fn data_schema(&self) -> Option<&ArgumentSchema> {
        let compile = || self.output_schema.as_ref().and_then(|schema| ArgumentSchema::new(schema).ok());
        self.output.get_or_init(compile).as_ref()
    }

    /// The directories of its calls.
    pub(crate) fn dirs(&self) -> Option<&Arc<DirTemplate>> {
        match &self.body {
            Body::Component { dirs, .. } => Some(dirs),
            Body::Native(_) | Body::Remote(_) => None,
        }
    }

    /// What takes its secrets out of all that it says.
    pub(crate) fn redactor(&self) -> Option<&Arc<Redactor>> {
        self.owner.redactor.as_ref()
    }

    /// What rules look at.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            tool: &self.name,
            origin: &self.origin,
            component: &self.owner.name,
            group: self.group(),
            read_only: self.is_read_only(),
            destructive: self.hints.destructive == Some(true),
        }
    }

    pub(crate) fn entry(&self) -> Option<&Entry> {
        match &self.body {
            Body::Component { entry, .. } => Some(entry),
            Body::Native(_) | Body::Remote(_) => None,
        }
    }

    /// The arguments that calls over HTTP repeat in headers. Where its schema asks for that wrongly, there are none.
    pub(crate) fn mirrored(&self) -> &[Mirrored] {
        self.mirrored.get_or_init(|| mirrored::mirrored(&self.input_schema).unwrap_or_default().into())
    }

    /// The tool of another server that it is.
    pub(crate) fn remote(&self) -> Option<&RemoteBody> {
        match &self.body {
            Body::Remote(remote) => Some(remote),
            Body::Component { .. } | Body::Native(_) => None,
        }
    }

    /// Why a tool of another server is off, in words: it is not what was approved, or there no longer.
    pub fn off(&self) -> Option<String> {
        let remote = self.remote()?;
        remote.off().map(|off| format!("`{}` {}", remote.address(), off.words()))
    }

    /// Whether it switches groups of tools on for its caller.
    pub(crate) fn switches_groups(&self) -> bool {
        matches!(&self.body, Body::Native(native) if matches!(native.function, NativeFunction::GroupSwitch))
    }

    pub(crate) fn meter(&self) -> Meter {
        if self.limits.fuel().is_some() { Meter::Fuel } else { Meter::Epoch }
    }
}

/// Whether a tool speaks to an open world: with a grant to send requests it may, whatever it claims, and without one it
/// cannot.
pub(super) fn open_world(grant: &Grant, claim: Option<bool>) -> Option<bool> {
    if grant.http.is_empty() { claim.map(|_| false) } else { Some(true) }
}

impl Entry {
    /// The index of the export, looked up once for each engine.
    pub(crate) fn export(&self, prepared: &Prepared) -> Option<wasmtime::component::ComponentExportIndex> {
        let Self::Typed { interface, function, exports, .. } = self else { return None };
        let slot = match prepared.meter() {
            Meter::Fuel => &exports[0],
            Meter::Epoch => &exports[1],
        };
        *slot.get_or_init(|| prepared.function(interface.as_deref(), function))
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tool").field("name", &self.name).field("component", &self.owner.name).finish()
    }
}
