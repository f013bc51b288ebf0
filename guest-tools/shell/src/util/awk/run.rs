//! Running a program of awk.

use std::collections::HashMap;
use std::rc::Rc;

use super::record::{MOST_FIELDS, Record, Separator};
use super::stream::{Streams, at_once};
use super::tree::{
    Block, Comparison, Expression, From, Pattern, Program, Statement, Target, Variable, place,
};
use super::value::{Array, Cell, Value, to_integer};
use crate::regex::{Flavour, Regex};
use crate::shell::Shell;
use crate::stop::Stop;
use crate::stream::{Handle, Out};
use crate::task;

/// Statements and calls within each other; each costs up to 0.6 KiB of the host's stack, which the shell around shares.
const DEEPEST: u32 = 2 * crate::shell::DEEPEST;
/// What one action may print into a pipe before the other end gets its turn.
const PRINTED: usize = 32 << 20;
/// Patterns that are made while the program runs, and kept.
const PATTERNS: usize = 500;

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

    // Input

    pub fn skip_file(&mut self) {
        self.input = None;
    }

    /// Opens the next input; false if there is none.
    fn open_input(&mut self) -> Done<bool> {
        loop {
            let count = to_integer(self.global(place::ARGC).number())
                .and_then(|count| usize::try_from(count).ok())
                .unwrap_or(0);
            if self.argument >= count {
                if self.any_input {
                    return Ok(false);
                }
                self.any_input = true;
                self.input = Some(self.shell.stdin());
                return Ok(true);
            }
            let key = Rc::from(self.argument.to_string());
            self.argument += 1;
            let Some(Cell::Array(arguments)) = self.globals.get(place::ARGV) else { return Ok(false) };
            let Some(name) = arguments.borrow().get::<Rc<str>>(&key).map(|value| value.to_text("%.6g"))
            else {
                continue;
            };
            if name.is_empty() || (name.contains('=') && self.assign(&name)) {
                continue;
            }
            self.any_input = true;
            self.set_global(place::FILENAME, Value::text(&name));
            self.set_global(place::FNR, Value::Number(0.0));
            if &*name == "-" {
                self.input = Some(self.shell.stdin());
                return Ok(true);
            }
            match crate::files::read(self.shell, &name) {
                Ok(handle) => {
                    self.input = Some(handle);
                    return Ok(true);
                }
                Err(error) => {
                    let message =
                        format!("awk: warning: command line argument `{name}' is a directory: skipped");
                    let message = if error.kind() == std::io::ErrorKind::IsADirectory {
                        message
                    } else {
                        format!("awk: cannot open \"{name}\" ({})", crate::stop::words(&error))
                    };
                    self.code = 2;
                    at_once(self.shell.warn(message)).map_err(Flow::Stop)?;
                }
            }
        }
    }

    /// Reads the next record into `$0`; false at the end.
    pub async fn next_record(&mut self) -> Done<bool> {
        match self.read_record().await? {
            Some(text) => {
                self.record.set(&text);
                self.count_record();
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn count_record(&mut self) {
        for index in [place::NR, place::FNR] {
            let next = self.global(index).number() + 1.0;
            self.set_global(index, Value::Number(next));
        }
    }

    async fn read_record(&mut self) -> Done<Option<String>> {
        loop {
            if self.input.is_none() && !self.open_input()? {
                return Ok(None);
            }
            let Some(handle) = self.input.clone() else { return Ok(None) };
            let separator = self.global_text(place::RS);
            let mut bytes = Vec::new();
            let some =
                read_until(&handle, &separator, &mut bytes, &mut self.patterns).await.map_err(Flow::Stop)?;
            if some {
                return Ok(Some(
                    String::from_utf8(bytes)
                        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
                ));
            }
            self.input = None;
        }
    }

    // Fields

    fn split_record(&mut self) -> Done<()> {
        let separator = match &self.separator {
            Some(separator) => separator.clone(),
            None => {
                let text = self.global_text(place::FS);
                let paragraphs = self.global_text(place::RS).is_empty() && &*text != " ";
                let text = if paragraphs {
                    format!(
                        "({})|\n",
                        if text.chars().count() == 1 {
                            crate::regex::escape(&text)
                        } else {
                            text.to_string()
                        }
                    )
                } else {
                    text.to_string()
                };
                let separator = Separator::new(&text).or_else(fatal)?;
                self.separator = Some(separator.clone());
                separator
            }
        };
        if self.record.split(&separator) {
            let count = self.record.count();
            if let Some(cell) = self.globals.get_mut(place::NF) {
                *cell = Cell::Value(Value::Number(self::count(count)));
            }
        }
        Ok(())
    }

    pub fn whole(&mut self) -> Rc<str> {
        let joiner = self.global_text(place::OFS);
        let format = self.global_text(place::CONVFMT);
        self.record.whole(&joiner, &format)
    }

    fn field(&mut self, number: f64) -> Done<Value> {
        let Some(number) = to_integer(number).and_then(|number| usize::try_from(number).ok()) else {
            return fatal(format!("fatal: attempt to access field {number}"));
        };
        if number == 0 {
            return Ok(Value::input(&self.whole()));
        }
        self.split_record()?;
        Ok(self.record.get(number))
    }

    pub fn set_field(&mut self, number: f64, value: Value) -> Done<()> {
        let Some(number) = to_integer(number)
            .and_then(|number| usize::try_from(number).ok())
            .filter(|number| *number <= MOST_FIELDS)
        else {
            return fatal(format!("fatal: attempt to access field {number}"));
        };
        if number == 0 {
            let format = self.global_text(place::CONVFMT);
            self.record.set(&value.to_text(&format));
            return Ok(());
        }
        self.split_record()?;
        self.record.put(number, value);
        let count = self.record.count();
        self.set_global(place::NF, Value::Number(self::count(count)));
        Ok(())
    }

    // Variables

    fn cell(&mut self, variable: Variable) -> Option<&mut Cell> {
        match variable {
            Variable::Global(index) => self.globals.get_mut(index),
            Variable::Local(index) => self.frames.last_mut().and_then(|frame| frame.get_mut(index)),
        }
    }

    fn get(&mut self, variable: Variable) -> Done<Value> {
        if variable == Variable::Global(place::NF) {
            self.split_record()?;
        }
        match self.cell(variable) {
            Some(Cell::Value(value)) => Ok(value.clone()),
            Some(Cell::Array(_)) => fatal("fatal: attempt to use array in a scalar context"),
            _ => Ok(Value::Unset),
        }
    }

    fn set(&mut self, variable: Variable, value: Value) -> Done<()> {
        match variable {
            Variable::Global(place::NF) => {
                self.split_record()?;
                let Some(count) = to_integer(value.number())
                    .and_then(|count| usize::try_from(count).ok())
                    .filter(|count| *count <= MOST_FIELDS)
                else {
                    return fatal("fatal: NF set to negative value");
                };
                self.record.resize(count);
            }
            Variable::Global(place::FS) => self.separator = None,
            Variable::Global(place::RS) => self.separator = None,
            _ => {}
        }
        match self.cell(variable) {
            Some(Cell::Array(_)) => fatal("fatal: attempt to use array in a scalar context"),
            Some(cell) => {
                *cell = Cell::Value(value);
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub fn holds_array(&mut self, variable: Variable) -> bool {
        matches!(self.cell(variable), Some(Cell::Array(_)))
    }

    pub fn array(&mut self, variable: Variable) -> Done<Array> {
        match self.cell(variable) {
            Some(Cell::Array(array)) => Ok(Rc::clone(array)),
            Some(cell @ Cell::Unset) => {
                let array = Array::default();
                *cell = Cell::Array(Rc::clone(&array));
                Ok(array)
            }
            _ => fatal("fatal: attempt to use a scalar value as array"),
        }
    }

    fn key(&mut self, index: &[Expression]) -> Done<Rc<str>> {
        let format = self.global_text(place::CONVFMT);
        if let [one] = index {
            return Ok(self.value(one)?.to_text(&format));
        }
        let separator = self.global_text(place::SUBSEP);
        let mut parts = Vec::new();
        for part in index {
            parts.push(self.value(part)?.to_text(&format));
        }
        Ok(Rc::from(parts.join(&separator)))
    }

    pub fn store(&mut self, target: &Expression, value: Value) -> Done<()> {
        match target {
            Expression::Variable(variable) => self.set(*variable, value),
            Expression::Field(number) => {
                let number = self.value(number)?.number();
                self.set_field(number, value)
            }
            Expression::Element(variable, index) => {
                let key = self.key(index)?;
                self.array(*variable)?.borrow_mut().insert(key, value);
                Ok(())
            }
            Expression::Group(inner) => self.store(inner, value),
            _ => fatal("fatal: cannot assign to this"),
        }
    }

    // Statements

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

    fn print(&mut self, items: &[Expression]) -> Done<String> {
        let mut text = String::new();
        if items.is_empty() {
            text.push_str(&self.whole());
        }
        let (joiner, format) = (self.global_text(place::OFS), self.global_text(place::OFMT));
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                text.push_str(&joiner);
            }
            text.push_str(&self.value(item)?.to_text(&format));
        }
        text.push_str(&self.global_text(place::ORS));
        Ok(text)
    }

    fn write(&mut self, bytes: &[u8], target: Option<&(Target, Expression)>) -> Done<()> {
        let Some((kind, name)) = target else { return self.write_out(bytes) };
        let name = self.text(name)?;
        let result = match (kind, &*name) {
            (Target::Command, command) => self.streams.write_command(command, bytes),
            (_, "/dev/stdout" | "-") => return self.write_out(bytes),
            (_, "/dev/stderr") => at_once(self.shell.stderr().write(bytes)),
            (kind, name) => self.streams.write_file(self.shell, name, *kind == Target::Append, bytes),
        };
        result.map_err(Flow::Stop)
    }

    pub fn write_out(&mut self, bytes: &[u8]) -> Done<()> {
        self.out.put(bytes);
        if !self.out.is_pipe() {
            return at_once(self.out.check()).map_err(Flow::Stop);
        }
        if self.out.len() > PRINTED {
            return fatal(format!("fatal: more than {PRINTED} bytes printed at once"));
        }
        Ok(())
    }

    // Expressions

    pub fn text(&mut self, expression: &Expression) -> Done<Rc<str>> {
        let value = self.value(expression)?;
        Ok(value.to_text(&self.global_text(place::CONVFMT)))
    }

    pub fn number(&mut self, expression: &Expression) -> Done<f64> {
        Ok(self.value(expression)?.number())
    }

    pub fn value(&mut self, expression: &Expression) -> Done<Value> {
        Ok(match expression {
            Expression::Number(number) => Value::Number(*number),
            Expression::Text(text) => Value::Text(Rc::clone(text)),
            Expression::Regex(regex) => truth(regex.is_match(self.whole().as_bytes())),
            Expression::Variable(variable) => self.get(*variable)?,
            Expression::Field(number) => {
                let number = self.number(number)?;
                self.field(number)?
            }
            Expression::Element(variable, index) => {
                let key = self.key(index)?;
                let array = self.array(*variable)?;
                array.borrow_mut().entry(key).or_default().clone()
            }
            Expression::Assign(target, value) => {
                let value = self.value(value)?;
                self.store(target, value.clone())?;
                value
            }
            Expression::Update(target, sign, value) => {
                let right = self.number(value)?;
                let left = self.number(target)?;
                let value = Value::Number(arithmetic(left, *sign, right)?);
                self.store(target, value.clone())?;
                value
            }
            Expression::Step { target, step, before } => {
                let old = self.number(target)?;
                self.store(target, Value::Number(old + step))?;
                Value::Number(if *before { old + step } else { old })
            }
            Expression::Not(inner) => truth(!self.value(inner)?.is_true()),
            Expression::Negative(inner) => Value::Number(-self.number(inner)?),
            Expression::Positive(inner) => Value::Number(self.number(inner)?),
            Expression::Arithmetic(left, sign, right) => {
                let left = self.number(left)?;
                let right = self.number(right)?;
                Value::Number(arithmetic(left, *sign, right)?)
            }
            Expression::Concat(left, right) => {
                let left = self.text(left)?;
                let right = self.text(right)?;
                Value::Text(Rc::from([&*left, &*right].concat()))
            }
            Expression::Compare(left, comparison, right) => {
                let left = self.value(left)?;
                let right = self.value(right)?;
                let order = left.compare(&right, &self.global_text(place::CONVFMT));
                truth(match comparison {
                    Comparison::Less => order.is_lt(),
                    Comparison::LessEqual => order.is_le(),
                    Comparison::Equal => order.is_eq(),
                    Comparison::NotEqual => order.is_ne(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterEqual => order.is_ge(),
                })
            }
            Expression::Match { text, pattern, negated } => {
                let text = self.text(text)?;
                let regex = self.regex(pattern)?;
                truth(regex.is_match(text.as_bytes()) != *negated)
            }
            Expression::And(left, right) => {
                truth(self.value(left)?.is_true() && self.value(right)?.is_true())
            }
            Expression::Or(left, right) => truth(self.value(left)?.is_true() || self.value(right)?.is_true()),
            Expression::Choice(condition, yes, no) => {
                let chosen = if self.value(condition)?.is_true() { yes } else { no };
                self.value(chosen)?
            }
            Expression::In(index, variable) => {
                let key = self.key(index)?;
                let array = self.array(*variable)?;
                let found = array.borrow().contains_key(&key);
                truth(found)
            }
            Expression::Call(index, arguments) => self.call(*index, arguments)?,
            Expression::Builtin(builtin, arguments) => self.builtin(*builtin, arguments)?,
            Expression::Getline { from, target } => self.getline(from, target.as_deref())?,
            Expression::Group(inner) => self.value(inner)?,
        })
    }

    /// The pattern that an expression is, or that its text makes.
    pub fn regex(&mut self, expression: &Expression) -> Done<Rc<Regex>> {
        match expression {
            Expression::Regex(regex) => return Ok(Rc::clone(regex)),
            Expression::Group(inner) => return self.regex(inner),
            _ => {}
        }
        let text = self.text(expression)?;
        compiled(&mut self.patterns, &text)
            .or_else(|message| fatal(format!("fatal: invalid regexp: {message}: /{text}/")))
    }

    fn call(&mut self, index: usize, arguments: &[Expression]) -> Done<Value> {
        task::tick().map_err(Flow::Stop)?;
        let program = Rc::clone(&self.program);
        let Some(function) = program.functions.get(index) else { return fatal("fatal: no such function") };
        if arguments.len() > function.parameters {
            return fatal(format!(
                "fatal: function `{}' called with more arguments than declared",
                function.name
            ));
        }
        let mut frame = Vec::new();
        for argument in arguments {
            frame.push(match argument {
                Expression::Variable(variable) => match self.cell(*variable) {
                    Some(Cell::Array(array)) => Cell::Array(Rc::clone(array)),
                    Some(Cell::Unset) => Cell::Unset,
                    _ => Cell::Value(self.get(*variable)?),
                },
                other => Cell::Value(self.value(other)?),
            });
        }
        frame.resize(function.parameters, Cell::Unset);
        self.frames.push(frame);
        self.depth += 1;
        let result = self.block(&function.body);
        self.depth -= 1;
        let frame = self.frames.pop().unwrap_or_default();
        // What the function made an array of is one for the caller too.
        for (argument, cell) in arguments.iter().zip(frame) {
            if let (Expression::Variable(variable), Cell::Array(array)) = (argument, cell) {
                if let Some(own @ Cell::Unset) = self.cell(*variable) {
                    *own = Cell::Array(array);
                }
            }
        }
        match result {
            Ok(()) => Ok(Value::Unset),
            Err(Flow::Return(value)) => Ok(value),
            Err(flow) => Err(flow),
        }
    }

    fn getline(&mut self, from: &From, target: Option<&Expression>) -> Done<Value> {
        task::tick().map_err(Flow::Stop)?;
        let line = match from {
            From::Input => {
                at_once(async { Ok(self.read_record().await) }).map_err(Flow::Stop)??.map(String::into_bytes)
            }
            From::File(name) => {
                let name = self.text(name)?;
                match self.streams.read_file(self.shell, &name) {
                    Ok(line) => line,
                    Err(()) => return Ok(Value::Number(-1.0)),
                }
            }
            From::Command(command) => {
                let command = self.text(command)?;
                self.streams.read_command(self.shell, self.depth, &command).map_err(Flow::Stop)?
            }
        };
        let Some(line) = line else { return Ok(Value::Number(0.0)) };
        let text = String::from_utf8_lossy(&line).into_owned();
        match from {
            From::Input => self.count_record(),
            From::Command(_) => {
                let next = self.global(place::NR).number() + 1.0;
                self.set_global(place::NR, Value::Number(next));
            }
            From::File(_) => {}
        }
        match target {
            Some(target) => self.store(target, Value::input(&text))?,
            None => self.record.set(&text),
        }
        Ok(Value::Number(1.0))
    }
}

pub fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

fn truth(holds: bool) -> Value {
    Value::Number(if holds { 1.0 } else { 0.0 })
}

fn arithmetic(left: f64, sign: char, right: f64) -> Done<f64> {
    Ok(match sign {
        '+' => left + right,
        '-' => left - right,
        '*' => left * right,
        '/' | '%' if right == 0.0 => return fatal("fatal: division by zero attempted"),
        '/' => left / right,
        '%' => left % right,
        _ => left.powf(right),
    })
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

fn compiled(patterns: &mut HashMap<String, Rc<Regex>>, text: &str) -> Result<Rc<Regex>, String> {
    if let Some(regex) = patterns.get(text) {
        return Ok(Rc::clone(regex));
    }
    if patterns.len() > PATTERNS {
        patterns.clear();
    }
    let regex = Rc::new(Regex::new(text, Flavour::Awk, false)?);
    patterns.insert(text.to_owned(), Rc::clone(&regex));
    Ok(regex)
}

/// A record without its separator; false at the end of the input.
async fn read_until(
    handle: &Handle,
    separator: &str,
    bytes: &mut Vec<u8>,
    patterns: &mut HashMap<String, Rc<Regex>>,
) -> Result<bool, Stop> {
    if separator == "\n" {
        return handle.line(bytes).await;
    }
    if separator.is_empty() {
        return paragraph(handle, bytes).await;
    }
    if let [byte] = separator.as_bytes() {
        let some = handle.until(*byte, bytes).await?;
        if bytes.last() == Some(byte) {
            bytes.pop();
        } else if bytes.last() == Some(&b'\n') {
            // The line end at the end of a file belongs to the last record; only an empty one is none.
            if bytes.len() == 1 {
                return Ok(false);
            }
        }
        return Ok(some);
    }
    // A pattern: the rest of the input is looked through, and what is not used given back.
    let rest = handle.rest().await?;
    if rest.is_empty() {
        return Ok(false);
    }
    let regex = compiled(patterns, separator).map_err(|message| Stop::Fail(2, message))?;
    let found = regex.find(&rest, 0).filter(|found| !found.is_empty());
    let (end, next) = found.map_or((rest.len(), rest.len()), |found| (found.start, found.end));
    bytes.extend_from_slice(rest.get(..end).unwrap_or_default());
    handle.give_back(rest.get(next..).unwrap_or_default());
    Ok(true)
}

async fn paragraph(handle: &Handle, bytes: &mut Vec<u8>) -> Result<bool, Stop> {
    let mut line = Vec::new();
    while handle.line(&mut line).await? {
        if line.is_empty() {
            if bytes.is_empty() {
                continue;
            }
            return Ok(true);
        }
        if !bytes.is_empty() {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(&line);
    }
    Ok(!bytes.is_empty())
}
