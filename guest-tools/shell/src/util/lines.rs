//! Utilities that turn lines: `nl`, `rev`, `tac`, `fold`, `yes`.

use super::input;
use super::options::Spelling;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail};

pub async fn rev(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new("", &[]).read(arguments)?;
    let (mut out, mut status, mut line) = (shell.out(), 0, Vec::new());
    for name in options.inputs() {
        let Some(handle) = input::open(shell, "rev", &name).await? else {
            status = 1;
            continue;
        };
        loop {
            line.clear();
            if !handle.until(b'\n', &mut line).await? {
                break;
            }
            let text = String::from_utf8_lossy(&line);
            let (body, end) = text.strip_suffix('\n').map_or((text.as_ref(), ""), |body| (body, "\n"));
            out.put(body.chars().rev().collect::<String>());
            out.put(end);
            out.check().await?;
        }
    }
    out.flush().await?;
    Ok(status)
}

pub async fn tac(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new("", &[]).read(arguments)?;
    let (mut out, mut status) = (shell.out(), 0);
    for name in options.inputs() {
        if name != "-" && !crate::files::exists(&shell.path(&name)) {
            shell
                .warn(format!("tac: failed to open '{name}' for reading: No such file or directory"))
                .await?;
            status = 1;
            continue;
        }
        let Some(handle) = input::open(shell, "tac", &name).await? else {
            status = 1;
            continue;
        };
        let content = handle.rest().await?;
        for line in content.split_inclusive(|byte| *byte == b'\n').rev() {
            out.put(line);
            out.check().await?;
        }
    }
    out.flush().await?;
    Ok(status)
}

const NL: Spelling = Spelling::new(
    "b:w:s:v:i:n:",
    &[
        ("body-numbering", 'b'),
        ("number-width", 'w'),
        ("number-separator", 's'),
        ("starting-line-number", 'v'),
        ("line-increment", 'i'),
        ("number-format", 'n'),
    ],
);

pub async fn nl(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = NL.read(arguments)?;
    let number = |letter, default| match options.value(letter) {
        None => Ok(default),
        Some(text) => {
            text.parse::<i64>().map_err(|_| Stop::Fail(1, format!("invalid line number: ‘{text}’")))
        }
    };
    let (mut next, step) = (number('v', 1)?, number('i', 1)?);
    let width = usize::try_from(number('w', 6)?).unwrap_or(6).min(1000);
    let separator = options.value('s').unwrap_or("\t");
    let all = options.value('b') == Some("a");
    let format = options.value('n').unwrap_or("rn");
    let (mut out, mut status, mut line) = (shell.out(), 0, Vec::new());
    for name in options.inputs() {
        let Some(handle) = input::open(shell, "nl", &name).await? else {
            status = 1;
            continue;
        };
        while handle.line(&mut line).await? {
            if line.is_empty() && !all {
                out.line(" ".repeat(width + separator.chars().count()));
                continue;
            }
            out.put(match format {
                "ln" => format!("{next:<width$}"),
                "rz" => format!("{next:0>width$}"),
                _ => format!("{next:>width$}"),
            });
            out.put(separator);
            out.line(&line);
            next += step;
            out.check().await?;
        }
    }
    out.flush().await?;
    Ok(status)
}

pub async fn fold(shell: &mut Shell, arguments: &[String]) -> Status {
    let options =
        Spelling::new("bsw:#", &[("width", 'w'), ("spaces", 's'), ("bytes", 'b')]).read(arguments)?;
    let text = options.value('w').or(options.value('#')).unwrap_or("80");
    let Some(width) = text.parse().ok().filter(|width: &usize| *width > 0) else {
        return fail(format!("invalid number of columns: ‘{text}’"));
    };
    let (mut out, mut status, mut line) = (shell.out(), 0, Vec::new());
    for name in options.inputs() {
        let Some(handle) = input::open(shell, "fold", &name).await? else {
            status = 1;
            continue;
        };
        while handle.line(&mut line).await? {
            let letters: Vec<char> = String::from_utf8_lossy(&line).chars().collect();
            let mut rest = letters.as_slice();
            while rest.len() > width {
                let mut at = width;
                if options.has('s') {
                    let blank = rest.iter().take(width).rposition(|letter| *letter == ' ');
                    at = blank.map_or(width, |index| index + 1);
                }
                let (now, later) = rest.split_at(at);
                out.line(now.iter().collect::<String>());
                rest = later;
            }
            out.line(rest.iter().collect::<String>());
            out.check().await?;
        }
    }
    out.flush().await?;
    Ok(status)
}

pub async fn yes(shell: &mut Shell, arguments: &[String]) -> Status {
    let line = if arguments.is_empty() { "y\n".to_owned() } else { format!("{}\n", arguments.join(" ")) };
    let block = line.repeat((16 << 10) / line.len() + 1);
    let stdout = shell.stdout();
    loop {
        crate::task::tick()?;
        stdout.write(block.as_bytes()).await?;
    }
}
