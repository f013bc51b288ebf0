//! Copies of a shell that run as processes of their own: subshells, substitutions.

use std::rc::Rc;

use super::Shell;
use super::commands::{run_list, run_text};
use super::frame::EXIT;
use crate::stop::{Status, Stop, words};
use crate::stream::{Captured, Handle, pipe};
use crate::syntax::{Kind, List, RedirectKind};
use crate::task::{self, Done, Process};

/// What one substitution may hold.
const SUBSTITUTED: usize = 32 << 20;

/// The status with which a process ends. Only what ends the whole run stays a reason to stop.
pub async fn finish(shell: &mut Shell, result: Status) -> Status {
    let status = match result {
        Ok(status) => status,
        Err(Stop::Exit(status) | Stop::Return(status) | Stop::Line(status)) => status,
        Err(Stop::Break(_) | Stop::Continue(_)) => 0,
        Err(Stop::Pipe) => 141,
        Err(Stop::Fail(status, message)) => {
            shell.complain(message).await?;
            status
        }
        Err(stop @ (Stop::Abort(..) | Stop::TimeOver)) => return Err(stop),
    };
    let Some(trap) = shell.traps.remove(&EXIT).filter(|action| !action.is_empty()) else { return Ok(status) };
    shell.status = status;
    match run_text(shell, &trap).await {
        Err(Stop::Exit(status)) => Ok(status),
        Err(stop @ (Stop::Abort(..) | Stop::TimeOver)) => Err(stop),
        _ => Ok(status),
    }
}

/// `( … )`
pub async fn run(shell: &mut Shell, list: &Rc<List>) -> Status {
    let _process = Process::start()?;
    let mut child = shell.child()?;
    child.loops = 0;
    let result = run_list(&mut child, list).await;
    finish(&mut child, result).await
}

/// `$( … )`: what the commands write, without the line ends at its end.
pub async fn capture(shell: &mut Shell, list: &Rc<List>) -> Result<String, Stop> {
    let bytes = match read_file(shell, list).await? {
        Some(bytes) => bytes,
        None => {
            let (handle, kept) = Handle::kept(Captured::whole(SUBSTITUTED));
            let _process = Process::start()?;
            let mut child = shell.child()?;
            child.fds.set(1, handle);
            if !shell.options.inherit_errexit {
                child.options.errexit = false;
            }
            child.loops = 0;
            let result = run_list(&mut child, list).await;
            let status = finish(&mut child, result).await?;
            shell.substituted = Some(status);
            kept.borrow_mut().take()
        }
    };
    let mut text = String::from_utf8_lossy(&bytes).replace('\0', "");
    text.truncate(text.trim_end_matches('\n').len());
    Ok(text)
}

/// `$(< file)`
async fn read_file(shell: &mut Shell, list: &List) -> Result<Option<Vec<u8>>, Stop> {
    let [item] = list.as_slice() else { return Ok(None) };
    let [stage] = item.first.stages.as_slice() else { return Ok(None) };
    let (Kind::Simple { assigns, words: arguments, .. }, [redirect]) =
        (&stage.kind, stage.redirects.as_slice())
    else {
        return Ok(None);
    };
    if !assigns.is_empty()
        || !arguments.is_empty()
        || !item.rest.is_empty()
        || redirect.kind != RedirectKind::Read
    {
        return Ok(None);
    }
    let name = crate::expand::text(shell, &redirect.target).await?;
    match crate::files::read(shell, &name) {
        Ok(handle) => handle.rest().await.map(Some),
        Err(error) => {
            shell.complain(format!("{name}: {}", words(&error))).await?;
            shell.substituted = Some(1);
            Ok(Some(Vec::new()))
        }
    }
}

/// Closes what was substituted for a command that is over, of which the first `before` are of others, and lets those
/// that it wrote to come to their end: a script reads next what they made of it.
pub async fn release(shell: &mut Shell, before: usize) {
    if shell.processes.len() <= before {
        return;
    }
    let ended = shell.processes.split_off(before);
    for (fd, _) in &ended {
        shell.fds.close(*fd);
    }
    for (_, done) in ended {
        task::settle(&done).await;
    }
}

/// `<( … )` and `>( … )`: starts the commands, and gives the name of the file that leads to them.
pub fn process(shell: &mut Shell, list: &Rc<List>, out: bool) -> Result<String, Stop> {
    let (reader, writer) = pipe();
    let process = Process::start()?;
    let mut child = shell.child()?;
    let (inner, outer) = if out { ((0, reader), writer) } else { ((1, writer), reader) };
    child.fds.set(inner.0, inner.1);
    let fd = shell.fds.free();
    shell.fds.set(fd, outer);
    let list = Rc::clone(list);
    let done = Done::default();
    // Who reads from it has what it wants when it is over itself.
    if out {
        shell.processes.push((fd, done.clone()));
    } else {
        shell.processes.push((fd, Done::over()));
    }
    task::spawn(async move {
        let _process = process;
        let result = run_list(&mut child, &list).await;
        // The end of the whole run is noticed by whoever is waited for.
        let ended = finish(&mut child, result).await;
        drop(child);
        done.set(ended.unwrap_or(1));
    });
    Ok(format!("/dev/fd/{fd}"))
}
