//! What README.md shows is what happens.
//!
//! A block ```` ```console ```` is run in the repository, ```` ```console scratch ```` in an empty folder. After each
//! `$ command` stands what it prints, standard error before standard output; `…` is any text, and alone any lines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toolcell_tests::repository;
use toolcell_tests::shown::{self, prints};

fn readme() -> String {
    fs::read_to_string(repository().join("README.md")).unwrap()
}

/// The blocks whose fence says `kind`.
fn blocks(kind: &str) -> Vec<String> {
    shown::blocks(&readme()).into_iter().filter(|block| block.info == kind).map(|block| block.text).collect()
}

/// Commands with what each is said to print.
fn commands(block: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command.to_owned(), Vec::new())),
            (None, Some((_, output))) => output.push(line.to_owned()),
            (None, None) => panic!("a block begins with a command, not with `{line}`"),
        }
    }
    found
}

/// The folder of programs that this run was built with: beside the test binaries.
fn programs() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let folder = exe.ancestors().nth(2).unwrap().to_owned();
    assert!(
        folder.join("toolcell").is_file(),
        "build the program first: cargo build --workspace --all-targets"
    );
    folder
}

fn run(command: &str, folder: &Path, home: &Path) -> String {
    let path = format!("{}:{}", programs().display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", path)
        .env("TOOLCELL_HOME", home)
        // What a project needs was downloaded for the guests.
        .env("CARGO_NET_OFFLINE", "true")
        // The crates of a new project are built once for all runs.
        .env("CARGO_TARGET_DIR", programs().join("new-tool"))
        .output()
        .unwrap();
    String::from_utf8([output.stderr, output.stdout].concat()).unwrap()
}

fn check(block: &str, start: &Path) {
    let home = tempfile::tempdir().unwrap();
    let mut folder = start.to_owned();
    let mut wrong = Vec::new();
    for (command, expected) in commands(block) {
        if let Some(inner) = command.strip_prefix("cd ") {
            folder = folder.join(inner);
            continue;
        }
        let printed = run(&command, &folder, home.path());
        if !prints(&expected, &printed.lines().collect::<Vec<_>>()) {
            wrong.push(format!("$ {command}\n{printed}"));
        }
    }
    assert!(wrong.is_empty(), "README.md says otherwise:\n{}", wrong.join("\n"));
}

#[test]
fn commands_on_this_folder_print_what_is_shown() {
    let blocks = blocks("console");
    assert!(blocks.len() >= 2);
    blocks.iter().for_each(|block| check(block, &repository()));
}

#[test]
fn a_new_tool_works_by_the_commands_that_are_shown_and_that_new_prints() {
    let blocks = blocks("console scratch");
    assert_eq!(blocks.len(), 1);
    let shown: Vec<String> = commands(&blocks[0]).into_iter().map(|(command, _)| command).collect();
    let (scratch, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    check(&blocks[0], scratch.path());

    let other = tempfile::tempdir().unwrap();
    let printed = run(&shown[0], other.path(), home.path());
    let (_, next) = printed.split_once("next:\n").unwrap();
    assert_eq!(next.lines().map(str::trim).collect::<Vec<_>>(), shown[1..]);

    let project = scratch.path().join("hello");
    let failed = run("toolcell call top_words '{\"text\": \"...\"}'", &project, home.path());
    assert!(failed.contains("the text has no words"), "{failed}");
    fs::write(project.join("src/lib.rs"), "fn broken( {}").unwrap();
    let broken = run("toolcell build || echo exit $?", &project, home.path());
    assert!(broken.contains("hello does not build") && broken.contains("exit 1"), "{broken}");
}

#[test]
fn the_embedding_example_is_the_one_that_is_built_and_it_runs() {
    let example = fs::read_to_string(repository().join("runtime/examples/embed.rs")).unwrap();
    let (_, shown) = example.split_once("\n\n").unwrap();
    assert_eq!(blocks("rust"), [shown.trim_end()]);
    let program = programs().join("examples/embed");
    let output = Command::new(program).current_dir(repository()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && printed.contains("pub mod call;"), "{printed}");
}

#[test]
fn it_is_short_and_its_links_and_targets_exist() {
    let text = readme();
    assert!(text.lines().count() <= 150, "{} lines", text.lines().count());
    for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        assert!(repository().join(link).exists(), "{link}");
    }
    let makefile = fs::read_to_string(repository().join("Makefile")).unwrap();
    for line in blocks("sh").join("\n").lines() {
        let target = line.strip_prefix("make ").unwrap().split_whitespace().next().unwrap();
        assert!(makefile.contains(&format!("\n{target}: ")), "{line}");
    }
}

#[test]
fn the_check_tells_what_differs() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (expected, printed, verdict) in [
        ("a\n…", "a\nb\nc", true),
        ("…\nc", "a\nb\nc", true),
        ("a … c", "a b c", true),
        ("a", "a\nb", false),
        ("a\nb", "a", false),
        ("a … d", "a b c", false),
        ("a … c … e", "a b c d e", true),
        ("a … e … c", "a b c d e", false),
    ] {
        assert_eq!(prints(&lines(expected), &printed.lines().collect::<Vec<_>>()), verdict, "{expected}");
    }
}
