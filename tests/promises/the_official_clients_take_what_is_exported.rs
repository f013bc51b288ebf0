//! The packages by which people speak to providers take the tools that are exported and the results of batches, and
//! write calls that a batch takes: by their own types, transformers and requests.

use std::process::Command;

use toolcell_tests::command_line::{CommandLine, binary, ended};
use toolcell_tests::{guest, repository};

/// Runs one of the scripts of `tests/clients` with the packages that the tests' set-up installed.
fn check(script: &str) {
    let folder = repository().join("tests/clients");
    let installed = ended(Command::new(folder.join("python.sh")).arg("--installed"));
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    let line = CommandLine::new();
    let mut python = line.program(installed.stdout.trim());
    // No compiled copies beside the sources.
    python.arg("-B").arg(folder.join(script)).arg(binary()).arg(guest("probe"));
    let checked = ended(&mut python);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    assert!(checked.stdout.ends_with(" passed, 0 failed\n"), "{}", checked.stdout);
}

#[test]
fn of_openai() {
    check("check_openai.py");
}

#[test]
fn of_anthropic() {
    check("check_anthropic.py");
}

#[test]
fn of_gemini() {
    check("check_gemini.py");
}

#[test]
fn of_the_model_context_protocol() {
    check("check_mcp.py");
}

#[test]
fn of_the_model_context_protocol_over_pipes() {
    check("check_mcp_server.py");
}
