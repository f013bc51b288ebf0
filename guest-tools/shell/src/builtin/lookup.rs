//! What a name would run.

use std::rc::Rc;

use super::find;
use crate::shell::{Shell, invoke};
use crate::stop::{Status, wrong};
use crate::util;

const KEYWORDS: [&str; 17] = [
    "if", "then", "else", "elif", "fi", "case", "esac", "for", "while", "until", "do", "done", "in",
    "function", "time", "{", "}",
];

enum Found {
    Function,
    Keyword,
    Builtin,
    File(String),
}

fn look_up(shell: &Shell, name: &str) -> Option<Found> {
    if KEYWORDS.contains(&name) || matches!(name, "!" | "[[" | "]]") {
        return Some(Found::Keyword);
    }
    if shell.functions.contains_key(name) {
        return Some(Found::Function);
    }
    if find(name).is_some_and(|_| !matches!(name, "bash" | "sh" | "which"))
        || super::declaration(name)
        || matches!(name, "true" | "false")
    {
        return Some(Found::Builtin);
    }
    if (util::find(name).is_some() || find(name).is_some()) && !name.contains('/') {
        return Some(Found::File(format!("/usr/bin/{name}")));
    }
    (name.contains('/') && crate::files::is_file(&shell.path(name))).then(|| Found::File(name.to_owned()))
}

pub async fn command(shell: &mut Shell, arguments: &[String]) -> Status {
    let Some((flag, names)) = arguments.split_first() else { return Ok(0) };
    match flag.as_str() {
        "-v" | "-V" => {
            let mut status = 1;
            for name in names {
                let Some(found) = look_up(shell, name) else {
                    if flag == "-V" {
                        shell.complain(format!("command: {name}: not found")).await?;
                    }
                    continue;
                };
                status = 0;
                let line = match found {
                    Found::File(path) if flag == "-v" => path,
                    _ if flag == "-v" => name.clone(),
                    found => describe(name, &found),
                };
                shell.stdout().write(format!("{line}\n").as_bytes()).await?;
            }
            Ok(status)
        }
        "-p" | "--" => plain(shell, names).await,
        _ => plain(shell, arguments).await,
    }
}

/// Runs what the name means, other than a function.
async fn plain(shell: &mut Shell, arguments: &[String]) -> Status {
    let Some(name) = arguments.first() else { return Ok(0) };
    let hidden = Rc::make_mut(&mut shell.functions).remove(name);
    let result = invoke(shell, arguments).await;
    if let Some(body) = hidden {
        Rc::make_mut(&mut shell.functions).insert(name.clone(), body);
    }
    result
}

pub async fn builtin(shell: &mut Shell, arguments: &[String]) -> Status {
    match arguments.first() {
        Some(name) if find(name).is_none() && util::find(name).is_none() => {
            wrong(1, format!("{name}: not a shell builtin"))
        }
        _ => plain(shell, arguments).await,
    }
}

fn describe(name: &str, found: &Found) -> String {
    match found {
        Found::Function => format!("{name} is a function"),
        Found::Keyword => format!("{name} is a shell keyword"),
        Found::Builtin => format!("{name} is a shell builtin"),
        Found::File(path) => format!("{name} is {path}"),
    }
}

/// `type`
pub async fn kind(shell: &mut Shell, arguments: &[String]) -> Status {
    let mut status = 0;
    let (mut short, mut path) = (false, false);
    for argument in arguments {
        match argument.as_str() {
            "-t" => short = true,
            "-p" | "-P" => path = true,
            "-a" | "-f" => {}
            name => match look_up(shell, name) {
                None => {
                    status = 1;
                    if !short && !path {
                        shell.complain(format!("type: {name}: not found")).await?;
                    }
                }
                Some(found) => {
                    let line = match &found {
                        Found::File(file) if path => file.clone(),
                        _ if path => continue,
                        Found::Function if short => "function".to_owned(),
                        Found::Keyword if short => "keyword".to_owned(),
                        Found::Builtin if short => "builtin".to_owned(),
                        Found::File(_) if short => "file".to_owned(),
                        Found::Function => {
                            let text = shell.functions.get(name).map(|function| Rc::clone(&function.text));
                            format!("{name} is a function\n{}", text.unwrap_or_default())
                        }
                        found => describe(name, found),
                    };
                    shell.stdout().write(format!("{line}\n").as_bytes()).await?;
                }
            },
        }
    }
    Ok(status)
}

pub async fn which(shell: &mut Shell, arguments: &[String]) -> Status {
    let mut status = 0;
    for name in arguments.iter().filter(|name| !name.starts_with('-')) {
        let builtin = find(name).is_some() || util::find(name).is_some();
        if !builtin || name.contains('/') {
            status = 1;
            continue;
        }
        shell.stdout().write(format!("/usr/bin/{name}\n").as_bytes()).await?;
    }
    Ok(status)
}
