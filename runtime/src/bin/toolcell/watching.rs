//! What a server does beside serving: it makes native code before somebody waits for it, and takes up what has changed.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use toolcell::config::{Config, Environment, HookKind, Location, McpTransport, Source};
use toolcell::runtime::Reloaded;
use toolcell::{Runtime, ToolComponent};

#[cfg(all(feature = "mcp", feature = "http"))]
use crate::http_server::Access;
use crate::ready::block_on;
use crate::terminal::{Label, say};
use crate::toolset::{Toolset, read};

/// How often files are looked at. A look is a few system calls for each.
const INTERVAL: Duration = Duration::from_millis(500);

/// How long nothing may change before it counts as whole: many files are written one after the other.
const SETTLED: Duration = Duration::from_millis(250);

/// Everything by which a change of a file shows.
type Stamp = Option<(u64, u64, u64, i64, i64, i64, i64)>;

/// What a runtime was made of.
struct Watched {
    environment: Environment,
    location: Option<Location>,
    config: Config,
    components: Vec<ToolComponent>,
    /// Who may reach it, if it is served over HTTP.
    #[cfg(all(feature = "mcp", feature = "http"))]
    access: Option<Access>,
}

/// Watches the files that the runtime was made of, on a thread of its own, for as long as there is this process. A change that
/// is wrong leaves everything as it was, and is told on standard error.
pub(crate) fn watch(toolset: &Toolset, runtime: &Runtime) {
    start(Watched::of(toolset), runtime.clone());
}

/// The same, with the files that decide who may reach a server over HTTP.
#[cfg(all(feature = "mcp", feature = "http"))]
pub(crate) fn watch_with(toolset: &Toolset, runtime: &Runtime, access: Access) {
    start(Watched { access: Some(access), ..Watched::of(toolset) }, runtime.clone());
}

fn start(watched: Watched, runtime: Runtime) {
    let name = "toolcell-watch".to_owned();
    let started = thread::Builder::new().name(name).spawn(move || watched.follow(&runtime));
    if let Err(error) = started {
        say(Label::Warning, format_args!("changes of the configuration are not seen: {error}"));
    }
}

impl Watched {
    fn of(toolset: &Toolset) -> Self {
        Self {
            environment: toolset.environment.clone(),
            location: toolset.location.clone(),
            config: toolset.config.clone(),
            components: toolset.components.clone(),
            #[cfg(all(feature = "mcp", feature = "http"))]
            access: None,
        }
    }

    fn follow(mut self, runtime: &Runtime) {
        let mut before = self.stamps();
        warm(runtime);
        loop {
            thread::sleep(INTERVAL);
            let mut now = self.stamps();
            if now == before {
                continue;
            }
            loop {
                thread::sleep(SETTLED);
                let again = self.stamps();
                if again == now {
                    break;
                }
                now = again;
            }
            let reloaded = self.reload(runtime);
            // Other files may be meant now. What has changed since the last look counts as another change, also while this
            // one was taken up.
            before = self.stamps();
            for (path, stamp) in &mut before {
                if let Some((_, seen)) = now.iter().find(|(known, _)| known == path) {
                    *stamp = *seen;
                }
            }
            match reloaded {
                Ok(reloaded) => {
                    reloaded.warnings.iter().for_each(|warning| say(Label::Warning, warning));
                    for setting in &reloaded.later {
                        say(
                            Label::Warning,
                            format_args!("`{setting}` has changed, and holds from the next start"),
                        );
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
    }

    fn reload(&mut self, runtime: &Runtime) -> anyhow::Result<Reloaded> {
        let config = match &self.location {
            Some(location) => read(location, &self.environment)?,
            None => Config::default(),
        };
        #[cfg(all(feature = "mcp", feature = "http"))]
        let change = self.access.as_ref().map(|access| access.check(&config.server)).transpose()?;
        let reloaded = runtime.reload(config.clone())?;
        #[cfg(all(feature = "mcp", feature = "http"))]
        if let Some(change) = change {
            change.make().iter().for_each(|told| say(Label::Warning, told));
        }
        self.config = config;
        Ok(reloaded)
    }

    /// The files that decide what there is, and whether it counts.
    fn paths(&self) -> Vec<PathBuf> {
        let folders = &self.environment.folders;
        let mut paths = vec![folders.trust(), folders.pins()];
        paths.extend(self.location.iter().map(|location| location.path.clone()));
        let configured = self.config.components.iter().filter(|component| component.enabled);
        let sources = configured.map(|component| &component.source);
        for source in sources.chain(self.components.iter().map(|component| &component.config().source)) {
            match source {
                Source::File(path) => paths.push(path.clone()),
                Source::Folder(folder) => {
                    paths.push(folder.clone());
                    paths.extend(components_in(folder));
                }
                _ => {}
            }
        }
        for hook in &self.config.hooks {
            match &hook.kind {
                HookKind::Command { files, .. } => paths.extend(files.iter().cloned()),
                HookKind::Component { path, .. } => paths.push(path.clone()),
                _ => {}
            }
        }
        for server in self.config.mcp.iter().filter(|server| server.enabled) {
            if let McpTransport::Command { files, .. } = &server.transport {
                paths.extend(files.iter().cloned());
            }
        }
        #[cfg(all(feature = "mcp", feature = "http"))]
        if let Some(access) = &self.access {
            paths.extend(access.paths(&self.config.server));
        }
        paths
    }

    fn stamps(&self) -> Vec<(PathBuf, Stamp)> {
        let stamped = |path: PathBuf| {
            let stamp = stamp(&path);
            (path, stamp)
        };
        self.paths().into_iter().map(stamped).collect()
    }
}

fn components_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "wasm")).collect();
    files.sort();
    files
}

fn stamp(path: &Path) -> Stamp {
    let metadata = path.metadata().ok()?;
    Some((
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ))
}

/// Makes native code while nobody waits. What does not compile is told by the call that needs it.
fn warm(runtime: &Runtime) {
    let _ = block_on(runtime.warm());
}
