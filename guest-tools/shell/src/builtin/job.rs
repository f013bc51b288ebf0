//! Jobs and signals.

use crate::quote;
use crate::shell::frame::{DEBUG, ERR, EXIT, RETURN};
use crate::shell::{Shell, traps};
use crate::stop::{Status, fail, wrong};
use crate::task;

pub async fn wait(shell: &mut Shell, arguments: &[String]) -> Status {
    let mut status = 0;
    let numbers: Vec<u32> =
        arguments.iter().filter_map(|text| text.trim_start_matches('%').parse().ok()).collect();
    let waited: Vec<_> = shell
        .jobs
        .iter()
        .filter(|(number, _)| numbers.is_empty() || numbers.contains(number))
        .cloned()
        .collect();
    if waited.is_empty() && !numbers.is_empty() {
        shell.complain(format!("wait: pid {} is not a child of this shell", arguments.join(" "))).await?;
        return Ok(127);
    }
    for (number, done) in waited {
        let ended = task::until(|| done.get()).await;
        shell.jobs.retain(|(other, _)| *other != number);
        if !numbers.is_empty() {
            status = ended;
        }
    }
    Ok(status)
}

pub async fn jobs(shell: &mut Shell, _: &[String]) -> Status {
    let mut lines = String::new();
    for (index, (_, done)) in shell.jobs.iter().enumerate() {
        let state = if done.get().is_some() { "Done" } else { "Running" };
        lines.push_str(&format!("[{}]  {state}\n", index + 1));
    }
    shell.stdout().write(lines.as_bytes()).await?;
    Ok(0)
}

/// What a signal ends a process with.
const SIGNALLED: i32 = 128;
/// The signals of Linux, by their numbers.
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// The number of a signal by its name or number.
fn signal(text: &str) -> Option<u8> {
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let known =
        SIGNALS.iter().position(|known| *known == name).and_then(|index| u8::try_from(index + 1).ok());
    known.or_else(|| text.parse().ok().filter(|number| *number <= 64))
}

/// What a trap is set for, by its name or number.
fn event(text: &str) -> Option<u8> {
    match text.to_ascii_uppercase().as_str() {
        "EXIT" | "SIGEXIT" => Some(EXIT),
        "DEBUG" => Some(DEBUG),
        "ERR" => Some(ERR),
        "RETURN" => Some(RETURN),
        _ => signal(text),
    }
}

fn event_name(number: u8) -> String {
    match number {
        EXIT => "EXIT".to_owned(),
        DEBUG => "DEBUG".to_owned(),
        ERR => "ERR".to_owned(),
        RETURN => "RETURN".to_owned(),
        number => format!("SIG{}", signal_name(number)),
    }
}

fn signal_name(number: u8) -> String {
    let name = usize::from(number).checked_sub(1).and_then(|index| SIGNALS.get(index));
    name.map_or_else(|| number.to_string(), |name| (*name).to_owned())
}

/// All signals, five in a line.
fn list() -> String {
    let mut lines = String::new();
    for (index, name) in SIGNALS.iter().enumerate() {
        lines.push_str(&format!("{:2}) SIG{name}{}", index + 1, if index % 5 == 4 { "\n" } else { "\t" }));
    }
    lines + "\n"
}

/// `kill`: every signal but 0 ends a job, since jobs catch none; the shell itself may catch them.
pub async fn kill(shell: &mut Shell, arguments: &[String]) -> Status {
    if let Some((_, rest)) = arguments.split_first().filter(|(flag, _)| matches!(flag.as_str(), "-l" | "-L"))
    {
        let mut lines = if rest.is_empty() { list() } else { String::new() };
        for text in rest {
            let Some(number) = text.parse().map_or_else(|_| signal(text), |code: u8| Some(code % 128)) else {
                return fail(format!("{text}: invalid signal specification"));
            };
            let is_number = text.starts_with(|letter: char| letter.is_ascii_digit());
            lines.push_str(&if is_number { signal_name(number) } else { number.to_string() });
            lines.push('\n');
        }
        shell.stdout().write(lines.as_bytes()).await?;
        return Ok(0);
    }
    let (wanted, jobs) = match arguments {
        [flag, name, jobs @ ..] if flag == "-s" || flag == "-n" => (name.as_str(), jobs),
        [flag, jobs @ ..] if flag.len() > 1 && flag.starts_with('-') && flag != "--" => {
            (flag.trim_start_matches('-'), jobs)
        }
        [flag, jobs @ ..] if flag == "--" => ("TERM", jobs),
        jobs => ("TERM", jobs),
    };
    let Some(signal) = signal(wanted) else {
        return fail(format!("{wanted}: invalid signal specification"));
    };
    if jobs.is_empty() {
        return wrong(
            2,
            "usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]",
        );
    }
    let mut status = 0;
    for name in jobs {
        if Some(name) == shell.parameter("$").as_ref() {
            if signal > 0 {
                status |= traps::signal(shell, signal).await?;
            }
            continue;
        }
        let found = match name.strip_prefix('%').map(|text| text.parse::<usize>()) {
            Some(index) => index.ok().and_then(|index| shell.jobs.get(index.checked_sub(1)?)),
            None => shell.jobs.iter().find(|(job, _)| job.to_string() == *name),
        };
        match found {
            Some((_, done)) if done.get().is_none() => {
                if signal > 0 {
                    done.set(SIGNALLED + i32::from(signal));
                }
            }
            _ => {
                shell.complain(format!("kill: ({name}) - No such process")).await?;
                status = 1;
            }
        }
    }
    Ok(status)
}

/// `trap`: signals come from `kill` alone.
pub async fn trap(shell: &mut Shell, arguments: &[String]) -> Status {
    let (flag, rest) = match arguments.split_first() {
        Some((flag, rest)) if matches!(flag.as_str(), "--" | "-p" | "-l") => (flag.as_str(), rest),
        _ => ("", arguments),
    };
    if flag == "-l" {
        shell.stdout().write(list().as_bytes()).await?;
        return Ok(0);
    }
    let Some((action, events)) = rest.split_first().filter(|_| flag != "-p") else {
        let mut wanted = Vec::new();
        for text in rest {
            let Some(number) = event(text) else {
                return fail(format!("{text}: invalid signal specification"));
            };
            wanted.push(number);
        }
        let lines: String = shell
            .traps
            .iter()
            .filter(|(number, _)| wanted.is_empty() || wanted.contains(number))
            .map(|(number, action)| format!("trap -- {} {}\n", quote::always(action), event_name(*number)))
            .collect();
        shell.stdout().write(lines.as_bytes()).await?;
        return Ok(0);
    };
    // A number alone is what is no longer trapped.
    let alone = events.is_empty() || action.parse::<u8>().is_ok();
    let (action, events) = if alone { ("-", rest) } else { (action.as_str(), events) };
    let mut status = 0;
    for text in events {
        let Some(number) = event(text) else {
            shell.complain(format!("trap: {text}: invalid signal specification")).await?;
            status = 1;
            continue;
        };
        if action == "-" {
            shell.traps.remove(&number);
        } else {
            shell.traps.insert(number, action.into());
        }
    }
    Ok(status)
}
