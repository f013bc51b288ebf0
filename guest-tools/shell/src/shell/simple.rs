//! Simple commands: assignments, functions, what is built in, utilities, scripts.

use std::rc::Rc;

use super::assign::assign;
use super::commands::{Running, run_command, run_text};
use super::{Frame, Function, Options, Shell, redirect, subshell, traps};
use crate::builtin::{self, Builtin};
use crate::expand;
use crate::files;
use crate::quote;
use crate::stop::{Status, Stop};
use crate::syntax::{Assign, Assigned, Command, Word};
use crate::task;
use crate::util;

pub async fn run(
    shell: &mut Shell,
    command: &Rc<Command>,
    assigns: &[Assign],
    words: &[Word],
    declared: &[Assign],
) -> Status {
    task::tick()?;
    traps::before(shell, command).await?;
    shell.substituted = None;
    let before = shell.processes.len();
    let arguments = match expand::words(shell, words).await {
        Err(Stop::Fail(status, message)) => {
            shell.complain(message).await?;
            return Ok(status);
        }
        other => other?,
    };
    shell.at(command.line);
    trace(shell, assigns, &arguments).await?;
    if command.redirects.is_empty() {
        let result = execute(shell, assigns, &arguments, declared).await;
        subshell::release(shell, before).await;
        return result;
    }
    let saved = shell.fds.clone();
    let redirected = redirect::apply(shell, &command.redirects).await;
    let result = match redirected {
        Ok(()) => execute(shell, assigns, &arguments, declared).await,
        Err(Stop::Fail(status, message)) => {
            shell.at(command.line);
            // The complaint goes to where standard error went before.
            shell.fds = saved.clone();
            shell.complain(message).await?;
            Ok(status)
        }
        Err(stop) => Err(stop),
    };
    // `exec` without a command keeps what it opened.
    if !(matches!(arguments.as_slice(), [only] if only == "exec") && matches!(result, Ok(0))) {
        shell.fds = saved;
        subshell::release(shell, before).await;
    }
    result
}

async fn trace(shell: &mut Shell, assigns: &[Assign], arguments: &[String]) -> Result<(), Stop> {
    if !shell.options.xtrace {
        return Ok(());
    }
    let mut words = Vec::new();
    for assign in assigns {
        if let Assigned::Word(word) = &assign.value {
            let text = expand::text(shell, word).await?;
            words.push(format!("{}={}", assign.name, quote::traced(&text)));
        }
    }
    if !words.is_empty() {
        shell.warn(format!("+ {}", words.join(" "))).await?;
    }
    if !arguments.is_empty() {
        let line: Vec<String> = arguments.iter().map(|argument| quote::traced(argument)).collect();
        shell.warn(format!("+ {}", line.join(" "))).await?;
    }
    Ok(())
}

async fn execute(shell: &mut Shell, assigns: &[Assign], arguments: &[String], declared: &[Assign]) -> Status {
    if arguments.is_empty() {
        for one in assigns {
            assign(shell, one).await?;
        }
        return Ok(shell.substituted.unwrap_or(0));
    }
    if let Some(name) = arguments.first().filter(|name| builtin::declaration(name)) {
        return builtin::declare(shell, name, arguments.get(1..).unwrap_or_default(), declared).await;
    }
    if assigns.is_empty() {
        return invoke(shell, arguments).await;
    }
    // Assignments in front of a command are for this command.
    let saved: Vec<_> = assigns.iter().map(|one| (one.name.clone(), shell.vars.save(&one.name))).collect();
    for one in assigns {
        assign(shell, one).await?;
        shell.vars.entry(&one.name).exported = true;
    }
    let result = invoke(shell, arguments).await;
    for (name, var) in saved.into_iter().rev() {
        shell.vars.restore(&name, var);
    }
    result
}

/// Runs a command by its name.
pub fn invoke<'a>(shell: &'a mut Shell, arguments: &'a [String]) -> Running<'a> {
    let Some((name, rest)) = arguments.split_first() else { return Box::pin(std::future::ready(Ok(0))) };
    if let Some(found) = shell.functions.get(name).cloned() {
        return Box::pin(function(shell, name, found, rest));
    }
    if let Some(builtin) = builtin::find(name) {
        return Box::pin(run_builtin(shell, name, builtin, rest));
    }
    if let Some(utility) = util::find(name) {
        return Box::pin(run_utility(shell, base(name), utility, rest));
    }
    Box::pin(other(shell, name, rest))
}

/// The name that a command has behind its folder: `/usr/bin/env` is `env`.
fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

async fn function(shell: &mut Shell, name: &str, function: Function, arguments: &[String]) -> Status {
    shell.deeper()?;
    shell.vars.enter();
    let source = function.source;
    shell.frames.push(Frame { name: name.to_owned(), source, line: shell.line });
    let positional = std::mem::replace(&mut shell.positional, Rc::new(arguments.to_vec()));
    let loops = std::mem::take(&mut shell.loops);
    let line = shell.line;
    let (trapping, command) = (std::mem::take(&mut shell.trapping), Rc::clone(&shell.command));
    let hidden = traps::hide(shell);
    let mut result = run_command(shell, &function.body).await;
    if let Err(stop) = traps::returned(shell).await {
        result = Err(stop);
    }
    traps::show(shell, hidden);
    (shell.line, shell.trapping, shell.command) = (line, trapping, command);
    shell.loops = loops;
    shell.positional = positional;
    shell.frames.pop();
    shell.vars.leave();
    shell.depth -= 1;
    match result {
        Err(Stop::Return(status)) => Ok(status),
        other => other,
    }
}

