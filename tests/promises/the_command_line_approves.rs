//! The command line: calls that wait for an approval are shown, approved and refused by their identifiers.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use toolcell::Grant;
use toolcell::policy::{Answer, Approvals, Binding, Bound, Question};
use toolcell_tests::command_line::CommandLine;

fn store(line: &CommandLine) -> Approvals {
    Approvals::folder(line.home().join("data/approvals"))
}

fn binding(path: &str) -> Binding {
    let grant = Grant::none();
    let bound = Bound {
        tool: "write_file",
        origin: "files.write-file",
        component: "files",
        digest: "sha256:00",
        grant: &grant,
    };
    Binding::new(&bound, &json!({ "path": path }))
}

/// A question that waits, as a call without anybody to ask leaves it.
fn waiting(line: &CommandLine, path: &str, session: Option<&str>) -> String {
    let question = Question::new("write_file", "files", "sha256:00", json!({ "path": path }))
        .reason("rule[0], toolcell.toml:8", "this tool may change something");
    let question = session.into_iter().fold(question, Question::session);
    store(line).pend(&question, &binding(path)).unwrap()
}

#[test]
fn what_waits_is_shown_and_approved_as_far_as_is_said() {
    let line = CommandLine::new();
    for (path, scope, session, again) in [
        ("a", None, None, false),
        ("b", Some("--once"), None, false),
        ("c", Some("--session"), Some("s"), true),
        ("d", Some("--always"), None, true),
    ] {
        let id = waiting(&line, path, session);
        let shown = line.run(&["approvals", "pending"]).stdout;
        for part in [&id, "write_file of files", "this tool may change something (rule[0], toolcell.toml:8)"]
        {
            assert!(shown.contains(part), "{shown}");
        }
        assert!(!store(&line).allows(&binding(path), session).unwrap());
        let words: Vec<&str> = ["approvals", "allow", &id].into_iter().chain(scope).collect();
        let allowed = line.run(&words);
        assert_eq!(allowed.code, 0, "{allowed:?}");
        assert!(allowed.stdout.contains("write_file of files with {\"path\":"), "{allowed:?}");
        assert!(store(&line).allows(&binding(path), session).unwrap());
        assert_eq!(store(&line).allows(&binding(path), session).unwrap(), again, "{scope:?}");
    }
    let listed = line.run(&["approvals", "list", "--json"]).json();
    let scopes: Vec<_> =
        listed.as_array().unwrap().iter().map(|approval| approval["scope"].clone()).collect();
    assert_eq!(scopes, ["session", "always"]);
    let id = listed[1]["id"].as_str().unwrap();
    assert_eq!(line.run(&["approvals", "revoke", id]).stdout, format!("{id} holds no longer\n"));
    assert!(!store(&line).allows(&binding("d"), None).unwrap());
}

#[test]
fn what_cannot_be_approved_says_why() {
    let line = CommandLine::new();
    let id = waiting(&line, "a", None);
    for (words, told) in [
        (["allow", "a-0", "--once"], "no question `a-0` waits"),
        (["allow", &id, "--session"], "named no session"),
        (["allow", &id, "--by-rule"], "no rule asked"),
        (["allow", &id, "--yes"], "unexpected argument"),
    ] {
        let refused = line.run(&[&["approvals"], words.as_slice()].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
        assert!(refused.stderr.contains(told), "{refused:?}");
    }
    let both = line.run(&["approvals", "allow", &id, "--once", "--always"]);
    assert_eq!(both.code, 2, "{both:?}");
    assert_eq!(line.run(&["approvals", "revoke", "a-0"]).code, 2);
    assert_eq!(line.run(&["approvals", "revoke", &id]).code, 0, "what waits is refused");
    assert!(line.run(&["approvals", "pending"]).stdout.is_empty());
}

#[test]
fn a_question_too_many_is_refused_and_says_what_its_operator_does() {
    let line = CommandLine::new();
    line.write(
        "toolcell.toml",
        "[component.basics]\npath = \"builtin:basics\"\n[[rule]]\ntools = [\"echo\"]\naction = \"ask\"\n",
    );
    let first = waiting(&line, "0", None);
    for number in 1..50 {
        waiting(&line, &number.to_string(), None);
    }
    let call = || line.run(&["call", "echo", r#"{"text":"x"}"#, "--config", "toolcell.toml", "--json"]);
    let refused = call();
    assert_eq!((refused.code, &refused.json()["error"]["kind"]), (4, &json!("approval_needed")));
    let help = refused.json()["error"]["help"].as_str().unwrap().to_owned();
    for told in ["50 calls without a session wait", "`toolcell approvals pending`", "`revoke --pending`"] {
        assert!(help.contains(told), "{help}");
    }
    let pending = line.run(&["approvals", "pending", "--json"]).json();
    assert_eq!((pending.as_array().unwrap().len(), &pending[0]["id"]), (50, &json!(first)), "none gave way");
    assert_eq!(line.run(&["approvals", "revoke", "--pending"]).stdout, "refused 50 calls\n");
    assert_eq!(line.run(&["approvals", "revoke"]).code, 2);
    let asked = call();
    assert!(asked.json()["error"]["details"]["approval"].is_string(), "{asked:?}");
}

#[test]
fn a_damaged_store_is_told_and_approves_nothing() {
    let line = CommandLine::new();
    let id = waiting(&line, "a", None);
    store(&line).allow(&id, &Answer::Always).unwrap();
    let folder = line.home().join("data/approvals");
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    for damage in ["{", "", "{\"version\":7}"] {
        std::fs::write(folder.join("approvals.json"), damage).unwrap();
        for verb in ["list", "pending"] {
            let listed = line.run(&["approvals", verb]);
            assert_eq!((listed.code, listed.stdout.as_str()), (0, ""), "{listed:?}");
            assert!(listed.stderr.starts_with("warning: "), "{listed:?}");
            assert!(listed.stderr.contains("nothing counts as approved"), "{listed:?}");
            let listed = line.run(&["approvals", verb, "--json"]);
            assert_eq!((listed.code, listed.json()), (0, json!([])), "{listed:?}");
            assert!(listed.stderr.contains("nothing counts as approved"), "{listed:?}");
        }
        assert!(store(&line).allows(&binding("a"), None).is_err());
        let answered = line.run(&["approvals", "allow", &id]);
        assert_eq!(answered.code, 2, "whoever answers is told: {answered:?}");
        let kept = std::fs::read_to_string(folder.join("approvals.json")).unwrap();
        assert_eq!(kept, damage, "looking throws nothing away");
    }
}
