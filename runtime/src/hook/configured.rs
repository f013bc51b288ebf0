//! Hooks that a configuration names.

use super::{CacheHook, CommandHook, ComponentHook, Events, HookEntry, RateLimitHook, RetryHook, Scope};
use crate::config::{HookConfig, HookKind};
use crate::error::{Error, Result};

impl HookEntry {
    /// The hook that `config` describes.
    ///
    /// # Errors
    /// When its component cannot be one.
    pub(crate) fn configured(config: &HookConfig) -> Result<Self> {
        let mut entry = made(config).map_err(|error| placed(config, error))?;
        entry = entry.tools(&config.tools).at(config.origin.at.as_deref());
        if let Some(glob) = &config.component {
            entry = entry.component(glob);
        }
        if let Some(group) = &config.group {
            entry = entry.group(group);
        }
        if let Some(timeout) = config.timeout {
            entry = entry.timeout(timeout);
        }
        if config.redacts {
            entry = entry.redacts();
        }
        Ok(entry.on(Events { pre: config.pre, around: true, post: config.post, changed: true }))
    }
}

fn made(config: &HookConfig) -> Result<HookEntry> {
    Ok(match &config.kind {
        HookKind::Command { command, folder, env, .. } => {
            let hook = CommandHook::new(command).folder(folder);
            HookEntry::new(env.iter().fold(hook, |hook, (name, value)| hook.env(name, value)))
        }
        HookKind::Component { path, config, limits } => {
            HookEntry::new(ComponentHook::file(path)?.config(config.clone()).limits(limits.clone())?)
        }
        HookKind::Retry { attempts, delay, max_delay } => {
            let mut hook = RetryHook::new();
            hook = attempts.map_or(hook.clone(), |attempts| hook.attempts(attempts));
            hook = delay.map_or(hook.clone(), |delay| hook.delay(delay));
            HookEntry::new(max_delay.map_or(hook.clone(), |max_delay| hook.max_delay(max_delay)))
        }
        HookKind::Cache { ttl, entries, bytes, shared } => {
            let to_usize = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
            let mut hook = CacheHook::new();
            if let Some(ttl) = ttl {
                hook = hook.ttl(*ttl);
            }
            if let Some(entries) = entries {
                hook = hook.entries(to_usize((*entries).into()));
            }
            if let Some(bytes) = bytes {
                hook = hook.bytes(to_usize(*bytes));
            }
            HookEntry::new(if *shared { hook.shared() } else { hook })
        }
        HookKind::RateLimit { calls, per, by } => {
            let scopes = [Scope::Tool, Scope::Session, Scope::User].into_iter().zip(by);
            let scopes = scopes.filter_map(|(scope, apart)| apart.then_some(scope));
            HookEntry::new(RateLimitHook::new(*calls, *per).by(scopes))
        }
    })
}

/// The error with the place that names the hook.
fn placed(config: &HookConfig, error: Error) -> Error {
    let at = config.origin.at.as_deref().unwrap_or(&config.origin.setting);
    Error::Config { at: at.to_owned(), message: format!("`{}`: {error}", config.origin.setting) }
}
