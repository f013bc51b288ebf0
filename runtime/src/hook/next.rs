//! The rest of a call, as a hook around it sees it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tracing::Instrument;

use super::clock::{Clock, Pause};
use super::{Failure, HookCall, HookEntry, Time, guarded};
use crate::call::{Action, CallError, Ended, ErrorKind, Event, Step, Verdict};
use crate::telemetry;

/// How long a hook has after the call's time to say what it makes of the end: the runtime waits a little longer.
const AFTERMATH: Duration = Duration::from_millis(250);

/// The innermost of a call: one run of the tool, each in a cell of its own.
pub(crate) trait Core: Sync {
    /// Runs it; `watching` are the hooks that listen.
    fn run<'a>(&'a self, watching: &'a [Sender<Event>]) -> Pin<Box<dyn Future<Output = Ended> + Send + 'a>>;

    /// Where timers are made.
    fn timers(&self) -> &tokio::runtime::Handle;

    /// The end of a call whose time is over.
    fn over(&self) -> CallError;
}

/// What is inside of a hook: the hooks registered after it, and the tool.
pub struct Next<'a> {
    inner: &'a [Arc<HookEntry>],
    call: &'a HookCall,
    core: &'a dyn Core,
    watching: Vec<Sender<Event>>,
    clock: &'a Clock,
}

impl Next<'_> {
    /// Runs it, in a new cell each time. What was approved is what runs: there is nothing to pass.
    pub async fn run(&self) -> Ended {
        self.watched(self.watching.clone()).await
    }

    /// The same, with everything that the tool says before its end sent to `sink` as well. The tool waits while it is
    /// full: read from the other end meanwhile.
    pub async fn run_watched(&self, sink: Sender<Event>) -> Ended {
        let mut watching = self.watching.clone();
        watching.push(sink);
        self.watched(watching).await
    }

    async fn watched(&self, watching: Vec<Sender<Event>>) -> Ended {
        self.clock.stopped(Pause::Inner, around(self.inner, self.call, self.core, watching)).await
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
    Box::pin(async move {
        let clock = Clock::default();
        let next = Next { inner, call, core, watching, clock: &clock };
        let span = telemetry::hook(entry.hook.name(), "around");
        let time = Time { own: None, end: call.deadline + AFTERMATH, clock: &clock };
        match guarded(entry.hook.around(call, next), time, core.timers()).instrument(span).await {
            Ok(ended) => ended,
            Err(failure) => {
                let name = entry.name();
                let error = match failure {
                    Failure::Over => held(name, core.over()),
                    _ => CallError::new(
                        ErrorKind::HookFailed,
                        "a hook around the call failed; the tool may have run",
                    )
                    .help(format!("hook `{name}`: {failure}")),
                };
                let mut ended = Ended::failed(error);
                let verdict = Verdict::new(Step::AroundHook, name, Action::Failed);
                ended.verdicts.push(verdict.reason(Some(failure.to_string())));
                ended
            }
        }
    })
}

/// The end of a call whose time was over while a hook held it.
pub(crate) fn held(name: &str, mut over: CallError) -> CallError {
    let advice = over.help.take().unwrap_or_default();
    over.help(format!("hook `{name}` held the call until its time was over; {advice}"))
}
