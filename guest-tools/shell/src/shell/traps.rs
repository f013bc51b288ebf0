//! Traps: what runs at the end, on signals, on failures, before commands and after functions.

use std::rc::Rc;

use super::commands::run_text;
use super::frame::{DEBUG, ERR, RETURN};
use super::{Shell, Traps};
use crate::stop::{Status, Stop};
use crate::syntax::Command;

/// Runs what is trapped, if something is; the status of the shell stays as it is.
pub async fn run(shell: &mut Shell, number: u8) -> Result<(), Stop> {
    let Some(action) = shell.traps.get(&number).filter(|action| !action.is_empty()).cloned() else {
        return Ok(());
    };
    if shell.trapping {
        return Ok(());
    }
    let (status, pipe_status) = (shell.status, shell.pipe_status.clone());
    shell.trapping = true;
    shell.deeper()?;
    let result = Box::pin(run_text(shell, &action)).await;
    shell.depth -= 1;
    shell.trapping = false;
    (shell.status, shell.pipe_status) = (status, pipe_status);
    result.map(|_| ())
}

/// Notes which command comes, and runs what is trapped before one.
pub async fn before(shell: &mut Shell, command: &Command) -> Result<(), Stop> {
    shell.at(command.line);
    if shell.trapping {
        return Ok(());
    }
    shell.command = Rc::clone(&command.text);
    if shell.traps.is_empty() { Ok(()) } else { run(shell, DEBUG).await }
}

/// Hides from a function the traps that it does not have.
pub fn hide(shell: &mut Shell) -> Traps {
    let options = shell.options;
    let hides = |number: u8| match number {
        ERR => !options.errtrace,
        DEBUG | RETURN => !options.functrace,
        _ => false,
    };
    let mut hidden = Traps::new();
    shell.traps.retain(|number, action| {
        let hides = hides(*number);
        if hides {
            hidden.insert(*number, Rc::clone(action));
        }
        !hides
    });
    hidden
}

/// Gives the hidden ones back, other than those that the function set anew.
pub fn show(shell: &mut Shell, hidden: Traps) {
    for (number, action) in hidden {
        shell.traps.entry(number).or_insert(action);
    }
}

/// A function, or a file, is over.
pub async fn returned(shell: &mut Shell) -> Result<(), Stop> {
    if shell.traps.is_empty() { Ok(()) } else { run(shell, RETURN).await }
}

/// A signal to the shell itself: runs what is trapped, or ends the shell.
pub async fn signal(shell: &mut Shell, number: u8) -> Status {
    /// Which the one who gets it cannot trap.
    const KILL: u8 = 9;
    match shell.traps.get(&number) {
        Some(_) if number != KILL => run(shell, number).await.map(|()| 0),
        _ => {
            if number == KILL {
                shell.traps.clear();
            }
            Err(Stop::Exit(128 + i32::from(number)))
        }
    }
}
