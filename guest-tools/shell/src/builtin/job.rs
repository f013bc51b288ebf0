//! Jobs and signals.

use crate::shell::Shell;
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
const SIGNALS: [(&str, i32); 9] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
];

/// The number of a signal by its name or number.
fn signal(text: &str) -> Option<i32> {
    let name = text.strip_prefix("SIG").unwrap_or(text);
    let known = SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    known.or_else(|| text.parse().ok().filter(|number| (0..=64).contains(number)))
}

/// `kill`: every signal but 0 ends a job, since jobs catch none.
pub async fn kill(shell: &mut Shell, arguments: &[String]) -> Status {
    if arguments.first().is_some_and(|flag| flag == "-l") {
        let names: Vec<&str> = SIGNALS.iter().map(|(name, _)| *name).collect();
        shell.stdout().write(format!("{}\n", names.join(" ")).as_bytes()).await?;
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
        let found = match name.strip_prefix('%').map(|text| text.parse::<usize>()) {
            Some(index) => index.ok().and_then(|index| shell.jobs.get(index.checked_sub(1)?)),
            None => shell.jobs.iter().find(|(job, _)| job.to_string() == *name),
        };
        match found {
            Some((_, done)) if done.get().is_none() => {
                if signal > 0 {
                    done.set(SIGNALLED + signal);
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

/// `trap`: of the signals only the end of the shell and failures happen here.
pub async fn trap(shell: &mut Shell, arguments: &[String]) -> Status {
    let rest = if arguments.first().is_some_and(|flag| flag == "--") {
        arguments.get(1..).unwrap_or_default()
    } else {
        arguments
    };
    let Some((action, signals)) = rest.split_first() else {
        return Ok(0);
    };
    if action == "-p" || action == "-l" {
        return Ok(0);
    }
    let (action, signals) = if signals.is_empty() { ("-", rest) } else { (action.as_str(), signals) };
    let action = (action != "-").then(|| action.to_owned());
    for signal in signals {
        match signal.trim_start_matches("SIG") {
            "EXIT" | "0" => shell.exit_trap = action.clone().filter(|text| !text.is_empty()),
            "ERR" => shell.error_trap = action.clone().filter(|text| !text.is_empty()),
            // Nobody sends signals to a cell.
            "INT" | "TERM" | "HUP" | "QUIT" | "PIPE" | "USR1" | "USR2" | "ALRM" | "CHLD" | "DEBUG"
            | "RETURN" | "1" | "2" | "3" | "13" | "15" => {}
            _ => return fail(format!("{signal}: invalid signal specification")),
        }
    }
    Ok(0)
}
