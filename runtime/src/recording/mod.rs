//! Recordings: everything that one call got from outside, so that the call can be made again without the outside.
//!
//! In reading order: `answer` (what the host says, as a recording has it), `tape` (what host functions ask),
//! `recorder` (making one), `player` (answering from one), `call` (what was called, and under what), `permits` (what a replay may
//! have of whoever makes it), `file`.

mod answer;
mod call;
mod difference;
mod file;
mod permits;
mod player;
mod recorder;
mod tape;
#[cfg(test)]
mod tests;

pub(crate) use answer::{Contents, Taped};
pub(crate) use call::{Called, Component, End, LimitSet, Refused, SecretFrom, State};
pub use difference::Difference;
pub use file::Recording;
pub(crate) use player::Player;
pub use recorder::Recorder;
pub(crate) use tape::Tape;
