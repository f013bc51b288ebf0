//! Tools that are functions of the embedder's own program: not sandboxed, but under the same names, schemas, rules,
//! hooks, deadlines and bounds.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcell_package::Hints;

use super::argument_schema::ArgumentSchema;
use super::{Body, NativeEvents, Owner, Tool};
use crate::call::{CallError, Content, ErrorKind, Returned};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::policy::{Digest, Grant};
use crate::schema::{RepairMode, tool_name};

/// The component that native tools belong to, where rules and records name one.
const NATIVE: &str = "native";

/// What a native function may know of its call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NativeCall {
    /// The caller's identifier, as text; empty if there is none.
    pub id: String,
    /// The session, if the call has one.
    pub session: Option<String>,
    /// The session's user, if it has one.
    pub user: Option<String>,
    /// Metadata: the caller's first, then that of hooks, then the session's.
    pub meta: Vec<(String, String)>,
    /// Where it says something before its end.
    pub events: NativeEvents,
    /// Cancelled when nobody waits for the result any more: the caller gave up, or the time is over.
    pub cancel: CancellationToken,
}

impl NativeCall {
    /// The metadata under `key`.
    pub fn meta(&self, key: &str) -> Option<&str> {
        self.meta.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

type Ran = std::result::Result<Returned, CallError>;
type Running = Pin<Box<dyn Future<Output = Ran> + Send>>;

/// How a native function is run.
#[derive(Clone)]
pub(crate) enum NativeFunction {
    /// On the caller's task.
    Async(Arc<dyn Fn(Value, NativeCall) -> Running + Send + Sync>),
    /// On a thread that may wait.
    Blocking(Arc<dyn Fn(Value, NativeCall) -> Ran + Send + Sync>),
    /// By the runtime, which switches a group on for the session that calls.
    GroupSwitch,
}

/// A native function and the schemas that it is held to.
pub(crate) struct NativeBody {
    pub function: NativeFunction,
    pub arguments: ArgumentSchema,
}

/// A tool that is a function of this program. `R` is what it gives.
///
/// Its arguments are described by their type's JSON Schema and validated before the function sees them. Its result,
/// unless it is an object, is `{"result": …}` in the outcome's `structured`.
pub struct NativeTool<R = Value> {
    name: String,
    description: String,
    title: Option<String>,
    group: Option<String>,
    hints: Hints,
    limits: Limits,
    input: Value,
    output: Value,
    wraps: bool,
    function: Make<R>,
    text: Option<Text<R>>,
    result: PhantomData<fn() -> R>,
}

/// From the way in which a result becomes an answer to the function that gives answers.
type Make<R> = Box<dyn FnOnce(Answer<R>) -> NativeFunction + Send>;
type Text<R> = Arc<dyn Fn(&R) -> String + Send + Sync>;
type Answer<R> = Arc<dyn Fn(R) -> Ran + Send + Sync>;

impl<R: Serialize + JsonSchema + Send + 'static> NativeTool<R> {
    /// An asynchronous function. It runs on its caller's task: what blocks belongs into [`Self::blocking`].
    pub fn new<A, E, F, Fut>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        E: std::fmt::Display,
        F: Fn(A, NativeCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<R, E>> + Send + 'static,
    {
        let make = |answer: Answer<R>| {
            NativeFunction::Async(Arc::new(move |arguments, call| match read(arguments) {
                Ok(arguments) => {
                    let (running, answer) = (function(arguments, call), Arc::clone(&answer));
                    Box::pin(async move { given(running.await, &answer) })
                }
                Err(error) => Box::pin(std::future::ready(Err(error))),
            }))
        };
        Self::described::<A>(name.into(), description.into(), Box::new(make))
    }

    /// A function that blocks, run on a thread that may. It cannot be stopped: past its deadline its result is
    /// thrown away, and until it returns it counts as a running call.
    pub fn blocking<A, E, F>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        E: std::fmt::Display,
        F: Fn(A, NativeCall) -> std::result::Result<R, E> + Send + Sync + 'static,
    {
        let make = |answer: Answer<R>| {
            NativeFunction::Blocking(Arc::new(move |arguments, call| {
                given(function(read(arguments)?, call), &answer)
            }))
        };
        Self::described::<A>(name.into(), description.into(), Box::new(make))
    }

    fn described<A: JsonSchema>(name: String, description: String, function: Make<R>) -> Self {
        let result = schema_of::<R>();
        let wraps = !is_object(&result);
        Self {
            name,
            description,
            title: None,
            group: None,
            hints: Hints::default(),
            limits: Limits::new(),
            input: input_schema::<A>(),
            output: if wraps { wrapped_schema(result) } else { result },
            wraps,
            function,
            text: None,
            result: PhantomData,
        }
    }

    /// What the model reads in place of the result's JSON.
    #[must_use]
    pub fn text(mut self, text: impl Fn(&R) -> String + Send + Sync + 'static) -> Self {
        self.text = Some(Arc::new(text));
        self
    }

    /// A short title for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The group that it is switched on and off with.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// What its embedder says of it. Nothing of it can be enforced on native code: it is believed.
    #[must_use]
    pub fn hints(mut self, hints: Hints) -> Self {
        self.hints = hints;
        self
    }

    /// What its calls may take: time, and bytes of arguments and results. The others bound cells only.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// A native tool whose result type is forgotten.
pub struct AnyNativeTool {
    pub(crate) limits: Limits,
    build: Box<dyn FnOnce(crate::limits::EffectiveLimits) -> Result<Tool> + Send>,
}

impl AnyNativeTool {
    /// The tool under these limits.
    ///
    /// # Errors
    /// When its name or a schema of it cannot be used.
    pub(crate) fn tool(self, limits: crate::limits::EffectiveLimits) -> Result<Tool> {
        (self.build)(limits)
    }
}

impl std::fmt::Debug for AnyNativeTool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AnyNativeTool").finish_non_exhaustive()
    }
}

impl<R: Serialize + Send + 'static> From<NativeTool<R>> for AnyNativeTool {
    fn from(native: NativeTool<R>) -> Self {
        Self {
            limits: native.limits.clone(),
            build: Box::new(move |limits| {
                let answer = answer(native.wraps, native.text);
                let built = Built {
                    name: native.name,
                    title: native.title,
                    description: native.description,
                    group: native.group,
                    hints: native.hints,
                    input: native.input,
                    output: native.output,
                };
                built.tool((native.function)(answer), limits)
            }),
        }
    }
}

