//! Who answers the questions about calls: `--yes`, or whoever sits at the terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::oneshot;
use toolcell::policy::{Answer, Approver, Question};

use crate::toolset::ToolsetArgs;

/// How soon a question whose call has ended leaves the terminal to the next one.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Bytes of an answer; none that is meant is longer.
const MAX_ANSWER: usize = 64;

/// Bytes of arguments that are shown at each end, where they are longer than both.
const MAX_END: usize = 8 << 10;

/// Who is asked; nobody without `--yes` and without a terminal. Standard error must be one too: where it goes
/// elsewhere nobody is watching, though a terminal may be there.
pub(crate) fn approver(args: &ToolsetArgs) -> Option<Arc<dyn Approver>> {
    if args.yes {
        return Some(Arc::new(Yes));
    }
    (io::stderr().is_terminal() && open().is_ok()).then(|| Arc::new(Terminal::default()) as Arc<dyn Approver>)
}

/// `--yes`: whoever started this command said it before there was a question.
struct Yes;

#[async_trait::async_trait]
impl Approver for Yes {
    async fn ask(&self, _: &Question) -> Answer {
        Answer::Once
    }

    fn name(&self) -> &str {
        "--yes"
    }
}

/// The terminal of this process, whatever its standard input is: that may be the arguments.
#[derive(Default)]
struct Terminal {
    /// Held by the one question that is shown.
    turn: Arc<Mutex<()>>,
}

fn open() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}

#[async_trait::async_trait]
impl Approver for Terminal {
    async fn ask(&self, question: &Question) -> Answer {
        let (answered, answer) = oneshot::channel();
        let (question, turn) = (question.clone(), Arc::clone(&self.turn));
        // Waiting for a person blocks, and must keep neither the call's deadline nor other calls waiting.
        std::thread::spawn(move || {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let is_waiting = || !answered.is_closed();
            let answer = open().and_then(|terminal| prompt(&terminal, &question, &is_waiting));
            let _ = answered.send(answer.unwrap_or(Answer::Deny(None)));
        });
        answer.await.unwrap_or(Answer::Deny(None))
    }

    fn name(&self) -> &str {
        "terminal"
    }

    fn is_asked_in_order(&self) -> bool {
        true
    }
}

/// Asks on `terminal` while somebody waits for the answer. Whatever is unclear is a no.
fn prompt(mut terminal: &File, question: &Question, is_waiting: &dyn Fn() -> bool) -> io::Result<Answer> {
    if !is_waiting() {
        return Ok(Answer::Deny(None));
    }
    // What was typed before the question was there is no answer to it.
    let _ = tcflush(terminal, QueueSelector::IFlush);
    terminal.write_all(shown(question).as_bytes())?;
    let line = read_line(terminal, is_waiting)?;
    let answer = line.as_deref().and_then(|line| meant(line, question));
    let told = match (&line, &answer) {
        (None, _) => "\nno answer, so no\n",
        (Some(_), None) => "not understood, so no\n",
        (Some(_), Some(Answer::Deny(_))) => "no\n",
        _ => "",
    };
    terminal.write_all(told.as_bytes())?;
    Ok(answer.unwrap_or(Answer::Deny(None)))
}

/// One line; none at the end of input, when nobody waits any longer, or when it is longer than any answer.
fn read_line(mut terminal: &File, is_waiting: &dyn Fn() -> bool) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    while is_waiting() {
        let mut ready = [PollFd::from_borrowed_fd(terminal.as_fd(), PollFlags::IN)];
        match poll(&mut ready, Some(&LOOK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; MAX_ANSWER];
        let count = terminal.read(&mut bytes)?;
        line.extend_from_slice(bytes.get(..count).unwrap_or_default());
        if line.last() == Some(&b'\n') {
            return Ok(String::from_utf8(line).ok());
        }
        if count == 0 || line.len() >= MAX_ANSWER {
            return Ok(None);
        }
    }
    Ok(None)
}

/// The answer that a line is, of those that the question offers.
fn meant(line: &str, question: &Question) -> Option<Answer> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "once" => Some(Answer::Once),
        "s" | "session" => Some(Answer::Session),
        "a" | "always" => Some(Answer::Always),
        "r" | "rule" => question.by_rule.is_some().then_some(Answer::AlwaysByRule),
        // Enter alone is what somebody types who has not read the question.
        "n" | "no" | "" => Some(Answer::Deny(None)),
        _ => None,
    }
}

fn shown(question: &Question) -> String {
    let Question { tool, component, digest, .. } = question;
    let mut shown = question.shown_call().map(|call| format!("\n{call}")).unwrap_or_default();
    shown.push_str(&format!("\nMay {tool} run? It is of component {component}, {digest}\n"));
    for reason in &question.reasons {
        shown.push_str(&format!("  since {} ({})\n", reason.text, reason.source));
    }
    shown.push_str(&format!("  with {}\n", indented(&both_ends(&question.shown(true)))));
    let session = match question.session {
        Some(_) => "exactly this, in this session",
        None => "exactly this, until this command ends",
    };
    shown.push_str(&format!("    y  once\n    s  {session}\n    a  always exactly this\n"));
    if let Some(words) = &question.by_rule {
        shown.push_str(&format!("    r  always by this rule: {words}\n"));
    }
    shown.push_str("    n  no, as is Enter alone\n[n] > ");
    shown
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}

