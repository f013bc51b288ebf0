//! Whatever a script does, its call ends within its bounds, says why, and touches nothing that was not granted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use toolcell::{Access, ErrorKind, Grant, Limits, Outcome, Runtime, ToolComponent};
use toolcell_tests::{builder, built, call};

use crate::a_shell_answers_like_bash::shell;

async fn bash(runtime: &Runtime, command: &str) -> Outcome {
    call(runtime, "bash", json!({ "command": command })).await
}

async fn within(runtime: &Runtime, command: &str, seconds: u32) -> Outcome {
    call(runtime, "bash", json!({ "command": command, "timeout": seconds })).await
}

fn read_only(folder: &Path) -> Runtime {
    let grant = Grant::none().dir(folder, "/work", Access::Read);
    built(builder().component(ToolComponent::builtin("shell").grant(grant)))
}

#[tokio::test]
async fn an_exit_code_is_a_failure_with_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = shell(folder.path());
    let outcome = bash(&runtime, "echo out; echo err >&2; echo more; exit 3").await;
    assert_eq!(outcome.error.as_ref().unwrap().kind, ErrorKind::ToolError);
    assert_eq!(outcome.text(), "Command exit code: 3\nout\nerr\nmore\n");
    let outcome = bash(&runtime, "echo fine").await;
    assert_eq!(outcome.text(), "fine\n");
    let structured = outcome.structured.unwrap();
    assert_eq!(structured["exit_code"], 0);
    assert!(structured["duration_ms"].is_u64());
}

#[tokio::test]
async fn what_is_wrong_with_a_script_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = shell(folder.path());
    for (script, wanted) in [
        ("echo a\nif true; then\necho b\nfi fi\n", "line 4: syntax error near unexpected token `fi'"),
        ("echo a\n(echo b\n", "syntax error: unexpected end of file"),
        ("echo one\necho \"two\n", "line 2: unexpected EOF while looking for matching `\"'"),
        ("for x in a; do echo $x; don", "unexpected end of file"),
        ("echo a ;; echo b", "near unexpected token `;;'"),
    ] {
        let text = bash(&runtime, script).await.text();
        assert!(text.starts_with("Command exit code: 2\n") && text.contains(wanted), "{script}: {text}");
    }
    let text = bash(&runtime, "echo start\npython3 x.py").await.text();
    assert!(
        text.starts_with("Command exit code: 127\nstart\nbash: line 2: python3: command not found\n"),
        "{text}"
    );
    for known in ["awk", "grep", "jq", "xargs"] {
        assert!(text.split_whitespace().any(|word| word == known), "{text}");
    }
}

#[tokio::test]
async fn endless_pipes_end_with_their_reader() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = shell(folder.path());
    for (script, wanted) in [
        ("yes | head -2", "y\ny\n"),
        ("cat /dev/zero | head -c 10 | wc -c", "10\n"),
        ("while true; do echo again; done | head -1", "again\n"),
        ("yes | grep y | sed s/y/z/ | head -1", "z\n"),
        ("cat < <(yes) | head -1", "y\n"),
        ("jq -n 'repeat(1)' | head -1", "1\n"),
        ("seq 100000000 | head -1; echo \"${PIPESTATUS[0]}\"", "1\n141\n"),
    ] {
        assert_eq!(within(&runtime, script, 30).await.text(), wanted, "{script}");
    }
}

#[tokio::test]
async fn bombs_recursion_and_loops_end() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = shell(folder.path());
    let deep = "more than 300 lists of commands";
    for (script, wanted) in [
        (":(){ :|:& };:", "more than 128 processes"),
        ("f() { f | f; }; f", "more than 128 processes"),
        ("f() { f; }; f", deep),
        ("f() { (f); }; f", deep),
        ("f() { x=$(f); }; f", deep),
        ("f() { eval f; }; f", deep),
        ("f() { for i in 1; do case x in x) { if true; then f; fi; } ;; esac; done; }; f", deep),
        ("echo 'bash s' > s; bash s", "more than 128 processes"),
        ("echo 'find s -exec sh s {} +' > s; sh s", "more than 128 processes"),
        ("awk 'function f(n) { return f(n + 1) } BEGIN { f(1) }'", "too many calls of functions"),
        ("eval \"$(printf '( %.0s' $(seq 500))\"", "nested too deeply"),
        ("echo $(yes)", "bytes in one place in memory"),
        ("cat /dev/zero | sort", "bytes in one place in memory"),
        ("echo {1..100000000}", "brace expansion: more than"),
        ("sleep 1000", "ended after 1 s, which is its timeout"),
        ("while :; do :; done", "ended after 1 s"),
        ("awk 'BEGIN { while (1); }'", "ended after 1 s"),
        ("echo a | sed ':a;ba'", "ended after 1 s"),
        ("yes > /dev/null", "ended after 1 s"),
        ("until false; do true; done & wait", "ended after 1 s"),
    ] {
        let text = within(&runtime, script, 1).await.text();
        assert!(text.contains(wanted), "{script}: {text:.300}");
    }
    let outcome = within(&runtime, "x=a; while true; do x=$x$x; done", 30).await;
    assert_eq!(outcome.error.unwrap().kind, ErrorKind::MemoryLimit);
    let outcome = bash(
        &runtime,
        "fact() { if [ $1 -le 1 ]; then echo 1; else echo $(( $1 * $(fact $(($1-1))) )); fi; }; fact 20",
    )
    .await;
    assert_eq!(outcome.text(), "2432902008176640000\n");
}

