//! A script as a tree.

mod brace;
mod command;
mod compound;
mod condition;
mod parameter;
mod redirect;
mod scan;
mod word;

use std::rc::Rc;

pub use command::parse;
pub use word::parse_word;

/// Commands one after the other.
pub type List = Vec<Item>;

/// One command of a list, with what follows by `&&` and `||`.
#[derive(Debug)]
pub struct Item {
    pub first: Pipeline,
    pub rest: Vec<(Join, Pipeline)>,
    pub background: bool,
    /// Whether a line begins with it: what is given up because of an error is given up as far as the next such.
    pub begins: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    And,
    Or,
}

#[derive(Debug)]
pub struct Pipeline {
    pub negated: bool,
    /// `time`
    pub timed: bool,
    pub stages: Vec<Rc<Command>>,
}

/// A command with its redirections.
#[derive(Debug)]
pub struct Command {
    pub line: u32,
    /// As it stands in the script, where somebody may ask for it: of what is no compound command, and of functions.
    pub text: Rc<str>,
    pub kind: Kind,
    pub redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub enum Kind {
    /// `declared` are the arguments `a=…` of `local`, `declare`, `export` and `readonly`.
    Simple {
        assigns: Vec<Assign>,
        words: Vec<Word>,
        declared: Vec<Assign>,
    },
    Group(Rc<List>),
    Subshell(Rc<List>),
    If {
        branches: Vec<(List, List)>,
        otherwise: Option<List>,
    },
    /// Without words: the positional parameters.
    For {
        name: String,
        words: Option<Vec<Word>>,
        body: List,
    },
    Loop {
        first: Word,
        condition: Word,
        step: Word,
        body: List,
    },
    While {
        condition: List,
        body: List,
        until: bool,
    },
    Case {
        word: Word,
        arms: Vec<Arm>,
    },
    Condition(Condition),
    Arithmetic(Word),
    Function {
        name: String,
        body: Rc<Command>,
    },
    /// `select`
    Select {
        name: String,
        words: Option<Vec<Word>>,
        body: List,
    },
    /// What this shell reads and cannot do.
    Unknown(&'static str),
}

#[derive(Debug)]
pub struct Arm {
    pub patterns: Vec<Word>,
    pub body: List,
    pub end: ArmEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArmEnd {
    Leave,
    FallThrough,
    TestOn,
}

#[derive(Debug)]
pub struct Assign {
    pub name: String,
    pub index: Option<Word>,
    pub append: bool,
    pub value: Assigned,
}

#[derive(Debug)]
pub enum Assigned {
    Word(Word),
    /// `(a [k]=b …)`
    Array(Vec<(Option<Word>, Word)>),
}

#[derive(Debug)]
pub struct Redirect {
    pub fd: u32,
    /// `{name}>`: the variable that gets, or has, the number.
    pub variable: Option<String>,
    pub kind: RedirectKind,
    pub target: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    Read,
    Write,
    /// `>|`, also where `set -C` holds.
    Clobber,
    Append,
    ReadWrite,
    /// `<&` and `>&`.
    Duplicate,
    /// `&>`
    Both,
    /// `&>>`
    BothAppend,
    /// A here-document or here-string; the target is its text.
    Here,
    HereString,
}

/// `[[ … ]]`
#[derive(Debug)]
pub enum Condition {
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Unary(String, Word),
    Binary(Word, String, Word),
    Word(Word),
}

/// A word in its parts, as they stand beside each other.
pub type Word = Vec<Part>;

#[derive(Debug, Clone)]
pub enum Part {
    /// As it stands, with wildcards.
    Plain(String),
    /// As it stands, without.
    Quoted(String),
    /// In double quotes: nothing is split.
    Double(Word),
    Parameter(Box<Parameter>),
    Command(Rc<List>),
    Arithmetic(Word),
    /// `<(…)`, or `>(…)` if `out`.
    Process {
        list: Rc<List>,
        out: bool,
    },
}

/// `${…}`
#[derive(Debug, Clone)]
pub struct Parameter {
    pub name: String,
    pub index: Option<Index>,
    pub indirect: bool,
    pub operation: Operation,
}

#[derive(Debug, Clone)]
pub enum Index {
    At,
    Star,
    Of(Word),
}

#[derive(Debug, Clone)]
pub enum Operation {
    Value,
    Length,
    /// `${!a[@]}`
    Keys,
    /// `${!prefix*}`
    Names,
    /// `-`, `=`, `?`, `+`; `colon`: empty counts as unset.
    Instead {
        sign: char,
        colon: bool,
        word: Word,
    },
    RemoveStart {
        longest: bool,
        pattern: Word,
    },
    RemoveEnd {
        longest: bool,
        pattern: Word,
    },
    Slice {
        offset: Word,
        length: Option<Word>,
    },
    /// `anchor` is `#`, `%`, `/` for all, or a blank.
    Replace {
        anchor: char,
        pattern: Word,
        with: Word,
    },
    Case {
        upper: bool,
        all: bool,
        pattern: Word,
    },
    /// `~`, `~~`
    Swap {
        all: bool,
    },
    /// What is no substitution: an error where it is expanded.
    Bad,
    /// `@Q` and its kin.
    Transform(char),
}
