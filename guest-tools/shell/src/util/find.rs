//! `find`

use std::fs::Metadata;

use crate::clock::{now, since_epoch};
use crate::expand::pattern::Pattern;
use crate::files;
use crate::regex::{Flavour, Regex};
use crate::shell::{Shell, invoke};
use crate::stop::{Status, Stop, fail, words};
use crate::stream::Out;

/// What is asked of each file.
enum Test {
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
    Exec {
        words: Vec<String>,
        all: Option<usize>,
    },
    List,
}

struct Search {
    least: usize,
    most: usize,
    deep: bool,
    follow: bool,
    /// Names waiting for the commands that take many.
    waiting: Vec<(Vec<String>, Vec<String>)>,
    regex_flavour: Flavour,
}

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let mut rest = arguments;
    let mut search = Search {
        least: 0,
        most: usize::MAX,
        deep: false,
        follow: false,
        waiting: Vec::new(),
        regex_flavour: Flavour::Basic,
    };
    while let Some((flag, after)) =
        rest.split_first().filter(|(flag, _)| matches!(flag.as_str(), "-L" | "-P" | "-H"))
    {
        search.follow = flag == "-L";
        rest = after;
    }
    let paths = rest
        .iter()
        .take_while(|word| !word.starts_with('-') && !matches!(word.as_str(), "(" | "!" | ")"))
        .count();
    let (paths, expression) = rest.split_at(paths);
    let mut reader = Reader { shell, words: expression, at: 0, search: &mut search, acts: false, depth: 0 };
    let mut test = if expression.is_empty() { Test::True } else { reader.or()? };
    if let Some(extra) = reader.peek() {
        return fail(format!("paths must precede expression: `{extra}'"));
    }
    if !reader.acts {
        test = Test::And(vec![test, Test::Print("\n")]);
    }
    let paths = if paths.is_empty() { vec![".".to_owned()] } else { paths.to_vec() };
    let mut out = shell.out();
    let mut status = 0;
    let mut walk =
        Walk { shell, search: &mut search, test: &test, out: &mut out, failed: false, quit: false };
    for path in &paths {
        walk.from(path).await?;
        if walk.quit {
            break;
        }
    }
    if walk.failed {
        status = 1;
    }
    out.flush().await?;
    for (words, names) in std::mem::take(&mut search.waiting) {
        if names.is_empty() {
            continue;
        }
        for some in names.chunks(5000) {
            let command: Vec<String> =
                words.iter().filter(|word| *word != "{}").cloned().chain(some.iter().cloned()).collect();
            if invoke(shell, &command).await? != 0 {
                status = 1;
            }
        }
    }
    Ok(status)
}

struct Reader<'a> {
    shell: &'a Shell,
    words: &'a [String],
    at: usize,
    search: &'a mut Search,
    /// Whether something is done with what is found.
    acts: bool,
    depth: u32,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.at).map(String::as_str)
    }

    fn or(&mut self) -> Result<Test, Stop> {
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
                    super::date::parse(&text, now(), 0).and_then(|seconds| u64::try_from(seconds).ok())
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
            "-exec" | "-execdir" | "-ok" => self.exec()?,
            other if other.starts_with('-') => return fail(format!("unknown predicate `{other}'")),
            other => return fail(format!("paths must precede expression: `{other}'")),
        })
    }

    fn action(&mut self, test: Test) -> Test {
        self.acts = true;
        test
    }

    fn exec(&mut self) -> Result<Test, Stop> {
        let mut words = Vec::new();
        let all = loop {
            let Some(word) = self.peek().map(str::to_owned) else {
                return fail("missing argument to `-exec'");
            };
            self.at += 1;
            match word.as_str() {
                ";" => break None,
                "+" if words.last().is_some_and(|last| last == "{}") => {
                    self.search.waiting.push((words.clone(), Vec::new()));
                    break Some(self.search.waiting.len() - 1);
                }
                _ => words.push(word),
            }
        };
        Ok(self.action(Test::Exec { words, all }))
    }
}

/// One file that was found.
struct Found<'a> {
    path: &'a str,
    start: &'a str,
    depth: usize,
    metadata: &'a Metadata,
}

