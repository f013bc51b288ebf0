//! What the book in docs/ shows is what happens.
//!
//! A chapter starts in an empty folder of a fresh user, and its blocks are taken in order:
//!
//! - ```` ```sh ```` is run by bash, and ends with 0 or with the code of `exit=`. A `cd` lasts.
//! - ```` ```text ```` or ```` ```json ```` after it is what it prints, standard error and standard output as they come; `…` is
//!   any text, and alone any lines.
//! - `file=NAME` after any other language writes the block to that file.
//! - `of=NAME` says that the block is what the example NAME of `runtime/examples` prints there.
//! - `from=PATH` says that the block is a part of that file of the repository.
//! - The port 8080 is another one, which is free.
//! - `not-run=REASON` is for what cannot run here; `REASONS` has the reasons, and how often each may be given.

use std::fs;
use std::io::{Read as _, Seek as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use toolcell_tests::command_line::{CommandLine, binary, ended};
use toolcell_tests::shown::{Block, blocks, prints};
use toolcell_tests::{languages, repository};

/// Why a block is not run, and in how many blocks of the whole book that may be said.
const REASONS: [(&str, usize); 3] = [
    // Gets programs from elsewhere, or compiles for minutes.
    ("installs", 2),
    // Belongs to a program of somebody else's, or needs a model's key.
    ("elsewhere", 2),
    // Serves until it is stopped.
    ("serves", 1),
];

/// The chapters that are run, each by a test of its own: all but the reference and what is included.
macro_rules! chapters {
    ($($name:ident: $path:literal,)*) => {
        const CHAPTERS: &[&str] = &[$($path),*];
        $(
            #[test]
            fn $name() {
                Chapter::open($path).run();
            }
        )*
    };
}

chapters! {
    introduction: "introduction.md",
    tutorial_first_call: "tutorial/first-call.md",
    tutorial_own_tool: "tutorial/own-tool.md",
    tutorial_clients: "tutorial/clients.md",
    tutorial_loop: "tutorial/loop.md",
    authoring_contract: "authoring/contract.md",
    authoring_rust: "authoring/rust.md",
    authoring_javascript: "authoring/javascript.md",
    authoring_python: "authoring/python.md",
    authoring_c: "authoring/c.md",
    authoring_tests: "authoring/tests.md",
    operating_grants: "operating/grants.md",
    operating_rules: "operating/rules.md",
    operating_secrets: "operating/secrets.md",
    operating_limits: "operating/limits.md",
    operating_hooks: "operating/hooks.md",
    operating_audit: "operating/audit.md",
    operating_server: "operating/server.md",
    operating_other_servers: "operating/other-servers.md",
    embedding: "embedding.md",
    comparison: "comparison.md",
}

/// Chapters whose projects need compilers of other languages.
const OTHER_LANGUAGES: [&str; 3] = ["authoring/javascript.md", "authoring/python.md", "authoring/c.md"];

fn source() -> PathBuf {
    fs::canonicalize(repository().join("docs/src")).unwrap()
}

/// The pages of the book, relative to its source, in the order of SUMMARY.md.
fn pages() -> Vec<String> {
    let summary = fs::read_to_string(source().join("SUMMARY.md")).unwrap();
    links(&summary).into_iter().map(|link| link.target).collect()
}

/// The port of the text: a chapter runs with one that is free.
const PORT: &str = "8080";

struct Chapter {
    path: String,
    blocks: Vec<Block>,
    user: CommandLine,
    /// Where its commands run.
    folder: PathBuf,
    /// What stands for [`PORT`].
    port: u16,
    wrong: Vec<String>,
}

impl Chapter {
    fn open(path: &str) -> Self {
        let text = fs::read_to_string(source().join(path)).unwrap();
        let user = CommandLine::new();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = user.folder();
        Self { path: path.to_owned(), blocks: blocks(&text), user, folder, port, wrong: Vec::new() }
    }

    fn run(mut self) {
        let mut printed = None;
        for block in std::mem::take(&mut self.blocks) {
            let before = printed.take();
            match (block.language(), block.attribute("file"), block.attribute("from")) {
                ("sh", ..) if block.attribute("not-run").is_none() => printed = Some(self.command(&block)),
                ("sh", ..) => (),
                (_, None, Some(from)) => self.is_part_of(&block, from),
                (_, Some(file), from) => {
                    self.write(&block, file);
                    from.into_iter().for_each(|from| self.is_part_of(&block, from));
                }
                ("text", ..) if block.attribute("of").is_some() => self.example(&block),
                ("text" | "json", ..) => match before {
                    Some(before) => self.compare(&block, &before),
                    None => self.complain(&block, "follows no command"),
                },
                _ => self.complain(&block, "is not checked: give it `file=` or `from=`, or let it be output"),
            }
        }
        assert!(self.wrong.is_empty(), "\n{}", self.wrong.join("\n"));
    }

    fn complain(&mut self, block: &Block, what: impl std::fmt::Display) {
        self.wrong.push(format!("docs/src/{}:{}: {what}", self.path, block.line));
    }

    fn shell(&self, text: &str) -> Command {
        let mut shell = self.user.program("bash");
        let remember = "trap 'pwd >\"$TOOLCELL_HOME/folder\"' EXIT";
        shell.current_dir(&self.folder).args(["-e", "-c", &format!("{remember}\n{text}")]);
        shell.env("PATH", languages::path([])).env("LANG", "C.UTF-8");
        // Rust and what it has downloaded are this machine's; the crates of new projects are built once for all runs.
        for (variable, folder) in
            [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("TOOLCELL_TOOLCHAIN_DIR", MADE_TOOLCHAIN)]
        {
            let default = || std::env::home_dir().unwrap().join(folder).into_os_string();
            shell.env(variable, std::env::var_os(variable).unwrap_or_else(default));
        }
        shell.env("CARGO_NET_OFFLINE", "true");
        shell.env("CARGO_TARGET_DIR", toolcell_tests::cache().with_file_name("new-tool"));
        if OTHER_LANGUAGES.contains(&self.path.as_str()) {
            shell.envs(languages::environment());
        }
        shell
    }

    /// Runs an example of the library in place of a command.
    fn example(&mut self, block: &Block) {
        let name = block.attribute("of").unwrap();
        let ended = ended(&mut self.user.program(binary().with_file_name("examples").join(name)));
        self.compare(block, &format!("{}{}", ended.stderr, ended.stdout));
    }

    /// Runs a block; what it printed.
    fn command(&mut self, block: &Block) -> String {
        let port = self.port.to_string();
        let mut output = tempfile::tempfile().unwrap();
        let mut shell = self.shell(&block.text.replace(PORT, &port));
        shell.stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap());
        let code = shell.status().unwrap().code().unwrap_or(-1);
        let mut printed = Vec::new();
        output.rewind().unwrap();
        output.read_to_end(&mut printed).unwrap();
        let printed = String::from_utf8_lossy(&printed).replace(&format!(":{port}"), &format!(":{PORT}"));
        let expected: i32 = block.attribute("exit").map_or(0, |code| code.parse().unwrap());
        if code != expected {
            self.complain(block, format_args!("ended with {code}, not {expected}:\n{printed}"));
        }
        if let Ok(folder) = fs::read_to_string(self.user.home().join("folder")) {
            self.folder = PathBuf::from(folder.trim_end());
        }
        printed
    }

    fn write(&self, block: &Block, file: &str) {
        let path = self.folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{}\n", block.text.replace(PORT, &self.port.to_string()))).unwrap();
    }

    fn is_part_of(&mut self, block: &Block, from: &str) {
        let file = fs::read_to_string(repository().join(from)).unwrap_or_default();
        if !unindented(&file).contains(&unindented(&block.text)) {
            self.complain(block, format_args!("is no part of {from}"));
        }
    }

    fn compare(&mut self, block: &Block, printed: &str) {
        let expected: Vec<&str> = block.text.lines().collect();
        if !prints(&expected, &printed.lines().collect::<Vec<_>>()) {
            self.complain(block, format_args!("what is printed is\n{printed}"));
        }
    }
}

