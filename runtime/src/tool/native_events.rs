//! What a native function says before its end, kept and passed on as a guest's is.

use std::sync::{Arc, Mutex, PoisonError};

use crate::call::{CallError, Content, Ended, ErrorKind, Log};
use crate::limits::{EffectiveLimits, Limit};
use crate::output::EventSinks;

/// Where a native function says something before its end: parts of its result, and what happens meanwhile.
#[derive(Debug, Clone)]
pub struct NativeEvents {
    sinks: EventSinks,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug)]
struct Kept {
    chunks: Vec<Content>,
    chunk_bytes: u64,
    logs: Vec<Log>,
    limits: Arc<EffectiveLimits>,
}

impl NativeEvents {
    pub(crate) fn new(sinks: EventSinks, limits: Arc<EffectiveLimits>) -> Self {
        let kept = Kept { chunks: Vec::new(), chunk_bytes: 0, logs: Vec::new(), limits };
        Self { sinks, kept: Arc::new(Mutex::new(kept)) }
    }

    /// Gives a part of the result before its end. It is kept when the call is stopped.
    ///
    /// # Errors
    /// When the call has emitted as much as it may; return the error.
    pub async fn emit(&self, content: Content) -> Result<(), CallError> {
        self.locked(|kept| kept.chunk(&content))?;
        self.sinks.chunk(content).await;
        Ok(())
    }

    /// Adds a record to the log of the call. Past the call's limit it is dropped.
    pub async fn log(&self, level: &str, text: &str) {
        if self.locked(|kept| kept.log(level, text)) {
            self.sinks.log(level, text).await;
        }
    }

    /// Says how far the call has come.
    pub async fn progress(&self, done: u64, total: Option<u64>, text: Option<&str>) {
        self.sinks.progress(done, total, text).await;
    }

    /// The end with everything that was said before it.
    pub(crate) fn before(&self, mut ended: Ended) -> Ended {
        self.locked(|kept| {
            ended.chunks = std::mem::take(&mut kept.chunks);
            ended.logs = std::mem::take(&mut kept.logs);
        });
        ended
    }

    fn locked<T>(&self, work: impl FnOnce(&mut Kept) -> T) -> T {
        work(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn chunk(&mut self, content: &Content) -> Result<(), CallError> {
        let bytes = serde_json::to_string(content).map_or(0, |text| text.len());
        self.chunk_bytes = self.chunk_bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        let count = u64::try_from(self.chunks.len()).unwrap_or(u64::MAX).saturating_add(1);
        for (limit, wanted) in [(Limit::ResultBytes, self.chunk_bytes), (Limit::Chunks, count)] {
            if wanted > self.limits.get(limit) {
                let message = "the tool gave more parts of a result than it may; ask for less";
                return Err(
                    CallError::new(ErrorKind::ResourceLimit, message).limit(self.limits.hit(limit, wanted))
                );
            }
        }
        self.chunks.push(content.clone());
        Ok(())
    }

    fn log(&mut self, level: &str, text: &str) -> bool {
        let has_room = self.logs.len() < self.limits.get_usize(Limit::LogRecords);
        if has_room {
            self.logs.push(Log::new(level, text));
        }
        has_room
    }
}