struct Walk<'a> {
    shell: &'a mut Shell,
    search: &'a mut Search,
    test: &'a Test,
    out: &'a mut Out,
    failed: bool,
    quit: bool,
}

/// A folder before what is in it, or, with `deep`, after.
enum Step {
    Enter(String, usize),
    Judge(String, usize),
}

impl Walk<'_> {
    async fn warn(&mut self, message: String) -> Result<(), Stop> {
        self.failed = true;
        self.shell.warn(format!("find: {message}")).await
    }

    async fn from(&mut self, start: &str) -> Result<(), Stop> {
        let mut waiting = vec![Step::Enter(start.to_owned(), 0)];
        while let Some(step) = waiting.pop() {
            crate::task::tick()?;
            let (path, depth, entering) = match step {
                Step::Enter(path, depth) => (path, depth, true),
                Step::Judge(path, depth) => (path, depth, false),
            };
            let real = self.shell.path(&path);
            let metadata = if self.search.follow {
                std::fs::metadata(&real).or_else(|_| std::fs::symlink_metadata(&real))
            } else {
                std::fs::symlink_metadata(&real)
            };
            let metadata = match metadata {
                Ok(metadata) => metadata,
                Err(error) => {
                    self.warn(format!("‘{path}’: {}", words(&error))).await?;
                    continue;
                }
            };
            let mut pruned = false;
            if !(entering && self.search.deep && metadata.is_dir()) {
                if depth >= self.search.least {
                    let found = Found { path: &path, start, depth, metadata: &metadata };
                    self.judge(self.test, &found, &mut pruned).await?;
                    self.out.check().await?;
                }
                if self.quit {
                    return Ok(());
                }
            }
            if !entering || !metadata.is_dir() || pruned || depth >= self.search.most {
                if entering && self.search.deep && metadata.is_dir() {
                    waiting.push(Step::Judge(path, depth));
                }
                continue;
            }
            if self.search.deep {
                waiting.push(Step::Judge(path.clone(), depth));
            }
            match files::list(self.shell, &path) {
                Ok(entries) => {
                    let join = |name: String| {
                        if path.ends_with('/') { format!("{path}{name}") } else { format!("{path}/{name}") }
                    };
                    waiting.extend(
                        entries.into_iter().rev().map(|entry| Step::Enter(join(entry.name), depth + 1)),
                    );
                }
                Err(error) => self.warn(format!("‘{path}’: {}", words(&error))).await?,
            }
        }
        Ok(())
    }

    async fn judge(&mut self, test: &Test, found: &Found<'_>, pruned: &mut bool) -> Result<bool, Stop> {
        let base = match found.path.trim_end_matches('/').rsplit('/').next() {
            Some("") | None => found.path,
            Some(base) => base,
        };
        Ok(match test {
            Test::Not(inner) => !Box::pin(self.judge(inner, found, pruned)).await?,
            Test::And(tests) => {
                for test in tests {
                    if !Box::pin(self.judge(test, found, pruned)).await? {
                        return Ok(false);
                    }
                }
                true
            }
            Test::Or(tests) => {
                for test in tests {
                    if Box::pin(self.judge(test, found, pruned)).await? {
                        return Ok(true);
                    }
                }
                false
            }
            Test::Name(pattern) => pattern.matches(base),
            Test::Path(pattern) => pattern.matches(found.path),
            Test::Regex(regex) => regex.is_match(found.path.as_bytes()),
            Test::Type(kinds) => kinds.split(',').any(|kind| kind == letter(found.metadata)),
            Test::Size(sign, number, unit) => compare(*sign, found.metadata.len().div_ceil(*unit), *number),
            Test::Empty if found.metadata.is_dir() => {
                files::list(self.shell, found.path).is_ok_and(|entries| entries.is_empty())
            }
            Test::Empty => found.metadata.is_file() && found.metadata.len() == 0,
            Test::Age(sign, number, unit) => {
                let age = now().as_secs().saturating_sub(modified(found.metadata).as_secs());
                // Minutes are rounded up, days down.
                let units = if *unit == 60 { age.div_ceil(*unit) } else { age / unit };
                compare(*sign, units, *number)
            }
            Test::Newer(time) => modified(found.metadata) > *time,
            Test::True => true,
            Test::False => false,
            Test::Prune => {
                *pruned = true;
                true
            }
            Test::Quit => {
                self.quit = true;
                true
            }
            Test::Delete => return self.delete(found).await,
            Test::Print(end) => {
                self.out.put(found.path);
                self.out.put(end);
                true
            }
            Test::Printf(format) => {
                let text = fill(format, found, base);
                self.out.put(text);
                true
            }
            Test::List => {
                let kind = if found.metadata.is_dir() { "drwxr-xr-x" } else { "-rw-r--r--" };
                let time = super::date::listing(modified(found.metadata), now());
                self.out.line(format!(
                    "{:>9} {:>6} {kind} 1 user user {:>8} {time} {}",
                    0,
                    super::ls::occupied(found.metadata.len(), found.metadata.is_dir()),
                    found.metadata.len(),
                    found.path
                ));
                true
            }
            Test::Exec { words, all: Some(index) } => {
                if let Some((_, names)) =
                    self.search.waiting.get_mut(*index).filter(|(kept, _)| kept == words)
                {
                    names.push(found.path.to_owned());
                }
                true
            }
            Test::Exec { words, all: None } => {
                self.out.flush().await?;
                let command: Vec<String> = words.iter().map(|word| word.replace("{}", found.path)).collect();
                Box::pin(invoke(self.shell, &command)).await? == 0
            }
        })
    }

    async fn delete(&mut self, found: &Found<'_>) -> Result<bool, Stop> {
        if matches!(found.path, "." | "./") {
            return Ok(true);
        }
        let path = self.shell.path(found.path);
        let result =
            if found.metadata.is_dir() { std::fs::remove_dir(&path) } else { std::fs::remove_file(&path) };
        match result {
            Ok(()) => Ok(true),
            Err(error) => {
                self.warn(format!("cannot delete ‘{}’: {}", found.path, words(&error))).await?;
                Ok(false)
            }
        }
    }
}

