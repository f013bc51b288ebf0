//! Tools: what a model may call, and the components that they come from.

mod builtin;
mod component;
pub mod inspect;
mod load;

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use toolcell_package::Hints;

pub use builtin::{BUILTINS, builtin_bytes};
pub use component::ToolComponent;
pub(crate) use load::{LoadedComponent, load};

use crate::limits::EffectiveLimits;
use crate::output::Shrink;
use crate::sandbox::{DirTemplate, Meter, Prepared, TypedCall};
use crate::schema::Signature;

/// One function that a model may call: everything about it is known before the first call.
pub struct Tool {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) input_schema: Value,
    pub(crate) output_schema: Option<Value>,
    pub(crate) hints: Hints,
    pub(crate) examples: Vec<Value>,
    pub(crate) origin: String,
    pub(crate) limits: Arc<EffectiveLimits>,
    pub(crate) dirs: Arc<DirTemplate>,
    pub(crate) component: Arc<LoadedComponent>,
    pub(crate) entry: Entry,
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

    /// Example arguments.
    pub fn examples(&self) -> &[Value] {
        &self.examples
    }

    /// The name of its component.
    pub fn component(&self) -> &str {
        &self.component.name
    }

    /// The digest of its component's bytes.
    pub fn digest(&self) -> String {
        self.component.digest.to_string()
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
    pub fn grant(&self) -> crate::policy::Grant {
        if self.is_read_only() { self.component.grant.read_only() } else { self.component.grant.clone() }
    }

    /// The rules of usage that its component brings along.
    pub fn instructions(&self) -> Option<&str> {
        self.component.instructions.as_deref()
    }

    pub(crate) fn meter(&self) -> Meter {
        if self.limits.fuel().is_some() { Meter::Fuel } else { Meter::Epoch }
    }

    /// The index of its export, looked up once for each engine.
    pub(crate) fn export(&self, prepared: &Prepared) -> Option<wasmtime::component::ComponentExportIndex> {
        let Entry::Typed { interface, function, exports, .. } = &self.entry else { return None };
        let slot = match prepared.meter() {
            Meter::Fuel => &exports[0],
            Meter::Epoch => &exports[1],
        };
        *slot.get_or_init(|| prepared.function(interface.as_deref(), function))
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Tool")
            .field("name", &self.name)
            .field("component", &self.component.name)
            .finish()
    }
}
