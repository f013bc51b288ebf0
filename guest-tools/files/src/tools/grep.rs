//! `grep`

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use grep_matcher::LineTerminator;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};

use crate::page::Page;
use crate::span::Span;
use crate::text::HEAD;
use crate::walk::{self, Filter};
use crate::{Answer, Workspace, source};
use granted::{is_locked, show, spelled};

mod allowance;
mod content;
mod matches;

use allowance::{Allowance, Allowed};
use content::Content;
use matches::{Found, Matches, Wanted};

/// Results that are shown when the model asks for no number.
pub const DEFAULT_RESULTS: u32 = 200;
const MOST_CONTEXT: u32 = 50;
/// Memory for one line while it is searched; a file with a longer one is left out with a note.
const LINE_MEMORY: usize = 16 << 20;
/// Memory for the compiled pattern, and for its lazily built states: patterns come from models.
const PATTERN_MEMORY: usize = 8 << 20;
/// Files that a note names.
const NAMED: usize = 3;

/// What to search for, and where.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// The regular expression, or plain text if `literal`.
    pub pattern: &'a str,
    /// The file or folder; the first granted directory without.
    pub path: Option<&'a str>,
    /// Which files, in the syntax of ignore files turned around.
    pub glob: Option<&'a str>,
    /// Whether upper and lower case are one.
    pub ignore_case: bool,
    /// Whether the pattern is plain text.
    pub literal: bool,
    /// Lines around each match.
    pub context: u32,
    /// What to show.
    pub show: Show,
    /// Matching lines or files to show.
    pub max_results: u32,
    /// The number of the first of them.
    pub offset: Option<u32>,
    /// Whether to search hidden files and what ignore files exclude.
    pub include_ignored: bool,
}

/// What is shown of the matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// The lines under their files.
    Lines,
    /// The files.
    Files,
    /// The files with how many lines match.
    Counts,
}

/// Searches files line by line.
pub fn grep(workspace: &Workspace, query: &Query<'_>) -> Answer {
    if query.max_results == 0 {
        return Err("max_results must be at least 1".to_owned());
    }
    if query.context > MOST_CONTEXT {
        return Err(format!("context must be at most {MOST_CONTEXT}"));
    }
    let span = Span::from(query.offset)?;
    let matcher = compile(query)?;
    let root = workspace.grants.resolve(query.path.unwrap_or("."))?;
    let metadata = fs::metadata(&root).map_err(|error| workspace.grants.explain("search", &root, &error))?;
    let mut search = Search::new(query, &matcher, Page::new(workspace.budget), span);
    if metadata.is_file() {
        source::open(&workspace.grants, &root)?;
        search.file(&root);
    } else if metadata.is_dir() {
        let globs = query.glob.map(|glob| globs(&root, glob)).transpose()?;
        let filter = Filter { ignored: !query.include_ignored, globs, depth: None };
        for entry in walk::entries(&workspace.grants, &root, filter) {
            if search.allowance.is_spent() {
                break;
            }
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    search.file(entry.path())
                }
                Ok(_) => {}
                Err(_) => search.unreadable.add(None),
            }
        }
    } else {
        return Err(format!("{} is neither a file nor a folder", show(&root)));
    }
    search.close()
}

fn compile(query: &Query<'_>) -> Result<RegexMatcher, String> {
    if query.pattern.is_empty() {
        return Err("the pattern is empty".to_owned());
    }
    RegexMatcherBuilder::new()
        .case_insensitive(query.ignore_case)
        .fixed_strings(query.literal)
        .crlf(true)
        .size_limit(PATTERN_MEMORY)
        .dfa_size_limit(PATTERN_MEMORY)
        .build(query.pattern)
        .map_err(|error| {
            let hint = match error.kind() {
                ErrorKind::NotAllowed(_) => {
                    "; a match lies within one line: search for one of the lines, with `context` for those around it"
                }
                _ if query.literal => "",
                _ => "; set `literal` to search for it as plain text",
            };
            format!("the pattern cannot be used: {error}{hint}")
        })
}

