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

mod chapter;

use std::fs;
use std::path::{Path, PathBuf};

use toolcell_tests::repository;
use toolcell_tests::shown::blocks;

use chapter::Chapter;

/// Why a block is not run, and in how many blocks of the whole book that may be said.
const REASONS: [(&str, usize); 3] = [
    // Gets programs from elsewhere, or compiles for minutes.
    ("installs", 4),
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
                Chapter::open($path).check();
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
    operating_code: "operating/code.md",
    operating_rules: "operating/rules.md",
    operating_secrets: "operating/secrets.md",
    operating_limits: "operating/limits.md",
    operating_hooks: "operating/hooks.md",
    operating_audit: "operating/audit.md",
    operating_server: "operating/server.md",
    operating_other_servers: "operating/other-servers.md",
    operating_registries: "operating/registries.md",
    embedding: "embedding.md",
    comparison: "comparison.md",
}

fn source() -> PathBuf {
    fs::canonicalize(repository().join("docs/src")).unwrap()
}

/// The pages of the book, relative to its source, in the order of SUMMARY.md.
fn pages() -> Vec<String> {
    let summary = fs::read_to_string(source().join("SUMMARY.md")).unwrap();
    links(&summary).into_iter().map(|link| link.target).collect()
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
fn what_a_chapter_says_wrongly_is_told() {
    for (text, wrong) in [
        ("```sh\necho a\nexit 3\n```", Some("ended with 3, not 0")),
        ("```sh exit=3\nexit 3\n```", None),
        ("```sh\necho a\n```\n\n```text\nb\n```", Some("what is printed is\na")),
        ("```sh\necho a >&2; echo b\n```\n\n```text\na\nb\n```", None),
        ("```sh\nmkdir d; cd d\n```\n\n```sh\nbasename $PWD\n```\n\n```text\nd\n```", None),
        ("```text\na\n```", Some("follows no command")),
        ("```toml\na = 1\n```", Some("is not checked")),
        ("```rust from=runtime/src/lib.rs\npub mod nothing;\n```", Some("is no part of")),
        ("```sh\nsleep 600 &\n```", None),
    ] {
        let told = Chapter::new("example.md", text).run().join("\n");
        match wrong {
            Some(wrong) => assert!(told.contains(wrong), "{text}: {told}"),
            None => assert_eq!(told, "", "{text}"),
        }
    }
}

#[test]
fn a_file_is_named_before_it_is_shown() {
    for page in pages() {
        let text = fs::read_to_string(source().join(&page)).unwrap();
        for block in blocks(&text).iter().filter(|block| block.attribute("file").is_some()) {
            let file = block.attribute("file").unwrap().rsplit('/').next().unwrap();
            let before: Vec<&str> = text.lines().take(block.line - 1).collect();
            let paragraph =
                before.iter().rev().skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
            let is_named = paragraph.into_iter().any(|line| line.contains(&format!("{file}`")));
            assert!(is_named, "docs/src/{page}:{}: say before the block that it is `{file}`", block.line);
        }
    }
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
