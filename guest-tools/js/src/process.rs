//! The program as a process: what it prints that is no line, when it began, how it ends.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use boa_engine::error::RuntimeLimitError;
use boa_engine::object::ObjectInitializer;
use boa_engine::property::Attribute;
use boa_engine::{Context, JsArgs as _, JsNativeError, JsResult, JsString, JsValue};

use crate::console::Lines;
use crate::native::Native;

pub(crate) const FUNCTIONS: &[Native] =
    &[("print", 1, print), ("exit", 1, exit), ("now", 0, now), ("env", 0, env)];

/// What functions of the program find of it.
pub(crate) struct Process {
    lines: Rc<Lines>,
    began: Instant,
    code: Cell<Option<i32>>,
}

impl Process {
    pub(crate) fn new(lines: Rc<Lines>) -> Self {
        Self { lines, began: Instant::now(), code: Cell::new(None) }
    }

    /// The code with which it ended itself, if it did.
    pub(crate) fn code(&self) -> Option<i32> {
        self.code.get()
    }

    fn of(context: &Context) -> JsResult<Rc<Self>> {
        let process = context.get_data::<Rc<Self>>().cloned();
        process.ok_or_else(|| JsNativeError::error().with_message("the process is gone").into())
    }
}

fn print(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let text = arguments.get_or_undefined(0).to_string(context)?.to_std_string_lossy();
    Process::of(context)?.lines.write(&text);
    Ok(JsValue::undefined())
}

/// Ends the program by an error that no `catch` of it gets.
fn exit(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let code = arguments.get_or_undefined(0).to_i32(context)?;
    Process::of(context)?.code.set(Some(code));
    Err(RuntimeLimitError::LoopIteration.into())
}

/// Nanoseconds since the program began.
fn now(_: &JsValue, _: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let passed = Process::of(context)?.began.elapsed();
    Ok((passed.as_secs_f64() * 1e9).floor().into())
}

/// The variables that are granted.
fn env(_: &JsValue, _: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let mut object = ObjectInitializer::new(context);
    for (name, value) in std::env::vars_os() {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        object.property(JsString::from(&*name), JsString::from(&*value), Attribute::all());
    }
    Ok(object.build().into())
}
