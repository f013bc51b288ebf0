//! `grep`

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};

use crate::grants::show;
use crate::page::Page;
use crate::text::HEAD;
use crate::walk::{self, Filter};
use crate::{Answer, Workspace};

mod matches;

use matches::{Found, Matches};

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
    let matcher = compile(query)?;
    let root = workspace.grants.resolve(query.path.unwrap_or("."))?;
    let metadata = fs::metadata(&root).map_err(|error| workspace.grants.explain("search", &root, &error))?;
    let mut search = Search::new(query, &matcher, Page::new(workspace.budget));
    if metadata.is_file() {
        search.file(&root);
    } else if metadata.is_dir() {
        let globs = query.glob.map(|glob| globs(&root, glob)).transpose()?;
        let filter = Filter { ignored: !query.include_ignored, globs, depth: None };
        for entry in walk::entries(&workspace.grants, &root, filter) {
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
    Ok(search.close())
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
            let hint = if query.literal { "" } else { "; set `literal` to search for it as plain text" };
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
    /// Set when a result did not fit: what comes after it is only counted.
    full: bool,
    shown: u64,
    lines: u64,
    files: u64,
    binary: u64,
    cut_short: Tally,
    long_lines: Tally,
    unreadable: Tally,
}

impl<'a> Search<'a> {
    fn new(query: &Query<'_>, matcher: &'a RegexMatcher, page: Page) -> Self {
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
            full: false,
            shown: 0,
            lines: 0,
            files: 0,
            binary: 0,
            cut_short: Tally::default(),
            long_lines: Tally::default(),
            unreadable: Tally::default(),
        }
    }

    fn file(&mut self, path: &Path) {
        let start = self.page.mark();
        let left = if self.show == Show::Lines && !self.full { self.max - self.shown } else { 0 };
        let mut matches = Matches::new(self.matcher, &mut self.page, path, left);
        matches.first_only = self.show == Show::Files;
        let ended = self.searcher.search_path(self.matcher, path, &mut matches);
        let Found { lines, shown, full, nul } = matches.found;
        match ended {
            // The searcher has no kind of its own for a line that does not fit its memory.
            Err(error) if error.kind() == io::ErrorKind::Other => self.long_lines.add(Some(path)),
            Err(_) => self.unreadable.add(Some(path)),
            Ok(()) => {}
        }
        match nul {
            // What a binary file happens to hold before its first NUL is no text.
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
            self.shown += shown;
            self.full |= full;
            self.list(path, lines);
        }
    }

    /// Adds the file itself, where files are what is shown.
    fn list(&mut self, path: &Path, lines: u64) {
        let line = match self.show {
            Show::Lines => return,
            Show::Files => path.display().to_string(),
            Show::Counts => format!("{}: {lines}", path.display()),
        };
        self.full |= self.shown >= self.max || !self.page.add(&line);
        self.shown += u64::from(!self.full);
    }

    fn close(self) -> String {
        let mut notes = Vec::new();
        let all = if self.show == Show::Lines { self.lines } else { self.files };
        let files = if self.files == 1 { "1 file".to_owned() } else { format!("{} files", self.files) };
        if self.lines == 0 {
            notes.push("no line matches".to_owned());
        } else if self.shown < all {
            let of = if self.show == Show::Lines {
                format!("matching lines in {files}")
            } else {
                "files".to_owned()
            };
            notes.push(format!(
                "{} of {all} {of}; narrow pattern, path or glob, or raise max_results",
                self.shown
            ));
        }
        let binary = Tally { count: self.binary, named: Vec::new() };
        notes.extend(binary.note("skipped as binary"));
        notes.extend(self.cut_short.note("searched only up to a NUL byte"));
        notes.extend(self.long_lines.note("not searched to the end, for a line of more than 16 MiB"));
        notes.extend(self.unreadable.note("could not be read"));
        self.page.close(&notes)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failing test may panic")]

    use std::io::{Seek, SeekFrom, Write};

    use super::*;
    use crate::grants::Grants;
    use crate::page::Budget;

    const QUERY: Query<'_> = Query {
        pattern: "",
        path: None,
        glob: None,
        ignore_case: false,
        literal: false,
        context: 0,
        show: Show::Lines,
        max_results: DEFAULT_RESULTS,
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
            "a.txt\n2: two\n[1 of 4 matching lines in 2 files; narrow pattern, path or glob, or raise max_results]",
        );
        check(
            Query { pattern: "t", max_results: 1, show: Show::Files, glob: Some("*.{rs,txt}"), ..QUERY },
            "a.txt\n[1 of 2 files; narrow pattern, path or glob, or raise max_results]",
        );
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), "match\n".repeat(5_000)).unwrap();
        let query = Query { pattern: "match", max_results: 10_000, ..QUERY };
        let page = run(dir.path(), &query, 3_000);
        assert!(page.len() <= 3_000 && page.contains(" of 5000 matching lines in 1 file;"), "{page}");
    }

    #[test]
    fn bad_queries_say_what_to_change() {
        for (query, expected) in [
            (Query { pattern: "(", ..QUERY }, "unclosed group"),
            (Query { pattern: "a\nb", ..QUERY }, "is not allowed"),
            (Query { pattern: "(?=x)", ..QUERY }, "look-around"),
            (Query { pattern: r"\w{100000}{1000}", ..QUERY }, "the pattern cannot be used"),
            (Query { pattern: "", ..QUERY }, "the pattern is empty"),
            (Query { pattern: "x", glob: Some("["), ..QUERY }, "the glob cannot be read"),
            (Query { pattern: "x", path: Some("missing"), ..QUERY }, "does not exist"),
            (Query { pattern: "x", max_results: 0, ..QUERY }, "at least 1"),
            (Query { pattern: "x", context: 51, ..QUERY }, "at most 50"),
        ] {
            let message = run(tree().path(), &query, 40_000);
            assert!(message.starts_with("error: ") && message.contains(expected), "{message}");
        }
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
