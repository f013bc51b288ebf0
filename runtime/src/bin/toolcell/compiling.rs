//! A sign of life on a terminal while a big component is compiled for the first time.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use toolcell::Tool;

/// What is compiled faster needs no sign.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often the cache is looked at.
const PERIOD: Duration = Duration::from_millis(100);

/// The sign; it goes when this is dropped, or when the compiled component is in the cache.
pub(crate) struct Compiling {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Compiling {
    /// Begins to watch the component of `tool`, unless nobody would see it or it is compiled already.
    pub fn watch(tool: &Tool, cache: &Path) -> Option<Self> {
        let entry = Entry { cache: cache.to_owned(), prefix: tool.digest().replace(':', "-") };
        if !std::io::stderr().is_terminal() || entry.exists() {
            return None;
        }
        let name = tool.component().to_owned();
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().spawn(move || show(&name, &entry, &stopped)).ok()?;
        Some(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A sign that failed has shown nothing that could stay behind.
            let _ = thread.join();
        }
    }
}

/// A compiled component in the cache, whatever the engine's settings.
struct Entry {
    cache: PathBuf,
    prefix: String,
}

impl Entry {
    fn exists(&self) -> bool {
        let Ok(entries) = std::fs::read_dir(&self.cache) else { return false };
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(&self.prefix))
    }
}

fn show(name: &str, entry: &Entry, stopped: &Receiver<()>) {
    if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) || entry.exists() {
        return;
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.set_message(format!("compiling {name}, once"));
    bar.enable_steady_tick(PERIOD);
    while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) && !entry.exists() {}
    bar.finish_and_clear();
}
