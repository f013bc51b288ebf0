//! `import`: of what the prelude has under that name, since there are no packages; and what of it is read only when a program
//! asks for it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use boa_engine::module::{ModuleLoader, ModuleRequest, Referrer, SyntheticModuleInitializer};
use boa_engine::property::PropertyKey;
use boa_engine::{
    Context, JsArgs as _, JsNativeError, JsResult, JsString, JsValue, Module, Source, js_string,
};

use crate::failure::PRELUDE;
use crate::host::Reach;
use crate::native::Native;
use crate::run::Prelude;
use crate::shape::Shape;

pub(crate) const FUNCTIONS: &[Native] = &[("load", 1, load), ("compile", 2, compile)];

/// Functions that make what the prelude seldom needs.
const PARTS: [(&str, &str); 16] = [
    ("abort", include_str!("modules/abort.js")),
    ("assert", include_str!("modules/assert.js")),
    ("buffer", include_str!("modules/buffer.js")),
    ("crypto", include_str!("modules/crypto.js")),
    ("dates", include_str!("modules/dates.js")),
    ("equal", include_str!("modules/equal.js")),
    ("events", include_str!("modules/events.js")),
    ("fs", include_str!("modules/fs.js")),
    ("inspect", include_str!("modules/inspect.js")),
    ("local", include_str!("modules/local.js")),
    ("numbers", include_str!("modules/numbers.js")),
    ("parsed", include_str!("modules/parsed.js")),
    ("path", include_str!("modules/path.js")),
    ("process", include_str!("modules/process.js")),
    ("url", include_str!("modules/url.js")),
    ("util", include_str!("modules/util.js")),
];

/// The part of that name, for the prelude.
fn load(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let name = arguments.get_or_undefined(0).to_string(context)?.to_std_string_lossy();
    let Some((_, source)) = PARTS.into_iter().find(|(known, _)| *known == name) else {
        return Err(JsNativeError::typ().with_message("no such part").into());
    };
    context.eval(Source::from_bytes(source).with_path(Path::new(PRELUDE)))
}

/// What a text evaluates to that is of a file.
fn compile(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let source = arguments.get_or_undefined(0).to_string(context)?.to_std_string_lossy();
    let path = arguments.get_or_undefined(1).to_string(context)?.to_std_string_lossy();
    context.eval(Source::from_bytes(&source).with_path(Path::new(&path)))
}

/// Finds modules by asking the prelude's `require`, and those of files that only `import` can load by their path.
#[derive(Default)]
pub(crate) struct Modules {
    files: RefCell<HashMap<String, Module>>,
}

impl ModuleLoader for Modules {
    async fn load_imported_module(
        self: Rc<Self>,
        referrer: Referrer,
        request: ModuleRequest,
        context: &RefCell<&mut Context>,
    ) -> JsResult<Module> {
        let context = &mut **context.borrow_mut();
        let prelude = Prelude::of(context)?;
        let name = JsValue::from(request.specifier().clone());
        let folder =
            referrer.path().and_then(Path::parent).and_then(Path::to_str).filter(|path| !path.is_empty());
        let folder = folder.map_or(JsValue::undefined(), |folder| JsString::from(folder).into());
        let file = prelude.call("locate", &[name.clone(), folder], context)?;
        let Some(file) = file.as_string() else {
            return module(prelude.call("require", &[name], context)?, context);
        };
        let path = file.to_std_string_lossy();
        if let Some(module) = self.files.borrow().get(&path) {
            return Ok(module.clone());
        }
        let module = match text(&path, context)? {
            Some(text) => {
                Module::parse(Source::from_bytes(&text).with_path(Path::new(&path)), None, context)?
            }
            None => module(prelude.call("require", &[file.into()], context)?, context)?,
        };
        self.files.borrow_mut().insert(path, module.clone());
        Ok(module)
    }
}

/// The text of a file that only `import` can load.
fn text(path: &str, context: &Context) -> JsResult<Option<String>> {
    if path.ends_with(".json") {
        return Ok(None);
    }
    let path = Reach::of(context)?.grants.resolve(path).ok();
    let text = path.and_then(|path| std::fs::read_to_string(path).ok());
    Ok(text.filter(|text| matches!(Shape::of(text), Shape::Module(_))))
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
