//! Lists and what joins them.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use super::frame::ERR;
use super::{Function, Shell, compound, condition, pipeline, redirect, simple, subshell, traps};
use crate::expand;
use crate::stop::{Status, Stop};
use crate::syntax::{Command, Item, Join, Kind, List, Pipeline, parse};
use crate::task;

/// A future of a status, on the heap since commands are within commands.
pub type Running<'a> = Pin<Box<dyn Future<Output = Status> + 'a>>;

/// Runs commands one after the other; gives the status of the last.
pub fn run_list<'a>(shell: &'a mut Shell, list: &'a List) -> Running<'a> {
    Box::pin(async move {
        shell.deeper()?;
        let result = run_items(shell, list).await;
        shell.depth -= 1;
        result
    })
}

async fn run_items(shell: &mut Shell, list: &List) -> Status {
    for item in list {
        if shell.options.noexec {
            break;
        }
        shell.status = run_item(shell, item).await?;
    }
    Ok(shell.status)
}

/// The same for a whole text: what an error gives up goes as far as the next line of it.
async fn run_lines(shell: &mut Shell, list: &List) -> Status {
    let mut given_up = false;
    for item in list {
        if shell.options.noexec {
            break;
        }
        if given_up && !item.begins {
            continue;
        }
        let (checked, loops, depth) = (shell.checked, shell.loops, shell.depth);
        given_up = false;
        shell.status = match run_item(shell, item).await {
            Err(Stop::Line(status)) => {
                // What was given up did not put these back.
                (shell.checked, shell.loops, shell.depth) = (checked, loops, depth);
                given_up = true;
                status
            }
            other => other?,
        };
    }
    Ok(shell.status)
}

/// Runs the text of a script.
pub async fn run_text(shell: &mut Shell, text: &str) -> Status {
    let list = match parse(text) {
        Ok(list) => list,
        Err(error) => {
            let prefix = if shell.name == "bash" { "bash: -c" } else { shell.name.as_str() };
            let line = text
                .lines()
                .nth(usize::try_from(error.line).unwrap_or(1).saturating_sub(1))
                .unwrap_or_default();
            shell.warn(format!("{prefix}: line {}: {}", error.line, error.message)).await?;
            if error.message.contains("near unexpected token") {
                shell.warn(format!("{prefix}: line {}: `{line}'", error.line)).await?;
            }
            return Ok(2);
        }
    };
    shell.deeper()?;
    let result = Box::pin(run_lines(shell, &list)).await;
    shell.depth -= 1;
    result
}

async fn run_item(shell: &mut Shell, item: &Item) -> Status {
    if item.background {
        return pipeline::background(shell, item).await;
    }
    run_and_or(shell, &item.first, &item.rest).await
}

/// Pipelines joined by `&&` and `||`. A failure that is looked at is none to `set -e`.
pub async fn run_and_or(shell: &mut Shell, first: &Pipeline, rest: &[(Join, Pipeline)]) -> Status {
    let mut status = checked_pipeline(shell, first, !rest.is_empty()).await?;
    for (index, (join, pipeline)) in rest.iter().enumerate() {
        if (status == 0) == (*join == Join::And) {
            status = checked_pipeline(shell, pipeline, index + 1 < rest.len()).await?;
        }
    }
    Ok(status)
}

async fn checked_pipeline(shell: &mut Shell, pipeline: &Pipeline, looked_at: bool) -> Status {
    let checked = looked_at || pipeline.negated;
    shell.checked += u32::from(checked);
    let result = pipeline::run(shell, pipeline).await;
    shell.checked -= u32::from(checked);
    let status = result?;
    shell.status = status;
    if status != 0 && !checked && shell.checked == 0 && fails_by_itself(pipeline) {
        if let [stage] = pipeline.stages.as_slice() {
            if matches!(stage.kind, Kind::Subshell(_)) && !shell.trapping {
                (shell.line, shell.command) = (stage.line, Rc::clone(&stage.text));
            }
        }
        traps::run(shell, ERR).await?;
        if shell.options.errexit {
            return Err(Stop::Exit(status));
        }
    }
    Ok(status)
}