#[tokio::test]
async fn a_flood_of_output_is_cut_and_kept_at_both_ends() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = shell(folder.path());
    let outcome = within(&runtime, "seq 12000000; echo the end", 60).await;
    assert!(outcome.is_success(), "{outcome:?}");
    let text = outcome.text();
    assert!(
        text.len() <= 40 << 10 && text.starts_with("1\n2\n") && text.ends_with("the end\n"),
        "{text:.200}"
    );
    let handle = outcome.truncated.unwrap().handle.unwrap();
    let mut kept = Vec::new();
    let handle = handle.parse().unwrap();
    runtime.outputs().open("", &handle).unwrap().bytes(0..u64::MAX, &mut kept).unwrap();
    assert!(String::from_utf8_lossy(&kept).contains("bytes of output left out here]"));
}

#[tokio::test]
async fn a_script_reaches_what_is_granted_alone() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "hidden").unwrap();
    symlink(outside.path().join("secret"), folder.path().join("link")).unwrap();
    fs::write(folder.path().join("own"), "mine").unwrap();
    let runtime = shell(folder.path());
    let secret = outside.path().join("secret").display().to_string();
    for script in [
        "cat link".to_owned(),
        format!("cat {secret}"),
        format!("cat ../..{secret}"),
        format!("source {secret}"),
        format!("while read x; do echo $x; done < {secret}"),
        format!("grep -r . {}", outside.path().display()),
        format!("awk '{{print}}' {secret}"),
        format!("cp {secret} copy; cat copy"),
        format!("ln -s {secret} other; cat other"),
        format!("echo 'cat {secret}' | bash"),
        format!("tar cf - {secret} | tar xOf -"),
        format!("rm -rf {0} {0}/* /* /; echo x > {secret}; mv own {secret}", outside.path().display()),
        "cat /etc/passwd /proc/self/environ; env; ls /etc".to_owned(),
    ] {
        let text = bash(&runtime, &script).await.text();
        assert!(!text.contains("hidden") && !text.contains("root:"), "{script}: {text}");
    }
    assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "hidden");
    assert!(folder.path().is_dir(), "the granted folder itself stays");
}

#[tokio::test]
async fn a_script_changes_nothing_that_it_may_only_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("own"), "mine").unwrap();
    let runtime = read_only(folder.path());
    for script in [
        "echo x > own",
        "rm own",
        "mv own other",
        "sed -i s/m/n/ own",
        "touch new",
        "mkdir new",
        "cp own new",
        "truncate() { > own; }; truncate",
    ] {
        let outcome = bash(&runtime, script).await;
        assert!(!outcome.is_success(), "{script}");
        assert!(!outcome.denials.is_empty(), "{script}: {outcome:?}");
    }
    assert_eq!(bash(&runtime, "cat own").await.text(), "mine");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn an_archive_leads_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    fs::write(folder.path().join("kept"), "kept").unwrap();
    let runtime = shell(folder.path());
    fs::write(folder.path().join("in/b.tar"), member("../kept", b"evil")).unwrap();
    let text = bash(&runtime, "cd in; tar xf b.tar").await.text();
    assert!(text.contains("Member name contains '..'"), "{text}");
    assert_eq!(fs::read_to_string(folder.path().join("kept")).unwrap(), "kept");
}

/// An archive of one file.
fn member(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0_u8; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644");
    put(124, format!("{:011o}", content.len()).as_bytes());
    put(136, b"00000000000");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.extend_from_slice(content);
    header.resize(512 * 4, 0);
    header
}

#[test]
fn its_timeout_is_what_its_schema_says_unless_the_operator_says_otherwise() {
    let component = || ToolComponent::builtin("shell");
    let timeout = |runtime: &Runtime| runtime.get("bash").unwrap().limits().timeout();
    let runtime = built(builder().component(component()));
    assert_eq!(timeout(&runtime), Duration::from_secs(120));
    // Dense code burns up to 16G a second: the deadline speaks first.
    assert!(runtime.get("bash").unwrap().limits().fuel().unwrap() > 120 * 16_000_000_000);
    let lower = Limits::new().timeout(Duration::from_secs(5));
    assert_eq!(
        timeout(&built(builder().limits(lower.clone()).component(component()))),
        Duration::from_secs(5)
    );
    assert_eq!(timeout(&built(builder().component(component().limits(lower)))), Duration::from_secs(5));
    let schema = built(builder().component(component())).get("bash").unwrap().input_schema().to_string();
    assert!(schema.contains("\"default\":120"), "{schema}");
}

#[tokio::test]
async fn the_operators_timeout_counts_and_what_was_written_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let grant = Grant::none().dir(folder.path(), "/work", Access::Read);
    let limits = Limits::new().timeout(Duration::from_secs(2));
    let runtime = built(builder().component(ToolComponent::builtin("shell").grant(grant).limits(limits)));
    let text = within(&runtime, "echo started; sleep 100", 50).await.text();
    assert!(text.starts_with("Command exit code: 124\nstarted\nbash: ended after 1."), "{text}");
    // What does not look at its time in between is ended by the host.
    let outcome = within(&runtime, "jq -n 'reduce range(1e12) as $i (0; . + 1)'", 50).await;
    assert_eq!(outcome.error.unwrap().kind, ErrorKind::Timeout);
}

#[tokio::test]
async fn a_job_is_ended_by_others_and_by_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = shell(folder.path());
    for (script, wanted) in [
        ("while true; do :; done & sleep 0.05; kill $!; wait $!; echo $?", "143\n"),
        ("yes > /dev/null & p=$!; kill -9 $p; kill -0 $p 2>/dev/null || echo gone", "gone\n"),
        ("timeout 0.1 sleep 50; echo $?; timeout 5 echo fine", "124\nfine\n"),
        ("timeout 0.1 sh -c 'while :; do :; done'; echo $?", "124\n"),
        ("sleep 100 & echo done", "done\n"),
    ] {
        assert_eq!(within(&runtime, script, 20).await.text(), wanted, "{script}");
    }
}
