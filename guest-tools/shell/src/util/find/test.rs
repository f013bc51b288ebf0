//! What is asked of a file, from the words of the command line.

use super::{Search, Waiting};
use crate::clock::{now, since_epoch};
use crate::expand::pattern::Pattern;
use crate::regex::{Flavour, Regex};
use crate::shell::Shell;
use crate::stop::{Stop, fail, words};

/// What is asked of each file.
pub enum Test {
    Not(Box<Test>),
    And(Vec<Test>),
    Or(Vec<Test>),
    Name(Pattern),
    Path(Pattern),
    Regex(Regex),
    Type(String),
    /// Sign, number, unit in bytes.
    Size(char, u64, u64),
    Empty,
    /// Sign, number, seconds of one.
    Age(char, u64, u64),
    Newer(std::time::Duration),
    True,
    False,
    Prune,
    Quit,
    Delete,
    Print(&'static str),
    Printf(String),
    Exec(Exec),
    List,
}

/// A command for what is found.
pub struct Exec {
    pub words: Vec<String>,
    /// Where the names wait that one call takes together.
    pub all: Option<usize>,
    /// Whether somebody is asked before.
    pub asks: bool,
    /// Whether it runs in the folder of the file.
    pub inside: bool,
}

pub struct Reader<'a> {
    pub shell: &'a Shell,
    pub words: &'a [String],
    pub at: usize,
    pub search: &'a mut Search,
    /// Whether something is done with what is found.
    pub acts: bool,
    pub depth: u32,
}

