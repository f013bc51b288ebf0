//! Assignments.

use std::collections::BTreeMap;

use super::{Kind, Shell};
use crate::expand;
use crate::stop::Stop;
use crate::syntax::{Assign, Assigned, Word};

/// Carries an assignment out.
pub async fn assign(shell: &mut Shell, assign: &Assign) -> Result<(), Stop> {
    let result = match &assign.value {
        Assigned::Array(elements) => return array(shell, assign, elements).await,
        Assigned::Word(word) => {
            let text = expand::value(shell, word).await?;
            match &assign.index {
                None => scalar(shell, assign, text),
                Some(index) => element(shell, assign, index, text).await?,
            }
        }
    };
    match result {
        Ok(()) => {
            if shell.options.allexport {
                shell.vars.entry(&assign.name).exported = true;
            }
            Ok(())
        }
        Err(message) => refuse(shell, message).await,
    }
}

/// A variable that may not be changed ends a script.
async fn refuse(shell: &mut Shell, message: String) -> Result<(), Stop> {
    shell.complain(message).await?;
    Err(Stop::Line(1))
}

fn scalar(shell: &mut Shell, assign: &Assign, text: String) -> Result<(), String> {
    let name = &assign.name;
    let integer = shell.vars.find(name).is_some_and(|var| var.integer);
    let old = if assign.append { shell.vars.get(name).unwrap_or_default() } else { String::new() };
    let text = if integer {
        let sum = if assign.append && !old.is_empty() { format!("({old})+({text})") } else { text };
        expand::evaluate(shell, &sum)?.to_string()
    } else {
        old + &text
    };
    shell.vars.set(name, text)
}

async fn element(
    shell: &mut Shell,
    assign: &Assign,
    index: &Word,
    text: String,
) -> Result<Result<(), String>, Stop> {
    let key = expand::key(shell, &assign.name, index).await?;
    let old = if assign.append {
        shell.vars.element(&assign.name, &key).unwrap_or_default()
    } else {
        String::new()
    };
    let integer = shell.vars.find(&assign.name).is_some_and(|var| var.integer);
    let text = if integer {
        match expand::evaluate(shell, &format!("{}+({text})", if old.is_empty() { "0" } else { &old })) {
            Ok(value) => value.to_string(),
            Err(message) => return Ok(Err(message)),
        }
    } else {
        old + &text
    };
    Ok(shell.vars.set_element(&assign.name, &key, text))
}

async fn array(shell: &mut Shell, assign: &Assign, elements: &[(Option<Word>, Word)]) -> Result<(), Stop> {
    let name = &assign.name;
    let is_map = shell.vars.is_map(name);
    let mut map = BTreeMap::new();
    let mut list = BTreeMap::new();
    if assign.append {
        for (key, text) in shell.vars.elements(name) {
            list.insert(key.parse().unwrap_or(0_usize), text.clone());
            map.insert(key, text);
        }
    }
    let mut next = list.keys().next_back().map_or(0, |last| last + 1);
    let mut pending_key = None;
    for (key, word) in elements {
        match key {
            Some(key) => {
                let key = expand::key(shell, name, key).await?;
                let text = expand::value(shell, word).await?;
                next = key.parse().unwrap_or(next);
                list.insert(next, text.clone());
                next += 1;
                map.insert(key, text);
            }
            None => {
                for text in expand::words(shell, std::slice::from_ref(word)).await? {
                    if is_map {
                        // `([a]=b)` is also written `(a b)`.
                        match pending_key.take() {
                            Some(key) => {
                                map.insert(key, text);
                            }
                            None => pending_key = Some(text),
                        }
                        continue;
                    }
                    list.insert(next, text);
                    next += 1;
                }
            }
        }
    }
    let kind = if is_map { Kind::Map(map) } else { Kind::List(list) };
    match shell.vars.set_kind(name, kind) {
        Ok(()) => Ok(()),
        Err(message) => refuse(shell, message).await,
    }
}
