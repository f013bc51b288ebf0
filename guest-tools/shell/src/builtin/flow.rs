//! Where a script goes on.

use std::rc::Rc;

use crate::expand::evaluate;
use crate::files;
use crate::shell::{Shell, fresh, invoke, run_text, script};
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
    if shell.running.is_empty() && shell.sourcing == 0 {
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
    shell.sourcing += 1;
    let result = run_text(shell, &text).await;
    shell.sourcing -= 1;
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

/// `bash` and `sh`: a new shell for a text, a file or the standard input.
pub async fn shell(shell: &mut Shell, arguments: &[String]) -> Status {
    let mut rest = arguments;
    let mut prelude = String::new();
    let mut text = None;
    while let Some((flag, after)) =
        rest.split_first().filter(|(flag, _)| flag.starts_with(['-', '+']) && flag.len() > 1)
    {
        rest = after;
        match flag.as_str() {
            "--" => break,
            "--version" => {
                shell.stdout().write(b"GNU bash, version 5.2 (the shell of toolcell speaks it)\n").await?;
                return Ok(0);
            }
            _ if flag.starts_with("--") => {}
            "-o" | "+o" => {
                if let Some((option, after)) = rest.split_first() {
                    prelude.push_str(&format!("set {flag} {option};"));
                    rest = after;
                }
            }
            _ => {
                let letters: String =
                    flag.chars().skip(1).filter(|letter| !"cils".contains(*letter)).collect();
                if !letters.is_empty() {
                    prelude.push_str(&format!("set -{letters};"));
                }
                if flag.contains('c') {
                    let Some((command, after)) = rest.split_first() else {
                        return wrong(2, "-c: option requires an argument");
                    };
                    text = Some(command.clone());
                    rest = after;
                    break;
                }
            }
        }
    }
    if let Some(text) = text {
        let (name, rest) = rest.split_first().map_or(("bash", rest), |(name, rest)| (name.as_str(), rest));
        return fresh(shell, &format!("{prelude}{text}"), name, rest).await;
    }
    match rest.split_first() {
        Some((name, rest)) if prelude.is_empty() => script(shell, name, rest).await,
        Some((name, rest)) => {
            let text = match files::read(shell, name) {
                Ok(handle) => String::from_utf8_lossy(&handle.rest().await?).into_owned(),
                Err(error) => return wrong(127, format!("{name}: {}", words(&error))),
            };
            fresh(shell, &format!("{prelude}{text}"), name, rest).await
        }
        None => {
            let text = String::from_utf8_lossy(&shell.stdin().rest().await?).into_owned();
            fresh(shell, &format!("{prelude}{text}"), "bash", &[]).await
        }
    }
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
