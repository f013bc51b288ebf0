//! Where records come from.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Done, Flow, Machine};
use crate::regex::{Flavour, Regex};
use crate::stop::Stop;
use crate::stream::Handle;
use crate::task;
use crate::util::awk::stream::at_once;
use crate::util::awk::tree::{Expression, From, place};
use crate::util::awk::value::{Cell, Value, to_integer};

/// Patterns that are made while the program runs, and kept.
const PATTERNS: usize = 500;

impl Machine<'_> {
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
            let Some(mut handle) = self.input.clone() else { return Ok(None) };
            let separator = self.global_text(place::RS);
            if is_pattern(&separator) && !matches!(handle, Handle::Text(_)) {
                handle = Handle::text(handle.rest().await.map_err(Flow::Stop)?);
                self.input = Some(handle.clone());
            }
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

    pub(super) fn getline(&mut self, from: &From, target: Option<&Expression>) -> Done<Value> {
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

pub(super) fn compiled(patterns: &mut HashMap<String, Rc<Regex>>, text: &str) -> Result<Rc<Regex>, String> {
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
    // A pattern can match across whatever was read so far; the whole input is in memory then.
    let regex = compiled(patterns, separator).map_err(|message| Stop::Fail(2, message))?;
    Ok(handle.with(|rest| {
        let found = regex.find(rest, 0).filter(|found| !found.is_empty());
        let (end, next) = found.map_or((rest.len(), rest.len()), |found| (found.start, found.end));
        bytes.extend_from_slice(rest.get(..end).unwrap_or_default());
        (next, !rest.is_empty())
    }))
}

/// Whether a separator is a pattern rather than one byte or a blank line.
fn is_pattern(separator: &str) -> bool {
    separator.len() > 1
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
