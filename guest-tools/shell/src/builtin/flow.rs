//! Where a script goes on.

use std::rc::Rc;

use super::options::{shell_option, switch, switch_named};
use crate::expand::evaluate;
use crate::files;
use crate::shell::{Frame, New, Options, Shell, fresh, invoke, run_text, script, traps};
use crate::stop::{Status, Stop, fail, words, wrong};

pub async fn nothing(_: &mut Shell, _: &[String]) -> Status {
    Ok(0)
}

fn count(arguments: &[String]) -> Result<u32, Stop> {
    let Some(text) = arguments.first() else { return Ok(1) };
    match text.parse() {
        Ok(0) | Err(_) => wrong(1, format!("{text}: loop count out of range")),
        Ok(count) => Ok(count),
    }
}

pub async fn leave(shell: &mut Shell, arguments: &[String]) -> Status {
    let count = count(arguments)?;
    if shell.loops == 0 { Ok(0) } else { Err(Stop::Break(count.min(shell.loops))) }
}

pub async fn again(shell: &mut Shell, arguments: &[String]) -> Status {
    let count = count(arguments)?;
    if shell.loops == 0 { Ok(0) } else { Err(Stop::Continue(count.min(shell.loops))) }
}

/// The status that an argument gives, in one byte.
fn status(shell: &Shell, arguments: &[String]) -> Result<i32, Stop> {
    let Some(text) = arguments.first() else { return Ok(shell.status) };
    match text.trim().parse::<i64>() {
        Ok(status) => Ok(i32::try_from(status & 255).unwrap_or(255)),
        Err(_) => wrong(2, format!("{text}: numeric argument required")),
    }
}

pub async fn exit(shell: &mut Shell, arguments: &[String]) -> Status {
    match status(shell, arguments) {
        Ok(status) => Err(Stop::Exit(status)),
        Err(Stop::Fail(status, message)) => {
            shell.complain(format!("exit: {message}")).await?;
            Err(Stop::Exit(status))
        }
        Err(stop) => Err(stop),
    }
}

pub async fn back(shell: &mut Shell, arguments: &[String]) -> Status {
    if shell.frames.is_empty() {
        return wrong(2, "can only `return' from a function or sourced script");
    }
    Err(Stop::Return(status(shell, arguments)?))
}

pub async fn shift(shell: &mut Shell, arguments: &[String]) -> Status {
    let count: usize = arguments.first().map_or(Ok(1), |text| text.parse()).unwrap_or(usize::MAX);
    if count > shell.positional.len() {
        return Ok(1);
    }
    Rc::make_mut(&mut shell.positional).drain(..count);
    Ok(0)
}

pub async fn eval(shell: &mut Shell, arguments: &[String]) -> Status {
    let text = arguments.join(" ");
    shell.deeper()?;
    let result = run_text(shell, &text).await;
    shell.depth -= 1;
    result
}

pub async fn source(shell: &mut Shell, arguments: &[String]) -> Status {
    let Some((name, rest)) = arguments.split_first() else { return wrong(2, "filename argument required") };
    let text = match files::read(shell, name) {
        Ok(handle) => String::from_utf8_lossy(&handle.rest().await?).into_owned(),
        Err(error) => return fail(format!("{name}: {}", words(&error))),
    };
    shell.deeper()?;
    let positional = shell.positional.clone();
    if !rest.is_empty() {
        shell.positional = Rc::new(rest.to_vec());
    }
    let (line, source) = (shell.line, name.as_str().into());
    shell.frames.push(Frame { name: "source".to_owned(), source, line });
    let mut result = run_text(shell, &text).await;
    if let Err(stop) = traps::returned(shell).await {
        result = Err(stop);
    }
    shell.frames.pop();
    shell.at(line);
    if !rest.is_empty() {
        shell.positional = positional;
    }
    shell.depth -= 1;
    match result {
        Err(Stop::Return(status)) => Ok(status),
        other => other,
    }
}

/// `exec`: with a command, the shell ends with it.
pub async fn exec(shell: &mut Shell, arguments: &[String]) -> Status {
    if arguments.is_empty() {
        return Ok(0);
    }
    let status = invoke(shell, arguments).await?;
    Err(Stop::Exit(status))
}

