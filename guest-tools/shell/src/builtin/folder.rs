//! The folder that a shell is in.

use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail};

fn enter(shell: &mut Shell, target: &str) -> Result<(), Stop> {
    let path = if target.starts_with('/') { target.to_owned() } else { format!("{}/{target}", shell.cwd) };
    let normal = files::normal(&path);
    let real = std::path::Path::new(&normal);
    if !files::is_enterable(shell, real) {
        return fail(format!(
            "{target}: {}",
            match std::fs::metadata(real) {
                Ok(_) => "Not a directory".to_owned(),
                Err(error) => crate::stop::words(&error),
            }
        ));
    }
    let old = std::mem::replace(&mut shell.cwd, normal);
    shell.vars.set_exported("OLDPWD", &old);
    let cwd = shell.cwd.clone();
    shell.vars.set_exported("PWD", &cwd);
    Ok(())
}

pub async fn cd(shell: &mut Shell, arguments: &[String]) -> Status {
    let operands: Vec<&String> =
        arguments.iter().filter(|argument| !matches!(argument.as_str(), "-P" | "-L" | "--" | "-e")).collect();
    match operands.as_slice() {
        [] => match shell.vars.get("HOME") {
            Some(home) => enter(shell, &home)?,
            None => return fail("HOME not set"),
        },
        [one] if one.as_str() == "-" => {
            let Some(old) = shell.vars.get("OLDPWD") else { return fail("OLDPWD not set") };
            enter(shell, &old)?;
            let line = format!("{}\n", shell.cwd);
            shell.stdout().write(line.as_bytes()).await?;
        }
        [one] => enter(shell, one)?,
        _ => return fail("too many arguments"),
    }
    Ok(0)
}

pub async fn pwd(shell: &mut Shell, _: &[String]) -> Status {
    shell.stdout().write(format!("{}\n", shell.cwd).as_bytes()).await?;
    Ok(0)
}

async fn show(shell: &Shell) -> Status {
    let home = shell.vars.get("HOME").unwrap_or_default();
    let short = |folder: &String| match folder.strip_prefix(&home) {
        Some(rest) if !home.is_empty() && (rest.is_empty() || rest.starts_with('/')) => format!("~{rest}"),
        _ => folder.clone(),
    };
    let all: Vec<String> = std::iter::once(&shell.cwd).chain(shell.folders.iter().rev()).map(short).collect();
    shell.stdout().write(format!("{}\n", all.join(" ")).as_bytes()).await?;
    Ok(0)
}

pub async fn dirs(shell: &mut Shell, _: &[String]) -> Status {
    show(shell).await
}

pub async fn pushd(shell: &mut Shell, arguments: &[String]) -> Status {
    let old = shell.cwd.clone();
    match arguments.first() {
        Some(target) => {
            enter(shell, target)?;
            shell.folders.push(old);
        }
        None => {
            let Some(target) = shell.folders.pop() else { return fail("no other directory") };
            enter(shell, &target)?;
            shell.folders.push(old);
        }
    }
    show(shell).await
}

pub async fn popd(shell: &mut Shell, _: &[String]) -> Status {
    let Some(target) = shell.folders.pop() else { return fail("directory stack empty") };
    enter(shell, &target)?;
    show(shell).await
}
