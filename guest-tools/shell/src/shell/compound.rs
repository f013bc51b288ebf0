//! Branches and loops.

use super::Shell;
use super::commands::run_list;
use crate::expand::{self, pattern::Pattern};
use crate::stop::{Status, Stop};
use crate::syntax::{Arm, ArmEnd, List, Word};
use crate::task;

/// The truth of a list whose failure is looked at.
async fn holds(shell: &mut Shell, condition: &List) -> Result<bool, Stop> {
    shell.checked += 1;
    let result = run_list(shell, condition).await;
    shell.checked -= 1;
    Ok(result? == 0)
}

pub async fn conditional(shell: &mut Shell, branches: &[(List, List)], otherwise: Option<&List>) -> Status {
    for (condition, body) in branches {
        if holds(shell, condition).await? {
            return run_list(shell, body).await;
        }
    }
    match otherwise {
        Some(body) => run_list(shell, body).await,
        None => Ok(0),
    }
}

/// What a round of a loop leads to.
enum Round {
    On(i32),
    Over(i32),
}

async fn round(shell: &mut Shell, body: &List) -> Result<Round, Stop> {
    task::turn().await?;
    let result = run_list(shell, body).await;
    match result {
        Ok(status) => {
            // Whoever writes for nobody, round by round, would go on for ever.
            if status == 141 && shell.stdout().is_abandoned() {
                return Err(Stop::Pipe);
            }
            Ok(Round::On(status))
        }
        Err(Stop::Break(count)) if count > 1 => Err(Stop::Break(count - 1)),
        Err(Stop::Break(_)) => Ok(Round::Over(0)),
        Err(Stop::Continue(count)) if count > 1 => Err(Stop::Continue(count - 1)),
        Err(Stop::Continue(_)) => Ok(Round::On(0)),
        Err(stop) => Err(stop),
    }
}

pub async fn for_each(shell: &mut Shell, name: &str, words: Option<&[Word]>, body: &List) -> Status {
    let items = match words {
        Some(words) => expand::words(shell, words).await?,
        None => shell.positional.to_vec(),
    };
    shell.loops += 1;
    let result = for_items(shell, name, items, body).await;
    shell.loops -= 1;
    result
}

async fn for_items(shell: &mut Shell, name: &str, items: Vec<String>, body: &List) -> Status {
    let mut status = 0;
    for item in items {
        if let Err(message) = shell.vars.set(name, item) {
            shell.complain(message).await?;
            return Ok(1);
        }
        match round(shell, body).await? {
            Round::On(last) => status = last,
            Round::Over(last) => return Ok(last),
        }
    }
    Ok(status)
}

/// `select`: a menu, and the choice that the input makes of it.
pub async fn select(shell: &mut Shell, name: &str, words: Option<&[Word]>, body: &List) -> Status {
    let items = match words {
        Some(words) => expand::words(shell, words).await?,
        None => shell.positional.to_vec(),
    };
    if items.is_empty() {
        return Ok(0);
    }
    shell.loops += 1;
    let result = choose(shell, name, &items, body).await;
    shell.loops -= 1;
    result
}

async fn choose(shell: &mut Shell, name: &str, items: &[String], body: &List) -> Status {
    let menu: Vec<String> =
        items.iter().enumerate().map(|(index, item)| format!("{}) {item}", index + 1)).collect();
    let mut shown = false;
    loop {
        if !std::mem::replace(&mut shown, true) {
            shell.warn(menu.join("\n")).await?;
        }
        let prompt = shell.vars.get("PS3").unwrap_or_else(|| "#? ".to_owned());
        shell.stderr().write(prompt.as_bytes()).await?;
        let mut line = Vec::new();
        if !shell.stdin().line(&mut line).await? {
            shell.stdout().write(b"\n").await?;
            return Ok(1);
        }
        let reply = String::from_utf8_lossy(&line).trim().to_owned();
        if reply.is_empty() {
            shown = false;
            continue;
        }
        let chosen = reply.parse::<usize>().ok().and_then(|number| items.get(number.checked_sub(1)?));
        let stored = shell.vars.set("REPLY", reply.clone());
        let chosen = chosen.cloned().unwrap_or_default();
        if let Err(message) = stored.and_then(|()| shell.vars.set(name, chosen)) {
            shell.complain(message).await?;
            return Ok(1);
        }
        match round(shell, body).await? {
            Round::On(_) => {}
            Round::Over(last) => return Ok(last),
        }
    }
}

pub async fn counting(shell: &mut Shell, [first, condition, step]: [&Word; 3], body: &List) -> Status {
    shell.loops += 1;
    let result = count(shell, [first, condition, step], body).await;
    shell.loops -= 1;
    result
}

async fn count(shell: &mut Shell, [first, condition, step]: [&Word; 3], body: &List) -> Status {
    let mut status = 0;
    expand::number(shell, first).await?;
    loop {
        let goes_on = if is_blank(condition) { 1 } else { expand::number(shell, condition).await? };
        if goes_on == 0 {
            return Ok(status);
        }
        match round(shell, body).await? {
            Round::On(last) => status = last,
            Round::Over(last) => return Ok(last),
        }
        expand::number(shell, step).await?;
    }
}

fn is_blank(word: &Word) -> bool {
    word.iter().all(|part| matches!(part, crate::syntax::Part::Quoted(text) if text.trim().is_empty()))
}

pub async fn repeat(shell: &mut Shell, condition: &List, body: &List, until: bool) -> Status {
    shell.loops += 1;
    let result = rounds(shell, condition, body, until).await;
    shell.loops -= 1;
    result
}

async fn rounds(shell: &mut Shell, condition: &List, body: &List, until: bool) -> Status {
    let mut status = 0;
    loop {
        match holds(shell, condition).await {
            Ok(holds) if holds == until => return Ok(status),
            Ok(_) => {}
            Err(Stop::Break(count)) if count > 1 => return Err(Stop::Break(count - 1)),
            Err(Stop::Break(_)) => return Ok(0),
            Err(stop) => return Err(stop),
        }
        match round(shell, body).await? {
            Round::On(last) => status = last,
            Round::Over(last) => return Ok(last),
        }
    }
}

pub async fn case(shell: &mut Shell, word: &Word, arms: &[Arm]) -> Status {
    let subject: Vec<char> = expand::text(shell, word).await?.chars().collect();
    let mut status = 0;
    let mut falling = false;
    for arm in arms {
        if !falling && !matches(shell, &subject, &arm.patterns).await? {
            continue;
        }
        status = run_list_or_nothing(shell, &arm.body).await?;
        match arm.end {
            ArmEnd::Leave => return Ok(status),
            ArmEnd::FallThrough => falling = true,
            ArmEnd::TestOn => falling = false,
        }
    }
    Ok(status)
}

async fn run_list_or_nothing(shell: &mut Shell, body: &List) -> Status {
    if body.is_empty() { Ok(0) } else { run_list(shell, body).await }
}

async fn matches(shell: &mut Shell, subject: &[char], patterns: &[Word]) -> Result<bool, Stop> {
    for word in patterns {
        let mut pattern = Pattern::new(&expand::pattern(shell, word).await?);
        if shell.options.nocasematch {
            pattern = pattern.ignore_case();
        }
        if pattern.matches_letters(subject) {
            return Ok(true);
        }
    }
    Ok(false)
}
