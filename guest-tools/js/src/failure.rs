//! How a program failed, in words, with the line that it was at.

use boa_engine::JsError;

use crate::shape::syntax_error;

/// The name of the program in what the engine says.
pub(crate) const NAME: &str = "code.js";

/// The name of what is before it.
pub(crate) const PRELUDE: &str = "prelude.js";

/// Frames that a reader looks at.
const FRAMES: usize = 8;

/// Longer lines are shown around the place.
const WIDTH: usize = 120;

/// The error in words, its frames, and the line of the program that it is about.
pub(crate) fn words(error: &JsError, code: &str) -> String {
    explained(&error.to_string(), code)
}

/// The same for a value that was thrown and is no error of the language.
pub(crate) fn thrown(value: &str, error: &JsError, code: &str) -> String {
    let text = error.to_string();
    let frames = text.find(FRAME).and_then(|start| text.get(start..)).unwrap_or_default();
    explained(&format!("uncaught: {value}{frames}"), code)
}

fn explained(text: &str, code: &str) -> String {
    let (message, frames) = split(text);
    let mut words = format!("{message}\n");
    let open = if message == UNTERMINATED { unterminated(code) } else { None };
    if let Some((line, column)) = open {
        words = format!("{message} at line {line}, col {column}\n");
    }
    let of_program = frames.first().and_then(|frame| of_frame(frame));
    if let Some(read) = of_program.filter(|_| message == NOTHING).and_then(|place| read(code, place)) {
        words = format!("{message}: {read}\n");
    }
    if message.contains("token 'return'") {
        words.push_str("A program has no `return`: end it with the expression whose value you want.\n");
    }
    for frame in frames.iter().take(FRAMES) {
        words.push_str(&format!("{}\n", frame.replace(":?:?", "")));
    }
    if frames.len() > FRAMES {
        words.push_str(&format!("    … and {} more\n", frames.len() - FRAMES));
    }
    let place = open.or(of_program).or_else(|| of_message(message));
    let place =
        place.or_else(|| of_name(message, code)).or_else(|| frames.iter().find_map(|frame| of_frame(frame)));
    if let Some(excerpt) = place.and_then(|(line, column)| excerpt(code, line, column)) {
        words.push_str(&excerpt);
    }
    words.trim_end().to_owned()
}

/// What the engine says of a string without its end, and does not say where it is.
const UNTERMINATED: &str = "SyntaxError: unterminated string literal";

/// What it says where a member of nothing is read, and does not say which.
const NOTHING: &str = "TypeError: cannot convert 'null' or 'undefined' to object";

/// Where a string begins that has no end on its line: on the last line of the shortest text that fails for it.
fn unterminated(code: &str) -> Option<(usize, usize)> {
    let lines: Vec<&str> = code.split_inclusive('\n').collect();
    // A string may go on behind a line that ends with a backslash, so no text ends there.
    let ends = |count: &usize| !lines.get(count - 1).is_some_and(|line| line.trim_end().ends_with('\\'));
    let fails = |count: usize| {
        let count = (1..=count).rev().find(ends).unwrap_or_default();
        let text = lines.get(..count).unwrap_or_default().concat();
        syntax_error(&text).is_some_and(|error| error.ends_with("unterminated string literal"))
    };
    let (mut holds, mut line) = (0, lines.len());
    if !fails(line) {
        return None;
    }
    while holds + 1 < line {
        let middle = usize::midpoint(holds, line);
        if fails(middle) { line = middle } else { holds = middle }
    }
    Some((line, open_quote(lines.get(line - 1)?)))
}

/// The column of the last quote on a line that is not closed.
fn open_quote(line: &str) -> usize {
    let mut open: Option<(usize, char)> = None;
    let mut letters = line.chars().enumerate();
    while let Some((at, letter)) = letters.next() {
        match (letter, open) {
            ('\\', Some(_)) => drop(letters.next()),
            ('"' | '\'' | '`', None) => open = Some((at, letter)),
            (_, Some((_, quote))) if letter == quote => open = None,
            _ => {}
        }
    }
    open.map_or(1, |(at, _)| at + 1)
}

/// The member that is read at a place, and of what, as the program spells it.
fn read(code: &str, (line, column): (usize, usize)) -> Option<String> {
    let text: Vec<char> = code.split('\n').nth(line.checked_sub(1)?)?.chars().collect();
    let (before, from) = text.split_at_checked(column.checked_sub(1)?)?;
    let before = before.strip_suffix(&['.'])?;
    let is_part = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
    let name: String = from.iter().take_while(|letter| is_part(letter)).collect();
    let of: Vec<char> =
        before.iter().rev().take_while(|letter| is_part(letter) || **letter == '.').copied().collect();
    let of: String = of.iter().rev().collect();
    match (name.is_empty(), of.is_empty()) {
        (true, _) => None,
        (false, true) => Some(format!("`{name}` of it is read")),
        (false, false) => Some(format!("`{of}` is one of these, and `{name}` of it is read")),
    }
}

