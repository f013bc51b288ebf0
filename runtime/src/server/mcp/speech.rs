//! What a tool says while it runs, as notifications.

use serde_json::{Map, Value, json};

use super::version::Terms;
use super::writer::Writer;
use crate::call::Event;

/// A level of log records, as the protocol orders them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Level {
    const ALL: [(&str, Self); 8] = [
        ("debug", Self::Debug),
        ("info", Self::Info),
        ("notice", Self::Notice),
        ("warning", Self::Warning),
        ("error", Self::Error),
        ("critical", Self::Critical),
        ("alert", Self::Alert),
        ("emergency", Self::Emergency),
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, level)| level)
    }

    /// Its name in the protocol.
    #[cfg(feature = "http")]
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, level)| *level == self).map_or("info", |(name, _)| name)
    }

    /// The level of a stream of a tool's.
    fn of(stream: &str) -> (&'static str, Self) {
        match stream {
            "trace" | "debug" => ("debug", Self::Debug),
            "warn" => ("warning", Self::Warning),
            "error" => ("error", Self::Error),
            _ => ("info", Self::Info),
        }
    }
}

/// Passes on what one call says. A client that reads too slowly misses some of it, and never a result.
pub(super) struct Speech {
    pub tool: String,
    pub terms: Terms,
    /// Progress must grow from one notification to the next.
    pub done: Option<u64>,
}

impl Speech {
    /// Whether the client wants to hear anything.
    pub fn is_wanted(&self) -> bool {
        self.terms.level.is_some() || self.terms.progress.is_some()
    }

    pub fn tell(&mut self, event: Event, writer: &Writer) {
        match event {
            Event::Progress { done, total, text } => self.progress(done, total, text, writer),
            Event::Log { log } => {
                let (name, level) = Level::of(&log.stream);
                if self.terms.level.is_some_and(|least| level >= least) {
                    let params = json!({ "level": name, "logger": self.tool, "data": log.text });
                    writer.offer(&notification("notifications/message", params));
                }
            }
            // The result has it.
            Event::Chunk { .. } => {}
        }
    }

    fn progress(&mut self, done: u64, total: Option<u64>, text: Option<String>, writer: &Writer) {
        let Some(token) = &self.terms.progress else { return };
        if self.done.is_some_and(|before| done <= before) {
            return;
        }
        self.done = Some(done);
        let mut params = Map::new();
        params.insert("progressToken".to_owned(), token.clone());
        params.insert("progress".to_owned(), done.into());
        params.extend(total.map(|total| ("total".to_owned(), total.into())));
        params.extend(text.map(|text| ("message".to_owned(), text.into())));
        writer.offer(&notification("notifications/progress", Value::Object(params)));
    }
}

pub(super) fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}
