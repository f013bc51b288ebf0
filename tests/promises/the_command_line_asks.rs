//! The command line asks on its terminal, and each answer reaches as far as it says.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};

use toolcell_tests::command_line::CommandLine;

const CONFIG: &str = "[component.basics]\npath = \"builtin:basics\"\n\
                      [[rule]]\ntools = [\"echo\"]\naction = \"ask\"\nreason = \"who is there\"\n";

/// Both ends of a new terminal: the user's, and the program's.
fn terminal() -> (File, File) {
    use rustix::ioctl::{Getter, Opcode, Setter, ioctl};
    // From <asm-generic/ioctls.h>: the number of the terminal, and the lock that a new one has.
    const NUMBER: Opcode = 0x8004_5430;
    const LOCK: Opcode = 0x4004_5431;
    let user = OpenOptions::new().read(true).write(true).open("/dev/ptmx").unwrap();
    // SAFETY: these requests take and give one C integer.
    let number = unsafe {
        ioctl(&user, Setter::<LOCK, std::ffi::c_int>::new(0)).unwrap();
        ioctl(&user, Getter::<NUMBER, std::ffi::c_uint>::new()).unwrap()
    };
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let program = rustix::fs::open(format!("/dev/pts/{number}"), flags, rustix::fs::Mode::empty()).unwrap();
    (user, program.into())
}

/// A call of `echo` with a terminal of its own.
fn on_terminal(line: &CommandLine, text: &str) -> (File, Child) {
    let (user, program) = terminal();
    let arguments = format!("{{\"text\":\"{text}\"}}");
    let mut command =
        line.command(&["call", "echo", &arguments, "--session", "s", "--config", "toolcell.toml"]);
    command.stdout(Stdio::piped()).stderr(program.try_clone().unwrap()).stdin(Stdio::null());
    // SAFETY: between fork and exec only system calls are made.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(&program)?;
            Ok(())
        });
    }
    (user, command.spawn().unwrap())
}

/// What is shown until the program waits for an answer or is done.
fn shown(mut user: &File) -> String {
    let mut shown = String::new();
    let mut bytes = [0; 4096];
    while !shown.ends_with("> ") {
        match user.read(&mut bytes) {
            Ok(count) if count > 0 => shown.push_str(&String::from_utf8_lossy(&bytes[..count])),
            _ => break,
        }
    }
    shown
}

/// Whether the call asked, and whether it ran.
fn answered(line: &CommandLine, text: &str, answer: &str) -> (bool, bool) {
    let (mut user, mut child) = on_terminal(line, text);
    let mut stdout = child.stdout.take().unwrap();
    let question = shown(&user);
    let has_asked = question.contains("May echo run?");
    if has_asked {
        assert!(question.contains("who is there (`rule[0]` (toolcell.toml:3))"), "{question}");
        assert!(question.contains(&format!("\"text\": \"{text}\"")), "{question}");
        user.write_all(answer.as_bytes()).unwrap();
    }
    let mut printed = String::new();
    stdout.read_to_string(&mut printed).unwrap();
    let code = child.wait().unwrap().code();
    assert_eq!(code == Some(0), printed.trim_end() == text, "{code:?} {printed:?}");
    assert!(code == Some(0) || code == Some(4), "{code:?}");
    (has_asked, code == Some(0))
}

#[test]
fn each_answer_on_a_terminal_behaves_as_it_is_named() {
    // Each with a fresh user: the answer; whether it runs; whether the same call asks again; whether another text does.
    for (answer, runs, again, other) in [
        ("y\n", true, true, true),
        ("s\n", true, false, true),
        ("a\n", true, false, true),
        ("r\n", true, false, false),
        ("n\n", false, true, true),
        ("\n", false, true, true),
        ("maybe\n", false, true, true),
    ] {
        let line = CommandLine::new();
        line.write("toolcell.toml", CONFIG);
        assert_eq!(answered(&line, "one", answer), (true, runs), "{answer:?}");
        assert_eq!(answered(&line, "one", "n\n").0, again, "{answer:?}, the same again");
        assert_eq!(answered(&line, "two", "n\n").0, other, "{answer:?}, another text");
    }
}

#[test]
fn without_a_terminal_the_id_in_the_error_is_what_an_operator_allows() {
    let line = CommandLine::new();
    line.write("toolcell.toml", CONFIG);
    let call = ["call", "echo", r#"{"text":"x"}"#, "--config", "toolcell.toml", "--json"];
    let asked = line.run(&call);
    assert_eq!(asked.code, 4, "{asked:?}");
    let error = &asked.json()["error"];
    assert_eq!(error["kind"], "approval_needed");
    let id = error["details"]["approval"].as_str().unwrap();
    assert_eq!(line.run(&["approvals", "allow", id]).code, 0);
    assert_eq!(line.run(&call).code, 0);
    assert_eq!(line.run(&call).code, 4, "it was allowed once");
    assert_eq!(line.run(&[&call[..], &["--yes"]].concat()).code, 0);
}

#[test]
fn explain_shows_the_rule_that_decides_and_where_it_is() {
    let line = CommandLine::new();
    line.write("toolcell.toml", CONFIG);
    let explained = line.run(&["explain", "echo", r#"{"text":"x"}"#, "--config", "toolcell.toml"]);
    assert_eq!(explained.code, 0, "{explained:?}");
    assert!(
        explained.stdout.contains("ask, by `rule[0]` (toolcell.toml:3): who is there"),
        "{}",
        explained.stdout
    );
    let json =
        line.run(&["explain", "add", r#"{"a":1,"b":2}"#, "--config", "toolcell.toml", "--json"]).json();
    assert_eq!(json["decision"]["action"], "allow");
    assert_eq!(json["decision"]["rule"], serde_json::Value::Null);
}
