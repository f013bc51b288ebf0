//! One command line, from its text to what it wrote.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::shell::{Fds, Host, Shell, command_names, run_text, subshell};
use crate::stop::Stop;
use crate::stream::{Captured, Handle};
use crate::task;

/// What is kept of the output at each end; what a model reads is far less.
const OUTPUT: usize = 1 << 20;

/// What is to be run.
pub struct Request {
    /// The script.
    pub command: String,
    /// After this time it is over.
    pub timeout: Option<Duration>,
    /// The granted directories; the first is where the script starts.
    pub roots: Vec<String>,
    /// The environment.
    pub environment: Vec<(String, String)>,
}

/// How it ended.
pub struct Answer {
    /// Standard output and standard error, as they came.
    pub output: String,
    /// The exit code; 124 if its time was over.
    pub code: i32,
    /// How long it took.
    pub duration: Duration,
}

/// Runs a script to its end.
pub fn run(request: &Request) -> Answer {
    let started = Instant::now();
    task::reset(request.timeout.and_then(|timeout| started.checked_add(timeout)));
    let (handle, captured) = Handle::kept(Captured::ends(OUTPUT));
    let fds = Fds::new(Handle::Null, handle.clone(), handle);
    let cwd = request.roots.first().cloned().unwrap_or_else(|| "/".to_owned());
    let host = Host {
        started,
        roots: request.roots.clone(),
        missed: Cell::new(false),
        complained: Cell::new(false),
    };
    let mut shell = Shell::new(host, cwd, &request.environment, fds);
    let result = task::block_on(async {
        let result = run_text(&mut shell, &request.command).await;
        let code = subshell::finish(&mut shell, result).await?;
        Ok(code)
    });
    let host = Rc::clone(&shell.host);
    drop(shell);
    // What jobs in the background still write would be seen on a terminal.
    let result = result.and_then(|code| task::rest().map(|()| code));
    let mut output = captured.borrow_mut().take();
    let mut note = |line: String| {
        if output.last().is_some_and(|byte| *byte != b'\n') {
            output.push(b'\n');
        }
        output.extend(line.into_bytes());
    };
    let code = match result {
        Ok(code) => code,
        Err(Stop::TimeOver) => {
            let timeout = request.timeout.unwrap_or_default();
            note(format!("bash: ended after {} s, which is its timeout\n", timeout.as_secs_f64()));
            124
        }
        Err(Stop::Abort(code, message)) => {
            note(format!("bash: {message}\n"));
            code
        }
        Err(_) => 1,
    };
    // At the end alone: in between, a script may read what it wrote.
    if host.missed.get() && code != 0 {
        note(format!("there are: {}\n", command_names().join(" ")));
    }
    // The futures that are left hold files.
    task::reset(None);
    Answer { output: String::from_utf8_lossy(&output).into_owned(), code, duration: started.elapsed() }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot set up fails")]

    use super::*;

    fn script(command: &str) -> Answer {
        let folder = tempfile::tempdir().unwrap();
        let roots = vec![folder.path().to_string_lossy().into_owned()];
        run(&Request {
            command: command.to_owned(),
            timeout: Some(Duration::from_secs(20)),
            roots,
            environment: Vec::new(),
        })
    }

    #[test]
    fn stages_run_at_the_same_time() {
        for (command, wanted) in [
            ("yes | head -2", "y\ny\n"),
            ("cat /dev/zero | head -c 10 | wc -c", "10\n"),
            ("while true; do echo x; done | head -1", "x\n"),
            ("{ echo first; sleep 0.01; echo second; } | cat", "first\nsecond\n"),
            ("(sleep 0.02; echo later) & echo now; wait", "now\nlater\n"),
            ("seq 100000 | tee >(wc -l > n) | tail -1; wait; sleep 0.01; cat n", "100000\n100000\n"),
            // What a process was given is done when the command is over.
            ("echo a > >(cat > f); cat f; seq 2 | tee >(sed s/^/x/ > g) > /dev/null; cat g", "a\nx1\nx2\n"),
            ("s=$(printf 'a%.0s' {1..3000}); t=${s//+(a)b/q}; echo ${#t}; echo ${s/+(a)/q}", "3000\nq\n"),
        ] {
            let answer = script(command);
            assert_eq!((answer.output.as_str(), answer.code), (wanted, 0), "{command}");
        }
    }

    #[test]
    fn a_timeout_keeps_what_was_written() {
        let request = Request {
            command: "echo started; sleep 100".to_owned(),
            timeout: Some(Duration::from_millis(20)),
            roots: Vec::new(),
            environment: Vec::new(),
        };
        let answer = run(&request);
        assert_eq!(answer.code, 124);
        assert_eq!(answer.output, "started\nbash: ended after 0.02 s, which is its timeout\n");
    }

    #[test]
    fn nothing_of_one_run_is_in_the_next() {
        script("sleep 1000 & x=1; exec 5> f");
        let answer = script("jobs; echo \"[$x]\"; ls | wc -l");
        assert_eq!(answer.output, "[]\n0\n");
    }
}