/// A compound command's failure was already that of a command within it.
fn fails_by_itself(pipeline: &Pipeline) -> bool {
    match pipeline.stages.as_slice() {
        [stage] => matches!(
            stage.kind,
            Kind::Simple { .. } | Kind::Subshell(_) | Kind::Condition(_) | Kind::Arithmetic(_)
        ),
        _ => true,
    }
}

/// Runs one command with its redirections, in this shell.
pub fn run_command<'a>(shell: &'a mut Shell, command: &'a Rc<Command>) -> Running<'a> {
    if let Kind::Simple { assigns, words, declared } = &command.kind {
        return Box::pin(simple::run(shell, command, assigns, words, declared));
    }
    if command.redirects.is_empty() {
        return run_kind(shell, command);
    }
    Box::pin(async move {
        let (saved, before) = (shell.fds.clone(), shell.processes.len());
        let result = match redirect::apply(shell, &command.redirects).await {
            Ok(()) => run_kind(shell, command).await,
            Err(Stop::Fail(status, message)) => {
                shell.at(command.line);
                shell.complain(message).await?;
                Ok(status)
            }
            Err(stop) => Err(stop),
        };
        shell.fds = saved;
        subshell::release(shell, before).await;
        result
    })
}

fn run_kind<'a>(shell: &'a mut Shell, command: &'a Command) -> Running<'a> {
    match &command.kind {
        Kind::Group(list) => run_list(shell, list),
        Kind::Subshell(list) => Box::pin(subshell::run(shell, list)),
        Kind::If { branches, otherwise } => {
            Box::pin(compound::conditional(shell, branches, otherwise.as_ref()))
        }
        Kind::For { name, words, body } => Box::pin(compound::for_each(shell, name, words.as_deref(), body)),
        Kind::Loop { first, condition, step, body } => {
            Box::pin(compound::counting(shell, [first, condition, step], body))
        }
        Kind::While { condition, body, until } => Box::pin(compound::repeat(shell, condition, body, *until)),
        Kind::Case { word, arms } => Box::pin(compound::case(shell, word, arms)),
        Kind::Condition(condition) => Box::pin(async move {
            traps::before(shell, command).await?;
            let result = condition::evaluate(shell, condition).await;
            match result {
                Err(Stop::Fail(status, message)) => {
                    shell.complain(message).await?;
                    Ok(status)
                }
                other => Ok(i32::from(!other?)),
            }
        }),
        Kind::Arithmetic(word) => Box::pin(async move {
            task::tick()?;
            traps::before(shell, command).await?;
            let text = expand::text(shell, word).await?;
            match expand::evaluate(shell, &text) {
                Ok(value) => Ok(i32::from(value == 0)),
                Err(message) => {
                    shell.complain(format!("((: {message}")).await?;
                    Ok(1)
                }
            }
        }),
        Kind::Function { name, body } => {
            let source = shell.frames.last().map(|frame| Rc::clone(&frame.source));
            let source = source.or_else(|| shell.script.clone()).unwrap_or_else(|| "environment".into());
            let (body, text) = (Rc::clone(body), Rc::clone(&command.text));
            let exported = shell.functions.get(name).is_some_and(|function| function.exported);
            let function = Function { body, text, source, exported };
            Rc::make_mut(&mut shell.functions).insert(name.clone(), function);
            Box::pin(std::future::ready(Ok(0)))
        }
        Kind::Select { name, words, body } => Box::pin(compound::select(shell, name, words.as_deref(), body)),
        Kind::Unknown(what) => Box::pin(async move {
            shell.at(command.line);
            shell.complain(format!("{what}: not known to this shell")).await?;
            Ok(2)
        }),
        // `run_command` has these.
        Kind::Simple { .. } => Box::pin(std::future::ready(Ok(0))),
    }
}
