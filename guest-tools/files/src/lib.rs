//! Reading, searching and editing files in granted directories. The functions are documented in `wit/world.wit`; here
//! [`tools`] says what each of them does, on top of what the host gives: [`granted`] and a page of [`output`](page).

pub mod page;
pub mod replace;
pub mod source;
pub mod span;
pub mod text;
pub mod walk;

pub mod tools {
    //! One module a tool.
    pub mod edit_file;
    pub mod glob;
    pub mod grep;
    pub mod list_dir;
    pub mod read_file;
    pub mod write_file;
}

#[cfg(target_os = "wasi")]
mod guest;

use granted::Grants;
use page::Budget;

/// What a call may work with.
pub struct Workspace {
    /// The granted directories.
    pub grants: Grants,
    /// What the result should fit into.
    pub budget: Budget,
}

/// Every tool gives text, or says in words what is wrong and what to change.
pub type Answer = Result<String, String>;
