//! Why a function cannot be a tool, and the bounds that decide it.

/// How deep types may nest; schemas deeper than this are refused by every provider long before.
pub(super) const MAX_DEPTH: usize = 64;

/// Nodes of one signature's tree. Types are inlined, so that a dozen records that hold each other twice would
/// otherwise make millions.
pub(super) const MAX_NODES: usize = 10_000;

/// Bytes of documentation in one signature, for the same reason.
pub(super) const MAX_DOC_BYTES: usize = 1 << 20;

/// Why a function cannot be a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// A resource or a handle to one: it cannot cross as JSON.
    #[error("its signature has the resource `{0}`; return data, or a name that a later call takes")]
    Resource(String),
    /// A feature of component async.
    #[error("its signature has `{0}`, which needs component async; use plain values and blocking functions")]
    Async(&'static str),
    /// Another type that tools cannot have.
    #[error("its signature has the type `{0}`; use a list of records or of values instead")]
    Type(&'static str),
    /// Types nest too deeply.
    #[error("its types nest deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The tree of types, written out, is too big.
    #[error(
        "its types written out have more than {MAX_NODES} parts or {MAX_DOC_BYTES} bytes of documentation"
    )]
    TooLarge,
    /// A name cannot be a property's or two are the same.
    #[error("the name `{name}` {reason}")]
    Name {
        /// The name as WIT spells it.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A documented constraint does not fit the type that it is set on.
    #[error("`{member}`: {reason}")]
    Constraint {
        /// The parameter, field or case as WIT spells it.
        member: String,
        /// What is wrong and what to write instead.
        reason: String,
    },
}

impl Unsupported {
    /// Whether the whole component is refused, not only this function: the engine runs no component async.
    pub fn refuses_component(&self) -> bool {
        matches!(self, Self::Async(_))
    }
}

/// The result of building a part of a signature.
pub(super) type Built<T> = Result<T, Unsupported>;