/// Where `guest-tools/toolchain.sh` puts its compiler below the home folder, where nothing else is set.
const MADE_TOOLCHAIN: &str = ".cache/toolcell/guest-toolchain";

/// Lines without their indentation: what a book shows of a function stands further left.
fn unindented(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// A link of a page, relative to that page's folder.
struct Link {
    line: usize,
    target: String,
}

/// The links of a document that are no addresses, outside of code.
fn links(document: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (at, line) in document.lines().enumerate() {
        is_code ^= line.starts_with("```");
        for rest in line.split("](").skip(1).filter(|_| !is_code) {
            let target = rest.split(')').next().unwrap().to_owned();
            if !target.starts_with("https://") {
                found.push(Link { line: at + 1, target });
            }
        }
    }
    found
}

/// How mdBook names the heading `line`.
fn anchor(line: &str) -> Option<String> {
    let title = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))?;
    let kept = title.trim().to_lowercase().replace(' ', "-");
    Some(kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_')).collect())
}

fn has_anchor(page: &Path, anchor_of: &str) -> bool {
    fs::read_to_string(page).unwrap().lines().any(|line| anchor(line).as_deref() == Some(anchor_of))
}

/// The files of the book's source, relative to it.
fn files(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path.strip_prefix(source()).unwrap().to_string_lossy().into_owned());
        }
    }
}

