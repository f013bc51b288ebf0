//! The rest of a call, as a hook around it sees it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc::Sender;
use tracing::Instrument;

use super::{HookCall, HookEntry, guarded};
use crate::call::{Action, CallError, Ended, ErrorKind, Event, Step, Verdict};
use crate::telemetry;

/// The innermost of a call: one run of the tool, each in a cell of its own.
pub(crate) trait Core: Sync {
    /// Runs it; `watching` are the hooks that listen.
    fn run<'a>(&'a self, watching: &'a [Sender<Event>]) -> Pin<Box<dyn Future<Output = Ended> + Send + 'a>>;

    /// Where timers are made.
    fn timers(&self) -> &tokio::runtime::Handle;
}

/// What is inside of a hook: the hooks registered after it, and the tool.
pub struct Next<'a> {
    inner: &'a [Arc<HookEntry>],
    call: &'a HookCall,
    core: &'a dyn Core,
    watching: Vec<Sender<Event>>,
}

impl Next<'_> {
    /// Runs it, in a new cell each time. What was approved is what runs: there is nothing to pass.
    pub async fn run(&self) -> Ended {
        around(self.inner, self.call, self.core, self.watching.clone()).await
    }

    /// The same, with everything that the tool says before its end sent to `sink` as well. The tool waits while it is
    /// full: read from the other end meanwhile.
    pub async fn run_watched(&self, sink: Sender<Event>) -> Ended {
        let mut watching = self.watching.clone();
        watching.push(sink);
        around(self.inner, self.call, self.core, watching).await
    }
}

/// Runs `core` with `hooks` around it, the first outermost.
pub(crate) fn around<'a>(
    hooks: &'a [Arc<HookEntry>],
    call: &'a HookCall,
    core: &'a dyn Core,
    watching: Vec<Sender<Event>>,
) -> Pin<Box<dyn Future<Output = Ended> + Send + 'a>> {
    let Some((entry, inner)) = hooks.split_first() else {
        return Box::pin(async move { core.run(&watching).await });
    };
    let next = Next { inner, call, core, watching };
    Box::pin(async move {
        let span = telemetry::hook(entry.hook.name(), "around");
        match guarded(entry.hook.around(call, next), None, core.timers()).instrument(span).await {
            Ok(ended) => ended,
            Err(failure) => {
                let name = entry.name();
                let message = "a hook around the call failed; the tool may have run";
                let mut ended = Ended::failed(
                    CallError::new(ErrorKind::HookFailed, message).help(format!("hook `{name}`: {failure}")),
                );
                let verdict = Verdict::new(Step::AroundHook, name, Action::Failed);
                ended.verdicts.push(verdict.reason(Some(failure.to_string())));
                ended
            }
        }
    })
}
