//! One program, from its text to its value.

use std::future::Future as _;
use std::path::Path;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context as Waiting, Poll, Waker};

use boa_engine::builtins::promise::PromiseState;
use boa_engine::context::ContextBuilder;
use boa_engine::object::JsObject;
use boa_engine::object::builtins::JsPromise;
use boa_engine::{
    Context, JsError, JsNativeError, JsResult, JsString, JsValue, Module, Script, Source, js_string,
};
use boa_runtime::extensions::ConsoleExtension;
use granted::Grants;

use crate::console::{Console, Lines};
use crate::failure::{NAME, PRELUDE, thrown, words};
use crate::host::{Host, Reach};
use crate::jobs::{Jobs, Rejections};
use crate::modules::Modules;
use crate::native::native;
use crate::process::Process;
use crate::shape::Shape;

/// Calls within calls of the program. The engine keeps them on its own heap, so this is not about the stack of the
/// component, whose overflow ends the call: a program that recurses without end should get an error instead.
const RECURSION: usize = 10_000;

/// Values that these calls may hold, at some twenty for each.
const STACK: usize = 400_000;

/// The engine's instructions after which somebody looks whether something printed should be given out.
const STRETCH: u32 = 200_000;

/// What a program came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The value as JSON text. None for `undefined`, and what JSON leaves out, such as functions.
    pub json: Option<String>,
    /// The value, if it is a string.
    pub text: Option<String>,
    /// What it printed, as JSON text, up to a bound. None for nothing.
    pub printed: Option<String>,
}

/// Runs a program until nothing of it is left to be done.
///
/// # Errors
/// What the program did not catch, in words, with the place.
pub fn run(code: &str, host: Rc<dyn Host>, grants: Grants) -> Result<Answer, String> {
    let lines = Lines::new(Rc::clone(&host));
    let ran = Program::new(code, Reach { host, grants }, &lines).and_then(|program| program.answer(&lines));
    lines.flush();
    ran
}

/// The functions that `prelude.js` returns.
#[derive(Clone)]
pub(crate) struct Prelude(JsObject);

impl Prelude {
    fn load(context: &mut Context) -> JsResult<Self> {
        let source = Source::from_bytes(include_str!("prelude.js")).with_path(Path::new(PRELUDE));
        let make = context.eval(source)?;
        let native = native(context);
        let missing = || JsNativeError::typ().with_message("the prelude is no function");
        let made =
            make.as_callable().ok_or_else(missing)?.call(&JsValue::undefined(), &[native.into()], context)?;
        Ok(Self(made.as_object().ok_or_else(missing)?))
    }

    pub(crate) fn of(context: &Context) -> JsResult<Self> {
        let prelude = context.get_data::<Self>().cloned();
        prelude.ok_or_else(|| JsNativeError::error().with_message("the prelude is gone").into())
    }

    pub(crate) fn call(&self, name: &str, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
        let function = self.0.get(JsString::from(name), context)?;
        let missing = || JsNativeError::typ().with_message("the prelude has no such function");
        function.as_callable().ok_or_else(missing)?.call(&JsValue::undefined(), arguments, context)
    }
}

struct Program<'a> {
    code: &'a str,
    context: Context,
    prelude: Prelude,
    rejections: Rc<Rejections>,
    process: Rc<Process>,
}

impl<'a> Program<'a> {
    fn new(code: &'a str, reach: Reach, lines: &Rc<Lines>) -> Result<Self, String> {
        let rejections = Rc::new(Rejections::default());
        let process = Rc::new(Process::new(Rc::clone(lines)));
        let made = || -> JsResult<(Context, Prelude)> {
            let mut context = ContextBuilder::new()
                .job_executor(Rc::new(Jobs::new(Rc::clone(lines))))
                .module_loader(Rc::new(Modules::default()))
                .host_hooks(Rc::clone(&rejections))
                .build()?;
            let limits = context.runtime_limits_mut();
            limits.set_recursion_limit(RECURSION);
            limits.set_stack_size_limit(STACK);
            let console = ConsoleExtension(Console::new(Rc::clone(lines)));
            boa_runtime::register(console, None, &mut context)?;
            context.insert_data(Rc::new(reach));
            context.insert_data(Rc::clone(&process));
            let prelude = Prelude::load(&mut context)?;
            context.insert_data(prelude.clone());
            Ok((context, prelude))
        };
        let (context, prelude) =
            made().map_err(|error| format!("the interpreter does not start: {error}"))?;
        Ok(Self { code, context, prelude, rejections, process })
    }

