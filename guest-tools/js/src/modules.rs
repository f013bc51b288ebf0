//! `import`: of what the prelude has under that name, since there are no packages; and what of it is read only when a program
//! asks for it.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use boa_engine::module::{ModuleLoader, ModuleRequest, Referrer, SyntheticModuleInitializer};
use boa_engine::property::PropertyKey;
use boa_engine::{
    Context, JsArgs as _, JsNativeError, JsResult, JsString, JsValue, Module, Source, js_string,
};

use crate::failure::PRELUDE;
use crate::run::Prelude;

/// Functions that make what the prelude seldom needs.
const PARTS: [(&str, &str); 2] =
    [("path", include_str!("modules/path.js")), ("url", include_str!("modules/url.js"))];

/// The part of that name, for the prelude.
pub(crate) fn load(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let name = arguments.get_or_undefined(0).to_string(context)?.to_std_string_lossy();
    let Some((_, source)) = PARTS.into_iter().find(|(known, _)| *known == name) else {
        return Err(JsNativeError::typ().with_message("no such part").into());
    };
    context.eval(Source::from_bytes(source).with_path(Path::new(PRELUDE)))
}

/// Finds modules by asking the prelude's `require`.
pub(crate) struct Modules;

impl ModuleLoader for Modules {
    async fn load_imported_module(
        self: Rc<Self>,
        _: Referrer,
        request: ModuleRequest,
        context: &RefCell<&mut Context>,
    ) -> JsResult<Module> {
        let context = &mut **context.borrow_mut();
        let prelude = Prelude::of(context)?;
        let exports = prelude.call("require", &[request.specifier().clone().into()], context)?;
        module(exports, context)
    }
}

/// A module that exports `value` and each of its members.
fn module(value: JsValue, context: &mut Context) -> JsResult<Module> {
    let object = value.as_object().ok_or_else(|| JsNativeError::typ().with_message("no module"))?;
    let mut names = vec![js_string!("default")];
    for key in object.own_property_keys(context)? {
        if let PropertyKey::String(name) = key
            && name != js_string!("default")
        {
            names.push(name);
        }
    }
    let captured = (value, names.clone());
    let fill = SyntheticModuleInitializer::from_copy_closure_with_captures(
        |module, (value, names): &(JsValue, Vec<JsString>), context| {
            module.set_export(&js_string!("default"), value.clone())?;
            let Some(object) = value.as_object() else { return Ok(()) };
            for name in names.iter().skip(1) {
                module.set_export(name, object.get(name.clone(), context)?)?;
            }
            Ok(())
        },
        captured,
    );
    Ok(Module::synthetic(&names, fill, None, None, context))
}