/// Everything of a native tool but its function.
pub(super) struct Built {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub group: Option<String>,
    pub hints: Hints,
    pub input: Value,
    pub output: Value,
}

impl Built {
    pub fn tool(self, function: NativeFunction, limits: crate::limits::EffectiveLimits) -> Result<Tool> {
        let wrong = |message: String| Error::component(format!("native tool `{}`", self.name), message);
        let name = tool_name(&self.name).map_err(|error| wrong(error.to_string()))?;
        if !is_object(&self.input) {
            let fix = "give the function a struct with a field for each argument";
            return Err(wrong(format!("its arguments are no object, so no call could fit them; {fix}")));
        }
        let schema = |schema: &Value| {
            ArgumentSchema::new(schema).map_err(|error| wrong(format!("its schema: {error}")))
        };
        let body = NativeBody { function, arguments: schema(&self.input)?.showing_values() };
        schema(&self.output)?;
        let identity = json!([name, self.description, self.input, self.output]).to_string();
        Ok(Tool {
            origin: name.clone(),
            name,
            title: self.title,
            description: self.description,
            input_schema: self.input,
            output_schema: Some(self.output),
            is_declared_safe: self.hints.concurrency_safe == Some(true),
            is_declared_idempotent: self.hints.idempotent == Some(true),
            hints: self.hints,
            examples: Vec::new(),
            limits: Arc::new(limits),
            owner: Arc::new(Owner {
                name: NATIVE.to_owned(),
                digest: Digest::of(identity.as_bytes()),
                group: self.group,
                grant: Grant::none(),
                instructions: None,
                repair: RepairMode::default(),
                redactor: None,
            }),
            body: Body::Native(Arc::new(body)),
            output: OnceLock::new(),
            mirrored: OnceLock::new(),
            shown: OnceLock::new(),
        })
    }
}

/// The arguments as the function's own type. The schema admitted them, so what fails here the schema cannot say.
fn read<A: DeserializeOwned>(arguments: Value) -> std::result::Result<A, CallError> {
    serde_json::from_value(arguments).map_err(|error| {
        CallError::new(ErrorKind::InvalidArguments, format!("the arguments do not fit: {error}"))
    })
}

fn given<R, E: std::fmt::Display>(result: std::result::Result<R, E>, answer: &Answer<R>) -> Ran {
    match result {
        Ok(value) => answer(value),
        Err(error) => Ok(Returned::ToolError(Some(Value::String(error.to_string())))),
    }
}

fn answer<R: Serialize + 'static>(wraps: bool, text: Option<Text<R>>) -> Answer<R> {
    Arc::new(move |result: R| {
        let value = serde_json::to_value(&result).map_err(|error| {
            CallError::new(ErrorKind::Internal, "the tool's result is no JSON").help(error.to_string())
        })?;
        let text = match (&text, &value) {
            (Some(text), _) => text(&result),
            (None, Value::Null) => String::new(),
            (None, Value::String(text)) => text.clone(),
            (None, value) => value.to_string(),
        };
        let content = if text.is_empty() { Vec::new() } else { vec![Content::Text { text }] };
        let structured = if wraps { json!({ "result": value }) } else { value };
        Ok(Returned::Output { content, structured: Some(structured) })
    })
}

/// The schema of arguments: a closed object's, unless its type says otherwise.
pub(super) fn input_schema<A: JsonSchema>() -> Value {
    let mut schema = schema_of::<A>();
    if let Some(object) = schema.as_object_mut() {
        object.entry("type").or_insert(json!("object"));
        // An enum is a choice of objects, each with properties of its own, which `additionalProperties` does not see.
        let is_choice =
            ["anyOf", "oneOf", "allOf", "$ref"].iter().any(|keyword| object.contains_key(*keyword));
        let closing = if is_choice { "unevaluatedProperties" } else { "additionalProperties" };
        if !is_choice {
            object.entry("properties").or_insert_with(|| json!({}));
        }
        if !(is_choice && object.get("additionalProperties").is_some_and(|more| *more != false)) {
            object.entry(closing).or_insert(json!(false));
        }
    } else {
        schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    }
    schema
}

pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        settings.transforms.push(Box::new(RecursiveTransform(bounded)));
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
    }
    schema
}

/// Integers with all the bounds of their type, as those of components have them.
fn bounded(schema: &mut schemars::Schema) {
    let Some(bits) = schema.get("format").and_then(Value::as_str) else { return };
    let (least, most): (i64, i64) = match bits {
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        _ => return,
    };
    let schema = schema.ensure_object();
    if !schema.contains_key("exclusiveMinimum") {
        schema.entry("minimum").or_insert(least.into());
    }
    if !schema.contains_key("exclusiveMaximum") {
        schema.entry("maximum").or_insert(most.into());
    }
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

fn wrapped_schema(result: Value) -> Value {
    json!({
        "type": "object", "properties": { "result": result }, "required": ["result"], "additionalProperties": false,
    })
}
