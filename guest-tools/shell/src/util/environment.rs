//! Utilities on what surrounds a command: `env`, `printenv`, `sleep`, `timeout`, and what a cell says of itself.

use std::time::Duration;

use super::options::Spelling;
use crate::shell::{Shell, invoke};
use crate::stop::{Status, fail, wrong};
use crate::task;

pub async fn env(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new(
        "iu:0C:S:",
        &[("ignore-environment", 'i'), ("unset", 'u'), ("null", '0'), ("chdir", 'C'), ("split-string", 'S')],
    )
    .ordered()
    .read(arguments)?;
    let mut operands = Vec::new();
    for text in options.values('S') {
        operands.extend(super::xargs::quoted(text.as_bytes())?);
    }
    operands.extend(options.operands.iter().cloned());
    let mut child = shell.child()?;
    if let Some(folder) = options.value('C') {
        let path = shell.path(folder);
        if !crate::files::is_enterable(shell, &path) {
            return wrong(125, format!("cannot change directory to '{folder}': No such file or directory"));
        }
        child.cwd = crate::files::normal(&path.to_string_lossy());
    }
    if options.has('i') || operands.first().is_some_and(|first| first == "-") {
        for (name, _) in shell.vars.exported() {
            child.vars.entry(&name).exported = false;
        }
    }
    for name in options.values('u') {
        // What is read-only for the script is not for the command.
        let _stays = child.vars.unset(name);
    }
    let mut rest = operands.as_slice();
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
            operands.iter().position(|operand| operand.split('=').next() == Some(name))
        });
        let lines: String = pairs.into_iter().map(|(name, value)| format!("{name}={value}{end}")).collect();
        shell.stdout().write(lines.as_bytes()).await?;
        return Ok(0);
    }
    let name = rest.first().map_or("", String::as_str);
    if is_unknown(name) {
        return wrong(127, format!("‘{name}’: No such file or directory"));
    }
    std::rc::Rc::make_mut(&mut child.functions).retain(|_, function| function.exported);
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

/// `1.5`, `2m`, `1h`, `infinity`.
fn duration(text: &str) -> Option<Duration> {
    if text == "infinity" {
        return Some(Duration::MAX);
    }
    let (digits, scale) = match text.chars().next_back()? {
        's' => (text.strip_suffix('s')?, 1.0),
        'm' => (text.strip_suffix('m')?, 60.0),
        'h' => (text.strip_suffix('h')?, 3600.0),
        'd' => (text.strip_suffix('d')?, 86400.0),
        _ => (text, 1.0),
    };
    let number = digits.parse::<f64>().ok().filter(|number| *number >= 0.0)?;
    Some(Duration::try_from_secs_f64(number * scale).unwrap_or(Duration::MAX))
}

pub async fn sleep(_: &mut Shell, arguments: &[String]) -> Status {
    if arguments.is_empty() {
        return fail("missing operand");
    }
    let mut whole = Duration::ZERO;
    for text in arguments {
        let Some(duration) = duration(text) else {
            return fail(format!("invalid time interval ‘{text}’\nTry 'sleep --help' for more information."));
        };
        whole = whole.saturating_add(duration);
    }
    task::sleep(whole).await;
    Ok(0)
}

/// The status of a command whose time is over.
const TIMED_OUT: i32 = 124;

/// `timeout`: a command, for at most that long.
pub async fn timeout(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new(
        "s:k:vf",
        &[
            ("signal", 's'),
            ("kill-after", 'k'),
            ("preserve-status", 'p'),
            ("foreground", 'f'),
            ("verbose", 'v'),
        ],
    )
    .ordered()
    .read(arguments)?;
    let [text, command @ ..] = options.operands.as_slice() else { return wrong(125, "missing operand") };
    let Some(duration) = duration(text) else {
        return wrong(
            125,
            format!("invalid time interval ‘{text}’\nTry 'timeout --help' for more information."),
        );
    };
    let Some(name) = command.first() else { return wrong(125, "missing operand") };
    if is_unknown(name) {
        return wrong(127, format!("failed to run command ‘{name}’: No such file or directory"));
    }
    let _process = task::Process::start()?;
    let mut child = shell.child()?;
    std::rc::Rc::make_mut(&mut child.functions).retain(|_, function| function.exported);
    let run = async move {
        let result = invoke(&mut child, command).await;
        crate::shell::subshell::finish(&mut child, result).await
    };
    if duration.is_zero() {
        return run.await;
    }
    task::within(duration, run).await.unwrap_or(Ok(TIMED_OUT))
}

/// Whether nothing of that name can be run without a shell's functions.
fn is_unknown(name: &str) -> bool {
    crate::builtin::find(name).is_none() && super::find(name).is_none() && !name.contains('/')
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

/// `id`: the one user whom `whoami` names.
pub async fn id(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = Spelling::new("ugGn", &[("user", 'u'), ("group", 'g'), ("groups", 'G'), ("name", 'n')])
        .read(arguments)?;
    if let Some(name) = options.operands.first().filter(|name| *name != "user") {
        return fail(format!("‘{name}’: no such user"));
    }
    let one = options.has('u') || options.has('g') || options.has('G');
    match (one, options.has('n')) {
        (false, _) => say(shell, "uid=1000(user) gid=1000(user) groups=1000(user)").await,
        (true, false) => say(shell, "1000").await,
        (true, true) => say(shell, "user").await,
    }
}
