//! Attributes of variables: `declare`, `local`, `export`, `readonly`, and `unset`.

use std::rc::Rc;

use crate::expand;
use crate::quote;
use crate::shell::{Kind, Shell, assign};
use crate::stop::{Status, Stop, fail, wrong};
use crate::syntax::{Assign, Assigned, Part, parse_word};

pub const NAMES: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

/// Whether the command takes assignments as arguments.
pub fn declaration(name: &str) -> bool {
    NAMES.contains(&name)
}

/// What the flags ask for.
#[derive(Default)]
struct Flags {
    on: String,
    off: String,
}

impl Flags {
    fn has(&self, letter: char) -> bool {
        self.on.contains(letter)
    }
}

pub async fn declare(shell: &mut Shell, command: &str, arguments: &[String], declared: &[Assign]) -> Status {
    let mut flags = Flags::default();
    let mut names = Vec::new();
    for argument in arguments {
        match argument
            .strip_prefix('-')
            .map(|rest| (true, rest))
            .or_else(|| argument.strip_prefix('+').map(|rest| (false, rest)))
        {
            Some((true, "-")) => {}
            Some((true, letters)) if names.is_empty() && !letters.is_empty() => flags.on.push_str(letters),
            Some((false, letters)) if names.is_empty() && !letters.is_empty() => flags.off.push_str(letters),
            _ => names.push(argument.clone()),
        }
    }
    match command {
        "export" if flags.has('n') => {
            flags.on.retain(|letter| letter == 'f');
            flags.off.push('x');
        }
        "export" => flags.on.push('x'),
        "readonly" => flags.on.push('r'),
        "local" if !shell.vars.is_in_function() => {
            shell.complain("local: can only be used in a function").await?;
            return Ok(1);
        }
        _ => {}
    }
    if flags.has('f') || flags.has('F') {
        return functions(shell, command, &flags, &names).await;
    }
    if flags.has('p') || (names.is_empty() && declared.is_empty()) {
        return show(shell, command, &flags, &names).await;
    }
    let local = command == "local"
        || (matches!(command, "declare" | "typeset") && shell.vars.is_in_function() && !flags.has('g'));
    // `declare "name=value"`, where the value came out of an expansion.
    for name in names {
        match name.split_once('=') {
            None => {
                prepare(shell, command, &name, &flags, local).await?;
                finish(shell, &name, &flags);
            }
            Some((target, text)) => {
                let (target, append) = match target.strip_suffix('+') {
                    Some(target) => (target, true),
                    None => (target, false),
                };
                let value = Assigned::Word(vec![Part::Quoted(text.to_owned())]);
                let one = Assign { name: target.to_owned(), index: None, append, value };
                one_declared(shell, command, &one, &flags, local).await?;
            }
        }
    }
    for one in declared {
        one_declared(shell, command, one, &flags, local).await?;
    }
    Ok(shell.substituted.filter(|_| command == "export").map_or(0, |_| 0))
}

async fn one_declared(
    shell: &mut Shell,
    command: &str,
    one: &Assign,
    flags: &Flags,
    local: bool,
) -> Result<(), Stop> {
    if flags.has('n') {
        let Assigned::Word(word) = &one.value else { return Ok(()) };
        let target = expand::text(shell, word).await?;
        let var = if local { shell.vars.local(&one.name) } else { shell.vars.entry(&one.name) };
        var.reference = Some(target);
        return Ok(());
    }
    // The value is expanded before the variable is new: `local x=$x`.
    let computed = match &one.value {
        Assigned::Word(word) => {
            let text = expand::value(shell, word).await?;
            Some(Assign {
                name: one.name.clone(),
                index: one.index.clone(),
                append: one.append,
                value: Assigned::Word(vec![Part::Quoted(text)]),
            })
        }
        Assigned::Array(elements) => {
            let mut known = Vec::new();
            for (key, word) in elements {
                let texts = match key {
                    Some(_) => vec![expand::value(shell, word).await?],
                    None => expand::words(shell, std::slice::from_ref(word)).await?,
                };
                known.extend(texts.into_iter().map(|text| (key.clone(), vec![Part::Quoted(text)])));
            }
            Some(Assign {
                name: one.name.clone(),
                index: None,
                append: one.append,
                value: Assigned::Array(known),
            })
        }
    };
    prepare(shell, command, &one.name, flags, local).await?;
    if let Some(computed) = computed {
        assign(shell, &computed).await?;
    }
    finish(shell, &one.name, flags);
    Ok(())
}