async fn run_builtin(shell: &mut Shell, name: &str, builtin: Builtin, arguments: &[String]) -> Status {
    match builtin(shell, arguments).await {
        Err(Stop::Fail(status, message)) => {
            shell.complain(format!("{name}: {message}")).await?;
            Ok(status)
        }
        other => other,
    }
}

async fn run_utility(shell: &mut Shell, name: &str, utility: util::Utility, arguments: &[String]) -> Status {
    match utility(shell, arguments).await {
        Err(Stop::Fail(status, message)) => {
            shell.warn(format!("{name}: {message}")).await?;
            Ok(status)
        }
        Err(Stop::Pipe) => Ok(141),
        other => other,
    }
}

/// A script of the files, or nothing at all.
async fn other(shell: &mut Shell, name: &str, arguments: &[String]) -> Status {
    if name.contains('/') {
        let path = shell.path(name);
        if files::is_dir(&path) {
            shell.complain(format!("{name}: Is a directory")).await?;
            return Ok(126);
        }
        if files::is_file(&path) {
            return script(shell, name, arguments, Options::default()).await;
        }
        // Programs of a system are known by where they would be.
        let programs = ["/bin/", "/usr/bin/", "/usr/local/bin/"];
        let program = programs.iter().find_map(|folder| name.strip_prefix(folder));
        if let Some(builtin) = program.and_then(builtin::find) {
            return run_builtin(shell, base(name), builtin, arguments).await;
        }
        shell.complain(format!("{name}: No such file or directory")).await?;
        return Ok(127);
    }
    shell.complain(format!("{name}: command not found")).await?;
    shell.host.missed.set(true);
    Ok(127)
}

/// Runs a file as a script, in a shell of its own.
pub async fn script(shell: &mut Shell, name: &str, arguments: &[String], options: Options) -> Status {
    let text = match files::read(shell, name) {
        Ok(handle) => String::from_utf8_lossy(&handle.rest().await?).into_owned(),
        Err(error) => {
            let message = crate::stop::words(&error);
            shell.complain(format!("{name}: {message}")).await?;
            return Ok(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 });
        }
    };
    let first = text.lines().next().unwrap_or_default();
    if let Some(interpreter) = first.strip_prefix("#!") {
        let known = interpreter.split_whitespace().map(base).find(|word| *word != "env").unwrap_or_default();
        if !matches!(known, "sh" | "bash" | "dash" | "zsh" | "ksh") {
            shell
                .complain(format!("{name}: bad interpreter: {}: no such interpreter", interpreter.trim()))
                .await?;
            return Ok(126);
        }
    }
    let new = New { text: &text, name, arguments, options, is_file: true };
    fresh(shell, new).await
}

/// What a new shell is to run.
pub struct New<'a> {
    pub text: &'a str,
    /// `$0`
    pub name: &'a str,
    pub arguments: &'a [String],
    pub options: Options,
    /// Whether the name is that of the file that has the text.
    pub is_file: bool,
}

/// Runs text in a new shell, which has of this one the environment and the open files.
pub async fn fresh(shell: &mut Shell, new: New<'_>) -> Status {
    let _process = task::Process::start()?;
    let mut child = shell.child()?;
    child.vars = super::Vars::default();
    for (name, value) in shell.vars.exported() {
        child.vars.set_exported(&name, &value);
    }
    for name in ["IFS", "OPTIND", "PPID", "UID", "EUID", "BASH_VERSION", "OSTYPE", "HOSTNAME"] {
        if let Some(value) = if name == "IFS" { Some(" \t\n".to_owned()) } else { shell.vars.get(name) } {
            // A fresh shell has nothing read-only.
            let _fresh = child.vars.set(name, value);
        }
    }
    Rc::make_mut(&mut child.functions).retain(|_, function| function.exported);
    for function in Rc::make_mut(&mut child.functions).values_mut() {
        function.source = "environment".into();
    }
    child.options = new.options;
    child.frames.clear();
    child.script = new.is_file.then(|| new.name.into());
    child.traps.retain(|_, action| action.is_empty());
    (child.trapping, child.is_copy, child.line) = (false, false, 1);
    child.loops = 0;
    child.checked = 0;
    child.name = new.name.to_owned();
    child.positional = Rc::new(new.arguments.to_vec());
    let result = run_text(&mut child, new.text).await;
    subshell::finish(&mut child, result).await
}

/// Everything that can be called.
pub fn command_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = util::names()
        .chain(builtin::names())
        .filter(|name| name.starts_with(|letter: char| letter.is_ascii_alphabetic()))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
