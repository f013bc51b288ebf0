//! The rest of a call, as a hook around it sees it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::{HookCall, HookEntry, guarded};
use crate::call::{CallError, Ended, ErrorKind};

/// The innermost of a call: one run of the tool, each in a cell of its own.
pub(crate) trait Core: Sync {
    fn run(&self) -> Pin<Box<dyn Future<Output = Ended> + Send + '_>>;

    /// Where timers are made.
    fn timers(&self) -> &tokio::runtime::Handle;
}

/// What is inside of a hook: the hooks registered after it, and the tool.
pub struct Next<'a> {
    inner: &'a [Arc<HookEntry>],
    call: &'a HookCall,
    core: &'a dyn Core,
}

impl Next<'_> {
    /// Runs it, in a new cell each time. What was approved is what runs: there is nothing to pass.
    pub async fn run(&self) -> Ended {
        around(self.inner, self.call, self.core).await
    }
}

/// Runs `core` with `hooks` around it, the first outermost.
pub(crate) fn around<'a>(
    hooks: &'a [Arc<HookEntry>],
    call: &'a HookCall,
    core: &'a dyn Core,
) -> Pin<Box<dyn Future<Output = Ended> + Send + 'a>> {
    let Some((entry, inner)) = hooks.split_first() else { return core.run() };
    let next = Next { inner, call, core };
    Box::pin(async move {
        match guarded(entry.hook.around(call, next), None, core.timers()).await {
            Ok(ended) => ended,
            Err(failure) => {
                let name = entry.hook.name();
                let message = "a hook around the call failed; the tool may have run";
                Ended::failed(
                    CallError::new(ErrorKind::HookFailed, message).help(format!("hook `{name}`: {failure}")),
                )
            }
        }
    })
}
