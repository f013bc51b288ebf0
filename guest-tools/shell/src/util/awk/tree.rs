//! A program of awk as a tree. Names are resolved to places.

use std::rc::Rc;

use crate::regex::Regex;

/// The variables that mean something, at the places that they have among the globals.
pub const SPECIAL: [&str; 16] = [
    "NF", "NR", "FNR", "FS", "OFS", "ORS", "RS", "FILENAME", "SUBSEP", "RSTART", "RLENGTH", "CONVFMT",
    "OFMT", "ENVIRON", "ARGC", "ARGV",
];

pub mod place {
    pub const NF: usize = 0;
    pub const NR: usize = 1;
    pub const FNR: usize = 2;
    pub const FS: usize = 3;
    pub const OFS: usize = 4;
    pub const ORS: usize = 5;
    pub const RS: usize = 6;
    pub const FILENAME: usize = 7;
    pub const SUBSEP: usize = 8;
    pub const RSTART: usize = 9;
    pub const RLENGTH: usize = 10;
    pub const CONVFMT: usize = 11;
    pub const OFMT: usize = 12;
    pub const ENVIRON: usize = 13;
    pub const ARGC: usize = 14;
    pub const ARGV: usize = 15;
}

#[derive(Default)]
pub struct Program {
    pub begin: Vec<Block>,
    pub rules: Vec<Rule>,
    pub end: Vec<Block>,
    pub functions: Vec<Function>,
    /// The names of the globals, in their places.
    pub globals: Vec<String>,
    /// Whether the program asks for records itself.
    pub reads: bool,
}

pub type Block = Vec<Statement>;

pub struct Rule {
    pub pattern: Pattern,
    /// Without a body, the record is printed.
    pub body: Option<Block>,
}

pub enum Pattern {
    Always,
    If(Expression),
    Range(Expression, Expression),
}

pub struct Function {
    pub name: String,
    pub parameters: usize,
    pub body: Block,
}

pub enum Statement {
    Expression(Expression),
    Print {
        items: Vec<Expression>,
        target: Option<(Target, Expression)>,
    },
    Printf {
        items: Vec<Expression>,
        target: Option<(Target, Expression)>,
    },
    If(Expression, Block, Block),
    While(Expression, Block),
    Do(Block, Expression),
    For {
        first: Option<Box<Statement>>,
        condition: Option<Expression>,
        step: Option<Box<Statement>>,
        body: Block,
    },
    ForIn(Variable, Variable, Block),
    Break,
    Continue,
    Next,
    NextFile,
    Exit(Option<Expression>),
    Return(Option<Expression>),
    Delete(Variable, Option<Vec<Expression>>),
    Group(Block),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Target {
    File,
    Append,
    Command,
}

/// Where a variable is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Variable {
    Global(usize),
    Local(usize),
}

pub enum Expression {
    Number(f64),
    Text(Rc<str>),
    Regex(Rc<Regex>),
    Variable(Variable),
    Field(Box<Expression>),
    Element(Variable, Vec<Expression>),
    Assign(Box<Expression>, Box<Expression>),
    Update(Box<Expression>, char, Box<Expression>),
    /// Before or after: the value that it gives, and the step.
    Step {
        target: Box<Expression>,
        step: f64,
        before: bool,
    },
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Positive(Box<Expression>),
    Arithmetic(Box<Expression>, char, Box<Expression>),
    Concat(Box<Expression>, Box<Expression>),
    Compare(Box<Expression>, Comparison, Box<Expression>),
    Match {
        text: Box<Expression>,
        pattern: Box<Expression>,
        negated: bool,
    },
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Choice(Box<Expression>, Box<Expression>, Box<Expression>),
    In(Vec<Expression>, Variable),
    Call(usize, Vec<Expression>),
    Builtin(Builtin, Vec<Expression>),
    Getline {
        from: From,
        target: Option<Box<Expression>>,
    },
    Group(Box<Expression>),
}

pub enum From {
    Input,
    File(Box<Expression>),
    Command(Box<Expression>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Less,
    LessEqual,
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Builtin {
    Length,
    Substr,
    Index,
    Split,
    Sub,
    Gsub,
    Gensub,
    Match,
    Sprintf,
    Tolower,
    Toupper,
    Sin,
    Cos,
    Atan2,
    Exp,
    Log,
    Sqrt,
    Int,
    Rand,
    Srand,
    System,
    Close,
    Flush,
    Strftime,
    Systime,
    Mktime,
    And,
    Or,
    Xor,
    Lshift,
    Rshift,
    Strtonum,
    Asort,
    Asorti,
}

pub const BUILTINS: [(&str, Builtin); 34] = [
    ("length", Builtin::Length),
    ("substr", Builtin::Substr),
    ("index", Builtin::Index),
    ("split", Builtin::Split),
    ("sub", Builtin::Sub),
    ("gsub", Builtin::Gsub),
    ("gensub", Builtin::Gensub),
    ("match", Builtin::Match),
    ("sprintf", Builtin::Sprintf),
    ("tolower", Builtin::Tolower),
    ("toupper", Builtin::Toupper),
    ("sin", Builtin::Sin),
    ("cos", Builtin::Cos),
    ("atan2", Builtin::Atan2),
    ("exp", Builtin::Exp),
    ("log", Builtin::Log),
    ("sqrt", Builtin::Sqrt),
    ("int", Builtin::Int),
    ("rand", Builtin::Rand),
    ("srand", Builtin::Srand),
    ("system", Builtin::System),
    ("close", Builtin::Close),
    ("fflush", Builtin::Flush),
    ("strftime", Builtin::Strftime),
    ("systime", Builtin::Systime),
    ("mktime", Builtin::Mktime),
    ("and", Builtin::And),
    ("or", Builtin::Or),
    ("xor", Builtin::Xor),
    ("lshift", Builtin::Lshift),
    ("rshift", Builtin::Rshift),
    ("strtonum", Builtin::Strtonum),
    ("asort", Builtin::Asort),
    ("asorti", Builtin::Asorti),
];
