//! The functions that awk brings.

use std::rc::Rc;

use super::record::Separator;
use super::run::{Done, Flow, Machine, count, fatal, sorted_keys};
use super::stream::run_command;
use super::tree::{Builtin, Expression, place};
use super::value::{Value, one, to_integer};
use crate::format::directive;
use crate::regex::Regex;

impl Machine<'_> {
    pub fn builtin(&mut self, builtin: Builtin, arguments: &[Expression]) -> Done<Value> {
        let first = arguments.first();
        Ok(match builtin {
            Builtin::Length => match first {
                None => Value::Number(count(self.whole().chars().count())),
                Some(Expression::Variable(variable)) if self.holds_array(*variable) => {
                    Value::Number(count(self.array(*variable)?.borrow().len()))
                }
                Some(text) => Value::Number(count(self.text(text)?.chars().count())),
            },
            Builtin::Substr => self.substr(arguments)?,
            Builtin::Index => {
                let (text, part) = (self.argument(arguments, 0)?, self.argument(arguments, 1)?);
                let at =
                    text.find(&*part).map_or(0, |at| text.get(..at).unwrap_or_default().chars().count() + 1);
                Value::Number(count(at))
            }
            Builtin::Split => self.split(arguments)?,
            Builtin::Sub | Builtin::Gsub => self.substitute(arguments, builtin == Builtin::Gsub)?,
            Builtin::Gensub => self.gensub(arguments)?,
            Builtin::Match => self.find(arguments)?,
            Builtin::Sprintf => Value::text(self.formatted(arguments)?),
            Builtin::Tolower => Value::text(self.argument(arguments, 0)?.to_lowercase()),
            Builtin::Toupper => Value::text(self.argument(arguments, 0)?.to_uppercase()),
            Builtin::Atan2 => Value::Number(self.numeric(arguments, 0)?.atan2(self.numeric(arguments, 1)?)),
            Builtin::Sin => Value::Number(self.numeric(arguments, 0)?.sin()),
            Builtin::Cos => Value::Number(self.numeric(arguments, 0)?.cos()),
            Builtin::Exp => Value::Number(self.numeric(arguments, 0)?.exp()),
            Builtin::Log => Value::Number(self.numeric(arguments, 0)?.ln()),
            Builtin::Sqrt => Value::Number(self.numeric(arguments, 0)?.sqrt()),
            Builtin::Int => Value::Number(self.numeric(arguments, 0)?.trunc()),
            Builtin::Rand => Value::Number(self.random()),
            Builtin::Srand => {
                let old = self.seed.0;
                self.seed.0 = match first {
                    Some(seed) => self.number(seed)?.to_bits(),
                    None => crate::clock::now().as_secs(),
                };
                self.seed.1 = self.seed.0;
                Value::Number(f64::from_bits(old))
            }
            Builtin::System => {
                self.streams.flush().map_err(Flow::Stop)?;
                let command = self.argument(arguments, 0)?;
                let (bytes, status) =
                    run_command(self.shell, self.depth, &command, self.shell.stdin()).map_err(Flow::Stop)?;
                self.write_out(&bytes)?;
                Value::Number(f64::from(status))
            }
            Builtin::Close => {
                let name = self.argument(arguments, 0)?;
                let (bytes, status) =
                    self.streams.close(self.shell, self.depth, &name).map_err(Flow::Stop)?;
                self.write_out(&bytes)?;
                Value::Number(f64::from(status))
            }
            Builtin::Flush => Value::Number(0.0),
            Builtin::Systime => Value::text(crate::clock::now().as_secs().to_string()),
            Builtin::Strftime => {
                let format = if arguments.is_empty() {
                    Rc::from("%a %b %e %H:%M:%S %Z %Y")
                } else {
                    self.argument(arguments, 0)?
                };
                let seconds = match arguments.get(1) {
                    Some(seconds) => to_integer(self.number(seconds)?).unwrap_or(0),
                    None => i64::try_from(crate::clock::now().as_secs()).unwrap_or(0),
                };
                let zone = crate::util::date::zone(self.shell).map_err(Flow::Stop)?;
                Value::text(crate::util::date::show(&format, seconds, 0, zone))
            }
            Builtin::Mktime => {
                let text = self.argument(arguments, 0)?;
                let parts: Vec<&str> = text.split_whitespace().collect();
                let seconds = match parts.as_slice() {
                    [year, month, day, hour, minute, second, ..] => crate::util::date::parse(
                        &format!("{year}-{month}-{day} {hour}:{minute}:{second}"),
                        crate::clock::now(),
                        crate::util::date::zone(self.shell).map_err(Flow::Stop)?,
                    ),
                    _ => None,
                };
                Value::text(seconds.unwrap_or(-1).to_string())
            }
            Builtin::And | Builtin::Or | Builtin::Xor | Builtin::Lshift | Builtin::Rshift => {
                let (left, right) = (
                    to_integer(self.numeric(arguments, 0)?).unwrap_or(0),
                    to_integer(self.numeric(arguments, 1)?).unwrap_or(0),
                );
                let shift = u32::try_from(right & 63).unwrap_or(0);
                let value = match builtin {
                    Builtin::And => left & right,
                    Builtin::Or => left | right,
                    Builtin::Xor => left ^ right,
                    Builtin::Lshift => left.wrapping_shl(shift),
                    _ => left.wrapping_shr(shift),
                };
                Value::input(&value.to_string())
            }
            Builtin::Strtonum => {
                let text = self.argument(arguments, 0)?;
                let number =
                    crate::expand::integer(text.trim()).ok().filter(|_| text.trim().starts_with('0'));
                Value::input(&number.map_or_else(
                    || super::value::number_text(crate::format::leading_number(&text), "%.17g"),
                    |number| number.to_string(),
                ))
            }
            Builtin::Asort | Builtin::Asorti => self.sort(arguments, builtin == Builtin::Asorti)?,
        })
    }

    fn argument(&mut self, arguments: &[Expression], index: usize) -> Done<Rc<str>> {
        match arguments.get(index) {
            Some(argument) => self.text(argument),
            None => fatal("fatal: a function was called with too few arguments"),
        }
    }

    fn numeric(&mut self, arguments: &[Expression], index: usize) -> Done<f64> {
        match arguments.get(index) {
            Some(argument) => self.number(argument),
            None => fatal("fatal: a function was called with too few arguments"),
        }
    }

    fn random(&mut self) -> f64 {
        // A generator by Vigna (splitmix64): the same numbers in each run until `srand`, as awk promises.
        self.seed.1 = self.seed.1.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.seed.1;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        let high = u32::try_from(mixed >> 32).unwrap_or(0);
        f64::from(high) / 4_294_967_296.0
    }

    fn substr(&mut self, arguments: &[Expression]) -> Done<Value> {
        let text = self.argument(arguments, 0)?;
        let from = self.numeric(arguments, 1)?.round();
        let end = match arguments.get(2) {
            Some(length) => from + self.number(length)?.round(),
            None => f64::INFINITY,
        };
        let inside = |index: usize| {
            let place = count(index + 1);
            place >= from && place < end
        };
        Ok(Value::text(
            text.chars()
                .enumerate()
                .filter(|(index, _)| inside(*index))
                .map(|(_, letter)| letter)
                .collect::<String>(),
        ))
    }

    fn split(&mut self, arguments: &[Expression]) -> Done<Value> {
        let text = self.argument(arguments, 0)?;
        let Some(Expression::Variable(variable)) = arguments.get(1) else {
            return fatal("fatal: split: second argument is not an array");
        };
        let separator = match arguments.get(2) {
            Some(Expression::Regex(regex)) => Separator::Regex(Rc::clone(regex)),
            Some(other) => {
                let text = self.text(other)?;
                Separator::new(&text).or_else(fatal)?
            }
            None => Separator::new(&self.global_text(place::FS)).or_else(fatal)?,
        };
        let array = self.array(*variable)?;
        let parts = separator.split(&text);
        let mut array = array.borrow_mut();
        array.clear();
        for (index, part) in parts.iter().enumerate() {
            array.insert(Rc::from((index + 1).to_string()), Value::input(part));
        }
        Ok(Value::Number(count(parts.len())))
    }

    fn substitute(&mut self, arguments: &[Expression], all: bool) -> Done<Value> {
        let [pattern, with, rest @ ..] = arguments else {
            return fatal("fatal: sub and gsub need a pattern and a text");
        };
        let regex = self.regex(pattern)?;
        let with = self.text(with)?;
        let text = match rest.first() {
            Some(target) => self.text(target)?,
            None => self.whole(),
        };
        let (result, count) =
            replace(&regex, &text, &with, if all { Which::All } else { Which::One(1) }, false);
        if count > 0 {
            match rest.first() {
                Some(target @ (Expression::Variable(_) | Expression::Field(_) | Expression::Element(..))) => {
                    self.store(target, Value::text(result))?
                }
                Some(_) => {}
                None => self.set_field(0.0, Value::text(result))?,
            }
        }
        Ok(Value::Number(self::count(count)))
    }

    fn gensub(&mut self, arguments: &[Expression]) -> Done<Value> {
        let [pattern, with, which, rest @ ..] = arguments else {
            return fatal("fatal: gensub needs a pattern, a text and which matches to replace");
        };
        let regex = self.regex(pattern)?;
        let with = self.text(with)?;
        let which = self.text(which)?;
        let which =
            if which.starts_with(['g', 'G']) { Which::All } else { Which::One(which.parse().unwrap_or(1)) };
        let text = match rest.first() {
            Some(target) => self.text(target)?,
            None => self.whole(),
        };
        Ok(Value::text(replace(&regex, &text, &with, which, true).0))
    }

    fn find(&mut self, arguments: &[Expression]) -> Done<Value> {
        let [text, pattern, rest @ ..] = arguments else {
            return fatal("fatal: match needs a text and a pattern");
        };
        let text = self.text(text)?;
        let regex = self.regex(pattern)?;
        let groups = regex.captures(text.as_bytes(), 0).unwrap_or_default();
        let letters = |to: usize| text.get(..to).unwrap_or_default().chars().count();
        let (start, length) = match groups.first().cloned().flatten() {
            Some(found) => {
                (count(letters(found.start) + 1), count(text.get(found).unwrap_or_default().chars().count()))
            }
            None => (0.0, -1.0),
        };
        self.set_global(place::RSTART, Value::Number(start));
        self.set_global(place::RLENGTH, Value::Number(length));
        if let Some(Expression::Variable(variable)) = rest.first() {
            let array = self.array(*variable)?;
            let mut array = array.borrow_mut();
            array.clear();
            for (index, group) in groups.into_iter().enumerate() {
                if let Some(part) = group.and_then(|range| text.get(range)) {
                    array.insert(Rc::from(index.to_string()), Value::input(part));
                }
            }
        }
        Ok(Value::Number(start))
    }

    fn sort(&mut self, arguments: &[Expression], by_key: bool) -> Done<Value> {
        let Some(Expression::Variable(source)) = arguments.first() else {
            return fatal("fatal: asort: first argument is not an array");
        };
        let target = match arguments.get(1) {
            Some(Expression::Variable(target)) => *target,
            _ => *source,
        };
        let array = self.array(*source)?;
        let mut values: Vec<Value> = if by_key {
            let mut keys = sorted_keys(&array);
            keys.sort();
            keys.iter().map(Value::text).collect()
        } else {
            array.borrow().values().cloned().collect()
        };
        if !by_key {
            values.sort_by(|one, other| {
                let text = |value: &Value| matches!(value, Value::Text(_));
                text(one).cmp(&text(other)).then_with(|| one.compare(other, "%.6g"))
            });
        }
        let sorted = self.array(target)?;
        let mut sorted = sorted.borrow_mut();
        sorted.clear();
        for (index, value) in values.iter().enumerate() {
            sorted.insert(Rc::from((index + 1).to_string()), value.clone());
        }
        Ok(Value::Number(count(values.len())))
    }

    /// The text of `printf` and `sprintf`.
    pub fn formatted(&mut self, items: &[Expression]) -> Done<String> {
        // `printf("…", x)`: the list is in parentheses of its own.
        let items = match items {
            [Expression::In(inner, super::tree::Variable::Local(usize::MAX))] => inner.as_slice(),
            items => items,
        };
        let Some((format, rest)) = items.split_first() else { return fatal("fatal: printf: no format") };
        let format = self.text(format)?;
        let convert = self.global_text(place::CONVFMT);
        let mut values = Vec::new();
        for item in rest {
            values.push(self.value(item)?);
        }
        let mut values = values.into_iter();
        let (mut text, mut left) = (String::new(), &*format);
        while let Some(at) = left.find('%') {
            text.push_str(left.get(..at).unwrap_or_default());
            let after = left.get(at + 1..).unwrap_or_default();
            if let Some(after) = after.strip_prefix('%') {
                text.push('%');
                left = after;
                continue;
            }
            let Some((mut spec, after)) = directive(after) else {
                text.push('%');
                left = after;
                continue;
            };
            if spec.star_width {
                spec.width(to_integer(values.next().unwrap_or_default().number()).unwrap_or(0));
            }
            if spec.star_precision {
                spec.precision = to_integer(values.next().unwrap_or_default().number())
                    .and_then(|number| usize::try_from(number).ok());
            }
            match values.next() {
                Some(value) => text.push_str(&one(&spec, &value, &convert)),
                None if spec.conversion == 's' || spec.conversion == 'c' => text.push_str(&spec.text("")),
                None => return fatal("fatal: not enough arguments to satisfy format string"),
            }
            left = after;
        }
        text.push_str(left);
        Ok(text)
    }
}

