//! Running a script of `sed` over lines.

use std::collections::HashMap;

use super::lines::{Lines, listed};
use super::tree::{Action, Address, Command, RangeEnd};
use crate::files;
use crate::shell::Shell;
use crate::stop::{Stop, fail, words};
use crate::stream::{Handle, Out};
use crate::task;

/// How a run ended.
pub enum End {
    Done,
    Quit(i32),
}

/// What a command leads to.
enum Step {
    Next,
    Go(usize),
    /// The cycle is over, with or without printing.
    Over(bool),
    /// The cycle begins again without a new line.
    Again,
    Quit(i32, bool),
}

pub struct Machine {
    script: Vec<Command>,
    /// For each command whether its range is open, and where it ends if that is known.
    ranges: Vec<Option<Option<u64>>>,
    quiet: bool,
    end: u8,
    space: Vec<u8>,
    hold: Vec<u8>,
    number: u64,
    /// What goes out at the end of the cycle.
    later: Vec<Vec<u8>>,
    changed: bool,
    /// The place of the command whose pattern was used last.
    last: Option<usize>,
    files: HashMap<String, Out>,
    /// Whether the line that is worked on had its end.
    ended: bool,
    /// Whether the output replaces the input, whose rest then has to stay.
    pub in_place: bool,
}

impl Machine {
    pub fn new(script: Vec<Command>, quiet: bool, end: u8) -> Self {
        let ranges = script.iter().map(|_| None).collect();
        Self {
            script,
            ranges,
            quiet,
            end,
            space: Vec::new(),
            hold: Vec::new(),
            number: 0,
            later: Vec::new(),
            changed: false,
            last: None,
            files: HashMap::new(),
            ended: true,
            in_place: false,
        }
    }

    /// Files that are edited apart: each has its own first line, and no range goes on from the one before.
    pub fn restart(&mut self) {
        self.number = 0;
        self.ranges.fill(None);
    }

    /// Writes what was written to files.
    pub async fn close(&mut self) -> Result<(), Stop> {
        for out in self.files.values_mut() {
            out.flush().await?;
        }
        Ok(())
    }

    pub async fn run(
        &mut self,
        shell: &Shell,
        handles: Vec<(String, Handle)>,
        out: &mut Out,
    ) -> Result<End, Stop> {
        let mut lines = Lines {
            handles: handles.into_iter(),
            current: None,
            next: None,
            name: "-".to_owned(),
            end: self.end,
        };
        let mut again = false;
        loop {
            task::tick()?;
            if !again {
                let Some((line, ended)) = lines.take().await? else { return Ok(End::Done) };
                self.space = line;
                self.ended = ended;
                self.number += 1;
            }
            again = false;
            self.changed = false;
            let mut at = 0;
            let (mut print, mut quit) = (true, None);
            while at < self.script.len() {
                match self.step(shell, at, &mut lines, out).await? {
                    Step::Next => at += 1,
                    Step::Go(to) => {
                        task::tick()?;
                        at = to;
                    }
                    Step::Over(prints) => {
                        print = prints;
                        break;
                    }
                    Step::Again => {
                        (print, again) = (false, true);
                        break;
                    }
                    Step::Quit(code, prints) => {
                        (print, quit) = (prints, Some(code));
                        break;
                    }
                }
            }
            if print && !self.quiet {
                self.print(out);
            }
            for text in std::mem::take(&mut self.later) {
                if !self.ended && print && !self.quiet {
                    out.put([self.end]);
                }
                out.put(text);
            }
            out.check().await?;
            if let Some(code) = quit {
                // The look ahead is given back for whoever reads on.
                if let (Some((line, ended)), true) = (lines.next.take(), self.in_place) {
                    out.put(line);
                    out.put(if ended { vec![self.end] } else { Vec::new() });
                }
                return Ok(End::Quit(code));
            }
        }
    }

    fn print(&self, out: &mut Out) {
        out.put(&self.space);
        if self.ended {
            out.put([self.end]);
        }
    }