#[test]
fn every_page_is_in_the_summary_and_every_chapter_is_run() {
    let mut pages = pages();
    let is_run = |page: &&String| !page.starts_with("reference/") && !page.starts_with("repository/");
    let run: Vec<&String> = pages.iter().filter(is_run).collect();
    assert_eq!(run, CHAPTERS, "SUMMARY.md and the chapters of this test");
    let mut there = Vec::new();
    files(&source(), &mut there);
    pages.push("SUMMARY.md".to_owned());
    pages.sort();
    there.sort();
    assert_eq!(pages, there);
}

#[test]
fn pages_of_the_repository_are_whole_documents_of_it() {
    for page in pages().iter().filter(|page| page.starts_with("repository/")) {
        let text = fs::read_to_string(source().join(page)).unwrap();
        let included = text.strip_prefix("{{#include ../../../").unwrap().strip_suffix("}}\n").unwrap();
        let document = fs::read_to_string(repository().join(included)).unwrap();
        let own: Vec<String> = links(&document).into_iter().map(|link| link.target).collect();
        assert!(own.is_empty(), "links of {included} lead nowhere from the book: {own:?}");
    }
}

#[test]
fn links_lead_to_pages_headings_and_files_that_exist() {
    let mut wrong = Vec::new();
    for page in pages() {
        let path = source().join(&page);
        for link in links(&fs::read_to_string(&path).unwrap()) {
            let (file, heading) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            // What is outside of the source is not there in the book that is built.
            let is_page = fs::canonicalize(&target).is_ok_and(|target| target.starts_with(source()));
            if !is_page || !(heading.is_empty() || has_anchor(&target, heading)) {
                wrong.push(format!("docs/src/{page}:{}: {}", link.line, link.target));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn few_blocks_are_not_run_and_each_for_a_known_reason() {
    let mut given = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(source().join(&page)).unwrap();
        given.extend(blocks(&text).iter().filter_map(|block| block.attribute("not-run").map(str::to_owned)));
    }
    for reason in &given {
        assert!(REASONS.iter().any(|(known, _)| known == reason), "`{reason}` is no reason");
    }
    for (reason, most) in REASONS {
        let times = given.iter().filter(|other| *other == reason).count();
        assert!(times <= most, "{times} blocks are not run since: {reason}");
    }
}
