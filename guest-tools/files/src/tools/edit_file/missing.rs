//! Why text that a model believes to be in a file is not there.

use super::lines::with_lf;
use crate::text::CARRIAGE_RETURN;

/// Lines of `old` that are compared; more would say nothing more.
const COMPARED: usize = 200;

/// The likeliest reason, and what to do.
pub(super) fn explain(text: &[u8], old: &str) -> String {
    if has_line_numbers(old) {
        return "it has line numbers in front of its lines, as read_file shows them; leave them out"
            .to_owned();
    }
    if has_shown_carriage_returns(text, old) {
        return format!("`{CARRIAGE_RETURN}` is how read_file shows a carriage return; write it as `\\r`");
    }
    let wanted: Vec<&str> = old.trim_matches('\n').lines().take(COMPARED).collect();
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return "it is only whitespace; take the text around it as well".to_owned();
    }
    let lines = || text.split(|&byte| byte == b'\n');
    if let Some(number) =
        position(lines(), &wanted, |line, wanted| squeezed(line).eq(squeezed(wanted.as_bytes())))
    {
        return format!(
            "the text at line {number} differs from it in whitespace; copy it exactly as it stands there"
        );
    }
    if let Some(number) =
        position(lines(), &wanted, |line, wanted| line.eq_ignore_ascii_case(wanted.as_bytes()))
    {
        return format!("the text at line {number} differs from it in upper and lower case");
    }
    let first = wanted.iter().map(|line| line.trim()).find(|line| line.len() > 3);
    let near = first
        .and_then(|first| lines().position(|line| memchr::memmem::find(line, first.as_bytes()).is_some()));
    match near {
        Some(line) if wanted.len() > 1 => {
            format!("its first line is at line {}, but what follows differs; read the file again", line + 1)
        }
        _ => "read the file again and copy the text exactly".to_owned(),
    }
}

/// The number, from 1, of the first line from which on `same` holds for all wanted lines.
fn position<'a>(
    lines: impl Iterator<Item = &'a [u8]> + Clone,
    wanted: &[&str],
    same: impl Fn(&[u8], &str) -> bool,
) -> Option<usize> {
    let (mut rest, mut number) = (lines, 1);
    loop {
        let start = rest.clone();
        let matches = start.clone().zip(wanted).take_while(|(line, wanted)| same(line, wanted)).count();
        if matches == wanted.len() {
            return Some(number);
        }
        rest.next()?;
        number += 1;
    }
}

/// The bytes that are no whitespace.
fn squeezed(line: &[u8]) -> impl Iterator<Item = &u8> {
    line.iter().filter(|byte| !byte.is_ascii_whitespace())
}

fn has_shown_carriage_returns(text: &[u8], old: &str) -> bool {
    let meant = with_lf(old).replace(CARRIAGE_RETURN, "\r");
    old.contains(CARRIAGE_RETURN) && memchr::memmem::find(text, meant.as_bytes()).is_some()
}

fn has_line_numbers(old: &str) -> bool {
    let numbered = |line: &str| {
        line.split_once('\t').is_some_and(|(number, _)| {
            !number.trim().is_empty() && number.trim().bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    !old.is_empty() && old.lines().all(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_reason_is_named() {
        let text = b"fn main() {\n    let x = 1;\n    call(x);\n}\n";
        for (old, expected) in [
            ("1\tfn main() {\n2\t    let x = 1;", "line numbers"),
            ("\tlet x = 1;\n\tcall(x);", "at line 2 differs from it in whitespace"),
            ("fn Main() {", "at line 1 differs from it in upper and lower case"),
            ("    let x = 1;\n    call(y);", "its first line is at line 2, but what follows differs"),
            ("nothing like it", "read the file again and copy"),
            ("\n\n\n\n\n\n", "only whitespace"),
        ] {
            let reason = explain(text, old);
            assert!(reason.contains(expected), "{old:?}: {reason}");
        }
    }
}
