//! Running a program of awk.

mod expression;
mod input;
mod output;
mod variable;

use std::collections::HashMap;
use std::rc::Rc;

use super::record::{Record, Separator};
use super::stream::Streams;
use super::tree::{Block, Pattern, Program, Statement, place};
use super::value::{Array, Cell, Value, to_integer};
use crate::regex::Regex;
use crate::shell::Shell;
use crate::stop::Stop;
use crate::stream::{Handle, Out};
use crate::task;

/// Statements and calls within each other; each costs up to 0.6 KiB of the host's stack, which the shell around shares.
const DEEPEST: u32 = 2 * crate::shell::DEEPEST;
/// Why statements are not done one after the other.
pub enum Flow {
    Break,
    Continue,
    Next,
    NextFile,
    Exit,
    Return(Value),
    Stop(Stop),
}

pub type Done<T> = Result<T, Flow>;

pub fn fatal<T>(message: impl Into<String>) -> Done<T> {
    Err(Flow::Stop(Stop::Fail(2, message.into())))
}

/// A program with its state.
pub struct Machine<'a> {
    pub shell: &'a mut Shell,
    program: Rc<Program>,
    globals: Vec<Cell>,
    frames: Vec<Vec<Cell>>,
    pub depth: u32,
    pub record: Record,
    separator: Option<Separator>,
    pub out: Out,
    pub streams: Streams,
    patterns: HashMap<String, Rc<Regex>>,
    open_ranges: Vec<bool>,
    argument: usize,
    input: Option<Handle>,
    any_input: bool,
    pub code: i32,
    /// Whether `exit` was called.
    pub left: bool,
    pub seed: (u64, u64),
}

impl<'a> Machine<'a> {
    pub fn new(shell: &'a mut Shell, program: Program, operands: &[String]) -> Result<Self, Stop> {
        let out = shell.out();
        let environment = shell.vars.exported();
        let mut machine = Self {
            globals: vec![Cell::Unset; program.globals.len()],
            open_ranges: vec![false; program.rules.len()],
            program: Rc::new(program),
            depth: 2 * shell.depth,
            shell,
            frames: Vec::new(),
            record: Record::default(),
            separator: None,
            out,
            streams: Streams::default(),
            patterns: HashMap::new(),
            argument: 1,
            input: None,
            any_input: false,
            code: 0,
            left: false,
            seed: (0, 0),
        };
        let texts = [
            (place::FS, " "),
            (place::OFS, " "),
            (place::ORS, "\n"),
            (place::RS, "\n"),
            (place::SUBSEP, "\u{1c}"),
            (place::CONVFMT, "%.6g"),
            (place::OFMT, "%.6g"),
            (place::FILENAME, ""),
        ];
        for (index, text) in texts {
            machine.set_global(index, Value::text(text));
        }
        for index in [place::NF, place::NR, place::FNR, place::RSTART] {
            machine.set_global(index, Value::Number(0.0));
        }
        machine.set_global(place::RLENGTH, Value::Number(-1.0));
        machine.set_global(place::ARGC, Value::Number(count(operands.len() + 1)));
        let all = std::iter::once("awk").chain(operands.iter().map(String::as_str)).enumerate();
        let arguments = all.map(|(index, text)| (Rc::from(index.to_string()), Value::input(text))).collect();
        machine.put_array(place::ARGV, arguments);
        machine.put_array(
            place::ENVIRON,
            environment.iter().map(|(name, value)| (Rc::from(name.as_str()), Value::input(value))).collect(),
        );
        Ok(machine)
    }

    fn put_array(&mut self, index: usize, values: HashMap<Rc<str>, Value>) {
        if let Some(cell) = self.globals.get_mut(index) {
            *cell = Cell::Array(Rc::new(values.into()));
        }
    }

    pub fn global(&self, index: usize) -> Value {
        match self.globals.get(index) {
            Some(Cell::Value(value)) => value.clone(),
            _ => Value::Unset,
        }
    }

    pub fn global_text(&self, index: usize) -> Rc<str> {
        self.global(index).to_text("%.6g")
    }

    pub fn set_global(&mut self, index: usize, value: Value) {
        if index == place::FS {
            self.separator = None;
        }
        if let Some(cell) = self.globals.get_mut(index) {
            *cell = Cell::Value(value);
        }
    }

    /// `name=value` of the command line; false if it is no such thing.
    pub fn assign(&mut self, text: &str) -> bool {
        let Some((name, value)) = text.split_once('=') else { return false };
        let is_name = !name.is_empty()
            && name.chars().enumerate().all(|(index, letter)| {
                letter == '_' || letter.is_ascii_alphabetic() || (index > 0 && letter.is_ascii_digit())
            });
        if let Some(index) = self.program.globals.iter().position(|known| known == name).filter(|_| is_name) {
            self.set_global(index, Value::input(&super::lex::unescape(value)));
        }
        is_name
    }

    pub fn reads_records(&self) -> bool {
        !self.program.rules.is_empty() || !self.program.end.is_empty()
    }

    pub fn needs_whole_input(&self) -> bool {
        self.program.reads
    }

