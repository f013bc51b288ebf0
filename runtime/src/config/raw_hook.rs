//! A hook as it is written in the file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::amount::Amount;
use super::raw_limits::RawHookLimits;

/// A hook: what is asked, or done, before, around and after the calls that it applies to. The first is outermost.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with `use`", default)]
#[schemars(extend("required" = ["use"]))]
pub(super) struct RawHook {
    /// What it is.
    #[serde(rename = "use")]
    pub(super) kind: Option<RawHookKind>,
    /// Globs of the tools that it is for, by name; one must match. Default every tool.
    pub(super) tools: Option<Vec<String>>,
    /// A glob of the component's name.
    pub(super) component: Option<String>,
    /// The component's group.
    pub(super) group: Option<String>,
    /// Of a command or component: when it is asked. Default both.
    pub(super) on: Option<Vec<RawEvent>>,
    /// Of a command or component: how long it may take each time. Default "5s".
    pub(super) timeout: Option<Amount>,
    /// Of a command or component: whether a result is withheld if it fails after the call. Default false.
    pub(super) redacts: Option<bool>,
    /// Of a command: the program with its arguments. With a `/` in its name it is relative to this file, without it is
    /// searched for in /usr/local/bin, /usr/bin and /bin.
    pub(super) command: Option<Vec<String>>,
    /// Of a command: its environment; the host's own is never seen. `PATH` is set unless it is here.
    pub(super) env: Option<BTreeMap<String, String>>,
    /// Of a component: its file. Relative to this file.
    pub(super) path: Option<String>,
    /// Of a component: values that it reads through `wasi:config/store`.
    pub(super) config: Option<BTreeMap<String, String>>,
    /// Of a component: what each time may consume.
    pub(super) limits: Option<RawHookLimits>,
    /// Of retry: how often a call runs at most, from 1 to 10. Default 3.
    pub(super) attempts: Option<Amount>,
    /// Of retry: the first pause, which doubles. Default "200ms".
    pub(super) delay: Option<Amount>,
    /// Of retry: the longest pause. Default "5s".
    pub(super) max_delay: Option<Amount>,
    /// Of cache: how long a result stands. With it, results of all tools that change nothing are stored, until a call ends
    /// that may have changed what they came from; without it only those of tools that neither see files nor the time.
    pub(super) ttl: Option<Amount>,
    /// Of cache: how many results are kept. Default 1024.
    pub(super) entries: Option<Amount>,
    /// Of cache: how much they may take together. Default "64MiB".
    pub(super) bytes: Option<Amount>,
    /// Of cache: who sees a stored result. Default "session".
    pub(super) scope: Option<RawCacheScope>,
    /// Of `rate_limit`: how many calls run within `per`.
    pub(super) calls: Option<Amount>,
    /// Of `rate_limit`: within which time.
    pub(super) per: Option<Amount>,
    /// Of `rate_limit`: what is counted apart. Default all three; empty: nothing. Sessions are told apart for each user.
    /// Where clients name their sessions, as with JSON lines, `session` bounds only those that mean well: leave it out.
    pub(super) by: Option<Vec<RawCounted>>,
}

/// What a hook is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawHookKind {
    /// A program.
    Command,
    /// A component that exports `toolcell:tool/hook`.
    Component,
    /// Runs calls again that found the host busy.
    Retry,
    /// Answers calls with stored results.
    Cache,
    /// Bounds how often tools run.
    RateLimit,
}

/// When a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawEvent {
    /// Before the call.
    Pre,
    /// After it.
    Post,
}

/// Who sees a stored result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawCacheScope {
    /// The session and user that it was made for.
    Session,
    /// All.
    All,
}

/// What is counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawCounted {
    /// Each tool.
    Tool,
    /// Each session.
    Session,
    /// Each user.
    User,
}
