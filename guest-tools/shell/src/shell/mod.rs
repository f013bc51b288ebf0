//! A shell's state, and how it runs the tree of a script.

mod assign;
mod commands;
mod compound;
mod condition;
mod fds;
pub mod frame;
mod pipeline;
mod redirect;
mod simple;
pub mod subshell;
pub mod traps;
mod vars;

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

pub use assign::assign;
pub use commands::run_text;
pub use condition::{compare, newer, unary};
pub use fds::Fds;
pub use frame::{Frame, Function, Traps};
pub use simple::{New, command_names, fresh, invoke, script};
pub use subshell::capture;
pub use vars::{Kind, Vars};

use crate::stop::Stop;
use crate::stream::{Handle, Out};
use crate::task::Done;

/// Lists of commands, functions and subshells within each other. Each costs up to 1.3 KiB of the host's stack, of which a
/// call has 512 KiB by default.
pub const DEEPEST: u32 = 300;

/// What `set` and `shopt` switch.
#[derive(Clone, Copy, Default)]
pub struct Options {
    pub errexit: bool,
    pub nounset: bool,
    pub pipefail: bool,
    pub xtrace: bool,
    pub noglob: bool,
    pub noclobber: bool,
    pub allexport: bool,
    pub nullglob: bool,
    pub dotglob: bool,
    pub globstar: bool,
    pub nocasematch: bool,
    pub nocaseglob: bool,
    pub inherit_errexit: bool,
    /// Nothing is run any more.
    pub noexec: bool,
    pub errtrace: bool,
    pub functrace: bool,
}

/// A shell; a copy of it is a subshell.
#[derive(Clone)]
pub struct Shell {
    pub vars: Vars,
    pub functions: Rc<HashMap<String, Function>>,
    pub options: Options,
    pub cwd: String,
    /// What `pushd` left.
    pub folders: Vec<String>,
    pub fds: Fds,
    pub positional: Rc<Vec<String>>,
    /// `$0`
    pub name: String,
    pub status: i32,
    pub pipe_status: Vec<i32>,
    /// The status of the last substitution of a command, while one command is expanded.
    pub substituted: Option<i32>,
    pub line: u32,
    pub depth: u32,
    pub loops: u32,
    /// Above zero where a failure is looked at, so that `set -e` does not hold.
    pub checked: u32,
    /// The functions that run and the files that are sourced, the innermost last.
    pub frames: Vec<Frame>,
    /// The file that is run, if it is one.
    pub script: Option<Rc<str>>,
    /// The command that runs, as it was written.
    pub command: Rc<str>,
    pub traps: Traps,
    /// Whether a trap runs: its commands stand on no line of the script.
    pub trapping: bool,
    /// Whether this is a copy of the shell that runs the script.
    pub is_copy: bool,
    /// The substituted processes of the commands that run: the number of each file, and its end.
    pub processes: Vec<(u32, Done)>,
    pub jobs: Vec<(u32, Done)>,
    pub last_job: u32,
    /// Where `getopts` stands within a word.
    pub letter: usize,
    pub host: Rc<Host>,
}

/// What does not change during a run.
pub struct Host {
    pub started: Instant,
    /// The granted directories.
    pub roots: Vec<String>,
    /// Whether a command was called that does not exist.
    pub missed: std::cell::Cell<bool>,
    /// Whether a job in the background said why it was stopped.
    pub complained: std::cell::Cell<bool>,
}

impl Shell {
    pub fn new(host: Host, cwd: String, environment: &[(String, String)], fds: Fds) -> Self {
        let mut vars = Vars::default();
        for (name, value) in environment {
            vars.set_exported(name, value);
        }
        let home = host.roots.first().cloned().unwrap_or_else(|| "/".to_owned());
        for (name, value) in
            [("HOME", home.as_str()), ("PATH", "/usr/bin:/bin"), ("USER", "user"), ("SHELL", "/bin/bash")]
        {
            if vars.get(name).is_none() {
                vars.set_exported(name, value);
            }
        }
        vars.set_exported("PWD", &cwd);
        for (name, value) in [
            ("IFS", " \t\n"),
            ("OPTIND", "1"),
            ("PPID", "1"),
            ("UID", "1000"),
            ("EUID", "1000"),
            ("BASH_VERSION", "5.2.0(1)-toolcell"),
            ("OSTYPE", "wasi"),
            ("HOSTNAME", "cell"),
        ] {
            // A fresh shell has nothing read-only.
            let _fresh = vars.set(name, value.to_owned());
        }
        Self {
            vars,
            functions: Rc::default(),
            options: Options::default(),
            cwd,
            folders: Vec::new(),
            fds,
            positional: Rc::default(),
            name: "bash".to_owned(),
            status: 0,
            pipe_status: vec![0],
            substituted: None,
            line: 1,
            depth: 0,
            loops: 0,
            checked: 0,
            frames: Vec::new(),
            script: None,
            command: "".into(),
            traps: Traps::new(),
            trapping: false,
            is_copy: false,
            processes: Vec::new(),
            jobs: Vec::new(),
            last_job: 0,
            letter: 0,
            host: Rc::new(host),
        }
    }

