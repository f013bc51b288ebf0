//! Options of utilities, as GNU's library reads them.

use crate::stop::{Stop, wrong};

/// What a command line asks for.
#[derive(Debug, Default)]
pub struct Options {
    given: Vec<(char, String)>,
    pub operands: Vec<String>,
}

/// How a utility's options are spelled.
pub struct Spelling {
    /// Letters; one before a colon takes a value; `#` stands for `-NUMBER`.
    pub letters: &'static str,
    /// Long names, and the letters that they stand for.
    pub long: &'static [(&'static str, char)],
    /// The status of a command line that is wrong.
    pub status: i32,
    /// Whether what follows the first operand is all operands.
    pub ordered: bool,
}

impl Spelling {
    pub const fn new(letters: &'static str, long: &'static [(&'static str, char)]) -> Self {
        Self { letters, long, status: 1, ordered: false }
    }

    pub const fn status(self, status: i32) -> Self {
        Self { status, ..self }
    }

    pub const fn ordered(self) -> Self {
        Self { ordered: true, ..self }
    }

    fn takes_value(&self, letter: char) -> Option<bool> {
        let at = self.letters.find(letter).filter(|_| letter != ':' && letter != '#')?;
        Some(self.letters.get(at + letter.len_utf8()..).is_some_and(|after| after.starts_with(':')))
    }

    pub fn read(&self, arguments: &[String]) -> Result<Options, Stop> {
        let mut options = Options::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "--" {
                options.operands.extend(rest.cloned());
                break;
            }
            if let Some(long) = argument.strip_prefix("--") {
                self.long(long, &mut rest, &mut options)?;
                continue;
            }
            match argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                Some(digits)
                    if self.letters.contains('#') && digits.chars().all(|digit| digit.is_ascii_digit()) =>
                {
                    options.given.push(('#', digits.to_owned()));
                }
                Some(letters) => self.short(letters, &mut rest, &mut options)?,
                None => {
                    options.operands.push(argument.clone());
                    if self.ordered {
                        options.operands.extend(rest.cloned());
                        break;
                    }
                }
            }
        }
        Ok(options)
    }

    fn long(
        &self,
        text: &str,
        rest: &mut std::slice::Iter<'_, String>,
        options: &mut Options,
    ) -> Result<(), Stop> {
        let (name, value) =
            text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
        let exact = self.long.iter().find(|(long, _)| *long == name);
        let Some((_, letter)) =
            exact.or_else(|| self.long.iter().find(|(long, _)| long.starts_with(name) && !name.is_empty()))
        else {
            let known: Vec<String> = self.long.iter().map(|(long, _)| format!("--{long}")).collect();
            return wrong(
                self.status,
                format!(
                    "unrecognized option '--{name}'\nknown here: -{} {}",
                    self.letters.replace(':', ""),
                    known.join(" ")
                ),
            );
        };
        let value = match (value, self.takes_value(*letter)) {
            (Some(value), _) => value,
            (None, Some(true)) => match rest.next() {
                Some(value) => value.clone(),
                None => return wrong(self.status, format!("option '--{name}' requires an argument")),
            },
            (None, _) => String::new(),
        };
        options.given.push((*letter, value));
        Ok(())
    }

    fn short(
        &self,
        letters: &str,
        rest: &mut std::slice::Iter<'_, String>,
        options: &mut Options,
    ) -> Result<(), Stop> {
        for (index, letter) in letters.char_indices() {
            match self.takes_value(letter) {
                None => {
                    let known = self.letters.replace(':', "");
                    return wrong(self.status, format!("invalid option -- '{letter}'\nknown here: -{known}"));
                }
                Some(false) => options.given.push((letter, String::new())),
                Some(true) => {
                    let inline = letters.get(index + letter.len_utf8()..).unwrap_or_default();
                    let value =
                        if inline.is_empty() { rest.next().cloned() } else { Some(inline.to_owned()) };
                    let Some(value) = value else {
                        return wrong(self.status, format!("option requires an argument -- '{letter}'"));
                    };
                    options.given.push((letter, value));
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl Options {
    pub fn has(&self, letter: char) -> bool {
        self.given.iter().any(|(given, _)| *given == letter)
    }

    /// The last value given with a letter.
    pub fn value(&self, letter: char) -> Option<&str> {
        self.given.iter().rev().find(|(given, _)| *given == letter).map(|(_, value)| value.as_str())
    }

    pub fn values(&self, letter: char) -> impl Iterator<Item = &str> {
        self.given.iter().filter(move |(given, _)| *given == letter).map(|(_, value)| value.as_str())
    }

    /// Everything in the order in which it was given.
    pub fn given(&self) -> &[(char, String)] {
        &self.given
    }

    /// The operands, or standard input.
    pub fn inputs(&self) -> Vec<String> {
        if self.operands.is_empty() { vec!["-".to_owned()] } else { self.operands.clone() }
    }
}

/// A number with a suffix as `head -c 10K` has it.
pub fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let unit: u64 = match text.get(digits.len()..)? {
        "" | "c" => 1,
        "b" => 512,
        "K" | "k" | "KiB" => 1 << 10,
        "KB" | "kB" => 1000,
        "M" | "m" | "MiB" => 1 << 20,
        "MB" => 1_000_000,
        "G" | "GiB" => 1 << 30,
        "GB" => 1_000_000_000,
        "T" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(unit)
}
