//! The formats in which providers of models describe tools, ask for calls and take results back.

mod budget;
mod calls;
mod export;
mod gemini;
mod ids;
mod lowered;
mod one_object;
mod results;
mod seen;
mod sound;
mod strict;
mod words;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

pub use calls::Unreadable;
pub use export::{Export, Strict};

/// How one provider, or protocol, writes tools, calls and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// OpenAI's Chat Completions, and what speaks it.
    OpenAi,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
    /// The Model Context Protocol.
    Mcp,
    /// toolcell's own: everything that is known, in its own words.
    Toolcell,
}

impl Format {
    /// Every format, in the order of the documentation.
    pub const ALL: [Self; 6] =
        [Self::OpenAi, Self::OpenAiResponses, Self::Anthropic, Self::Gemini, Self::Mcp, Self::Toolcell];

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Mcp => "mcp",
            Self::Toolcell => "toolcell",
        }
    }

    /// The format of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is no format's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no such format; write one of {}", Format::ALL.map(Format::name).join(", "))]
pub struct UnknownFormat;

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::parse(name).ok_or(UnknownFormat)
    }
}
