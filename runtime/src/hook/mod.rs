//! Hooks: an operator's code before, around and after a call. A hook narrows what a call may do; none widens it.
//!
//! In reading order: [`Hook`] is what an embedder writes, `decision` what it answers, [`HookEntry`] where it applies,
//! `next` the rest of a call as a hook around it sees it, `guard` what keeps a hook from harming the runtime, `clock`
//! what of a hook's time is its own, `host` what the shipped hooks need of the runtime. The shipped hooks are [`CommandHook`], [`ComponentHook`], [`RetryHook`],
//! [`CacheHook`] and [`RateLimitHook`]; `configured` makes them from a configuration.

mod cache;
mod clock;
mod command;
mod component;
mod configured;
mod decision;
mod entry;
mod guard;
mod host;
mod next;
mod rate_limit;
mod retry;
mod settings;

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

pub use async_trait::async_trait;
pub use cache::CacheHook;
pub(crate) use clock::Clock;
pub use command::CommandHook;
pub use component::ComponentHook;
pub use decision::{Objection, Post, Pre};
pub use entry::HookEntry;
pub(crate) use entry::Placement;
pub(crate) use guard::{Failure, Time, guarded};
pub(crate) use host::Host;
pub use host::HostHandle;
pub use next::Next;
pub(crate) use next::{Core, around, held};
pub use rate_limit::{RateLimitHook, Scope};
pub use retry::RetryHook;
pub(crate) use settings::Settings;

use crate::call::{Ended, Response};
use crate::tool::Tool;

/// What a hook returns; any error type will do.
pub type HookResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Code that an operator puts on the way of calls.
///
/// Hooks run in the order in which they are registered: the first is outermost, so its `pre` is first and its `post`
/// is last. A call that a hook before it, a rule or an answer refuses runs no later hook and no `post`.
#[async_trait]
pub trait Hook: Send + Sync + 'static {
    /// Its name in errors, records and warnings.
    fn name(&self) -> &str {
        let path = std::any::type_name::<Self>();
        path.rsplit("::").next().unwrap_or(path)
    }

    /// What it is set to, in a few words, for whoever asks what would become of a call. The default is nothing.
    fn terms(&self) -> Option<String> {
        None
    }

    /// Which of its methods do anything; the others are not called. The default is all. With `post` among them, parts
    /// of a result reach nobody before `post` has spoken: it might replace them.
    fn events(&self) -> Events {
        Events::ALL
    }

    /// Makes ready what would keep the first call waiting; [`Runtime::warm`](crate::Runtime::warm) does it, and calls do not
    /// rely on it. The default is nothing.
    async fn warm(&self, host: &HostHandle) -> HookResult<()> {
        let _ = host;
        Ok(())
    }

    /// Before the call, with its canonical arguments. An error, a panic or a timeout denies the call.
    async fn pre(&self, call: &HookCall) -> HookResult<Pre> {
        let _ = call;
        Ok(Pre::pass())
    }

    /// Around the cell. `next.run()` runs what is inside of this hook, each time in a new cell. It has no time of its
    /// own but the call's. An error ends the call as `hook_failed`.
    async fn around(&self, call: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        let _ = call;
        Ok(next.run().await)
    }

    /// After the call, also after a failure or a timeout, unless it was refused. An error, a panic or a timeout is
    /// reported in `warnings`, and the response stays as it was. What a hook inside of this one withheld is not in
    /// `response`, which then is the failure that says so.
    async fn post(&self, call: &HookCall, response: &Response) -> HookResult<Post> {
        let _ = (call, response);
        Ok(Post::Accept)
    }

    /// After every run of a tool that can change something outside of its own call, in whatever way the run ended, and
    /// whatever tools the hook is for. It must not block. Only for hooks with [`Events::CHANGES`]; the default is nothing.
    fn changed(&self, tool: &Tool) {
        let _ = tool;
    }
}

/// Which methods of a hook do anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Events {
    pub(crate) pre: bool,
    pub(crate) around: bool,
    pub(crate) post: bool,
    pub(crate) changed: bool,
}

impl Events {
    const NONE: Self = Self { pre: false, around: false, post: false, changed: false };
    /// `pre`, `around` and `post`.
    pub const ALL: Self = Self { pre: true, around: true, post: true, changed: false };
    /// Only `pre`.
    pub const PRE: Self = Self { pre: true, ..Self::NONE };
    /// Only `around`.
    pub const AROUND: Self = Self { around: true, ..Self::NONE };
    /// Only `post`.
    pub const POST: Self = Self { post: true, ..Self::NONE };
    /// Only `changed`.
    pub const CHANGES: Self = Self { changed: true, ..Self::NONE };

    /// These and those of `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            pre: self.pre || other.pre,
            around: self.around || other.around,
            post: self.post || other.post,
            changed: self.changed || other.changed,
        }
    }
}

/// A call as a hook sees it.
#[derive(Debug, Clone)]
pub struct HookCall {
    pub(crate) id: Value,
    pub(crate) tool: Arc<Tool>,
    pub(crate) arguments: Value,
    pub(crate) meta: Vec<(String, String)>,
    /// How many entries of `meta` are the caller's own; those of hooks follow them, the session's are last.
    pub(crate) meta_of_caller: usize,
    pub(crate) session: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) settings: Settings,
    pub(crate) deadline: Instant,
    pub(crate) host: HostHandle,
    /// Stands still while a shipped hook waits for the host.
    pub(crate) clock: Arc<Clock>,
}

impl HookCall {
    /// The caller's identifier.
    pub fn id(&self) -> &Value {
        &self.id
    }

    /// The tool.
    pub fn tool(&self) -> &Tool {
        &self.tool
    }

    /// The arguments in their canonical form, with every rewrite so far.
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// The metadata under `key`: the caller's, else that of a hook before, else the session's.
    pub fn meta(&self, key: &str) -> Option<&str> {
        self.meta.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The session, if the call has one.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The session's user, if it has one.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// When the whole call must be over.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The caller's identifier as text; empty if it gave none.
    pub(crate) fn id_text(&self) -> String {
        match &self.id {
            Value::Null => String::new(),
            Value::String(id) => id.clone(),
            id => id.to_string(),
        }
    }
}
