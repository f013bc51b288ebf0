//! Answering from a recording.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Called, Difference, End, Recording, Taped};

/// Answers one replay. The tool must ask what it asked before, in the same order.
#[derive(Debug, Clone)]
pub(crate) struct Player {
    recording: Arc<Recording>,
    at: Arc<Mutex<At>>,
}

#[derive(Debug, Default)]
struct At {
    answered: usize,
    difference: Option<Difference>,
}

/// In the place of an event that is not there.
const NOTHING: &str = "nothing more";

impl Player {
    pub fn new(recording: Arc<Recording>) -> Self {
        Self { recording, at: Arc::default() }
    }

    pub fn called(&self) -> &Called {
        &self.recording.called
    }

    pub fn end(&self) -> &End {
        &self.recording.end
    }

    /// The recorded answer, if it was to the same `ask`.
    pub fn answer<T: Taped>(&self, ask: &str) -> Result<T, Difference> {
        let mut at = self.lock();
        if let Some(difference) = &at.difference {
            return Err(difference.clone());
        }
        let number = at.answered.saturating_add(1);
        let found = match self.recording.events.get(at.answered) {
            None => Err(Difference::event(number, NOTHING, ask)),
            Some(event) if event.ask != ask => Err(Difference::event(number, &event.ask, ask)),
            Some(event) => serde_json::from_str(&event.answer)
                .ok()
                .and_then(|answer| T::from_tape(&answer, &self.recording.contents))
                .ok_or_else(|| Difference::event(number, &event.answer, "an answer of another kind")),
        };
        match &found {
            Ok(_) => at.answered = number,
            Err(difference) => at.difference = Some(difference.clone()),
        }
        found
    }

    /// The first event that differed, or that the tool did not come to.
    pub fn difference(&self) -> Option<Difference> {
        let at = self.lock();
        at.difference.clone().or_else(|| {
            let left = self.recording.events.get(at.answered)?;
            Some(Difference::event(at.answered.saturating_add(1), &left.ask, NOTHING))
        })
    }

    fn lock(&self) -> MutexGuard<'_, At> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
