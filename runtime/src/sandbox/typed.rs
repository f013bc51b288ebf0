//! Calls with static types, for the common functions of strings and bytes: these cross by one copy, where a dynamic
//! value takes a second one, and 40 bytes for each byte of a list. Everything else is as fast with dynamic values,
//! within 2 to 6 %.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::{ComponentExportIndex, ComponentNamedList, Instance, Lift, Lower};

use super::end::result_too_large;
use super::state::CellState;
use crate::call::{CallError, Returned};
use crate::limits::Limit;
use crate::schema::{FastPath, FastResult, FastType, FastValue, Signature};

const STRING: FastValue = FastValue { ty: FastType::String, optional: false };
const BYTES: FastValue = FastValue { ty: FastType::Bytes, optional: false };
const MAYBE_BYTES: FastValue = FastValue { ty: FastType::Bytes, optional: true };

/// The static types of a function, known when it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypedCall {
    params: Params,
    result: Results,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Params {
    None,
    String,
    Bytes,
    StringBytes,
    BytesString,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Results {
    Nothing,
    String,
    Bytes,
    MaybeBytes,
    BytesOrString,
    StringOrString,
    NothingOrString,
}

impl TypedCall {
    /// The static types for `signature`, if it is one of the common forms.
    pub fn of(signature: &Signature) -> Option<Self> {
        let path = signature.fast_path()?;
        Some(Self { params: params(&path)?, result: result(&path.result)? })
    }

    /// Calls the function with `arguments`, which are canonical and valid.
    pub async fn call(
        self,
        store: &mut Store<CellState>,
        instance: &Instance,
        export: &ComponentExportIndex,
        signature: &Signature,
        arguments: &Value,
    ) -> wasmtime::Result<Result<Returned, CallError>> {
        let mut values = signature.properties().iter().map(|member| arguments.get(member.name()));
        let mut next = || values.next().flatten();
        let call = Calling { store, instance, export, result: self.result };
        match self.params {
            Params::None => call.with(()).await,
            Params::String => call.with((text(next())?,)).await,
            Params::Bytes => call.with((bytes(next())?.as_slice(),)).await,
            Params::StringBytes => call.with((text(next())?, bytes(next())?.as_slice())).await,
            Params::BytesString => call.with((bytes(next())?.as_slice(), text(next())?)).await,
        }
    }
}

fn params(path: &FastPath) -> Option<Params> {
    match path.params.as_slice() {
        [] => Some(Params::None),
        [STRING] => Some(Params::String),
        [BYTES] => Some(Params::Bytes),
        [STRING, BYTES] => Some(Params::StringBytes),
        [BYTES, STRING] => Some(Params::BytesString),
        _ => None,
    }
}

fn result(result: &FastResult) -> Option<Results> {
    match result {
        FastResult::Nothing => Some(Results::Nothing),
        FastResult::Value(STRING) => Some(Results::String),
        FastResult::Value(BYTES) => Some(Results::Bytes),
        FastResult::Value(MAYBE_BYTES) => Some(Results::MaybeBytes),
        FastResult::Fallible { ok: Some(BYTES), err: Some(STRING) } => Some(Results::BytesOrString),
        FastResult::Fallible { ok: Some(STRING), err: Some(STRING) } => Some(Results::StringOrString),
        FastResult::Fallible { ok: None, err: Some(STRING) } => Some(Results::NothingOrString),
        _ => None,
    }
}

fn text(value: Option<&Value>) -> wasmtime::Result<&str> {
    let text = value.and_then(Value::as_str);
    text.ok_or_else(|| wasmtime::format_err!("an argument is no string"))
}

fn bytes(value: Option<&Value>) -> wasmtime::Result<Vec<u8>> {
    let text = value.and_then(Value::as_str).unwrap_or_default();
    STANDARD.decode(text).map_err(|_| wasmtime::format_err!("an argument is not base64"))
}

struct Calling<'a> {
    store: &'a mut Store<CellState>,
    instance: &'a Instance,
    export: &'a ComponentExportIndex,
    result: Results,
}

impl Calling<'_> {
    async fn with<P>(self, params: P) -> wasmtime::Result<Result<Returned, CallError>>
    where
        P: ComponentNamedList + Lower + Send + Sync,
    {
        let limits = self.store.data().budget.shared_limits();
        let max = limits.get_usize(Limit::ResultBytes);
        let encode = |bytes: Vec<u8>| -> Result<Value, CallError> {
            // Base64 takes four bytes for three.
            if bytes.len() / 3 > max / 4 {
                return Err(result_too_large(&limits));
            }
            Ok(Value::String(STANDARD.encode(bytes)))
        };
        let string = |text: String| -> Result<Value, CallError> {
            if text.len() > max { Err(result_too_large(&limits)) } else { Ok(Value::String(text)) }
        };
        let some = |value: Result<Value, CallError>| value.map(|value| Returned::Value(Some(value)));
        let failed = |text: String| string(text).map(|text| Returned::ToolError(Some(text)));
        Ok(match self.result {
            Results::Nothing => {
                self.get::<P, ()>(params).await?;
                Ok(Returned::Value(None))
            }
            Results::String => some(string(self.get::<P, (String,)>(params).await?.0)),
            Results::Bytes => some(encode(self.get::<P, (Vec<u8>,)>(params).await?.0)),
            Results::MaybeBytes => match self.get::<P, (Option<Vec<u8>>,)>(params).await?.0 {
                Some(bytes) => some(encode(bytes)),
                None => Ok(Returned::Value(Some(Value::Null))),
            },
            Results::BytesOrString => match self.get::<P, (Result<Vec<u8>, String>,)>(params).await?.0 {
                Ok(bytes) => some(encode(bytes)),
                Err(text) => failed(text),
            },
            Results::StringOrString => match self.get::<P, (Result<String, String>,)>(params).await?.0 {
                Ok(text) => some(string(text)),
                Err(text) => failed(text),
            },
            Results::NothingOrString => match self.get::<P, (Result<(), String>,)>(params).await?.0 {
                Ok(()) => Ok(Returned::Value(None)),
                Err(text) => failed(text),
            },
        })
    }

    async fn get<P, R>(self, params: P) -> wasmtime::Result<R>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let function = self.instance.get_typed_func::<P, R>(&mut *self.store, self.export)?;
        function.call_async(self.store, params).await
    }
}
