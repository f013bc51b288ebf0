//! A component that is a hook: read and inspected like one with tools, with no grants.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::OnceCell;
use wit_parser::Function;

use super::component::name_of;
use super::content::Content;
use super::inspect::{classify_imports, inspect};
use super::renewed::mark_of;
use super::{LoadedComponent, Owner};
use crate::error::{Error, Result};
use crate::policy::{Digest, Grant};
use crate::schema::{RepairMode, Signature};

/// A hook's component with the types of its two functions.
pub(crate) struct LoadedHook {
    pub component: LoadedComponent,
    /// The interface that it exports, with its version.
    pub interface: String,
    pub pre: Signature,
    pub post: Signature,
}

/// The hook in a file.
pub(crate) fn load_hook(path: &Path) -> Result<LoadedHook> {
    LoadedHook::new(name_of(path), Content::of_file(path)?.bytes)
}

impl LoadedHook {
    /// The hook in `bytes`.
    ///
    /// # Errors
    /// When there is none.
    pub fn new(name: String, bytes: Cow<'static, [u8]>) -> Result<Self> {
        let wrong = |message: String| Error::component(name.as_str(), message);
        let inspection = inspect(&bytes).map_err(|error| wrong(error.to_string()))?;
        // Configuration values are no grant that could be wanting.
        if let Some(refusal) = classify_imports(&inspection, &Grant::none()).refusal() {
            return Err(wrong(refusal));
        }
        let Some(functions) = inspection.hook_functions() else {
            return Err(wrong("it is no hook: it does not export `toolcell:tool/hook` 1.x".to_owned()));
        };
        let signature = |function: &Function| {
            Signature::from_wit(&inspection.resolve, function, None, &BTreeMap::new())
                .map_err(|error| wrong(error.to_string()))
        };
        let (pre, post) = (signature(functions.pre)?, signature(functions.post)?);
        let interface = functions.interface;
        let owner = Owner {
            digest: Digest::of(&bytes),
            group: None,
            grant: Grant::none(),
            instructions: None,
            repair: RepairMode::default(),
            redactor: None,
            name,
        };
        let component = LoadedComponent {
            owner: Arc::new(owner),
            env: Arc::default(),
            config: Arc::default(),
            config_of_calls: Arc::default(),
            secrets: mark_of(&BTreeMap::new()),
            is_self_contained: inspection.is_self_contained(),
            footprint: inspection.footprint,
            state_setting: NO_STATE.into(),
            deterministic: None,
            flag: None,
            bytes: Arc::new(bytes),
            described: None,
            fuel: OnceCell::new(),
            epoch: OnceCell::new(),
        };
        Ok(Self { component, interface, pre, post })
    }
}

/// Why no setting lets a hook keep values.
const NO_STATE: &str = "none: hooks keep no values";

impl LoadedComponent {
    /// The same component with other configuration values, not compiled yet.
    pub fn with_config(&self, values: BTreeMap<String, String>) -> Self {
        Self {
            owner: Arc::clone(&self.owner),
            env: Arc::clone(&self.env),
            config_of_calls: Arc::new(values.clone()),
            config: Arc::new(values),
            secrets: self.secrets,
            is_self_contained: self.is_self_contained,
            footprint: self.footprint,
            state_setting: Arc::clone(&self.state_setting),
            deterministic: self.deterministic,
            flag: self.flag.clone(),
            bytes: Arc::clone(&self.bytes),
            described: self.described.clone(),
            fuel: OnceCell::new(),
            epoch: OnceCell::new(),
        }
    }
}