/// What the command line of `bash` asks for before its operands.
#[derive(Default)]
struct Start {
    options: Options,
    /// `-c`: the first operand is the text.
    command: bool,
    /// `-s`: the input is the text, and all operands are arguments.
    stdin: bool,
}

impl Start {
    /// Reads the flags; gives what follows them.
    fn read<'a>(&mut self, arguments: &'a [String]) -> Result<&'a [String], Stop> {
        let mut rest = arguments;
        while let Some((flag, after)) =
            rest.split_first().filter(|(flag, _)| flag.starts_with(['-', '+']) && flag.len() > 1)
        {
            rest = after;
            match flag.as_str() {
                "--" => break,
                "--norc" | "--noprofile" | "--posix" | "--login" | "--noediting" | "--verbose" => continue,
                "--rcfile" | "--init-file" => {
                    rest = rest.get(1..).unwrap_or_default();
                    continue;
                }
                long if long.starts_with("--") => return wrong(2, format!("{long}: invalid option")),
                _ => {}
            }
            let on = flag.starts_with('-');
            for letter in flag.chars().skip(1) {
                match letter {
                    'c' => self.command = true,
                    's' => self.stdin = true,
                    // There is no terminal, no login and nothing that is kept back.
                    'i' | 'l' | 'r' | 'D' => {}
                    'o' | 'O' => {
                        let Some((name, after)) = rest.split_first() else { return Ok(rest) };
                        rest = after;
                        if letter == 'o' {
                            switch_named(&mut self.options, name, on)?;
                        } else if let Some(option) = shell_option(&mut self.options, name) {
                            *option = on;
                        }
                    }
                    letter => switch(&mut self.options, letter, on)?,
                }
            }
        }
        Ok(rest)
    }
}

/// `bash` and `sh`: a new shell for a text, a file or the standard input.
pub async fn shell(shell: &mut Shell, arguments: &[String]) -> Status {
    if arguments.first().is_some_and(|flag| flag == "--version") {
        shell.stdout().write(b"GNU bash, version 5.2 (the shell of toolcell speaks it)\n").await?;
        return Ok(0);
    }
    let mut start = Start::default();
    let rest = start.read(arguments)?;
    let options = start.options;
    if start.command {
        let Some((text, rest)) = rest.split_first() else {
            return wrong(2, "-c: option requires an argument");
        };
        let (name, arguments) =
            rest.split_first().map_or(("bash", rest), |(name, rest)| (name.as_str(), rest));
        return fresh(shell, New { text, name, arguments, options, is_file: false }).await;
    }
    match rest.split_first() {
        Some((name, rest)) if !start.stdin => script(shell, name, rest, options).await,
        _ => {
            let text = String::from_utf8_lossy(&shell.stdin().rest().await?).into_owned();
            let new = New { text: &text, name: "bash", arguments: rest, options, is_file: false };
            fresh(shell, new).await
        }
    }
}

/// `caller`: from where the function that runs was called.
pub async fn caller(shell: &mut Shell, arguments: &[String]) -> Status {
    let Ok(index) = arguments.first().map_or(Ok(0), |text| text.parse::<usize>()) else {
        return wrong(2, "usage: caller [expr]");
    };
    let (lines, sources) = (shell.stack("BASH_LINENO"), shell.stack("BASH_SOURCE"));
    let Some(line) = lines.get(index).filter(|_| !shell.frames.is_empty()) else { return Ok(1) };
    let source = sources.get(index + 1).map_or("NULL", String::as_str);
    let text = match (arguments.first(), shell.stack("FUNCNAME").get(index + 1)) {
        (None, _) => format!("{line} {source}\n"),
        (Some(_), Some(name)) => format!("{line} {name} {source}\n"),
        (Some(_), None) => return Ok(1),
    };
    shell.stdout().write(text.as_bytes()).await?;
    Ok(0)
}

pub async fn calculate(shell: &mut Shell, arguments: &[String]) -> Status {
    let mut value = 0;
    for text in arguments {
        value = match evaluate(shell, text) {
            Ok(value) => value,
            Err(message) => return fail(message),
        };
    }
    Ok(i32::from(value == 0))
}