    pub fn begin(&mut self) -> Done<()> {
        let program = Rc::clone(&self.program);
        program.begin.iter().try_for_each(|block| self.block(block))
    }

    pub fn end(&mut self) -> Done<()> {
        let program = Rc::clone(&self.program);
        program.end.iter().try_for_each(|block| self.block(block))
    }

    pub async fn finish(&mut self) -> Result<(), Stop> {
        self.out.flush().await?;
        self.streams.finish(self.shell).await?;
        Ok(())
    }

    pub fn rules(&mut self) -> Done<()> {
        let program = Rc::clone(&self.program);
        for (index, rule) in program.rules.iter().enumerate() {
            let holds = match &rule.pattern {
                Pattern::Always => true,
                Pattern::If(condition) => self.value(condition)?.is_true(),
                Pattern::Range(first, last) => {
                    let open = self.open_ranges.get(index).copied().unwrap_or(false);
                    let inside = open || self.value(first)?.is_true();
                    let goes_on = inside && !self.value(last)?.is_true();
                    if let Some(range) = self.open_ranges.get_mut(index) {
                        *range = goes_on;
                    }
                    inside
                }
            };
            if !holds {
                continue;
            }
            match &rule.body {
                Some(body) => self.block(body)?,
                None => {
                    let text = self.whole();
                    let end = self.global_text(place::ORS);
                    self.out.put(text.as_bytes());
                    self.out.put(end.as_bytes());
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &Block) -> Done<()> {
        if self.depth >= DEEPEST {
            return fatal("fatal: too many calls of functions within each other");
        }
        self.depth += 1;
        let result = block.iter().try_for_each(|statement| self.statement(statement));
        self.depth -= 1;
        result
    }

    fn statement(&mut self, statement: &Statement) -> Done<()> {
        match statement {
            Statement::Expression(expression) => self.value(expression).map(|_| ()),
            Statement::Print { items, target } => {
                let text = self.print(items)?;
                self.write(text.as_bytes(), target.as_ref())
            }
            Statement::Printf { items, target } => {
                let text = self.formatted(items)?;
                self.write(text.as_bytes(), target.as_ref())
            }
            Statement::If(condition, yes, no) => {
                let block = if self.value(condition)?.is_true() { yes } else { no };
                self.block(block)
            }
            Statement::While(condition, body) => {
                while self.value(condition)?.is_true() {
                    if !self.round(body)? {
                        break;
                    }
                }
                Ok(())
            }
            Statement::Do(body, condition) => loop {
                if !self.round(body)? || !self.value(condition)?.is_true() {
                    return Ok(());
                }
            },
            Statement::For { first, condition, step, body } => {
                if let Some(first) = first {
                    self.statement(first)?;
                }
                loop {
                    if let Some(condition) = condition {
                        if !self.value(condition)?.is_true() {
                            return Ok(());
                        }
                    }
                    if !self.round(body)? {
                        return Ok(());
                    }
                    if let Some(step) = step {
                        self.statement(step)?;
                    }
                }
            }
            Statement::ForIn(variable, array, body) => {
                for key in sorted_keys(&self.array(*array)?) {
                    self.set(*variable, Value::input(&key))?;
                    if !self.round(body)? {
                        break;
                    }
                }
                Ok(())
            }
            Statement::Break => Err(Flow::Break),
            Statement::Continue => Err(Flow::Continue),
            Statement::Next => Err(Flow::Next),
            Statement::NextFile => Err(Flow::NextFile),
            Statement::Exit(code) => {
                if let Some(code) = code {
                    let code = to_integer(self.value(code)?.number()).unwrap_or(0);
                    self.code = i32::try_from(code & 255).unwrap_or(2);
                }
                // From `END` an `exit` leaves at once; before it, `END` is still done.
                Err(Flow::Exit)
            }
            Statement::Return(value) => {
                let value = match value {
                    Some(value) => self.value(value)?,
                    None => Value::Unset,
                };
                Err(Flow::Return(value))
            }
            Statement::Delete(variable, index) => {
                let array = self.array(*variable)?;
                match index {
                    Some(index) => {
                        let key = self.key(index)?;
                        array.borrow_mut().remove(&key);
                    }
                    None => array.borrow_mut().clear(),
                }
                Ok(())
            }
            Statement::Group(block) => self.block(block),
        }
    }

    /// The body of a loop once; false if the loop is over.
    fn round(&mut self, body: &Block) -> Done<bool> {
        task::tick().map_err(Flow::Stop)?;
        match self.block(body) {
            Ok(()) | Err(Flow::Continue) => Ok(true),
            Err(Flow::Break) => Ok(false),
            Err(flow) => Err(flow),
        }
    }
}

pub fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

/// Keys in an order that is the same each time: numbers, then texts.
pub fn sorted_keys(array: &Array) -> Vec<Rc<str>> {
    let mut keys: Vec<(Option<i64>, Rc<str>)> =
        array.borrow().keys().map(|key| (key.parse().ok(), Rc::clone(key))).collect();
    keys.sort_by(|one, other| match (one.0, other.0) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => one.1.cmp(&other.1),
    });
    keys.into_iter().map(|(_, key)| key).collect()
}
