//! Redirections.

use super::Shell;
use crate::expand;
use crate::files;
use crate::stop::{Stop, words};
use crate::stream::Handle;
use crate::syntax::{Part, Redirect, RedirectKind};

/// Opens what the redirections name, in their order.
pub async fn apply(shell: &mut Shell, redirects: &[Redirect]) -> Result<(), Stop> {
    for redirect in redirects {
        one(shell, redirect).await?;
    }
    Ok(())
}

async fn one(shell: &mut Shell, redirect: &Redirect) -> Result<(), Stop> {
    let fd = match &redirect.variable {
        None => redirect.fd,
        Some(name) => number(shell, redirect, name)?,
    };
    match redirect.kind {
        RedirectKind::Here => {
            let text = expand::text(shell, &redirect.target).await?;
            shell.fds.set(fd, Handle::text(text.into_bytes()));
            return Ok(());
        }
        RedirectKind::HereString => {
            let text = expand::text(shell, &redirect.target).await?;
            shell.fds.set(fd, Handle::text(format!("{text}\n").into_bytes()));
            return Ok(());
        }
        _ => {}
    }
    let names = expand::words(shell, std::slice::from_ref(&redirect.target)).await?;
    let [name] = names.as_slice() else {
        return Err(Stop::Fail(1, "ambiguous redirect".to_owned()));
    };
    if redirect.kind == RedirectKind::Duplicate {
        return duplicate(shell, fd, name);
    }
    let opened = match redirect.kind {
        RedirectKind::Read => files::read(shell, name),
        RedirectKind::ReadWrite => files::read_write(shell, name),
        RedirectKind::Append | RedirectKind::BothAppend => files::append(shell, name),
        RedirectKind::Write if shell.options.noclobber && files::is_file(&shell.path(name)) => {
            return Err(Stop::Fail(1, format!("{name}: cannot overwrite existing file")));
        }
        _ => files::write(shell, name),
    };
    let handle = opened.map_err(|error| Stop::Fail(1, format!("{name}: {}", words(&error))))?;
    if matches!(redirect.kind, RedirectKind::Both | RedirectKind::BothAppend) {
        shell.fds.set(1, handle.clone());
        shell.fds.set(2, handle);
    } else {
        shell.fds.set(fd, handle);
    }
    Ok(())
}

/// The number in a variable where it is to be closed, else a new one, which the variable gets.
fn number(shell: &mut Shell, redirect: &Redirect, name: &str) -> Result<u32, Stop> {
    let closes = redirect.kind == RedirectKind::Duplicate
        && matches!(redirect.target.as_slice(), [Part::Plain(text)] if text == "-");
    if closes {
        let fd = shell.vars.get(name).and_then(|text| text.parse().ok());
        return fd.ok_or_else(|| Stop::Fail(1, format!("{name}: ambiguous redirect")));
    }
    let fd = shell.fds.fresh();
    shell.vars.set(name, fd.to_string()).map_err(|message| Stop::Fail(1, message))?;
    Ok(fd)
}

fn duplicate(shell: &mut Shell, fd: u32, name: &str) -> Result<(), Stop> {
    if name == "-" {
        shell.fds.close(fd);
        return Ok(());
    }
    let (digits, close) = match name.strip_suffix('-') {
        Some(digits) => (digits, true),
        None => (name, false),
    };
    let source = digits.parse().ok().and_then(|source| Some((source, shell.fds.find(source)?)));
    let Some((source, handle)) = source else {
        return Err(Stop::Fail(1, format!("{name}: Bad file descriptor")));
    };
    shell.fds.set(fd, handle);
    if close {
        shell.fds.close(source);
    }
    Ok(())
}
