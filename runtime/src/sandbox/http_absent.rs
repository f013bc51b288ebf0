//! What stands in the place of `http` in a build without it: nothing is granted, and `host::refused` says why.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::call::Denial;
use crate::limits::{EffectiveLimits, Limit};
use crate::output::Redactor;
use crate::policy::HttpGrant;

/// No places.
pub(crate) struct HttpTemplate;

impl HttpTemplate {
    /// Nothing, if nothing is wanted.
    ///
    /// # Errors
    /// The first entry.
    pub fn open(
        grants: &[HttpGrant],
        _secrets: &BTreeMap<String, String>,
        _redactor: Option<&Arc<Redactor>>,
        _setting: &str,
        _network: &(),
    ) -> Result<Arc<Self>, (usize, String)> {
        match grants {
            [] => Ok(Arc::new(Self)),
            _ => Err((0, "this build has no HTTP: it lacks the feature `http`".to_owned())),
        }
    }
}

/// No access.
#[derive(Clone)]
pub(crate) struct HttpAccess;

impl HttpAccess {
    pub fn none() -> Self {
        Self
    }

    pub fn of(_: &Arc<HttpTemplate>, _: &[HttpGrant]) -> Self {
        Self
    }

    #[must_use]
    pub fn narrowed(&self, _: &[HttpGrant]) -> Self {
        Self
    }
}

/// No requests.
pub(crate) struct HttpState;

impl HttpState {
    pub fn new(_: HttpAccess, _: Arc<EffectiveLimits>, _: Option<&Arc<Redactor>>) -> Self {
        Self
    }

    pub fn requests(&self) -> u64 {
        0
    }

    pub fn limit_hit(&self) -> Option<(Limit, u64)> {
        None
    }

    pub fn denials(&self) -> Vec<Denial> {
        Vec::new()
    }
}
