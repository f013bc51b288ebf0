//! What a program reaches beyond itself.

use std::path::Path;
use std::rc::Rc;

use boa_engine::{Context, JsNativeError, JsResult};
use granted::Grants;

/// Whatever runs the tool: toolcell, or a stand-in of the tests.
pub trait Host {
    /// Shows a part of what the program printed.
    fn show(&self, text: &str);
    /// Makes `bytes` the content of the file at `path`, in one step.
    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), String>;
    /// What was kept as the state, if anything was.
    fn state(&self) -> Result<Option<String>, String>;
    /// Keeps a state in place of the one before.
    fn set_state(&self, text: &str) -> Result<(), String>;
}

/// The host and the granted directories, where functions of the program find them.
pub(crate) struct Reach {
    pub(crate) host: Rc<dyn Host>,
    pub(crate) grants: Grants,
}

impl Reach {
    pub(crate) fn of(context: &Context) -> JsResult<Rc<Self>> {
        let reach = context.get_data::<Rc<Self>>().cloned();
        reach.ok_or_else(|| JsNativeError::error().with_message("the host is gone").into())
    }
}
