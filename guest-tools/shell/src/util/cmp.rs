//! `cmp`

use super::input;
use super::options::{Spelling, size};
use crate::shell::Shell;
use crate::stop::{Status, Stop, wrong};

const SPELLING: Spelling =
    Spelling::new("ln:s", &[("silent", 's'), ("quiet", 's'), ("verbose", 'l'), ("bytes", 'n')]).status(2);

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(arguments)?;
    let (one, other) = match options.operands.as_slice() {
        [one] => (one.clone(), "-".to_owned()),
        [one, other, ..] => (one.clone(), other.clone()),
        [] => return wrong(2, "missing operand after 'cmp'"),
    };
    let mut contents = Vec::new();
    for name in [&one, &other] {
        contents.push(input::whole(shell, name).await.map_err(|stop| match stop {
            Stop::Fail(_, message) => Stop::Fail(2, message),
            stop => stop,
        })?);
    }
    if let Some(limit) = options.value('n').and_then(size).and_then(|limit| usize::try_from(limit).ok()) {
        contents.iter_mut().for_each(|content| content.truncate(limit));
    }
    let [left, right] = contents.as_slice() else { return Ok(2) };
    let pairs = left.iter().zip(right).enumerate();
    let mut differences = pairs.filter(|(_, (left, right))| left != right).peekable();
    let first = differences.peek().map(|(index, _)| *index);
    let shorter = if left.len() < right.len() { &one } else { &other };
    let common = left.len().min(right.len());
    if options.has('s') {
        return Ok(i32::from(left != right));
    }
    let mut out = shell.out();
    if options.has('l') {
        let width = common.to_string().len();
        for (index, (left, right)) in differences {
            out.line(format!("{:>width$} {left:3o} {right:3o}", index + 1));
        }
        out.flush().await?;
        if left.len() != right.len() {
            shell.warn(format!("cmp: EOF on {shorter} after byte {common}")).await?;
        }
        return Ok(i32::from(left != right));
    }
    let lines = |end: usize| left.iter().take(end).filter(|byte| **byte == b'\n').count();
    if let Some(index) = first {
        out.line(format!("{one} {other} differ: byte {}, line {}", index + 1, lines(index) + 1));
        out.flush().await?;
        return Ok(1);
    }
    if left.len() != right.len() {
        let place = if common == 0 {
            "which is empty".to_owned()
        } else if left.get(common - 1) == Some(&b'\n') {
            format!("after byte {common}, line {}", lines(common))
        } else {
            format!("after byte {common}, in line {}", lines(common) + 1)
        };
        shell.warn(format!("cmp: EOF on {shorter} {place}")).await?;
        return Ok(1);
    }
    Ok(0)
}