/// The attributes that hold for what is assigned.
async fn prepare(
    shell: &mut Shell,
    command: &str,
    name: &str,
    flags: &Flags,
    local: bool,
) -> Result<(), Stop> {
    let valid = name.chars().enumerate().all(|(index, letter)| {
        letter == '_' || letter.is_ascii_alphabetic() || (index > 0 && letter.is_ascii_digit())
    });
    if !valid || name.is_empty() {
        shell.complain(format!("{command}: `{name}': not a valid identifier")).await?;
        return Err(Stop::Line(1));
    }
    if local {
        shell.vars.local(name);
    }
    let var = shell.vars.entry(name);
    if flags.has('A') && !matches!(var.kind, Some(Kind::Map(_))) {
        var.kind = Some(Kind::Map(std::collections::BTreeMap::new()));
    }
    if flags.has('a') && !matches!(var.kind, Some(Kind::List(_))) {
        let first = match var.kind.take() {
            Some(Kind::Text(text)) => [(0, text)].into(),
            _ => std::collections::BTreeMap::new(),
        };
        var.kind = Some(Kind::List(first));
    }
    var.integer = (var.integer || flags.has('i')) && !flags.off.contains('i');
    var.lower = (var.lower || flags.has('l')) && !flags.off.contains('l');
    var.upper = (var.upper || flags.has('u')) && !flags.off.contains('u');
    Ok(())
}

/// The attributes that hold from now on.
fn finish(shell: &mut Shell, name: &str, flags: &Flags) {
    let var = shell.vars.entry(name);
    var.exported = (var.exported || flags.has('x')) && !flags.off.contains('x');
    var.readonly = var.readonly || flags.has('r');
}

/// `declare -f`, `export -f`
async fn functions(shell: &mut Shell, command: &str, flags: &Flags, names: &[String]) -> Status {
    let mut known: Vec<String> = shell.functions.keys().cloned().collect();
    known.sort();
    let mut status = 0;
    let mut lines = String::new();
    for name in if names.is_empty() { &known } else { names } {
        let Some(function) = Rc::make_mut(&mut shell.functions).get_mut(name) else {
            if command == "export" {
                shell.complain(format!("export: {name}: not a function")).await?;
            }
            status = 1;
            continue;
        };
        if command == "export" || flags.off.contains('x') {
            function.exported = !flags.off.contains('x');
        } else if !flags.has('F') {
            lines.push_str(&format!("{}\n", function.text));
        } else if names.is_empty() {
            lines.push_str(&format!("declare -f {name}\n"));
        } else {
            lines.push_str(&format!("{name}\n"));
        }
    }
    shell.stdout().write(lines.as_bytes()).await?;
    Ok(status)
}

async fn show(shell: &mut Shell, command: &str, flags: &Flags, names: &[String]) -> Status {
    let all = shell.vars.names();
    let mut lines = String::new();
    let mut status = 0;
    for name in if names.is_empty() { &all } else { names } {
        let Some(var) = shell.vars.find(name).filter(|var| var.kind.is_some()) else {
            shell.complain(format!("{command}: {name}: not found")).await?;
            status = 1;
            continue;
        };
        if names.is_empty() && ((flags.has('x') && !var.exported) || (flags.has('r') && !var.readonly)) {
            continue;
        }
        let mut attributes = String::new();
        match var.kind {
            Some(Kind::List(_)) => attributes.push('a'),
            Some(Kind::Map(_)) => attributes.push('A'),
            _ => {}
        }
        for (letter, on) in [('i', var.integer), ('r', var.readonly), ('x', var.exported)] {
            if on {
                attributes.push(letter);
            }
        }
        if attributes.is_empty() {
            attributes.push('-');
        }
        let value = match &var.kind {
            Some(Kind::Text(text)) => quote::double(text),
            _ => {
                let elements = shell.vars.elements(name);
                let inner: Vec<String> =
                    elements.iter().map(|(key, text)| format!("[{key}]={}", quote::double(text))).collect();
                let end = if shell.vars.is_map(name) && !inner.is_empty() { " " } else { "" };
                format!("({}{end})", inner.join(" "))
            }
        };
        lines.push_str(&format!("declare -{attributes} {name}={value}\n"));
    }
    shell.stdout().write(lines.as_bytes()).await?;
    Ok(status)
}

pub async fn unset(shell: &mut Shell, arguments: &[String]) -> Status {
    let mut only_functions = false;
    let mut only_variables = false;
    for argument in arguments {
        match argument.as_str() {
            "-f" => only_functions = true,
            "-v" | "-n" => only_variables = true,
            name if name.starts_with('-') => return wrong(2, format!("{name}: invalid option")),
            name => {
                if only_functions
                    || (!only_variables && shell.vars.find(name).is_none() && !name.contains('['))
                {
                    Rc::make_mut(&mut shell.functions).remove(name);
                    continue;
                }
                let result = match name.split_once('[') {
                    None => shell.vars.unset(name),
                    Some((array, rest)) => {
                        let inner = rest.trim_end_matches(']');
                        let key = match parse_word(inner) {
                            Ok(word) => expand::key(shell, array, &word).await?,
                            Err(error) => return fail(error.message),
                        };
                        shell.vars.unset_element(array, &key)
                    }
                };
                if let Err(message) = result {
                    return fail(message);
                }
            }
        }
    }
    Ok(0)
}
