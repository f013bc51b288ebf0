//! Calls of a server's tools: their turn, their answer, and why there is none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::Server;
use crate::call::{CallError, ErrorKind, Returned};
use crate::limits::{EffectiveLimits, Limit, advice};
use crate::tool::mirrored::Mirrored;
use crate::tool::remote::RemoteBody;
use crate::tool::remote::message::{Failure, MAX_VALUES};
use crate::tool::remote::pending::ProgressSink;
use crate::tool::remote::result::{refused, returned};

/// Calls that may wait for their turn at one server, as many as wait for cells by default.
const MAX_WAITING: u32 = 1024;

/// How long one may wait, as long as for a cell by default.
const PATIENCE: Duration = Duration::from_secs(30);

/// A waiting call; leaving the queue in whatever way is counted.
struct Queued<'a>(&'a AtomicU32);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    /// A place among the calls that run there. Must be polled where timers are in reach.
    ///
    /// # Errors
    /// `busy`, with the setting that allows more.
    pub async fn enter(&self) -> Result<OwnedSemaphorePermit, CallError> {
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(permit);
        }
        let busy = |what: &str| {
            let message = format!("{what} for this tool's server; try again later");
            CallError::new(ErrorKind::Busy, message)
                .help(format!("raise `{}.concurrent_calls`", self.component))
        };
        let _queued = Queued(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
            return Err(busy("too many calls are waiting"));
        }
        match tokio::time::timeout(PATIENCE, Arc::clone(&self.places).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(busy("calls have been waiting for half a minute")),
        }
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn call(
        self: &Arc<Self>,
        tool: &RemoteBody,
        arguments: Value,
        mirrored: &[Mirrored],
        progress: Option<ProgressSink>,
        limits: &EffectiveLimits,
    ) -> Result<Returned, CallError> {
        let mut answered = self.try_call(tool, arguments.clone(), mirrored, progress.clone()).await?;
        if matches!(answered, Err(Failure::Expired)) {
            // It forgets sessions that nobody uses, and has not taken the call.
            answered = self.try_call(tool, arguments, mirrored, progress).await?;
        }
        match answered {
            Ok(result) => {
                self.state().failures = 0;
                returned(result)
            }
            Err(Failure::Refused(error)) => {
                self.state().failures = 0;
                Ok(refused(&error))
            }
            Err(Failure::TooLong) => Err(too_long(limits)),
            Err(Failure::TooMuch) => Err(too_much()),
            Err(Failure::Unreadable) => {
                let message = "the tool's server gave no result that can be read";
                Err(CallError::new(ErrorKind::ToolError, message))
            }
            Err(failure @ Failure::Gone(_)) => {
                let mut error = self.unavailable(&failure.to_string());
                // Whether it had begun nobody can tell from here.
                error.message = "the tool's server cannot be reached any more, and may have carried the call out: make sure \
                                 before you repeat one that changes something"
                    .to_owned();
                Err(error)
            }
            Err(failure @ (Failure::Expired | Failure::Status(_))) => {
                Err(self.unavailable(&failure.to_string()))
            }
        }
    }

    async fn try_call(
        self: &Arc<Self>,
        tool: &RemoteBody,
        arguments: Value,
        mirrored: &[Mirrored],
        progress: Option<ProgressSink>,
    ) -> Result<Result<Value, Failure>, CallError> {
        let client = self.connected().await.map_err(|why| self.unavailable(&why))?;
        // It may have come back as another.
        if self.offered(&tool.name) != Some(tool.identity) {
            let message = "the tool is not what it was when it was approved, and is off";
            let help = format!("`toolcell list` says what became of `{}.{}`", self.component, tool.name);
            return Err(CallError::new(ErrorKind::ToolInactive, message).help(help));
        }
        let answered = client.call(&tool.name, arguments, mirrored, progress).await;
        if matches!(answered, Err(Failure::Expired)) {
            let mut state = self.state();
            if state.client.as_ref().is_some_and(|known| Arc::ptr_eq(known, &client)) {
                state.client = None;
            }
        }
        Ok(answered)
    }

    pub(super) fn unavailable(&self, why: &str) -> CallError {
        let message = "the tool's server cannot be reached; try again later";
        let help = format!("`{}`: {}", self.component, self.words(why));
        CallError::new(ErrorKind::Unavailable, message).help(help)
    }
}

fn too_long(limits: &EffectiveLimits) -> CallError {
    let allowed = limits.get(Limit::ResultBytes);
    let hit = limits.hit(Limit::ResultBytes, allowed.saturating_add(1));
    let message = format!("the result is larger than {}; ask for a smaller part", hit.allowed);
    CallError::new(ErrorKind::ResultTooLarge, message).help(advice(&hit)).limit(hit)
}

fn too_much() -> CallError {
    let message = format!(
        "the result has too many values: they take more than {} MiB of memory; ask for a smaller part",
        MAX_VALUES >> 20
    );
    let help = "that is the most for a result of another server, whatever `result_bytes` allows";
    CallError::new(ErrorKind::ResultTooLarge, message).help(help)
}
