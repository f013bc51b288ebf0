//! `sed`

mod lines;
mod run;
mod script;
mod substitute;
mod tree;

use super::input;
use super::options::Spelling;
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, words, wrong};
use crate::stream::{Captured, Handle, Out};
use run::{End, Machine};

const SPELLING: Spelling = Spelling::new(
    "bEe:f:i1:nrsuz2",
    &[
        ("expression", 'e'),
        ("file", 'f'),
        ("in-place", '1'),
        ("quiet", 'n'),
        ("silent", 'n'),
        ("regexp-extended", 'E'),
        ("separate", 's'),
        ("null-data", 'z'),
        ("unbuffered", 'u'),
        ("posix", '2'),
        ("debug", '2'),
        ("sandbox", '2'),
    ],
);

pub async fn sed(shell: &mut Shell, arguments: &[String]) -> Status {
    // `-i.bak`: what follows the letter is the suffix and no further options.
    let mut suffix = None;
    let mut in_place = false;
    let mut plain = Vec::new();
    for argument in arguments {
        if let Some(rest) = argument.strip_prefix("--in-place") {
            in_place = true;
            suffix = rest.strip_prefix('=').map(str::to_owned);
            continue;
        }
        match argument
            .strip_prefix('-')
            .filter(|letters| !letters.starts_with('-'))
            .and_then(|letters| letters.split_once('i'))
        {
            Some((before, rest)) if before.chars().all(|letter| "nErsuz".contains(letter)) => {
                in_place = true;
                suffix = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
                plain.extend((!before.is_empty()).then(|| format!("-{before}")));
            }
            _ => plain.push(argument.clone()),
        }
    }
    let mut options = SPELLING.read(&plain)?;
    let mut text = String::new();
    for (letter, value) in options.given() {
        let piece = match letter {
            'e' => value.clone(),
            'f' => {
                String::from_utf8_lossy(&input::whole(shell, value).await?).trim_end_matches('\n').to_owned()
            }
            _ => continue,
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&piece);
    }
    let scripted = options.has('e') || options.has('f');
    if !scripted {
        if options.operands.is_empty() {
            return wrong(1, "usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...");
        }
        text = options.operands.remove(0);
    }
    let extended = options.has('E') || options.has('r');
    let script = script::parse(&text, extended)
        .map_err(|message| Stop::Fail(1, format!("-e expression #1, {message}")))?;
    let quiet = options.has('n') || text.starts_with("#n\n");
    let end = if options.has('z') { 0 } else { b'\n' };
    let names = options.inputs();
    let mut machine = Machine::new(script, quiet, end);
    if in_place {
        machine.in_place = true;
        return edit(shell, &mut machine, &names, suffix.as_deref()).await;
    }
    let mut handles = Vec::new();
    let mut status = 0;
    for name in &names {
        match open(shell, name).await? {
            Some(handle) => handles.push((name.clone(), handle)),
            None => status = 2,
        }
    }
    let mut out = shell.out();
    let code = if options.has('s') {
        let mut code = 0;
        for handle in handles {
            machine.restart();
            match machine.run(shell, vec![handle], &mut out).await? {
                End::Quit(status) => {
                    code = status;
                    break;
                }
                End::Done => {}
            }
        }
        code
    } else {
        match machine.run(shell, handles, &mut out).await? {
            End::Quit(code) => code,
            End::Done => 0,
        }
    };
    out.flush().await?;
    machine.close().await?;
    Ok(if code == 0 { status } else { code })
}

async fn open(shell: &Shell, name: &str) -> Result<Option<Handle>, Stop> {
    if name != "-" && files::is_dir(&shell.path(name)) {
        shell.warn(format!("sed: couldn't edit {name}: not a regular file")).await?;
        return Ok(None);
    }
    if name != "-" && !files::exists(&shell.path(name)) && !files::is_device(name) {
        shell.warn(format!("sed: can't read {name}: No such file or directory")).await?;
        return Ok(None);
    }
    input::open(shell, "sed", name).await
}

/// Replaces files by what the script makes of them.
async fn edit(shell: &mut Shell, machine: &mut Machine, names: &[String], suffix: Option<&str>) -> Status {
    let mut status = 0;
    for name in names {
        let Some(handle) = open(shell, name).await? else {
            status = 4;
            continue;
        };
        let (kept, captured) = Handle::kept(Captured::whole(64 << 20));
        let mut out = Out::new(kept);
        machine.restart();
        let end = machine.run(shell, vec![(name.clone(), handle.clone())], &mut out).await?;
        if let End::Quit(_) = end {
            // What was not read stays.
            let rest = handle.rest().await?;
            out.put(rest);
        }
        out.flush().await?;
        if let Some(suffix) = suffix {
            let backup =
                if suffix.contains('*') { suffix.replace('*', name) } else { format!("{name}{suffix}") };
            if let Err(error) = super::copy::copy_file(&shell.path(name), &shell.path(&backup)) {
                return wrong(4, format!("cannot rename {name}: {}", words(&error)));
            }
        }
        let bytes = captured.borrow_mut().take();
        if let Err(error) = std::fs::write(shell.path(name), bytes) {
            return wrong(4, format!("couldn't open file {name}: {}", words(&error)));
        }
        if let End::Quit(code) = end {
            machine.close().await?;
            return Ok(code);
        }
    }
    machine.close().await?;
    Ok(status)
}