impl Reader<'_> {
    pub fn peek(&self) -> Option<&str> {
        self.words.get(self.at).map(String::as_str)
    }

    pub fn or(&mut self) -> Result<Test, Stop> {
        self.depth += 1;
        if self.depth > 32 {
            return fail("expression nested too deeply");
        }
        let mut tests = vec![self.and()?];
        while matches!(self.peek(), Some("-o" | "-or")) {
            self.at += 1;
            tests.push(self.and()?);
        }
        self.depth -= 1;
        Ok(if tests.len() == 1 { tests.remove(0) } else { Test::Or(tests) })
    }

    fn and(&mut self) -> Result<Test, Stop> {
        let mut tests = Vec::new();
        while let Some(word) = self.peek() {
            match word {
                "-o" | "-or" | ")" => break,
                "-a" | "-and" => self.at += 1,
                _ => tests.push(self.not()?),
            }
        }
        if tests.is_empty() {
            return fail("invalid expression; expected an argument");
        }
        Ok(Test::And(tests))
    }

    fn not(&mut self) -> Result<Test, Stop> {
        match self.peek() {
            Some("!" | "-not") => {
                self.at += 1;
                self.depth += 1;
                if self.depth > 32 || self.peek().is_none() {
                    return fail("expected an expression after `!'");
                }
                let inner = self.not()?;
                self.depth -= 1;
                Ok(Test::Not(Box::new(inner)))
            }
            Some("(") => {
                self.at += 1;
                let inner = self.or()?;
                if self.peek() != Some(")") {
                    return fail(
                        "invalid expression; I was expecting to find a ')' somewhere but did not see one.",
                    );
                }
                self.at += 1;
                Ok(inner)
            }
            _ => self.primary(),
        }
    }

    fn value(&mut self, name: &str) -> Result<String, Stop> {
        let value = self.peek().map(str::to_owned);
        self.at += 1;
        match value {
            Some(value) => Ok(value),
            None => fail(format!("missing argument to `{name}'")),
        }
    }

    fn number(&mut self, name: &str) -> Result<(char, u64, String), Stop> {
        let text = self.value(name)?;
        let (sign, rest) = match text.chars().next() {
            Some(sign @ ('+' | '-')) => (sign, text.get(1..).unwrap_or_default()),
            _ => ('=', text.as_str()),
        };
        let digits = rest.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        match digits.parse() {
            Ok(number) => Ok((sign, number, rest.get(digits.len()..).unwrap_or_default().to_owned())),
            Err(_) => fail(format!("invalid argument `{text}' to `{name}'")),
        }
    }

    fn primary(&mut self) -> Result<Test, Stop> {
        let name = self.value("")?;
        let pattern = |text: String| Pattern::new(&text);
        Ok(match name.as_str() {
            "-name" => Test::Name(pattern(self.value(&name)?)),
            "-iname" => Test::Name(pattern(self.value(&name)?).ignore_case()),
            "-path" | "-wholename" => Test::Path(pattern(self.value(&name)?)),
            "-ipath" => Test::Path(pattern(self.value(&name)?).ignore_case()),
            "-regex" | "-iregex" => {
                let text = self.value(&name)?;
                let regex = Regex::new(
                    &format!(
                        "^{}$",
                        if self.search.regex_flavour == Flavour::Basic {
                            format!("\\({text}\\)")
                        } else {
                            format!("({text})")
                        }
                    ),
                    self.search.regex_flavour,
                    name == "-iregex",
                );
                Test::Regex(regex.map_err(|error| Stop::Fail(1, format!("{text}: {error}")))?)
            }
            "-regextype" => {
                let kind = self.value(&name)?;
                self.search.regex_flavour = if kind.contains("extended") || kind.contains("egrep") {
                    Flavour::Extended
                } else {
                    Flavour::Basic
                };
                Test::True
            }
            "-type" => Test::Type(self.value(&name)?),
            "-size" => {
                let (sign, number, unit) = self.number(&name)?;
                let unit = match unit.as_str() {
                    "c" => 1,
                    "w" => 2,
                    "k" => 1 << 10,
                    "M" => 1 << 20,
                    "G" => 1 << 30,
                    "" | "b" => 512,
                    other => return fail(format!("invalid -size type `{other}'")),
                };
                Test::Size(sign, number, unit)
            }
            "-empty" => Test::Empty,
            "-mtime" | "-atime" | "-ctime" => {
                let (sign, number, _) = self.number(&name)?;
                Test::Age(sign, number, 86_400)
            }
            "-mmin" | "-amin" | "-cmin" => {
                let (sign, number, _) = self.number(&name)?;
                Test::Age(sign, number, 60)
            }
            "-newer" => {
                let reference = self.value(&name)?;
                match std::fs::metadata(self.shell.path(&reference)).and_then(|metadata| metadata.modified())
                {
                    Ok(time) => Test::Newer(since_epoch(time)),
                    Err(error) => return fail(format!("‘{reference}’: {}", words(&error))),
                }
            }
            "-newermt" => {
                let text = self.value(&name)?;
                let Some(seconds) =
                    crate::util::date::parse(&text, now(), 0).and_then(|seconds| u64::try_from(seconds).ok())
                else {
                    return fail(format!("I cannot figure out how to interpret ‘{text}’ as a date or time"));
                };
                Test::Newer(std::time::Duration::from_secs(seconds))
            }
            // Files here have no mode and no owner, so that these hold for all.
            "-perm" | "-user" | "-group" => {
                self.value(&name)?;
                Test::True
            }
            "-readable"
            | "-writable"
            | "-true"
            | "-mount"
            | "-xdev"
            | "-noleaf"
            | "-daystart"
            | "-ignore_readdir_race" => Test::True,
            "-executable" | "-false" => Test::False,
            "-follow" => {
                self.search.follow = true;
                Test::True
            }
            "-maxdepth" | "-mindepth" => {
                let (_, number, _) = self.number(&name)?;
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                if name == "-maxdepth" {
                    self.search.most = number
                } else {
                    self.search.least = number
                }
                Test::True
            }
            "-depth" => {
                self.search.deep = true;
                Test::True
            }
            "-prune" => Test::Prune,
            "-quit" => Test::Quit,
            "-delete" => {
                (self.search.deep, self.acts) = (true, true);
                Test::Delete
            }
            "-print" => self.action(Test::Print("\n")),
            "-print0" => self.action(Test::Print("\0")),
            "-ls" => self.action(Test::List),
            "-printf" => {
                let format = self.value(&name)?;
                self.action(Test::Printf(format))
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => self.exec(&name)?,
            other if other.starts_with('-') => return fail(format!("unknown predicate `{other}'")),
            other => return fail(format!("paths must precede expression: `{other}'")),
        })
    }

    fn action(&mut self, test: Test) -> Test {
        self.acts = true;
        test
    }

    fn exec(&mut self, name: &str) -> Result<Test, Stop> {
        let (asks, inside) = (name.starts_with("-ok"), name.ends_with("dir"));
        let mut words = Vec::new();
        let all = loop {
            let Some(word) = self.peek().map(str::to_owned) else {
                return fail(format!("missing argument to `{name}'"));
            };
            self.at += 1;
            match word.as_str() {
                ";" => break None,
                "+" if !asks && words.last().is_some_and(|last| last == "{}") => {
                    words.pop();
                    self.search.waiting.push(Waiting { words: words.clone(), names: Vec::new() });
                    break Some(self.search.waiting.len() - 1);
                }
                _ => words.push(word),
            }
        };
        if words.is_empty() && all.is_none() {
            return fail(format!("missing argument to `{name}'"));
        }
        Ok(self.action(Test::Exec(Exec { words, all, asks, inside })))
    }
}
