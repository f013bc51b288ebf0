//! `echo` and `printf`.

use crate::expand::{Escapes, escapes, evaluate};
use crate::format::{Spec, directive};
use crate::quote;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail, wrong};
use crate::util::date;

pub async fn echo(shell: &mut Shell, arguments: &[String]) -> Status {
    let (mut newline, mut expand) = (true, false);
    let mut rest = arguments;
    while let Some((flag, after)) = rest.split_first() {
        let Some(letters) = flag
            .strip_prefix('-')
            .filter(|letters| !letters.is_empty() && letters.chars().all(|letter| "neE".contains(letter)))
        else {
            break;
        };
        for letter in letters.chars() {
            match letter {
                'n' => newline = false,
                'e' => expand = true,
                _ => expand = false,
            }
        }
        rest = after;
    }
    let text = rest.join(" ");
    let (mut bytes, ended) = if expand { escapes(&text, Escapes::Echo) } else { (text.into_bytes(), false) };
    if newline && !ended {
        bytes.push(b'\n');
    }
    shell.stdout().write(&bytes).await?;
    Ok(0)
}

pub async fn printf(shell: &mut Shell, arguments: &[String]) -> Status {
    let (variable, rest) = match arguments {
        [flag, name, rest @ ..] if flag == "-v" => (Some(name), rest),
        [flag, rest @ ..] if flag == "--" => (None, rest),
        _ => (None, arguments),
    };
    let Some((format, rest)) = rest.split_first() else {
        return wrong(2, "usage: printf [-v var] format [arguments]");
    };
    let mut printer =
        Printer { shell, rest: rest.iter(), used: false, failed: Vec::new(), warned: 0, bytes: Vec::new() };
    let mut ended = false;
    while !ended {
        printer.used = false;
        ended = printer.round(format)? || printer.rest.len() == 0 || !printer.used;
    }
    let Printer { failed, warned, bytes, .. } = printer;
    for message in &failed {
        shell.complain(format!("printf: {message}")).await?;
    }
    if let Some(name) = variable {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (base, key) = name
            .split_once('[')
            .map_or((name.as_str(), None), |(base, key)| (base, Some(key.trim_end_matches(']'))));
        let stored = match key {
            None => shell.vars.set(base, text),
            Some(key) => shell.vars.set_element(base, key, text),
        };
        if let Err(message) = stored {
            return fail(message);
        }
    } else {
        shell.stdout().write(&bytes).await?;
    }
    Ok(i32::from(failed.len() > warned))
}

struct Printer<'a> {
    shell: &'a mut Shell,
    rest: std::slice::Iter<'a, String>,
    used: bool,
    failed: Vec<String>,
    /// How many of these change no status.
    warned: usize,
    bytes: Vec<u8>,
}