    async fn holds(&mut self, index: usize, lines: &mut Lines) -> Result<bool, Stop> {
        let is_last = lines.is_last().await?;
        let Some(command) = self.script.get(index) else { return Ok(false) };
        let Some(from) = &command.from else { return Ok(true) };
        let Some(to) = &command.to else { return self.at(from, index, is_last) };
        let number = self.number;
        if let Some(open) = self.ranges.get(index).copied().flatten() {
            let (over, inside) = match (open, to) {
                (Some(end), _) => (number >= end, number <= end),
                (None, RangeEnd::At(Address::Last)) => (is_last, true),
                (None, RangeEnd::At(address)) => (self.at(address, index, is_last)?, true),
                (None, _) => (true, true),
            };
            if over {
                set(&mut self.ranges, index, None);
            }
            if inside {
                return Ok(true);
            }
        }
        let starts = matches!(from, Address::Line(0)) && number == 1 || self.at(from, index, is_last)?;
        if !starts {
            return Ok(false);
        }
        let zero = matches!(from, Address::Line(0));
        let open = match to {
            RangeEnd::At(Address::Line(end)) => (*end > number).then_some(Some(*end)),
            RangeEnd::At(Address::Last) => (!is_last).then_some(None),
            RangeEnd::At(address) if zero => (!self.at(address, index, is_last)?).then_some(None),
            RangeEnd::At(_) => Some(None),
            RangeEnd::More(count) => (*count > 0).then_some(Some(number + count)),
            RangeEnd::Multiple(step) => {
                (*step > 0 && number % step != 0).then(|| Some(number.div_ceil(*step) * step))
            }
        };
        set(&mut self.ranges, index, open);
        Ok(true)
    }

    fn at(&self, address: &Address, index: usize, is_last: bool) -> Result<bool, Stop> {
        Ok(match address {
            Address::Line(line) => self.number == *line,
            Address::Last => is_last,
            Address::Step(first, 0) => self.number == *first,
            Address::Step(first, step) => self.number >= *first && (self.number - first) % step == 0,
            Address::Regex(Some(regex)) => regex.is_match(&self.space),
            Address::Regex(None) => self.last_regex(index)?.is_match(&self.space),
        })
    }

    fn last_regex(&self, index: usize) -> Result<&crate::regex::Regex, Stop> {
        let of = |command: &'_ Command| -> bool { matches!(command.from, Some(Address::Regex(Some(_)))) };
        // The pattern used last is that of this command's own address, or of the last command that used one.
        let place = self.script.get(index).filter(|command| of(command)).map(|_| index).or(self.last);
        let regex = place.and_then(|place| self.script.get(place)).and_then(|command| {
            match (&command.action, &command.from) {
                (Action::Substitute(substitution), _) if substitution.regex.is_some() => {
                    substitution.regex.as_ref()
                }
                (_, Some(Address::Regex(Some(regex)))) => Some(regex),
                _ => None,
            }
        });
        regex.ok_or_else(|| Stop::Fail(1, "no previous regular expression".to_owned()))
    }

