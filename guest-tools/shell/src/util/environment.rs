//! Utilities on what surrounds a command: `env`, `printenv`, `sleep`, and what a cell says of itself.

use super::options::Spelling;
use crate::shell::{Shell, invoke};
use crate::stop::{Status, fail, wrong};

pub async fn env(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new(
        "iu:0C:S:",
        &[("ignore-environment", 'i'), ("unset", 'u'), ("null", '0'), ("chdir", 'C')],
    )
    .ordered()
    .read(arguments)?;
    let mut child = shell.child()?;
    if options.has('i') || options.operands.first().is_some_and(|first| first == "-") {
        for (name, _) in shell.vars.exported() {
            child.vars.entry(&name).exported = false;
        }
    }
    for name in options.values('u') {
        // What is read-only for the script is not for the command.
        let _stays = child.vars.unset(name);
    }
    let mut rest = options.operands.as_slice();
    while let Some((first, after)) =
        rest.split_first().filter(|(first, _)| first.contains('=') || *first == "-")
    {
        if let Some((name, value)) = first.split_once('=') {
            child.vars.set_exported(name, value);
        }
        rest = after;
    }
    if rest.is_empty() {
        let end = if options.has('0') { '\0' } else { '\n' };
        let mut pairs = child.vars.exported();
        pairs.sort_by_key(|(name, _)| {
            options.operands.iter().position(|operand| operand.split('=').next() == Some(name))
        });
        let lines: String = pairs.into_iter().map(|(name, value)| format!("{name}={value}{end}")).collect();
        shell.stdout().write(lines.as_bytes()).await?;
        return Ok(0);
    }
    let name = rest.first().map_or("", String::as_str);
    if crate::builtin::find(name).is_none() && super::find(name).is_none() && !name.contains('/') {
        return wrong(127, format!("‘{name}’: No such file or directory"));
    }
    child.functions = std::rc::Rc::default();
    let result = invoke(&mut child, rest).await;
    crate::shell::subshell::finish(&mut child, result).await
}

pub async fn printenv(shell: &mut Shell, arguments: &[String]) -> Status {
    let pairs = shell.vars.exported();
    let mut status = 0;
    let mut lines = String::new();
    if arguments.is_empty() {
        lines.extend(pairs.iter().map(|(name, value)| format!("{name}={value}\n")));
    }
    for wanted in arguments {
        match pairs.iter().find(|(name, _)| name == wanted) {
            Some((_, value)) => lines.push_str(&format!("{value}\n")),
            None => status = 1,
        }
    }
    shell.stdout().write(lines.as_bytes()).await?;
    Ok(status)
}

pub async fn sleep(_: &mut Shell, arguments: &[String]) -> Status {
    let mut seconds = 0.0;
    if arguments.is_empty() {
        return fail("missing operand");
    }
    for text in arguments {
        let (digits, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
            Some(digits) => (digits, text.chars().next_back().unwrap_or('s')),
            None => (text.as_str(), 's'),
        };
        let scale = match unit {
            'm' => 60.0,
            'h' => 3600.0,
            'd' => 86400.0,
            _ => 1.0,
        };
        match digits.parse::<f64>() {
            Ok(number) if number >= 0.0 => seconds += number * scale,
            _ if text == "infinity" => seconds = f64::MAX,
            _ => {
                return fail(format!(
                    "invalid time interval ‘{text}’\nTry 'sleep --help' for more information."
                ));
            }
        }
    }
    let duration = std::time::Duration::try_from_secs_f64(seconds).unwrap_or(std::time::Duration::MAX);
    crate::task::sleep(duration).await;
    Ok(0)
}

pub async fn success(_: &mut Shell, _: &[String]) -> Status {
    Ok(0)
}

pub async fn failure(_: &mut Shell, _: &[String]) -> Status {
    Ok(1)
}

async fn say(shell: &mut Shell, line: &str) -> Status {
    shell.stdout().write(format!("{line}\n").as_bytes()).await?;
    Ok(0)
}

pub async fn uname(shell: &mut Shell, arguments: &[String]) -> Status {
    let all = arguments.iter().any(|flag| flag == "-a");
    let machine = arguments.iter().any(|flag| flag == "-m");
    say(
        shell,
        if all {
            "WASI cell 0.2 wasm32 toolcell"
        } else if machine {
            "wasm32"
        } else {
            "WASI"
        },
    )
    .await
}

pub async fn whoami(shell: &mut Shell, _: &[String]) -> Status {
    say(shell, "user").await
}

pub async fn hostname(shell: &mut Shell, _: &[String]) -> Status {
    say(shell, "cell").await
}

pub async fn nproc(shell: &mut Shell, _: &[String]) -> Status {
    say(shell, "1").await
}
