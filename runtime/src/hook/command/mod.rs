//! A hook that is a program.
//!
//! In reading order: [`CommandHook`] is which program and how it is started, `wire` what it reads and writes,
//! `program` one run of it and its end.

mod program;
mod wire;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::clock::{Pause, Wanted};
use super::{Events, Hook, HookCall, HookResult, Post, Pre, async_trait};
use crate::call::Response;
use crate::process::Program;
use program::Finished;

/// Programs of one hook that run at once. Hooks run before a call waits for its cell, so nothing else bounds them. Waiting
/// for a place is not the hook's own time, but the call's.
const AT_ONCE: usize = 32;

/// A program that is run before and after calls, and says what becomes of them.
///
/// It reads one JSON object from its standard input: `hook_event_name` (`PreToolUse` or `PostToolUse`), `session_id`,
/// `tool_name`, `tool_input`, `tool_use_id`, and after a call `tool_response`. It ends with exit code 0 and says nothing,
/// or `{"hookSpecificOutput": {"permissionDecision": "allow" | "deny" | "ask", "permissionDecisionReason": …,
/// "updatedInput": …}}`, after a call `{"updatedOutput": …}` (a string for a tool that returns a text, data for others);
/// or it ends with exit code 2, which refuses the call, or withholds its result, with what was printed to standard error
/// as the reason. Everything else is a failure, which denies a call. `allow` takes back nothing that others object to.
///
/// Its environment is what [`env`](Self::env) says and a fixed `PATH` (`/usr/local/bin:/usr/bin:/bin`, unless `env` sets
/// one). It may print 1 MiB, and 64 KiB to standard error. When it ends, takes too long, or nobody waits for the call
/// any more, everything in its process group is killed.
#[derive(Debug)]
pub struct CommandHook {
    program: Arc<Program>,
    name: String,
    places: Semaphore,
}

impl CommandHook {
    /// A program with its arguments. A name without `/` is searched for in `PATH`, any other is relative to
    /// [`folder`](Self::folder).
    pub fn new(command: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        let command: Vec<OsString> = command.into_iter().map(Into::into).collect();
        let name = command.first().and_then(|program| Path::new(program).file_name());
        let name = name.map_or_else(|| "command".to_owned(), |name| name.to_string_lossy().into_owned());
        let program = Program { command, folder: ".".into(), env: BTreeMap::new() };
        Self { program: Arc::new(program), name, places: Semaphore::new(AT_ONCE) }
    }

    /// Its working directory. The default is that of this process.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        Arc::make_mut(&mut self.program).folder = folder.into();
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.program).env.insert(name.into(), value.into());
        self
    }

    async fn finished(&self, call: &HookCall, input: Vec<u8>) -> HookResult<Finished> {
        let waiting = self.places.acquire();
        let _place = call.clock.stopped(Pause::Host(Wanted::Place(AT_ONCE)), waiting).await?;
        Ok(program::run(&self.program, input, call.host.sandbox().handle()).await?)
    }
}

#[async_trait]
impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn events(&self) -> Events {
        Events::PRE.and(Events::POST)
    }

    async fn pre(&self, call: &HookCall) -> HookResult<Pre> {
        let finished = self.finished(call, wire::before(call)?).await?;
        Ok(wire::decision(&finished)?)
    }

    async fn post(&self, call: &HookCall, response: &Response) -> HookResult<Post> {
        let finished = self.finished(call, wire::after(call, response)?).await?;
        Ok(wire::verdict(&finished, call.tool())?)
    }
}