fn globs(root: &Path, glob: &str) -> Result<Override, String> {
    let mut builder = OverrideBuilder::new(root);
    builder
        .add(glob)
        .and_then(|builder| builder.build())
        .map_err(|error| format!("the glob cannot be read: {error}"))
}

/// Files of one kind: how many, and the first of them by name.
#[derive(Default)]
struct Tally {
    count: u64,
    named: Vec<PathBuf>,
}

impl Tally {
    fn add(&mut self, path: Option<&Path>) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.extend(path.map(Path::to_path_buf));
        }
    }

    fn note(&self, what: &str) -> Option<String> {
        let names: Vec<String> = self.named.iter().map(|path| show(path)).collect();
        let more = if self.count > names.len() as u64 && !names.is_empty() { " and others" } else { "" };
        let names = if names.is_empty() { String::new() } else { format!(": {}{more}", names.join(", ")) };
        let unit = if self.count == 1 { "file" } else { "files" };
        (self.count > 0).then(|| format!("{} {unit} {what}{names}", self.count))
    }
}

/// A search under way.
struct Search<'a> {
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    show: Show,
    max: u64,
    page: Page,
    /// The lines or files, whichever is shown.
    span: Span,
    /// Set when a result did not fit: what comes after it is only counted.
    full: bool,
    allowance: Allowance,
    lines: u64,
    files: u64,
    binary: u64,
    cut_short: Tally,
    long_lines: Tally,
    locked: Tally,
    unreadable: Tally,
}