    /// A copy that is a process of its own.
    pub fn child(&self) -> Result<Self, Stop> {
        let mut child = self.clone();
        // Only what is ignored stays ignored.
        let kept = |number: &u8, action: &mut Rc<str>| match *number {
            frame::ERR => self.options.errtrace,
            frame::DEBUG | frame::RETURN => self.options.functrace,
            _ => action.is_empty(),
        };
        child.traps.retain(kept);
        child.is_copy = true;
        child.jobs.clear();
        child.processes.clear();
        child.deeper()?;
        Ok(child)
    }

    /// Goes one level deeper.
    pub fn deeper(&mut self) -> Result<(), Stop> {
        if self.depth >= DEEPEST {
            return Err(Stop::Abort(
                1,
                format!("more than {DEEPEST} lists of commands, functions and subshells within each other"),
            ));
        }
        self.depth += 1;
        Ok(())
    }

    pub fn stdin(&self) -> Handle {
        self.fds.get(0)
    }

    pub fn stdout(&self) -> Handle {
        self.fds.get(1)
    }

    pub fn stderr(&self) -> Handle {
        self.fds.get(2)
    }

    /// A buffer in front of standard output.
    pub fn out(&self) -> Out {
        Out::new(self.stdout())
    }

    /// Says something on standard error.
    pub async fn warn(&self, line: impl AsRef<str>) -> Result<(), Stop> {
        self.stderr().write(format!("{}\n", line.as_ref()).as_bytes()).await
    }

    /// Says something on standard error as the shell does, with the line.
    pub async fn complain(&self, message: impl AsRef<str>) -> Result<(), Stop> {
        self.warn(self.complaint(message.as_ref())).await
    }

    pub fn complaint(&self, message: &str) -> String {
        let source = match self.frames.last() {
            Some(frame) => &*frame.source,
            None => self.name.as_str(),
        };
        format!("{source}: line {}: {message}", self.line)
    }

    /// The path of a name that a script uses.
    pub fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            return PathBuf::new();
        }
        if name.starts_with('/') {
            return PathBuf::from(name);
        }
        let relative = name.trim_start_matches("./");
        if relative.is_empty() || relative == "." {
            return PathBuf::from(&self.cwd);
        }
        PathBuf::from(format!("{}/{relative}", self.cwd.trim_end_matches('/')))
    }

    /// What separates fields.
    pub fn ifs(&self) -> String {
        self.vars.get("IFS").unwrap_or_else(|| " \t\n".to_owned())
    }

    /// The value of a parameter that is no array, or the first of one that is.
    pub fn parameter(&self, name: &str) -> Option<String> {
        if let Ok(number) = name.parse::<usize>() {
            return match number.checked_sub(1) {
                None => Some(self.name.clone()),
                Some(index) => self.positional.get(index).cloned(),
            };
        }
        match name {
            "?" => Some(self.status.to_string()),
            "#" => Some(self.positional.len().to_string()),
            "$" | "BASHPID" => Some("2".to_owned()),
            "!" => (self.last_job > 0).then(|| self.last_job.to_string()),
            "-" => Some(self.flags()),
            "@" | "*" => Some(self.positional.join(" ")),
            "LINENO" => Some(self.line.to_string()),
            "SECONDS" => Some(self.host.started.elapsed().as_secs().to_string()),
            "EPOCHSECONDS" => Some(crate::clock::now().as_secs().to_string()),
            "RANDOM" => Some((crate::clock::chance() % 32768).to_string()),
            "BASH_COMMAND" => Some(self.command.to_string()),
            "FUNCNAME" | "BASH_SOURCE" | "BASH_LINENO" => self.stack(name).into_iter().next(),
            _ => self.vars.get(name),
        }
    }

    /// One of the arrays that tell where a script is; none for other names.
    pub fn stack(&self, name: &str) -> Vec<String> {
        let frames = self.frames.iter().rev();
        let (mut items, last): (Vec<String>, &str) = match name {
            "FUNCNAME" => (frames.map(|frame| frame.name.clone()).collect(), "main"),
            "BASH_LINENO" => (frames.map(|frame| frame.line.to_string()).collect(), "0"),
            _ => {
                (frames.map(|frame| frame.source.to_string()).collect(), self.script.as_deref().unwrap_or(""))
            }
        };
        if self.script.is_some() && (name == "BASH_SOURCE" || !items.is_empty()) {
            items.push(last.to_owned());
        }
        items
    }

    /// The line that is reported from now on.
    pub fn at(&mut self, line: u32) {
        if !self.trapping {
            self.line = line;
        }
    }

    /// The status with which an error of an expansion ends the shell.
    pub fn fatal(&self) -> Stop {
        let one = self.is_copy || self.script.is_some() || self.options.errexit;
        Stop::Exit(if one { 1 } else { 127 })
    }

    fn flags(&self) -> String {
        let options = &self.options;
        let set = [
            ('e', options.errexit),
            ('f', options.noglob),
            ('u', options.nounset),
            ('x', options.xtrace),
            ('C', options.noclobber),
        ];
        let mut flags: String = set.iter().filter(|(_, on)| *on).map(|(letter, _)| *letter).collect();
        flags.push_str("hBc");
        flags
    }
}