impl Printer<'_> {
    fn argument(&mut self) -> Option<&str> {
        let next = self.rest.next();
        self.used |= next.is_some();
        next.map(String::as_str)
    }

    /// The format once; true if `\c` ended everything.
    fn round(&mut self, format: &str) -> Result<bool, Stop> {
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            let (before, after) = rest.split_at(at);
            let (bytes, ended) = escapes(before, Escapes::Format);
            self.bytes.extend(bytes);
            if ended {
                return Ok(true);
            }
            let after = after.get(1..).unwrap_or_default();
            if let Some(after) = after.strip_prefix('%') {
                self.bytes.push(b'%');
                rest = after;
                continue;
            }
            if let Some((format, after)) = after.strip_prefix('(').and_then(|format| format.split_once(")T"))
            {
                let moment = self.moment();
                let zone = date::zone(self.shell)?;
                self.bytes.extend(date::show(format, moment, 0, zone).into_bytes());
                rest = after;
                continue;
            }
            let Some((mut spec, after)) = directive(after) else {
                return fail(format!("`{}': invalid format character", after.chars().next().unwrap_or('%')));
            };
            rest = after;
            if spec.star_width {
                let width = self.integer(false);
                spec.width(width);
            }
            if spec.star_precision {
                spec.precision = usize::try_from(self.integer(false)).ok();
            }
            if spec.is_too_wide() {
                return fail("a width or precision beyond 1048576");
            }
            if self.one(&spec)? {
                return Ok(true);
            }
        }
        let (bytes, ended) = escapes(rest, Escapes::Format);
        self.bytes.extend(bytes);
        Ok(ended)
    }

    fn one(&mut self, spec: &Spec) -> Result<bool, Stop> {
        match spec.conversion {
            's' => {
                let text = self.argument().unwrap_or_default().to_owned();
                self.bytes.extend(spec.text(&text).into_bytes());
            }
            'b' => {
                let (bytes, ended) = escapes(self.argument().unwrap_or_default(), Escapes::Echo);
                self.bytes.extend(bytes);
                return Ok(ended);
            }
            'q' => {
                let text = quote::escaped(self.argument().unwrap_or_default());
                self.bytes.extend(spec.text(&text).into_bytes());
            }
            'c' => {
                let letter = self
                    .argument()
                    .and_then(|text| text.chars().next())
                    .map(String::from)
                    .unwrap_or_default();
                self.bytes.extend(spec.text(&letter).into_bytes());
            }
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
                let value = self.integer(!matches!(spec.conversion, 'd' | 'i'));
                self.bytes.extend(spec.integer(value).into_bytes());
            }
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A' => {
                let text = self.argument().unwrap_or_default().trim().to_owned();
                let value = match text.parse() {
                    Ok(value) => value,
                    Err(_) if text.is_empty() => 0.0,
                    Err(_) => {
                        self.failed.push(format!("{text}: invalid number"));
                        crate::format::leading_number(&text)
                    }
                };
                self.bytes.extend(spec.float(value).into_bytes());
            }
            other => return fail(format!("`{other}': invalid format character")),
        }
        Ok(false)
    }

    /// The seconds since 1970 that are next; without, or with one below zero, those of now or of the start.
    fn moment(&mut self) -> i64 {
        if self.rest.len() > 0 {
            let seconds = self.integer(false);
            if seconds >= 0 {
                return seconds;
            }
        }
        i64::try_from(crate::clock::now().as_secs()).unwrap_or(i64::MAX)
    }

    fn integer(&mut self, unsigned: bool) -> i64 {
        let text = self.argument().unwrap_or_default().to_owned();
        // Behind a quote stands a letter, which may be a blank.
        if let Some(letter) = text.strip_prefix(['\'', '"']) {
            return letter.chars().next().map_or(0, |letter| i64::from(u32::from(letter)));
        }
        let text = text.trim().to_owned();
        if text.is_empty() {
            return 0;
        }
        let plain = text.strip_prefix(['-', '+']).unwrap_or(&text);
        let digits = plain.chars().all(|digit| digit.is_ascii_digit()) && !plain.starts_with('0');
        if digits && text.parse::<i64>().is_err() {
            // All bits of an unsigned number are one of the others.
            if let Some(value) = plain.parse::<u64>().ok().filter(|_| unsigned && plain == text) {
                return i64::from_ne_bytes(value.to_ne_bytes());
            }
            self.failed.push(format!("warning: {text}: Numerical result out of range"));
            self.warned += 1;
            return if text.starts_with('-') {
                i64::MIN
            } else if unsigned {
                -1
            } else {
                i64::MAX
            };
        }
        if plain.starts_with(|letter: char| letter.is_ascii_digit()) && !plain.contains('#') {
            if let Ok(value) = evaluate(self.shell, &text) {
                return value;
            }
        }
        self.failed.push(format!("{text}: invalid number"));
        let digits = plain.chars().take_while(char::is_ascii_digit).collect::<String>();
        let value: i64 = digits.parse().unwrap_or(0);
        if text.starts_with('-') { -value } else { value }
    }
}
