//! `grep`

mod pattern;

use pattern::Search;
use std::collections::VecDeque;

use crate::expand::pattern::Pattern;
use crate::files;
use crate::regex::Flavour;
use crate::shell::Shell;
use crate::stop::{Status, Stop, wrong};
use crate::stream::{Handle, Out};
use crate::task;
use crate::util::input;
use crate::util::options::{Options, Spelling};

const SPELLING: Spelling = Spelling::new(
    "A:B:C:EFGPHLRZacbe:f:hilm:noqrsvwxyzI1:2:3:4U#",
    &[
        ("after-context", 'A'),
        ("before-context", 'B'),
        ("context", 'C'),
        ("extended-regexp", 'E'),
        ("fixed-strings", 'F'),
        ("basic-regexp", 'G'),
        ("perl-regexp", 'P'),
        ("with-filename", 'H'),
        ("files-without-match", 'L'),
        ("recursive", 'r'),
        ("null", 'Z'),
        ("text", 'a'),
        ("count", 'c'),
        ("byte-offset", 'b'),
        ("regexp", 'e'),
        ("file", 'f'),
        ("no-filename", 'h'),
        ("ignore-case", 'i'),
        ("files-with-matches", 'l'),
        ("max-count", 'm'),
        ("line-number", 'n'),
        ("only-matching", 'o'),
        ("quiet", 'q'),
        ("silent", 'q'),
        ("no-messages", 's'),
        ("invert-match", 'v'),
        ("word-regexp", 'w'),
        ("line-regexp", 'x'),
        ("include", '1'),
        ("exclude", '2'),
        ("exclude-dir", '3'),
        ("color", '4'),
        ("colour", '4'),
        ("dereference-recursive", 'R'),
    ],
)
.status(2);

pub async fn grep(shell: &mut Shell, arguments: &[String]) -> Status {
    run(shell, arguments, Flavour::Basic).await
}

pub async fn egrep(shell: &mut Shell, arguments: &[String]) -> Status {
    run(shell, arguments, Flavour::Extended).await
}

pub async fn fgrep(shell: &mut Shell, arguments: &[String]) -> Status {
    run(shell, arguments, Flavour::Fixed).await
}

async fn run(shell: &mut Shell, arguments: &[String], flavour: Flavour) -> Status {
    // An optional value is not the next word.
    let arguments: Vec<String> = arguments
        .iter()
        .map(|text| {
            if matches!(text.as_str(), "--color" | "--colour") {
                "--color=auto".to_owned()
            } else {
                text.clone()
            }
        })
        .collect();
    let mut options = SPELLING.read(&arguments)?;
    let mut patterns: Vec<String> =
        options.values('e').flat_map(|text| text.split('\n')).map(str::to_owned).collect();
    for name in options.values('f') {
        let text = input::whole(shell, name).await.map_err(|stop| match stop {
            Stop::Fail(_, message) => Stop::Fail(2, message),
            other => other,
        })?;
        patterns.extend(input::lines(&text).map(|line| String::from_utf8_lossy(line).into_owned()));
    }
    if !options.has('e') && !options.has('f') {
        if options.operands.is_empty() {
            return wrong(2, "usage: grep [OPTION]... PATTERNS [FILE]...");
        }
        patterns.extend(options.operands.remove(0).split('\n').map(str::to_owned));
    }
    let search = Search::new(&options, &patterns, flavour)?;
    let recursive = options.has('r') || options.has('R');
    let mut names = options.operands.clone();
    if names.is_empty() {
        names.push(if recursive { "." } else { "-" }.to_owned());
    }
    let implied = recursive && options.operands.is_empty();
    let titles = match options.given().iter().rev().find(|(letter, _)| matches!(letter, 'h' | 'H')) {
        Some((letter, _)) => *letter == 'H',
        None => names.len() > 1 || recursive,
    };
    let mut job = Job {
        shell,
        options: &options,
        search,
        out: shell.out(),
        titles,
        found: false,
        failed: false,
        printed: false,
    };
    for name in &names {
        if recursive && files::is_dir(&shell.path(name)) {
            job.folder(name, implied).await?;
        } else {
            job.named(name).await?;
        }
        if job.found && options.has('q') {
            return Ok(0);
        }
    }
    job.out.flush().await?;
    Ok(if job.failed { 2 } else { i32::from(!job.found) })
}

