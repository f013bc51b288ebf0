//! `diff`

mod edits;

use edits::{Hunk, compare};

use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, wrong};
use crate::stream::Out;
use crate::util::input;
use crate::util::options::{Options, Spelling};

const SPELLING: Spelling = Spelling::new(
    "abdiNqrsuU:wZL:1:x:",
    &[
        ("brief", 'q'),
        ("recursive", 'r'),
        ("unified", 'u'),
        ("ignore-case", 'i'),
        ("ignore-all-space", 'w'),
        ("report-identical-files", 's'),
        ("ignore-space-change", 'b'),
        ("new-file", 'N'),
        ("label", 'L'),
        ("exclude", 'x'),
        ("color", '1'),
        ("strip-trailing-cr", 'Z'),
        ("text", 'a'),
    ],
)
.status(2);

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|text| if text == "--color" { "--color=auto".to_owned() } else { text.clone() })
        .collect();
    let options = SPELLING.read(&arguments)?;
    let [one, other] = options.operands.as_slice() else {
        return wrong(
            2,
            format!("missing operand after '{}'", options.operands.last().map_or("diff", String::as_str)),
        );
    };
    let is_dir = |name: &str| name != "-" && files::is_dir(&shell.path(name));
    let mut job = Job {
        shell,
        options: &options,
        out: shell.out(),
        flags: arguments.iter().filter(|text| text.starts_with('-')).cloned().collect(),
    };
    let status = match (is_dir(one), is_dir(other)) {
        (true, true) => job.folders(one, other, 0).await?,
        (true, false) => {
            let inner =
                format!("{}/{}", one.trim_end_matches('/'), other.rsplit('/').next().unwrap_or(other));
            job.files(&inner, other, false).await?
        }
        (false, true) => {
            let inner = format!("{}/{}", other.trim_end_matches('/'), one.rsplit('/').next().unwrap_or(one));
            job.files(one, &inner, false).await?
        }
        (false, false) => job.files(one, other, false).await?,
    };
    job.out.flush().await?;
    Ok(status)
}

struct Job<'a> {
    shell: &'a Shell,
    options: &'a Options,
    out: Out,
    flags: Vec<String>,
}

