//! What a server does beside serving: it makes native code before somebody waits for it, and takes up what has changed.

use std::thread;
use std::time::Duration;

use toolcell::Runtime;
use toolcell::config::Config;
use toolcell::runtime::Reloaded;

#[cfg(all(feature = "mcp", feature = "http"))]
use crate::http_server::Access;
use crate::ready::block_on;
use crate::terminal::{Label, say};
use crate::toolset::{Toolset, read};
use crate::watched::{Stamps, Watched};

/// How often files are looked at. A look is a few system calls for each.
const INTERVAL: Duration = Duration::from_millis(500);

/// How long nothing may change before it counts as whole: many files are written one after the other.
const SETTLED: Duration = Duration::from_millis(250);

/// Watches files that a runtime is made of.
pub(crate) struct Watch {
    watched: Watched,
    /// How they were when they were last read.
    seen: Stamps,
    /// Whether the configuration could not be read.
    is_unread: bool,
}

impl Watch {
    /// Notes how the files are, before a runtime is made of them.
    pub fn of(toolset: &Toolset) -> Self {
        let watched = Watched::of(toolset);
        Self { seen: watched.stamps(), watched, is_unread: false }
    }

    /// The same, with the files that decide who may reach a server over HTTP.
    #[cfg(all(feature = "mcp", feature = "http"))]
    pub fn with(mut self, access: Access) -> Self {
        self.watched.access = Some(access);
        let tokens = self.watched.stamps().into_iter().filter(|(path, _)| !self.seen.contains_key(path));
        self.seen.extend(tokens.collect::<Stamps>());
        self
    }

    /// Watches on a thread of its own, for as long as there is this process. A change that is wrong leaves everything as it was,
    /// and is told on standard error.
    pub fn start(self, runtime: &Runtime) {
        let (name, runtime) = ("toolcell-watch".to_owned(), runtime.clone());
        let started = thread::Builder::new().name(name).spawn(move || self.follow(&runtime));
        if let Err(error) = started {
            say(Label::Warning, format_args!("changes of the configuration are not seen: {error}"));
        }
    }

    fn follow(mut self, runtime: &Runtime) {
        warm(runtime);
        loop {
            thread::sleep(INTERVAL);
            runtime.news().iter().for_each(|told| say(Label::Warning, told));
            let now = self.watched.stamps();
            if now != self.seen || self.is_readable_again() {
                let settled = self.settled(now);
                self.take_up(runtime, settled);
            }
        }
    }

    /// How the files are once they do not change any more.
    fn settled(&self, mut now: Stamps) -> Stamps {
        loop {
            thread::sleep(SETTLED);
            let again = self.watched.stamps();
            if again == now {
                return now;
            }
            now = again;
        }
    }

    fn take_up(&mut self, runtime: &Runtime, now: Stamps) {
        match self.reload(runtime, now) {
            Ok(reloaded) => {
                reloaded.warnings.iter().for_each(|warning| say(Label::Warning, warning));
                for setting in &reloaded.later {
                    let told = format_args!("`{setting}` has changed, and holds from the next start");
                    say(Label::Warning, told);
                }
                say(Label::Note, "what has changed was loaded");
                warm(runtime);
            }
            Err(error) => {
                let told = "what has changed is not used, and everything stays as it was";
                say(Label::Error, format_args!("{told}: {error}"));
            }
        }
    }

    fn reload(&mut self, runtime: &Runtime, now: Stamps) -> anyhow::Result<Reloaded> {
        self.seen = now;
        self.is_unread = true;
        let config = match &self.watched.location {
            Some(location) => read(location, &self.watched.environment)?,
            None => Config::default(),
        };
        self.is_unread = false;
        self.watched.refused = Some(config.clone());
        // Files that only this configuration names are as they are before they are read; all others as they were at the last
        // look, or what has changed since then would not count as another change.
        let mut all = self.watched.stamps();
        for (path, stamp) in &mut all {
            if let Some(seen) = self.seen.get(path) {
                *stamp = *seen;
            }
        }
        self.seen = all;
        #[cfg(all(feature = "mcp", feature = "http"))]
        let change = self.watched.access.as_ref().map(|access| access.check(&config.server)).transpose()?;
        let reloaded = runtime.reload(config.clone())?;
        #[cfg(all(feature = "mcp", feature = "http"))]
        if let Some(change) = change {
            change.make().iter().for_each(|told| say(Label::Warning, told));
        }
        self.watched.config = config;
        self.watched.refused = None;
        let known = self.watched.stamps();
        self.seen.retain(|path, _| known.contains_key(path));
        Ok(reloaded)
    }

    /// Whether a configuration that could not be read can be: it may lack a file of which nothing is known.
    fn is_readable_again(&self) -> bool {
        let location = self.watched.location.as_ref().filter(|_| self.is_unread);
        location.is_some_and(|location| Config::load(location, &self.watched.environment).is_ok())
    }
}

/// Makes native code while nobody waits. What does not compile is told by the call that needs it.
fn warm(runtime: &Runtime) {
    let _ = block_on(runtime.warm());
}
