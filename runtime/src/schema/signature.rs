//! What is known of the types of one tool function.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use toolcell_package::{ToolDoc, TypeDoc};
use wit_parser::{Function, Resolve};

use super::from_wit::Builder;
use super::shape::{Member, RecordShape, Shape};
use super::unsupported::Unsupported;

/// The arguments and the result of one tool function.
#[derive(Debug, Clone)]
pub struct Signature {
    pub(super) arguments: RecordShape,
    pub(super) flattened: bool,
    pub(super) returns: Returns,
}

impl Signature {
    /// Reads the types of `function`, with the documentation that the component's package has for it.
    ///
    /// `types` is keyed as [`toolcell_package::Package::types`] is.
    ///
    /// # Errors
    /// Why the function cannot be a tool: a type that cannot cross as JSON, one that is too deep or too big, a
    /// name that is too long, or a constraint that does not fit its type.
    pub fn from_wit(
        resolve: &Resolve,
        function: &Function,
        docs: Option<&ToolDoc>,
        types: &BTreeMap<String, TypeDoc>,
    ) -> Result<Self, Unsupported> {
        Builder::new(resolve, types).signature(function, docs)
    }

    /// The properties that a call's arguments may have, in declared order.
    pub fn properties(&self) -> &[Member] {
        self.arguments.members()
    }

    /// Whether the function has one parameter, a record, whose fields are the properties.
    pub fn is_flattened(&self) -> bool {
        self.flattened
    }

    /// Whether `{}` is a complete set of arguments.
    pub fn takes_nothing(&self) -> bool {
        self.properties().iter().all(|member| !member.is_required())
    }

    /// What the function gives back.
    pub fn returns(&self) -> &Returns {
        &self.returns
    }
}

/// How a result becomes what the model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultKind {
    /// Data, described by the output schema.
    Plain,
    /// A `toolcell:tool/types.output`: content blocks and data that the tool chose; there is no output schema.
    Output,
}

/// What a function gives back.
#[derive(Debug, Clone)]
pub struct Returns {
    pub(super) ok: Option<Shape>,
    pub(super) err: Option<Shape>,
    pub(super) fallible: bool,
    pub(super) kind: ResultKind,
}

impl Returns {
    /// The type of a success; `None` if it carries nothing.
    pub fn ok(&self) -> Option<&Shape> {
        self.ok.as_ref()
    }

    /// The type of the tool's own error; `None` if it carries nothing or the function is not fallible.
    pub fn err(&self) -> Option<&Shape> {
        self.err.as_ref()
    }

    /// Whether the function returns a `result`, whose error is a `tool_error`.
    pub fn is_fallible(&self) -> bool {
        self.fallible
    }

    /// How the result becomes what the model reads.
    pub fn kind(&self) -> ResultKind {
        self.kind
    }

    /// The structured content for a success: an object that matches the output schema. `value` is what
    /// [`lift_result`](super::lift_result) gave.
    pub fn structured(&self, value: Value) -> Value {
        match &self.ok {
            None => Value::Object(Map::new()),
            Some(shape) if shape.is_object() => value,
            Some(_) => {
                let mut object = Map::new();
                object.insert("result".to_owned(), value);
                Value::Object(object)
            }
        }
    }

    /// The value inside of structured content, the inverse of [`Self::structured`].
    pub fn unwrapped(&self, structured: &Value) -> Option<Value> {
        match &self.ok {
            Some(shape) if shape.is_object() => Some(structured.clone()),
            Some(_) => structured.get("result").cloned(),
            None => None,
        }
    }
}