fn letter(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        "d"
    } else if metadata.is_symlink() {
        "l"
    } else {
        "f"
    }
}

fn modified(metadata: &Metadata) -> std::time::Duration {
    metadata.modified().map(since_epoch).unwrap_or_default()
}

fn compare(sign: char, value: u64, number: u64) -> bool {
    match sign {
        '+' => value > number,
        '-' => value < number,
        _ => value == number,
    }
}

fn fill(format: &str, found: &Found<'_>, base: &str) -> Vec<u8> {
    let (decoded, _) = crate::expand::escapes(format, crate::expand::Escapes::Ansi);
    let decoded = String::from_utf8_lossy(&decoded).into_owned();
    let mut filled = String::new();
    let mut rest = decoded.chars();
    let seconds = i64::try_from(modified(found.metadata).as_secs()).unwrap_or(0);
    while let Some(letter) = rest.next() {
        if letter != '%' {
            filled.push(letter);
            continue;
        }
        match rest.next() {
            Some('p') => filled.push_str(found.path),
            Some('f') => filled.push_str(base),
            Some('P') => filled
                .push_str(found.path.strip_prefix(found.start).unwrap_or(found.path).trim_start_matches('/')),
            Some('h') => filled.push_str(found.path.rsplit_once('/').map_or(".", |(folder, _)| folder)),
            Some('s') => filled.push_str(&found.metadata.len().to_string()),
            Some('d') => filled.push_str(&found.depth.to_string()),
            Some('y') => filled.push_str(self::letter(found.metadata)),
            Some('m') => filled.push_str(if found.metadata.is_dir() { "755" } else { "644" }),
            Some('u' | 'g') => filled.push_str("user"),
            Some('k') => filled
                .push_str(&super::ls::occupied(found.metadata.len(), found.metadata.is_dir()).to_string()),
            Some('t') => filled.push_str(&super::date::show("%a %b %e %H:%M:%S %Y", seconds, 0, 0)),
            Some('T') => match rest.next() {
                Some('@') => filled.push_str(&format!("{seconds}.0000000000")),
                Some(directive) => {
                    filled.push_str(&super::date::show(&format!("%{directive}"), seconds, 0, 0))
                }
                None => {}
            },
            Some('%') => filled.push('%'),
            Some(other) => filled.extend(['%', other]),
            None => filled.push('%'),
        }
    }
    filled.into_bytes()
}
