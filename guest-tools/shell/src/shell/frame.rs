//! Where a script is: which functions run, from which files, and what traps wait for.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::syntax::Command;

/// A function as it was defined.
#[derive(Clone)]
pub struct Function {
    pub body: Rc<Command>,
    /// The whole definition.
    pub text: Rc<str>,
    /// The file that has it.
    pub source: Rc<str>,
    /// Whether new shells have it as well.
    pub exported: bool,
}

/// A function that runs, or a file that was sourced.
#[derive(Clone)]
pub struct Frame {
    pub name: String,
    pub source: Rc<str>,
    /// The line of the call.
    pub line: u32,
}

/// What traps are set for: the end of the shell, signals by their numbers, and what a shell does, which bash counts
/// behind its signals.
pub const EXIT: u8 = 0;
pub const DEBUG: u8 = 65;
pub const ERR: u8 = 66;
pub const RETURN: u8 = 67;

/// What runs when. An empty text: nothing, and a signal does nothing either.
pub type Traps = BTreeMap<u8, Rc<str>>;
