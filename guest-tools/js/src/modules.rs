//! `import`: of what the prelude has under that name, since there are no packages.

use std::cell::RefCell;
use std::rc::Rc;

use boa_engine::module::{ModuleLoader, ModuleRequest, Referrer, SyntheticModuleInitializer};
use boa_engine::property::PropertyKey;
use boa_engine::{Context, JsNativeError, JsResult, JsString, JsValue, Module, js_string};

use crate::run::Prelude;

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