impl<'a> Search<'a> {
    fn new(query: &Query<'_>, matcher: &'a RegexMatcher, page: Page, span: Span) -> Self {
        let context = if query.show == Show::Lines { query.context as usize } else { 0 };
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LINE_MEMORY))
            .build();
        Self {
            matcher,
            searcher,
            show: query.show,
            max: u64::from(query.max_results),
            page,
            span,
            full: false,
            allowance: Allowance::default(),
            lines: 0,
            files: 0,
            binary: 0,
            cut_short: Tally::default(),
            long_lines: Tally::default(),
            locked: Tally::default(),
            unreadable: Tally::default(),
        }
    }

    fn file(&mut self, path: &Path) {
        self.allowance.spend_file();
        let mut content = match Content::open(path) {
            Ok(Some(content)) => content,
            Ok(None) => return self.binary += 1,
            Err(error) => return self.failed(path, &error),
        };
        let start = self.page.mark();
        let wanted = self.wanted();
        let mut matches = Matches::new(self.matcher, &mut self.page, path, wanted, &self.allowance);
        matches.first_only = self.show == Show::Files;
        let allowed = Allowed { bytes: &mut content, allowance: &self.allowance };
        let ended = self.searcher.search_reader(self.matcher, allowed, &mut matches);
        let Found { lines, shown, full, nul } = matches.found;
        match ended {
            Err(error) if !self.allowance.is_spent() => self.failed(path, &error),
            _ => {}
        }
        match content.nul.or(nul) {
            // UTF-16 only: what a binary file happens to hold before its first NUL is no text.
            Some(at) if at < HEAD as u64 => {
                self.binary += 1;
                self.page.rewind(start);
                return;
            }
            Some(_) => self.cut_short.add(Some(path)),
            None => {}
        }
        if lines > 0 {
            self.lines += lines;
            self.files += 1;
            self.full |= full;
            match self.show {
                Show::Lines => {
                    self.span.total += lines;
                    self.span.shown += shown;
                }
                Show::Files => self.list(&spelled(path)),
                Show::Counts => self.list(&format!("{}: {lines}", spelled(path))),
            }
        }
    }

    /// Which lines of the next file are to be shown.
    fn wanted(&self) -> Wanted {
        match self.show {
            Show::Lines => Wanted {
                passed: (self.span.first - 1).saturating_sub(self.lines),
                left: if self.full { 0 } else { self.max - self.span.shown },
            },
            Show::Files | Show::Counts => Wanted { passed: u64::MAX, left: 0 },
        }
    }

    /// Notes that a file was not searched to its end.
    fn failed(&mut self, path: &Path, error: &io::Error) {
        let tally = match error.kind() {
            // The searcher has no kind of its own for a line that does not fit its memory.
            io::ErrorKind::Other => &mut self.long_lines,
            _ if is_locked(error) => &mut self.locked,
            _ => &mut self.unreadable,
        };
        tally.add(Some(path));
    }

    /// Adds the line of a file, where files are what is shown.
    fn list(&mut self, line: &str) {
        if self.span.count() && self.span.shown < self.max {
            self.span.shown += u64::from(self.page.add(line));
        }
        if self.span.total >= self.span.first
            && (self.span.shown == self.max || self.span.first + self.span.shown <= self.span.total)
        {
            self.allowance.begin();
        }
    }

    fn close(mut self) -> Answer {
        self.span.more = self.allowance.is_spent();
        let (what, among) = match (self.show, self.files) {
            (Show::Lines, 1) => ("matching lines", " in 1 file".to_owned()),
            (Show::Lines, files) => ("matching lines", format!(" in {files} files")),
            _ => ("files", String::new()),
        };
        let mut notes = Vec::from_iter(self.span.note(what, &among)?);
        if self.lines == 0 {
            notes.push("no line matches".to_owned());
        }
        let binary = Tally { count: self.binary, named: Vec::new() };
        notes.extend(binary.note("skipped as binary"));
        notes.extend(self.cut_short.note("searched only up to a NUL byte"));
        notes.extend(self.long_lines.note("not searched to the end, for a line of more than 16 MiB"));
        notes.extend(self.locked.note("not readable, by the permissions of the file or a folder above it"));
        notes.extend(self.unreadable.note("could not be read"));
        Ok(self.page.close(&notes))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failing test may panic")]

    use std::io::{Seek, SeekFrom, Write};

    use super::*;
    use crate::page::Budget;
    use granted::Grants;

    const QUERY: Query<'_> = Query {
        pattern: "",
        path: None,
        glob: None,
        ignore_case: false,
        literal: false,
        context: 0,
        show: Show::Lines,
        max_results: DEFAULT_RESULTS,
        offset: None,
        include_ignored: false,
    };

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in [
            ("a.txt", "one\ntwo\nthree\nfour\nfive\n"),
            ("b/c.rs", "fn two() {}\r\nfn three() {}\r\n"),
            ("b/ignored.log", "two\n"),
            (".hidden", "two\n"),
            ("binary", "two\0two\n"),
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::write(dir.path().join(".gitignore"), "*.log\n").unwrap();
        std::os::unix::fs::symlink("..", dir.path().join("b/loop")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("b/out")).unwrap();
        dir
    }

    fn run(dir: &Path, query: &Query<'_>, bytes: u64) -> String {
        let grants = Grants::new([dir.display().to_string()]);
        let workspace = Workspace { grants, budget: Budget { bytes, lines: 2_000 } };
        let answer = grep(&workspace, query).unwrap_or_else(|error| format!("error: {error}"));
        answer.replace(&format!("{}/", dir.display()), "")
    }

    fn check(query: Query<'_>, expected: &str) {
        let dir = tree();
        assert_eq!(run(dir.path(), &query, 40_000), expected);
    }

    #[test]
    fn lines_come_under_their_files() {
        let skipped = "[1 file skipped as binary]";
        check(
            Query { pattern: "two", ..QUERY },
            &format!("a.txt\n2: two\n\nb/c.rs\n1: fn two() {{}}\n{skipped}"),
        );
        check(
            Query { pattern: r"\{\}$", ..QUERY },
            &format!("b/c.rs\n1: fn two() {{}}\n2: fn three() {{}}\n{skipped}"),
        );
        check(Query { pattern: "TWO", ignore_case: true, path: Some("a.txt"), ..QUERY }, "a.txt\n2: two");
        check(
            Query { pattern: "o() {", literal: true, ..QUERY },
            &format!("b/c.rs\n1: fn two() {{}}\n{skipped}"),
        );
        check(Query { pattern: "nowhere", glob: Some("*.rs"), ..QUERY }, "[no line matches]");
    }

    #[test]
    fn context_surrounds_matches() {
        check(
            Query { pattern: "two|four", context: 1, path: Some("a.txt"), ..QUERY },
            "a.txt\n1- one\n2: two\n3- three\n4: four\n5- five",
        );
        check(
            Query { pattern: "one|five", context: 1, path: Some("a.txt"), ..QUERY },
            "a.txt\n1: one\n2- two\n--\n4- four\n5: five",
        );
    }

    #[test]
    fn files_are_chosen() {
        let files = Query { pattern: "two", show: Show::Files, ..QUERY };
        check(Query { glob: Some("*.rs"), ..files }, "b/c.rs");
        check(Query { glob: Some("!*.rs"), ..files }, "a.txt\n[1 file skipped as binary]");
        check(Query { glob: Some("b/**"), ..files }, "b/c.rs");
        check(Query { path: Some("b"), ..files }, "b/c.rs");
        check(
            Query { include_ignored: true, ..files },
            ".hidden\na.txt\nb/c.rs\nb/ignored.log\n[1 file skipped as binary]",
        );
        check(
            Query { pattern: "t", show: Show::Counts, glob: Some("*.{rs,txt}"), ..QUERY },
            "a.txt: 2\nb/c.rs: 2",
        );
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        check(
            Query { pattern: "t", max_results: 1, glob: Some("*.{rs,txt}"), ..QUERY },
            "a.txt\n2: two\n[matching lines 1-1 of 4 in 2 files; go on with offset 2]",
        );
        check(
            Query { pattern: "t", max_results: 1, show: Show::Files, glob: Some("*.{rs,txt}"), ..QUERY },
            "a.txt\n[files 1-1 of 2; go on with offset 2]",
        );
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), "match\n".repeat(5_000)).unwrap();
        let query = Query { pattern: "match", max_results: 10_000, ..QUERY };
        let page = run(dir.path(), &query, 3_000);
        assert!(page.len() <= 3_000 && page.contains(" of 5000 in 1 file; go on"), "{page}");
    }

    #[test]
    fn what_is_not_shown_is_counted_to_a_bound() {
        let dir = tempfile::tempdir().unwrap();
        let line = format!("match{}\n", " ".repeat(1_018));
        fs::write(dir.path().join("a"), line.repeat(100)).unwrap();
        fs::write(dir.path().join("b"), line.repeat(150_000)).unwrap();
        fs::write(dir.path().join("c"), line).unwrap();
        let found = |query| run(dir.path(), &query, 40_000);
        let query = Query { pattern: "match", max_results: 2, ..QUERY };
        let page = found(query);
        let (_, note) = page.rsplit_once('\n').unwrap();
        let total = note
            .strip_prefix("[matching lines 1-2 of at least ")
            .and_then(|rest| rest.strip_suffix(" in 2 files; go on with offset 3]"))
            .unwrap_or(note);
        assert!((130_000..150_000).contains(&total.parse::<u32>().unwrap()), "{note}");
        let last = found(Query { offset: Some(150_101), ..query });
        assert!(last.ends_with("[matching lines 150101-150101 of 150101 in 3 files: the last]"), "{last}");
        let files = Query { show: Show::Counts, max_results: 1, ..query };
        assert_eq!(found(files), "a: 100\n[files 1-1 of at least 2; go on with offset 2]");
        assert_eq!(
            found(Query { offset: Some(2), ..files }),
            "b: 150000\n[files 2-2 of 3; go on with offset 3]"
        );
        assert_eq!(found(Query { show: Show::Files, ..files }), "a\n[files 1-1 of 3; go on with offset 2]");
    }

    #[test]
    fn pages_follow_each_other() {
        let two = Query { pattern: "t", max_results: 2, glob: Some("*.{rs,txt}"), ..QUERY };
        check(two, "a.txt\n2: two\n3: three\n[matching lines 1-2 of 4 in 2 files; go on with offset 3]");
        check(
            Query { offset: Some(3), ..two },
            "b/c.rs\n1: fn two() {}\n2: fn three() {}\n[matching lines 3-4 of 4 in 2 files: the last]",
        );
        check(
            Query { offset: Some(2), ..two },
            "a.txt\n3: three\n\nb/c.rs\n1: fn two() {}\n\
             [matching lines 2-3 of 4 in 2 files; go on with offset 4]",
        );
        check(Query { offset: Some(2), show: Show::Counts, ..two }, "b/c.rs: 2\n[files 2-2 of 2: the last]");
        check(
            Query { offset: Some(5), ..two },
            "error: offset 5 is past the end: the number of matching lines is 4 in 2 files",
        );
        check(Query { offset: Some(5), pattern: "nowhere", ..two }, "[no line matches]");
    }

    #[test]
    fn context_is_on_one_page_or_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let content: String = (1..=400)
            .map(|number| format!("{} {number}\n", if number % 5 == 0 { "match" } else { "text" }))
            .collect();
        fs::write(dir.path().join("f"), content).unwrap();
        for (context, max_results, bytes) in
            [(1, 7, 40_000), (2, 10_000, 1_200), (50, 3, 2_500), (1, 1, 9_999)]
        {
            let query = Query { pattern: "match", context, max_results, ..QUERY };
            let (mut offset, mut lines) = (1, Vec::new());
            loop {
                let page = run(dir.path(), &Query { offset: Some(offset), ..query }, bytes);
                assert!(page.len() as u64 <= bytes, "{page}");
                lines.extend(page.lines().filter_map(|line| {
                    line.split_once([':', '-']).and_then(|(number, _)| number.parse::<u32>().ok())
                }));
                let Some((_, next)) = page.split_once("go on with offset ") else { break };
                offset = next.trim_end_matches(']').parse().unwrap();
            }
            assert!(lines.is_sorted_by(|a, b| a < b), "{context} {max_results} {bytes}: {lines:?}");
            let matches = lines.iter().filter(|line| *line % 5 == 0).count();
            assert_eq!(matches, 80, "{context} {max_results} {bytes}");
            if context == 2 {
                assert_eq!(lines.len(), 398, "every line but the first two, each once");
            }
        }
    }

    #[test]
    fn context_that_does_not_fit_gives_way_to_its_match() {
        let dir = tempfile::tempdir().unwrap();
        let context = [&[0xe9; 400][..], b"\n"].concat().repeat(60);
        fs::write(dir.path().join("f"), [context, b"needle\nafter\n".to_vec()].concat()).unwrap();
        let query = Query { pattern: "needle", context: 50, ..QUERY };
        let found = run(dir.path(), &query, 40_000);
        assert!(found.starts_with("f\n29- \u{fffd}"), "{found}");
        assert!(found.ends_with("\u{fffd}\n61: needle\n62- after"), "{found}");
        assert_eq!(run(dir.path(), &query, 1_600), "f\n61: needle\n62- after");
        fs::write(dir.path().join("e"), "needle\n").unwrap();
        let paged = "e\n1: needle\n[matching lines 1-1 of 2 in 2 files; go on with offset 2]";
        assert_eq!(run(dir.path(), &query, 1_600), paged);
    }

    #[test]
    fn neither_names_nor_lines_pass_for_other_lines() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x\n[no line matches]"), "one\r2: two\r\n").unwrap();
        let query = Query { pattern: "two", ..QUERY };
        let name = r"x\n[no line matches]";
        assert_eq!(run(dir.path(), &query, 40_000), format!("{name}\n1: one\u{240d}2: two"));
        assert_eq!(run(dir.path(), &Query { show: Show::Files, ..query }, 40_000), name);
        assert_eq!(run(dir.path(), &Query { show: Show::Counts, ..query }, 40_000), format!("{name}: 1"));
    }

    #[test]
    fn bad_queries_say_what_to_change() {
        for (query, expected) in [
            (Query { pattern: "(", ..QUERY }, "unclosed group"),
            (Query { pattern: "a\nb", ..QUERY }, "a match lies within one line"),
            (Query { pattern: r"a\nb", ..QUERY }, "a match lies within one line"),
            (Query { pattern: "a\nb", literal: true, ..QUERY }, "a match lies within one line"),
            (Query { pattern: "(", ..QUERY }, "set `literal`"),
            (Query { pattern: "(?=x)", ..QUERY }, "look-around"),
            (Query { pattern: r"\w{100000}{1000}", ..QUERY }, "the pattern cannot be used"),
            (Query { pattern: "", ..QUERY }, "the pattern is empty"),
            (Query { pattern: "x", glob: Some("["), ..QUERY }, "the glob cannot be read"),
            (Query { pattern: "x", path: Some("missing"), ..QUERY }, "does not exist"),
            (Query { pattern: "x", max_results: 0, ..QUERY }, "at least 1"),
            (Query { pattern: "x", context: 51, ..QUERY }, "at most 50"),
            (Query { pattern: "x", offset: Some(0), ..QUERY }, "offset counts from 1"),
        ] {
            let message = run(tree().path(), &query, 40_000);
            assert!(message.starts_with("error: ") && message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_file_is_searched_up_to_its_nul() {
        let dir = tempfile::tempdir().unwrap();
        let content = [&b"needle\n"[..], &b"x\n".repeat(5_000), b"needle\0\nneedle\n"].concat();
        fs::write(dir.path().join("f"), content).unwrap();
        let note = "[1 file searched only up to a NUL byte: f]";
        for (show, expected) in [
            (Show::Lines, format!("f\n1: needle\n5002: needle\n{note}")),
            (Show::Files, "f".to_owned()),
            (Show::Counts, format!("f: 2\n{note}")),
        ] {
            let found = run(dir.path(), &Query { pattern: "needle", show, ..QUERY }, 40_000);
            assert_eq!(found, expected, "{show:?}");
        }
        fs::write(dir.path().join("f"), [b"x\n".repeat(HEAD / 2), b"\0needle\n".to_vec()].concat()).unwrap();
        let found = run(dir.path(), &Query { pattern: "needle", ..QUERY }, 40_000);
        assert_eq!(found, format!("[no line matches]\n{note}"));
        let wide: Vec<u8> = "\u{feff}needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(dir.path().join("f"), wide).unwrap();
        let found = run(dir.path(), &Query { pattern: "needle", ..QUERY }, 40_000);
        assert_eq!(found, "f\n1: needle");
    }

    #[test]
    fn hostile_text_ends_in_time_and_bounds() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), format!("{}X", "a".repeat(1 << 20))).unwrap();
        assert_eq!(run(dir.path(), &Query { pattern: "(a+)+$", ..QUERY }, 40_000), "[no line matches]");
        let line = run(dir.path(), &Query { pattern: "aX", ..QUERY }, 40_000);
        assert!(line.len() < 1_000 && line.starts_with("a\n1: …a") && line.ends_with("aX"), "{line}");

        let mut late = format!("match\n{}", "text\n".repeat(50_000)).into_bytes();
        late.extend_from_slice(b"\0\nmatch\n");
        fs::write(dir.path().join("a"), late).unwrap();
        let found = run(dir.path(), &Query { pattern: "match", ..QUERY }, 40_000);
        assert_eq!(found, "a\n1: match\n[1 file searched only up to a NUL byte: a]");

        fs::write(dir.path().join("a"), "x".repeat(LINE_MEMORY + 2)).unwrap();
        let found = run(dir.path(), &Query { pattern: "match", ..QUERY }, 40_000);
        assert!(
            found.contains("1 file not searched to the end, for a line of more than 16 MiB: a"),
            "{found}"
        );

        let mut sparse = fs::File::create(dir.path().join("a")).unwrap();
        sparse.seek(SeekFrom::Start(1 << 40)).unwrap();
        sparse.write_all(b"match").unwrap();
        let found = run(dir.path(), &Query { pattern: "match", ..QUERY }, 40_000);
        assert_eq!(found, "[no line matches]\n[1 file skipped as binary]");
    }
}
