//! A shell's state, and how it runs the tree of a script.

mod assign;
mod commands;
mod compound;
mod condition;
mod fds;
mod pipeline;
mod redirect;
mod simple;
pub mod subshell;
mod vars;

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

pub use assign::assign;
pub use commands::run_text;
pub use condition::{compare, newer, unary};
pub use fds::Fds;
pub use simple::{fresh, invoke, script};
pub use subshell::capture;
pub use vars::{Kind, Vars};

use crate::stop::Stop;
use crate::stream::{Handle, Out};
use crate::syntax::Command;
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
}

/// A shell; a copy of it is a subshell.
#[derive(Clone)]
pub struct Shell {
    pub vars: Vars,
    pub functions: Rc<HashMap<String, Rc<Command>>>,
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
    /// The functions that run, the innermost last.
    pub running: Vec<String>,
    pub sourcing: u32,
    pub exit_trap: Option<String>,
    pub error_trap: Option<String>,
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
    /// Whether somebody was told which commands exist.
    pub told: std::cell::Cell<bool>,
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
            running: Vec::new(),
            sourcing: 0,
            exit_trap: None,
            error_trap: None,
            jobs: Vec::new(),
            last_job: 0,
            letter: 0,
            host: Rc::new(host),
        }
    }

    /// A copy that is a process of its own.
    pub fn child(&self) -> Result<Self, Stop> {
        let mut child = self.clone();
        child.exit_trap = None;
        child.jobs.clear();
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
        let source =
            if self.running.is_empty() || self.name != "bash" { self.name.as_str() } else { "environment" };
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
            "FUNCNAME" => self.running.last().cloned(),
            "BASH_SOURCE" => Some(self.name.clone()),
            _ => self.vars.get(name),
        }
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