/// The text, or its two ends with a word about what is between them.
fn both_ends(text: &str) -> String {
    if text.len() <= 2 * MAX_END {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(MAX_END), text.ceil_char_boundary(text.len() - MAX_END));
    let (head, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    let missing = text.len() - head.len() - end.len();
    format!("{head}\n… {missing} bytes in the middle are NOT SHOWN …\n{end}")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;

    use serde_json::json;

    use super::*;

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
        let path = format!("/dev/pts/{number}");
        let program = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap();
        (user, program.into())
    }

    fn question() -> Question {
        Question::new(
            "write_file",
            "files",
            "sha256:0011",
            json!({ "path": "/work/a", "content": "x\u{1b}[2Jy\nn" }),
        )
        .reason("rule[0], toolcell.toml:12", "this tool may change something")
        .reason("hook check", "odd\nhour")
    }

    /// Reads what is shown until the program waits for an answer.
    fn read_prompt(mut user: &File) -> String {
        let mut shown = String::new();
        while !shown.ends_with("> ") {
            let mut bytes = [0; 4096];
            let count = user.read(&mut bytes).unwrap();
            shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        shown.replace("\r\n", "\n")
    }

    /// What is shown, and the answer once `typed` was.
    fn asked(question: &Question, typed: &[u8]) -> (String, Answer) {
        let (mut user, program) = terminal();
        std::thread::scope(|scope| {
            let answer = scope.spawn(|| prompt(&program, question, &|| true).unwrap());
            let shown = read_prompt(&user);
            user.write_all(typed).unwrap();
            (shown, answer.join().unwrap())
        })
    }

    #[test]
    fn a_question_shows_everything_that_is_approved() {
        let (shown, answer) = asked(&question().by_rule("any call of `write_file`").session("s"), b"y\n");
        assert_eq!(answer, Answer::Once);
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_question_names_its_call_where_there_are_several() {
        let of = |id: serde_json::Value| shown(&question().call(&id).of_batch(2, 3));
        let first_line = |text: String| text.trim_start().lines().next().unwrap().to_owned();
        assert_eq!(first_line(of(json!("toolu_1"))), "Call 2 of 3, with the id \"toolu_1\"");
        let odd = first_line(of(json!(format!("\u{1b}[2J\u{202e}{}", "x".repeat(500)))));
        assert!(!odd.contains(['\u{1b}', '\u{202e}']) && odd.len() < 120, "{odd}");
        assert_eq!(shown(&question().call(&json!("a")).of_batch(1, 1)), shown(&question()));
    }

    #[test]
    fn each_answer_is_what_it_is_named_and_anything_unclear_is_no() {
        let plain = question();
        let by_rule = question().by_rule("all");
        for (question, typed, expected) in [
            (&plain, "y\n", Answer::Once),
            (&plain, " YES \n", Answer::Once),
            (&plain, "s\n", Answer::Session),
            (&plain, "a\n", Answer::Always),
            (&by_rule, "r\n", Answer::AlwaysByRule),
            (&plain, "r\n", Answer::Deny(None)),
            (&plain, "n\n", Answer::Deny(None)),
            (&plain, "\n", Answer::Deny(None)),
            (&plain, "yy\n", Answer::Deny(None)),
            (&plain, "y n\n", Answer::Deny(None)),
            (&plain, "\u{4}", Answer::Deny(None)),
            (
                &plain,
                "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n",
                Answer::Deny(None),
            ),
        ] {
            assert_eq!(asked(question, typed.as_bytes()).1, expected, "{typed:?}");
        }
    }

    #[test]
    fn what_was_typed_before_the_question_is_no_answer() {
        let (mut user, program) = terminal();
        user.write_all(b"y\n").unwrap();
        poll(&mut [PollFd::new(&program, PollFlags::IN)], None).unwrap();
        let (answered, answer) = mpsc::channel();
        let ask = move || prompt(&program, &question(), &|| true).unwrap_or(Answer::Deny(None));
        std::thread::spawn(move || answered.send(ask()));
        read_prompt(&user);
        drop(user);
        assert_eq!(answer.recv().unwrap(), Answer::Deny(None), "a terminal that is gone is a no too");
    }

    #[test]
    fn a_call_that_has_ended_leaves_the_terminal() {
        let (user, program) = terminal();
        let is_waiting = AtomicBool::new(true);
        std::thread::scope(|scope| {
            let answer = scope.spawn(|| prompt(&program, &question(), &|| is_waiting.load(Ordering::SeqCst)));
            read_prompt(&user);
            is_waiting.store(false, Ordering::SeqCst);
            assert_eq!(answer.join().unwrap().unwrap(), Answer::Deny(None));
        });
        assert_eq!(prompt(&program, &question(), &|| false).unwrap(), Answer::Deny(None));
    }

    #[test]
    fn what_is_too_long_says_so() {
        let long = Question::new("t", "c", "d", json!({ "a": "é".repeat(20_000), "z": "end" }));
        let shown = shown(&long);
        assert!(shown.contains("NOT SHOWN") && shown.contains("\"end\"") && shown.len() < 20_000);
    }
}
