//! Jobs and signals.

use crate::shell::Shell;
use crate::stop::{Status, fail};
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

pub async fn kill(shell: &mut Shell, arguments: &[String]) -> Status {
    let number = arguments.iter().rev().find(|argument| !argument.starts_with('-'));
    let known = number
        .and_then(|text| text.trim_start_matches('%').parse().ok())
        .filter(|number| shell.jobs.iter().any(|(job, _)| job == number));
    match (known, number) {
        (Some(_), _) => fail("jobs here cannot be sent signals; they end with the call"),
        (None, Some(number)) => fail(format!("({number}) - No such process")),
        (None, None) => fail("usage: kill pid"),
    }
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