/// Which matches are replaced.
enum Which {
    All,
    One(usize),
}

/// The text with matches replaced, and how many were. `&` is the match; with `groups` also `\1`.
fn replace(regex: &Regex, text: &str, with: &str, which: Which, groups: bool) -> (String, usize) {
    let bytes = text.as_bytes();
    let (mut result, mut at, mut copied, mut number, mut replaced) = (String::new(), 0, 0, 0, 0);
    let mut last_end = None;
    while at <= bytes.len() {
        let Some(found) = regex.captures(bytes, at) else { break };
        let Some(whole) = found.first().cloned().flatten() else { break };
        if whole.is_empty() && (last_end == Some(whole.start) || !text.is_char_boundary(whole.start)) {
            at = whole.end + 1;
            continue;
        }
        number += 1;
        last_end = Some(whole.end);
        at = if whole.is_empty() { whole.end + 1 } else { whole.end };
        if matches!(which, Which::One(wanted) if wanted != number) {
            continue;
        }
        replaced += 1;
        result.push_str(text.get(copied..whole.start).unwrap_or_default());
        let group = |number: usize| {
            found.get(number).cloned().flatten().and_then(|range| text.get(range)).unwrap_or_default()
        };
        let mut letters = with.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '&' => result.push_str(group(0)),
                '\\' => match letters.peek().copied() {
                    Some('&') => {
                        letters.next();
                        result.push('&');
                    }
                    Some('\\') => {
                        letters.next();
                        result.push('\\');
                    }
                    Some(digit) if groups && digit.is_ascii_digit() => {
                        letters.next();
                        result.push_str(group(usize::try_from(digit.to_digit(10).unwrap_or(0)).unwrap_or(0)));
                    }
                    _ => result.push('\\'),
                },
                letter => result.push(letter),
            }
        }
        copied = whole.end;
        if matches!(which, Which::One(_)) {
            break;
        }
    }
    result.push_str(text.get(copied..).unwrap_or_default());
    (result, replaced)
}