    async fn step(
        &mut self,
        shell: &Shell,
        index: usize,
        lines: &mut Lines,
        out: &mut Out,
    ) -> Result<Step, Stop> {
        let holds = self.holds(index, lines).await?;
        let Some(command) = self.script.get(index) else { return Ok(Step::Next) };
        let selected = holds != command.negated;
        if holds && matches!(command.from, Some(Address::Regex(Some(_)))) {
            self.last = Some(index);
        }
        let Some(command) = self.script.get(index) else { return Ok(Step::Next) };
        if let Action::Block(end) = command.action {
            return Ok(if selected { Step::Next } else { Step::Go(end) });
        }
        if !selected {
            return Ok(Step::Next);
        }
        match &command.action {
            Action::Block(_) | Action::Nothing => {}
            Action::Append(text) => self.later.push(text.clone().into_bytes()),
            Action::Insert(text) => out.put(text),
            Action::Change(text) => {
                let inside = command.to.is_some()
                    && self.ranges.get(index).copied().flatten().is_some()
                    && !command.negated;
                if !inside {
                    out.put(text);
                }
                return Ok(Step::Over(false));
            }
            Action::Jump(to) => return Ok(Step::Go(*to)),
            Action::JumpIf(to, wanted) => {
                let to = *to;
                let jumps = self.changed == *wanted;
                self.changed = false;
                if jumps {
                    return Ok(Step::Go(to));
                }
            }
            Action::Delete => return Ok(Step::Over(false)),
            Action::DeleteFirst => {
                let Some(at) = memchr::memchr(b'\n', &self.space) else { return Ok(Step::Over(false)) };
                self.space.drain(..=at);
                return Ok(Step::Again);
            }
            Action::Print => self.print(out),
            Action::PrintFirst => {
                let first = self.space.split(|byte| *byte == b'\n').next().unwrap_or_default();
                out.line(first);
            }
            Action::Hold => self.hold.clone_from(&self.space),
            Action::HoldMore => {
                self.hold.push(b'\n');
                self.hold.extend_from_slice(&self.space);
            }
            Action::Get => self.space.clone_from(&self.hold),
            Action::GetMore => {
                self.space.push(b'\n');
                self.space.extend_from_slice(&self.hold);
            }
            Action::Exchange => std::mem::swap(&mut self.space, &mut self.hold),
            Action::List => out.line(listed(&self.space)),
            Action::Next | Action::NextMore => return self.next_line(index, lines, out).await,
            Action::Number => out.line(self.number.to_string()),
            Action::Quit(code, prints) => return Ok(Step::Quit(*code, *prints)),
            Action::Read(name) => {
                if let Ok(handle) = files::read(shell, name) {
                    let text = handle.rest().await?;
                    self.later.push(text);
                }
            }
            Action::Write(name) => {
                let (name, line) = (name.clone(), self.space.clone());
                self.write(shell, &name, &line, out)?;
            }
            Action::Substitute(_) => self.substitute(shell, index, out)?,
            Action::Translate(table) => {
                let text = String::from_utf8_lossy(&self.space);
                self.space = text
                    .chars()
                    .map(|letter| table.get(&letter).copied().unwrap_or(letter))
                    .collect::<String>()
                    .into_bytes();
            }
            Action::FileName => out.line(&lines.name),
            Action::Zap => self.space.clear(),
        }
        Ok(Step::Next)
    }

    async fn next_line(&mut self, index: usize, lines: &mut Lines, out: &mut Out) -> Result<Step, Stop> {
        let more = matches!(self.script.get(index).map(|command| &command.action), Some(Action::NextMore));
        if lines.is_last().await? {
            // GNU's prints what it has when there is no next line.
            return Ok(Step::Quit(0, true));
        }
        if !more && !self.quiet {
            self.print(out);
        }
        for text in std::mem::take(&mut self.later) {
            out.put(text);
        }
        if let Some((line, ended)) = lines.take().await? {
            self.number += 1;
            self.ended = ended;
            if more {
                self.space.push(b'\n');
                self.space.extend(line);
            } else {
                self.space = line;
            }
        }
        Ok(Step::Next)
    }

    fn substitute(&mut self, shell: &Shell, index: usize, out: &mut Out) -> Result<(), Stop> {
        let Some(Action::Substitute(substitution)) = self.script.get(index).map(|command| &command.action)
        else {
            return Ok(());
        };
        let own = substitution.regex.is_some();
        let regex = match &substitution.regex {
            Some(regex) => regex,
            None => self.last_regex(index)?,
        };
        let result = substitution.apply(regex, &self.space);
        let (print, file) = (substitution.print, substitution.file.clone());
        if own {
            self.last = Some(index);
        }
        let Some(result) = result else { return Ok(()) };
        self.space = result;
        self.changed = true;
        if print {
            self.print(out);
        }
        if let Some(name) = file {
            let line = self.space.clone();
            self.write(shell, &name, &line, out)?;
        }
        Ok(())
    }

    fn write(&mut self, shell: &Shell, name: &str, line: &[u8], out: &mut Out) -> Result<(), Stop> {
        if name == "/dev/stdout" {
            out.line(line);
            return Ok(());
        }
        if !self.files.contains_key(name) {
            match files::write(shell, name) {
                Ok(handle) => {
                    self.files.insert(name.to_owned(), Out::new(handle));
                }
                Err(error) => return fail(format!("couldn't open file {name}: {}", words(&error))),
            }
        }
        if let Some(file) = self.files.get_mut(name) {
            file.line(line);
        }
        Ok(())
    }
}

fn set(ranges: &mut [Option<Option<u64>>], index: usize, open: Option<Option<u64>>) {
    if let Some(range) = ranges.get_mut(index) {
        *range = open;
    }
}
