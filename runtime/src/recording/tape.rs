//! What host functions ask, whether a call is recorded or replayed.

use super::{Difference, Player, Recorder, Taped};
use crate::policy::Digest;

/// The recording that a cell makes, or from which it is answered. Host functions share it with the streams that they
/// hand out.
#[derive(Debug, Clone)]
pub(crate) enum Tape {
    Record(Recorder),
    Replay(Player),
}

impl Tape {
    /// The recorded answer to `ask`, in a replay.
    pub fn given<T: Taped>(&self, ask: &str) -> Result<Option<T>, Difference> {
        match self {
            Self::Record(_) => Ok(None),
            Self::Replay(player) => player.answer(ask).map(Some),
        }
    }

    /// Records the answer to `ask`; a replay knows it.
    pub fn note<T: Taped>(&self, ask: String, answer: &T) {
        if let Self::Record(recorder) = self {
            recorder.note(ask, answer);
        }
    }

    /// How bytes that a tool gives away stand in what it asks. Nothing with a secret in it is recorded, not even by its
    /// digest, which would tell whether a guess is right.
    pub fn digest(&self, bytes: &[u8]) -> Digest {
        if let Self::Record(recorder) = self {
            recorder.gives(bytes);
        }
        Digest::of(bytes)
    }

    pub fn is_replay(&self) -> bool {
        matches!(self, Self::Replay(_))
    }
}