    fn answer(mut self, lines: &Lines) -> Result<Answer, String> {
        let ended = self.value(lines).and_then(|value| {
            let code = self.prelude.call("ended", &[], &mut self.context)?.to_i32(&mut self.context)?;
            Ok((value, code))
        });
        let value = match (self.process.code(), ended) {
            (Some(0), _) => JsValue::undefined(),
            (Some(code), _) | (None, Ok((_, code))) if code != 0 => {
                return Err(format!("the program exited with code {code}"));
            }
            (_, Ok((value, _))) => value,
            (_, Err(error)) => return Err(self.words(&error)),
        };
        let kept = self.prelude.call("keep", &[], &mut self.context);
        kept.map_err(|error| format!("`state` cannot be kept: {}", words(&error, self.code)))?;
        let json = self.json(&value).map_err(|error| {
            format!("the value of the last expression is no JSON: {}", words(&error, self.code))
        })?;
        let printed = Some(lines.kept()).filter(|printed| !printed.is_empty());
        let printed = printed.map(|printed| self.json(&JsString::from(printed).into()));
        Ok(Answer {
            json,
            text: value.as_string().map(|text| text.to_std_string_lossy()),
            printed: printed.transpose().map_err(|error| words(&error, ""))?.flatten(),
        })
    }

    fn words(&mut self, error: &JsError) -> String {
        let value = error.as_opaque().filter(|value| !is_error(value));
        let shown = value.and_then(|value| {
            self.prelude.call("inspect", std::slice::from_ref(value), &mut self.context).ok()
        });
        match shown.as_ref().and_then(JsValue::as_string) {
            Some(shown) => thrown(&shown.to_std_string_lossy(), error, self.code),
            None => words(error, self.code),
        }
    }

    /// A value as JSON text, if JSON has it.
    fn json(&mut self, value: &JsValue) -> JsResult<Option<String>> {
        let json = self.prelude.call("json", std::slice::from_ref(value), &mut self.context)?;
        Ok(json.as_string().map(|text| text.to_std_string_lossy()))
    }

    /// The value of the program, after everything that it left to be done.
    fn value(&mut self, lines: &Lines) -> JsResult<JsValue> {
        let value = match Shape::of(self.code) {
            Shape::Script => self.script(lines)?,
            Shape::Module(code) => self.module(&code)?,
        };
        self.context.run_jobs()?;
        let value = settled(value)?;
        match self.rejections.first() {
            Some(promise) => settled(promise.upcast().into()),
            None => Ok(value),
        }
    }

    fn script(&mut self, lines: &Lines) -> JsResult<JsValue> {
        let source = Source::from_bytes(self.code).with_path(Path::new(NAME));
        let script = Script::parse(source, None, &mut self.context)?;
        let mut evaluation = pin!(script.evaluate_async_with_budget(&mut self.context, STRETCH));
        let mut waiting = Waiting::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(value) = evaluation.as_mut().poll(&mut waiting) {
                return value;
            }
            lines.flush_in_time();
        }
    }

    fn module(&mut self, code: &str) -> JsResult<JsValue> {
        let source = Source::from_bytes(code).with_path(Path::new(NAME));
        let module = Module::parse(source, None, &mut self.context)?;
        let evaluation = module.load_link_evaluate(&mut self.context);
        self.context.run_jobs()?;
        settled(evaluation.into())?;
        let exports = module.namespace(&mut self.context);
        exports.get(js_string!("default"), &mut self.context)
    }
}

/// The value that a promise came to; any other value as it is.
fn settled(value: JsValue) -> JsResult<JsValue> {
    let Some(promise) = value.as_object().and_then(|object| JsPromise::from_object(object).ok()) else {
        return Ok(value);
    };
    match promise.state() {
        PromiseState::Fulfilled(value) => Ok(value),
        PromiseState::Rejected(reason) => Err(JsError::from_opaque(reason)),
        PromiseState::Pending => Err(JsNativeError::error()
            .with_message("the program waits for a promise that nothing settles")
            .into()),
    }
}

fn is_error(value: &JsValue) -> bool {
    value.as_object().is_some_and(|object| object.is::<boa_engine::builtins::error::Error>())
}

#[cfg(test)]
mod tests;
