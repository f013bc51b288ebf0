//! What `toolcell new` makes builds, is tested and is called by the commands of its own README, in every language.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use toolcell_tests::command_line::{CommandLine, binary, ended};
use toolcell_tests::repository;

/// The commands of the README, one after the other, each shown before it runs.
fn commands(project: &Path) -> String {
    let readme = fs::read_to_string(project.join("README.md")).unwrap();
    let block = readme.split("```").find_map(|block| block.strip_prefix("sh\n")).unwrap();
    format!("set -exo pipefail\n{block}")
}

/// Where rustup's Rust has the linkers of components.
fn linkers() -> [PathBuf; 2] {
    let printed = |arguments: &[&str]| ended(Command::new("rustc").args(arguments)).stdout;
    let host = printed(&["--print", "host-tuple"]);
    let library =
        PathBuf::from(printed(&["--print", "sysroot"]).trim()).join("lib/rustlib").join(host.trim());
    [library.join("bin"), library.join("bin/gcc-ld")]
}

/// Makes a project and does what its README says, with packages that were downloaded before.
fn check(language: &str) {
    let installed = ended(Command::new(repository().join("tests/languages/install.sh")).arg("--installed"));
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    let packages = Path::new(installed.stdout.trim());
    let line = CommandLine::new();
    let started = Instant::now();
    let made = line.run(&["new", "word-tool", "--lang", language]);
    assert_eq!(made.code, 0, "{made:?}");
    let project = line.folder().join("word-tool");
    let path = [binary().parent().unwrap().to_owned(), packages.join("bin")].into_iter().chain(linkers());
    let inherited = std::env::var("PATH").unwrap();
    let path = path.chain(std::env::split_paths(&inherited));
    let mut shell = line.program("bash");
    shell.current_dir(&project).args(["-c", &commands(&project)]);
    shell
        .env("PATH", std::env::join_paths(path).unwrap())
        .env("npm_config_cache", packages.join("npm"))
        .env("npm_config_offline", "true");
    shell.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", packages.join("wheels"));
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
