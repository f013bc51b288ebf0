//! The conformance suite of the Model Context Protocol, against a component that exports the tools that it calls: what fails is
//! known, with its reason, in `tests/clients/node/expected.yml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use serde_json::json;
use toolcell_tests::command_line::{CommandLine, ended};
use toolcell_tests::http_client::HttpServer;
use toolcell_tests::scripted::Scripted;
use toolcell_tests::{guest, repository};

/// The line from which on `expected.yml` names what is not served at all.
const NOT_SERVED: &str = "# Not served, and not announced";

/// The suite's own lists of what a revision requires.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

#[test]
fn and_nothing_else() {
    let expected = repository().join("tests/clients/node/expected.yml");
    let text = std::fs::read_to_string(&expected).unwrap();
    let (failing, absent) = text.split_once(NOT_SERVED).unwrap();
    let (failing, absent) = (entries(failing), entries(absent));
    assert!(failing.len() <= 5 && !failing.iter().any(|entry| entry.starts_with("tools")), "{failing:?}");
    let line = CommandLine::new();
    let suite = guest("conformance");
    // What no type of a component can ask for: an argument that is repeated in a header.
    let far = Scripted::new(&[json!({
        "name": "test_mirrored", "description": "Repeats an argument in a header.",
        "inputSchema": { "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } }, "required": ["region"] },
    })]);
    line.write(
        "toolcell.toml",
        far.table("far", "") + &format!(
            "[component.suite]\npath = \"{}\"\n[[rule]]\ntools = [\"test_*elicitation\", \"test_input_*\"]\n\
             action = \"ask\"\nreason = \"somebody has to know\"\n",
            suite.display()
        ),
    );
    let server = HttpServer::start(&mut line.command(&["mcp", "--http", "0", "--config", "toolcell.toml"]));
    let installed = ended(Command::new(repository().join("tests/clients/node.sh")).arg("--installed"));
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    let folder = std::path::PathBuf::from(installed.stdout.trim());
    let mut report = String::new();
    for revision in REVISIONS {
        let mut node = line.program(folder.join("bin/node"));
        node.arg(folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
            .args(["server", "--url", &format!("http://{}/mcp", server.address)])
            .args(["--requirements", revision, "--expected-failures"])
            .arg(&expected);
        let run = ended(&mut node);
        assert_eq!(run.code, 0, "{}\n{}", run.stdout, run.stderr);
        write_report(&mut report, revision, &results(&run.stdout), &failing, &absent);
    }
    insta::assert_snapshot!("report", report);
}

/// The entries of a part of `expected.yml`.
fn entries(part: &str) -> Vec<&str> {
    part.lines().filter_map(|line| line.trim().strip_prefix("- ")).collect()
}

/// Checks that passed and failed, by scenario, from the summary at the end.
fn results(output: &str) -> BTreeMap<String, (u32, u32)> {
    let (_, summary) = output.split_once("=== SUMMARY ===").unwrap();
    let result = |line: &str| {
        let (name, counts) = line.trim_start_matches(['✓', '✗', ' ']).split_once(": ")?;
        let (passed, failed) = counts.split_once(" passed, ")?;
        let failed = failed.strip_suffix(" failed")?;
        Some((name.to_owned(), (passed.parse().ok()?, failed.parse().ok()?)))
    };
    let mut results: BTreeMap<_, _> = summary.lines().filter_map(result).collect();
    results.remove("Total");
    results
}

fn write_report(
    report: &mut String,
    revision: &str,
    results: &BTreeMap<String, (u32, u32)>,
    failing: &[&str],
    absent: &[&str],
) {
    let is_absent = |name: &String| absent.contains(&name.as_str());
    let served = || results.iter().filter(|(name, _)| !is_absent(name));
    let passed: u32 = served().map(|(_, (passed, _))| passed).sum();
    let failed: u32 = served().map(|(_, (_, failed))| failed).sum();
    writeln!(
        report,
        "# {revision}: of what is served, {passed} checks pass and {failed} are expected to fail"
    )
    .unwrap();
    for (name, (passed, failed)) in served() {
        write!(report, "{name}: {passed} pass").unwrap();
        let known: Vec<_> =
            failing.iter().filter_map(|entry| entry.strip_prefix(&format!("{name}:"))).collect();
        assert_eq!(*failed > 0, !known.is_empty(), "{name}");
        if *failed > 0 {
            write!(report, ", {failed} fail; known are {}", known.join(", ")).unwrap();
        }
        writeln!(report).unwrap();
    }
    let absent: Vec<_> = results.keys().filter(|name| is_absent(name)).map(String::as_str).collect();
    writeln!(report, "not served, {} scenarios: {}\n", absent.len(), absent.join(", ")).unwrap();
}
