//! Why a component could not be packed or its section not be read.

use std::path::PathBuf;

/// What went wrong, for whoever packs or loads the component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The bytes are no component.
    #[error("{0}")]
    NotAComponent(&'static str),
    /// The component's framing is broken.
    #[error("the component is damaged: {0}")]
    DamagedComponent(String),
    /// The section is there but cannot be read.
    #[error("the section `toolcell:tool` is damaged: {0}; pack the component again")]
    DamagedSection(String),
    /// The component has more than one section.
    #[error("the component has more than one section `toolcell:tool`; pack it again")]
    SeveralSections,
    /// The section was written in a format that is newer than this reader.
    #[error(
        "the section `toolcell:tool` has format {found}, this version reads up to {known}; update toolcell"
    )]
    Format {
        /// The format that the section names.
        found: u64,
        /// The newest format that is known here.
        known: u64,
    },
    /// The documentation is larger than a section may be.
    #[error("the section `toolcell:tool` would take {size} bytes of {limit}; shorten the documentation")]
    TooLarge {
        /// Bytes that are there or would be written.
        size: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// The WIT cannot be parsed, or has no such world.
    #[error("{0}")]
    Wit(String),
    /// A documentation comment is wrong.
    #[error("{subject}: {message}")]
    Doc {
        /// The function, type or world whose comment it is.
        subject: String,
        /// What is wrong and what to write instead.
        message: String,
    },
    /// Something is wrong with a file that was named, or with what it contains.
    #[error("{}: {message}", path.display())]
    In {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong and what to do.
        message: String,
    },
    /// The packed component cannot be written.
    #[error("cannot write {}: {message}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        message: String,
    },
}
