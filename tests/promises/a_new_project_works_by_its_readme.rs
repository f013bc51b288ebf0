//! What `toolcell new` makes builds, is tested and is called by the commands of its own README, in every language.

use std::fs;
use std::path::Path;
use std::time::Instant;

use toolcell_tests::command_line::{CommandLine, ended};
use toolcell_tests::languages;

/// The commands of the README, one after the other, each shown before it runs.
fn commands(project: &Path) -> String {
    let readme = fs::read_to_string(project.join("README.md")).unwrap();
    let block = readme.split("```").find_map(|block| block.strip_prefix("sh\n")).unwrap();
    format!("set -exo pipefail\n{block}")
}

/// Makes a project and does what its README says, with packages that were downloaded before.
fn check(language: &str) {
    let line = CommandLine::new();
    let started = Instant::now();
    let made = line.run(&["new", "word-tool", "--lang", language]);
    assert_eq!(made.code, 0, "{made:?}");
    let project = line.folder().join("word-tool");
    let mut shell = line.program("bash");
    shell.current_dir(&project).args(["-c", &commands(&project)]).envs(languages::environment());
    let did = ended(&mut shell);
    assert_eq!(did.code, 0, "{}{}", did.stdout, did.stderr);
    assert!(did.stdout.contains("\n3 passed, 0 failed\n"), "{}{}", did.stdout, did.stderr);
    let called = r#"[{"word":"be","count":2},{"word":"to","count":2},{"word":"not","count":1},{"word":"or","count":1}]"#;
    assert!(did.stdout.contains(called), "{}{}", did.stdout, did.stderr);
    #[expect(clippy::print_stdout, reason = "the time is worth reading in a passing run as well")]
    let () = println!("{language}: from nothing to a called tool in {:.1?}", started.elapsed());
    let broken =
        line.run(&["call", "--config", "word-tool/toolcell.toml", "top_words", r#"{"text": "..."}"#]);
    assert!(broken.stderr.contains("the text has no words; give some text"), "{broken:?}");
}

#[test]
fn in_javascript() {
    check("js");
}

#[test]
fn in_python() {
    check("python");
}

#[test]
fn in_c() {
    check("c");
}
