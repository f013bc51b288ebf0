//! The packages by which people speak to providers take the tools that are exported and the results of batches, and
//! write calls that a batch takes: by their own types, transformers and requests. Clients of the protocol speak to the server.

use std::process::Command;

use toolcell_tests::command_line::{CommandLine, binary, ended};
use toolcell_tests::http_client::HttpServer;
use toolcell_tests::{guest, python, repository};

/// Runs one of the scripts of `tests/clients` with the packages that the tests' set-up installed.
fn check(script: &str) {
    check_with("requirements.txt", script);
}

/// The same, with the packages of that file.
fn check_with(packages: &str, script: &str) {
    let folder = repository().join("tests/clients");
    let installed = ended(Command::new(folder.join("python.sh")).args(["--installed", packages]));
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

#[test]
fn of_the_model_context_protocol_that_run_code() {
    check("check_run_js.py");
}

#[test]
fn of_the_model_context_protocol_that_run_python() {
    // Says what to run where it is missing.
    python();
    check("check_run_python.py");
}

#[test]
fn of_the_model_context_protocol_over_http() {
    check("check_mcp_http.py");
}

#[test]
fn of_the_model_context_protocol_running_scripts() {
    check("check_mcp_shell.py");
}

#[test]
fn of_the_model_context_protocol_from_before() {
    check_with("earlier/requirements.txt", "check_mcp_earlier.py");
}

#[test]
fn of_langchain_and_openais_agents() {
    check_with("frameworks/requirements.txt", "check_frameworks.py");
}

#[test]
fn of_the_inspector_which_finds_no_fault_in_the_schemas() {
    let line = CommandLine::new();
    let installed = ended(Command::new(repository().join("tests/clients/node.sh")).arg("--installed"));
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    let folder = std::path::PathBuf::from(installed.stdout.trim());
    let probe = guest("probe");
    let inspect = |target: &[&str], more: &[&str]| {
        let mut node = line.program(folder.join("bin/node"));
        node.arg(folder.join("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"));
        // What comes after the server's own flags is the inspector's.
        ended(node.arg("--cli").args(target).args(more))
    };
    let probe = probe.to_string_lossy();
    let binary = binary();
    let piped = [&binary.to_string_lossy(), "mcp", "--component", &probe, "--component", "builtin:files"];
    let server = HttpServer::start(&mut line.command(&["mcp", "--http", "0", "--component", &probe]));
    let url = format!("http://{}/mcp", server.address);
    for target in [&piped[..], &[&url], &[&url, "--protocol-era", "modern"]] {
        // 6 is its code for a schema that some client cannot take.
        let listed = inspect(target, &["--method", "tools/list", "--strict"]);
        assert!(listed.code == 0 && listed.stderr.contains("0 errors"), "{} {}", listed.code, listed.stderr);
        assert!(listed.json()["tools"].as_array().is_some_and(|tools| tools.len() > 20), "{target:?}");
        let arguments = ["--method", "tools/call", "--tool-name", "echo_u32", "--tool-arg", "value=7"];
        let called = inspect(target, &arguments);
        assert_eq!(called.json()["structuredContent"]["result"], 7, "{target:?} {}", called.stderr);
    }
}