/// What begins a frame.
const FRAME: &str = "\n    at ";

/// The message, and the frames of the program. Those of the engine and of the prelude say nothing.
fn split(text: &str) -> (&str, Vec<&str>) {
    let (message, stack) = text.split_at(text.find(FRAME).unwrap_or(text.len()));
    let frames = stack.lines().filter(|line| line.starts_with("    at ") && is_own(line));
    (without_place(message).trim_end(), frames.collect())
}

/// Whether a frame is of the program or of a file that it loads.
fn is_own(frame: &str) -> bool {
    let place = frame.rsplit_once(" (").map(|(_, place)| place);
    place.is_some_and(|place| place.starts_with(NAME) || place.starts_with('/'))
}

/// The message without the place that the engine puts behind it, which the first frame repeats.
fn without_place(message: &str) -> &str {
    let Some((words, place)) = message.rsplit_once(" (") else { return message };
    let is_place = ["native", "unknown at ", NAME, PRELUDE].iter().any(|begin| place.starts_with(begin));
    if is_place && place.ends_with(')') { words } else { message }
}

/// Where the name is first used that a message says is not defined: the engine keeps no place of names.
fn of_name(message: &str, code: &str) -> Option<(usize, usize)> {
    let name = message.strip_prefix("ReferenceError: ")?.strip_suffix(" is not defined")?;
    let part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.');
    let (at, _) = code.match_indices(name).find(|(at, _)| {
        let before = code.get(..*at).and_then(|text| text.chars().next_back());
        let after = code.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(part) && !after.is_some_and(|letter| part(letter) && letter != '.')
    })?;
    let before = code.get(..at)?;
    let line = before.rsplit('\n').next()?;
    Some((before.matches('\n').count() + 1, line.chars().count() + 1))
}

/// The line and column of a frame, `    at f (code.js:3:7)`.
fn of_frame(frame: &str) -> Option<(usize, usize)> {
    let (_, place) = frame.rsplit_once(" (")?;
    let (line, column) =
        place.strip_prefix(NAME)?.strip_prefix(':')?.trim_end_matches(')').split_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// The line and column of a message, `… at line 3, col 7`.
fn of_message(message: &str) -> Option<(usize, usize)> {
    let (_, place) = message.rsplit_once("at line ")?;
    let (line, column) = place.split_once(", col ")?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// The line with a mark under the column.
fn excerpt(code: &str, line: usize, column: usize) -> Option<String> {
    let text: Vec<char> = code.split('\n').nth(line.checked_sub(1)?)?.trim_end().chars().collect();
    let at = column.checked_sub(1)?.min(text.len());
    let from = at.saturating_sub(WIDTH / 2);
    let shown: String = text.iter().skip(from).take(WIDTH).map(|letter| visible(*letter)).collect();
    let number = format!("  {line} | ");
    let margin = " ".repeat(number.len() + at - from);
    Some(format!("{number}{shown}\n{margin}^"))
}

fn visible(letter: char) -> char {
    if letter.is_control() { ' ' } else { letter }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_the_engine_writes_it() {
        assert_eq!(of_frame("    at f (code.js:3:7)"), Some((3, 7)));
        assert_eq!(of_frame("    at f (native)"), None);
        assert_eq!(of_message("SyntaxError: expected token ')' at line 2, col 11"), Some((2, 11)));
        assert_eq!(of_message("Error: at line x, col y"), None);
    }

    #[test]
    fn what_the_engine_says_of_itself_is_left_out() {
        let text =
            "Error: no (native)\n    at read (native)\n    at ask (prelude.js:3:4)\n    at f (code.js:2:1)";
        assert_eq!(explained(text, "a\nb()"), "Error: no\n    at f (code.js:2:1)\n  2 | b()\n      ^");
        assert_eq!(explained("Error: a (b)", ""), "Error: a (b)");
        let unplaced = "ReferenceError: x is not defined (code.js:?:?)\n    at <main> (code.js:?:?)";
        let told = explained(unplaced, "a.x;\nmax; 1 + x.y");
        assert_eq!(
            told,
            "ReferenceError: x is not defined\n    at <main> (code.js)\n  2 | max; 1 + x.y\n               ^"
        );
    }

    #[test]
    fn a_long_line_is_shown_around_its_place() {
        let code = format!("a\n{}!{}\n", "x".repeat(1_000), "y".repeat(1_000));
        let shown = excerpt(&code, 2, 1_001).unwrap_or_default();
        let (line, mark) = shown.split_once('\n').unwrap_or_default();
        assert!(line.len() < 140, "{shown}");
        assert_eq!(line.find('!'), mark.find('^'), "{shown}");
        assert_eq!(excerpt(&code, 9, 1), None);
        assert_eq!(excerpt("a", 1, 99).as_deref(), Some("  1 | a\n       ^"));
    }
}
