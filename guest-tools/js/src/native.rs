//! What only the host can do, as functions of the prelude.

use boa_engine::object::{JsObject, ObjectInitializer};
use boa_engine::{Context, JsResult, JsString, JsValue, NativeFunction};

use crate::{collation, digest, fs, modules, process};

/// A function of the prelude, by name and number of parameters.
pub(crate) type Native = (&'static str, usize, fn(&JsValue, &[JsValue], &mut Context) -> JsResult<JsValue>);

/// What the prelude is given.
pub(crate) fn native(context: &mut Context) -> JsObject {
    let tables =
        [fs::FUNCTIONS, process::FUNCTIONS, digest::FUNCTIONS, collation::FUNCTIONS, modules::FUNCTIONS];
    let mut object = ObjectInitializer::new(context);
    for (name, parameters, function) in tables.into_iter().flatten() {
        object.function(NativeFunction::from_fn_ptr(*function), JsString::from(*name), *parameters);
    }
    object.build()
}