impl Job<'_> {
    async fn folders(&mut self, one: &str, other: &str, depth: u32) -> Status {
        let list = |name: &str| -> Result<Vec<files::Entry>, Stop> {
            files::list(self.shell, name)
                .map_err(|error| Stop::Fail(2, format!("{name}: {}", crate::stop::words(&error))))
        };
        let mut names: Vec<String> =
            list(one)?.into_iter().chain(list(other)?).map(|entry| entry.name).collect();
        names.sort();
        names.dedup();
        let excluded: Vec<_> = self.options.values('x').map(crate::expand::pattern::Pattern::new).collect();
        let mut status = 0;
        for name in names.iter().filter(|name| !excluded.iter().any(|pattern| pattern.matches(name))) {
            crate::task::tick()?;
            let join = |folder: &str| format!("{}/{name}", folder.trim_end_matches('/'));
            let (left, right) = (join(one), join(other));
            let kind =
                |name: &str| (files::is_there(&self.shell.path(name)), files::is_dir(&self.shell.path(name)));
            let result = match (kind(&left), kind(&right)) {
                ((false, _), _) if !self.options.has('N') => {
                    self.out.line(format!("Only in {other}: {name}"));
                    1
                }
                (_, (false, _)) if !self.options.has('N') => {
                    self.out.line(format!("Only in {one}: {name}"));
                    1
                }
                ((_, true), (_, true)) if self.options.has('r') && depth < 64 => {
                    Box::pin(self.folders(&left, &right, depth + 1)).await?
                }
                ((_, true), (_, true)) => {
                    self.out.line(format!("Common subdirectories: {left} and {right}"));
                    0
                }
                ((_, true), _) => {
                    self.out.line(format!("File {left} is a directory while file {right} is a regular file"));
                    1
                }
                (_, (_, true)) => {
                    self.out.line(format!("File {left} is a regular file while file {right} is a directory"));
                    1
                }
                _ => self.files(&left, &right, true).await?,
            };
            status = status.max(result);
            self.out.check().await?;
        }
        Ok(status)
    }

    async fn content(&self, name: &str) -> Result<Vec<u8>, Stop> {
        if self.options.has('N') && name != "-" && !files::is_there(&self.shell.path(name)) {
            return Ok(Vec::new());
        }
        input::whole(self.shell, name).await.map_err(|stop| match stop {
            Stop::Fail(_, message) => Stop::Fail(2, message),
            stop => stop,
        })
    }

    async fn files(&mut self, one: &str, other: &str, titled: bool) -> Status {
        let (left, right) = (self.content(one).await?, self.content(other).await?);
        let (lines, other_lines) = (lines(&left), lines(&right));
        let keys = |lines: &[&[u8]]| lines.iter().map(|line| self.key(line)).collect::<Vec<_>>();
        let (left_keys, right_keys) = (keys(&lines), keys(&other_lines));
        if left == right || left_keys == right_keys {
            if self.options.has('s') {
                self.out.line(format!("Files {one} and {other} are identical"));
            }
            return Ok(0);
        }
        if self.options.has('q') {
            self.out.line(format!("Files {one} and {other} differ"));
            return Ok(1);
        }
        if !self.options.has('a') && (left.contains(&0) || right.contains(&0)) {
            self.out.line(format!("Binary files {one} and {other} differ"));
            return Ok(2);
        }
        let hunks = compare(&left_keys, &right_keys)?;
        if hunks.is_empty() {
            return Ok(0);
        }
        if titled {
            self.out.line(format!("diff {} {one} {other}", self.flags.join(" ")));
        }
        let unified = self.options.has('u') || self.options.has('U');
        if unified {
            let context = self.options.value('U').and_then(|text| text.parse().ok()).unwrap_or(3);
            self.titles(one, other);
            self.unified(&hunks, &lines, &other_lines, context);
        } else {
            self.normal(&hunks, &lines, &other_lines);
        }
        Ok(1)
    }

    fn key(&self, line: &[u8]) -> Vec<u8> {
        let mut key = line.to_vec();
        if self.options.has('Z') || self.options.has('w') || self.options.has('b') {
            let end =
                key.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |index| index + 1);
            key.truncate(end);
        }
        if self.options.has('w') {
            key.retain(|byte| !byte.is_ascii_whitespace());
        } else if self.options.has('b') {
            let text = String::from_utf8_lossy(&key).into_owned();
            let lead = if text.starts_with(char::is_whitespace) { " " } else { "" };
            key = format!("{lead}{}", text.split_whitespace().collect::<Vec<_>>().join(" ")).into_bytes();
        }
        if self.options.has('i') {
            key.make_ascii_lowercase();
        }
        key
    }

    fn titles(&mut self, one: &str, other: &str) {
        let labels: Vec<&str> = self.options.values('L').collect();
        for (index, (sign, name)) in [("---", one), ("+++", other)].into_iter().enumerate() {
            let time = std::fs::metadata(self.shell.path(name))
                .and_then(|metadata| metadata.modified())
                .map(crate::clock::since_epoch);
            let line = match labels.get(index) {
                Some(label) => format!("{sign} {label}"),
                None => format!(
                    "{sign} {name}\t{}",
                    super::date::precise(time.unwrap_or_else(|_| crate::clock::now()))
                ),
            };
            self.out.line(line);
        }
    }

    fn put(&mut self, sign: &str, line: &[u8]) {
        self.out.put(sign);
        self.out.put(line);
        if !line.ends_with(b"\n") {
            self.out.put("\n\\ No newline at end of file\n");
        }
    }

    fn normal(&mut self, hunks: &[Hunk], left: &[&[u8]], right: &[&[u8]]) {
        let range = |from: usize, to: usize| {
            if to - from <= 1 { to.to_string() } else { format!("{},{to}", from + 1) }
        };
        for hunk in hunks {
            let (one, other) = (&hunk.left, &hunk.right);
            let kind = match (one.is_empty(), other.is_empty()) {
                (true, _) => 'a',
                (_, true) => 'd',
                _ => 'c',
            };
            let (from, to) = (
                if one.is_empty() { one.start.to_string() } else { range(one.start, one.end) },
                if other.is_empty() { other.start.to_string() } else { range(other.start, other.end) },
            );
            self.out.line(format!("{from}{kind}{to}"));
            for line in left.get(one.clone()).unwrap_or_default() {
                self.put("< ", line);
            }
            if kind == 'c' {
                self.out.line("---");
            }
            for line in right.get(other.clone()).unwrap_or_default() {
                self.put("> ", line);
            }
        }
    }

    fn unified(&mut self, hunks: &[Hunk], left: &[&[u8]], right: &[&[u8]], context: usize) {
        let mut at = 0;
        while at < hunks.len() {
            let mut end = at + 1;
            while let (Some(before), Some(next)) = (hunks.get(end - 1), hunks.get(end)) {
                if next.left.start - before.left.end > 2 * context {
                    break;
                }
                end += 1;
            }
            let group = hunks.get(at..end).unwrap_or_default();
            let (Some(first), Some(last)) = (group.first(), group.last()) else { break };
            let before = first.left.start.min(context);
            let after = (left.len() - last.left.end).min(context);
            let (from, to) = (first.left.start - before, last.left.end + after);
            let (other_from, other_to) = (first.right.start - before, last.right.end + after);
            let range = |from: usize, to: usize| match to - from {
                0 => format!("{from},0"),
                1 => to.to_string(),
                count => format!("{},{count}", from + 1),
            };
            self.out.line(format!("@@ -{} +{} @@", range(from, to), range(other_from, other_to)));
            let mut line = from;
            for hunk in group {
                for same in left.get(line..hunk.left.start).unwrap_or_default() {
                    self.put(" ", same);
                }
                for gone in left.get(hunk.left.clone()).unwrap_or_default() {
                    self.put("-", gone);
                }
                for new in right.get(hunk.right.clone()).unwrap_or_default() {
                    self.put("+", new);
                }
                line = hunk.left.end;
            }
            for same in left.get(line..to).unwrap_or_default() {
                self.put(" ", same);
            }
            at = end;
        }
    }
}

pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}
