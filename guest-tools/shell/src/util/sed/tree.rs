//! The tree of a script.

use super::substitute::Substitution;
use crate::regex::Regex;
use std::collections::HashMap;

pub enum Address {
    Line(u64),
    Last,
    /// `first~step`
    Step(u64, u64),
    Regex(Option<Regex>),
}

pub enum RangeEnd {
    At(Address),
    /// `,+N`
    More(u64),
    /// `,~N`
    Multiple(u64),
}

pub struct Command {
    pub from: Option<Address>,
    pub to: Option<RangeEnd>,
    pub negated: bool,
    pub action: Action,
}

pub enum Action {
    /// Goes to that command where its addresses do not hold.
    Block(usize),
    Nothing,
    Append(String),
    Insert(String),
    Change(String),
    /// Goes to that command: `b`, and with a flag `t`, `T`.
    Jump(usize),
    JumpIf(usize, bool),
    Delete,
    DeleteFirst,
    Print,
    PrintFirst,
    Hold,
    HoldMore,
    Get,
    GetMore,
    Exchange,
    List,
    Next,
    NextMore,
    Number,
    Quit(i32, bool),
    Read(String),
    Write(String),
    Substitute(Box<Substitution>),
    Translate(HashMap<char, char>),
    FileName,
    Zap,
}