/// What was passed over.
#[derive(Default)]
struct Skipped {
    lines: u64,
    bytes: usize,
    /// Whether a byte of it is zero.
    null: bool,
}

struct Job<'a> {
    shell: &'a Shell,
    options: &'a Options,
    search: Search,
    out: Out,
    titles: bool,
    found: bool,
    failed: bool,
    /// Whether a group of lines was printed, so that the next is set apart.
    printed: bool,
}

impl Job<'_> {
    async fn folder(&mut self, name: &str, implied: bool) -> Result<(), Stop> {
        let mut waiting = vec![name.to_owned()];
        while let Some(folder) = waiting.pop() {
            task::tick()?;
            let entries = match files::list(self.shell, &folder) {
                Ok(entries) => entries,
                Err(error) => {
                    self.fail(&folder, &crate::stop::words(&error)).await?;
                    continue;
                }
            };
            let mut below = Vec::new();
            for entry in entries {
                let path = if implied && folder == "." {
                    entry.name.clone()
                } else {
                    format!("{}/{}", folder.trim_end_matches('/'), entry.name)
                };
                if entry.is_dir
                    || (entry.is_link && self.options.has('R') && files::is_dir(&self.shell.path(&path)))
                {
                    let excluded = self
                        .options
                        .values('3')
                        .any(|pattern| Pattern::new(pattern.trim_end_matches('/')).matches(&entry.name));
                    if !excluded {
                        below.push(path);
                    }
                } else if (!entry.is_link || self.options.has('R')) && self.is_wanted(&entry.name) {
                    self.named(&path).await?;
                    if self.found && self.options.has('q') {
                        return Ok(());
                    }
                }
            }
            waiting.extend(below.into_iter().rev());
        }
        Ok(())
    }

    fn is_wanted(&self, name: &str) -> bool {
        let matches = |letter| self.options.values(letter).any(|pattern| Pattern::new(pattern).matches(name));
        (!self.options.has('1') || matches('1')) && !matches('2')
    }

    async fn fail(&mut self, name: &str, message: &str) -> Result<(), Stop> {
        self.failed = true;
        if self.options.has('s') {
            return Ok(());
        }
        // In its place among what was found.
        self.out.flush().await?;
        self.shell.warn(format!("grep: {name}: {message}")).await
    }

    async fn named(&mut self, name: &str) -> Result<(), Stop> {
        if name == "-" {
            return self.search("(standard input)", &self.shell.stdin()).await;
        }
        match files::read(self.shell, name) {
            Ok(handle) => self.search(name, &handle).await,
            Err(error) => self.fail(name, &crate::stop::words(&error)).await,
        }
    }

    async fn search(&mut self, name: &str, handle: &Handle) -> Result<(), Stop> {
        let options = self.options;
        let number = |letter| options.value(letter).and_then(|text| text.parse::<usize>().ok());
        let most = number('m').unwrap_or(usize::MAX);
        let both = number('C').or(number('#')).unwrap_or(0);
        let (before, after) = (number('B').unwrap_or(both), number('A').unwrap_or(both));
        let listing = options.has('l') || options.has('L') || options.has('q');
        let silent = listing || options.has('c');
        let (mut line, mut index, mut offset, mut count, mut left) =
            (Vec::new(), 0_u64, 0_usize, 0_usize, 0_usize);
        let mut earlier: VecDeque<(u64, usize, Vec<u8>)> = VecDeque::new();
        let mut last_shown = None;
        let mut binary = false;
        loop {
            if count >= most && left == 0 {
                break;
            }
            if left == 0 && before == 0 {
                let skipped = self.skip(handle).await?;
                index += skipped.lines;
                offset += skipped.bytes;
                binary |= skipped.null && !options.has('a');
            }
            line.clear();
            if !handle.until(b'\n', &mut line).await? {
                break;
            }
            let size = line.len();
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            index += 1;
            binary |= line.contains(&0) && !options.has('a');
            if count < most && self.search.selects(&line) {
                count += 1;
                self.found = true;
                if options.has('q') {
                    return Ok(());
                }
                if listing {
                    break;
                }
                if binary && !silent {
                    if options.has('I') {
                        break;
                    }
                    self.out.line(format!("grep: {name}: binary file matches"));
                    break;
                }
                if !silent {
                    let first = earlier.front().map_or(index, |(index, ..)| *index);
                    if (before > 0 || after > 0)
                        && self.printed
                        && last_shown.is_none_or(|last| last + 1 < first)
                        && !options.has('o')
                    {
                        self.out.line("--");
                    }
                    for (number, offset, text) in earlier.drain(..) {
                        self.show(name, number, offset, &text, '-');
                    }
                    self.matching(name, index, offset, &line);
                    self.printed = true;
                    last_shown = Some(index);
                    left = after;
                }
            } else if left > 0 {
                self.show(name, index, offset, &line, '-');
                last_shown = Some(index);
                left -= 1;
            } else if before > 0 {
                earlier.push_back((index, offset, line.clone()));
                if earlier.len() > before {
                    earlier.pop_front();
                }
            }
            offset += size;
            self.out.check().await?;
        }
        if options.has('L') && count == 0 || options.has('l') && count > 0 {
            self.out.put(name);
            self.out.put(if options.has('Z') { "\0" } else { "\n" });
            self.found = true;
        } else if options.has('c') {
            let title = if self.titles { format!("{name}:") } else { String::new() };
            self.out.line(format!("{title}{count}"));
        }
        Ok(())
    }

    /// Passes over lines without a match, in large steps.
    async fn skip(&self, handle: &Handle) -> Result<Skipped, Stop> {
        let mut skipped = Skipped::default();
        while handle.fill().await? {
            let goes_on = handle.with(|bytes| {
                let whole = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
                let lines = bytes.get(..whole).unwrap_or_default();
                let count = self.search.skips(lines);
                let passed = lines.get(..count).unwrap_or_default();
                skipped.bytes += count;
                skipped.lines += u64::try_from(memchr::memchr_iter(b'\n', passed).count()).unwrap_or(0);
                skipped.null |= memchr::memchr(0, passed).is_some();
                (count, count > 0 && count == bytes.len())
            });
            if !goes_on {
                break;
            }
            task::turn().await?;
        }
        Ok(skipped)
    }

    fn prefix(&mut self, name: &str, index: u64, offset: usize, sign: char) {
        if self.titles {
            self.out.put(name);
            self.out.put(if self.options.has('Z') { "\0".to_owned() } else { sign.to_string() });
        }
        if self.options.has('n') {
            self.out.put(format!("{index}{sign}"));
        }
        if self.options.has('b') {
            self.out.put(format!("{offset}{sign}"));
        }
    }

    fn show(&mut self, name: &str, index: u64, offset: usize, line: &[u8], sign: char) {
        if self.options.has('o') {
            return;
        }
        self.prefix(name, index, offset, sign);
        self.out.line(line);
    }

    fn matching(&mut self, name: &str, index: u64, offset: usize, line: &[u8]) {
        if !self.options.has('o') {
            return self.show(name, index, offset, line, ':');
        }
        if self.search.invert {
            return;
        }
        let mut at = 0;
        while let Some(found) = self.search.find(line, at) {
            if found.is_empty() {
                at = found.end + 1;
                if at > line.len() {
                    break;
                }
                continue;
            }
            self.prefix(name, index, offset + found.start, ':');
            self.out.line(line.get(found.clone()).unwrap_or_default());
            at = found.end;
        }
    }
}
