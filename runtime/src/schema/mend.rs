//! Broken JSON text made whole, for those who ask for it: code fences, single quotes, trailing commas.
//!
//! Text that ends early is never completed: a call that was cut off is not the call that was meant.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

use super::canonical::RepairMode;
use super::parse::strict;

/// The value of `text` once mended, if the mode allows it and the result is strict JSON.
pub(super) fn mended(text: &str, max_depth: usize, mode: RepairMode) -> Option<Value> {
    if mode != RepairMode::Json {
        return None;
    }
    strict(&requoted(without_fence(text)), max_depth).ok()
}

/// The inside of a Markdown code fence with an optional language after it.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    inside.map_or(text, |inside| inside.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()))
}

/// The text with double quotes throughout and without trailing commas; the content of strings is kept.
fn requoted(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' | '\'' => copy_string(letter, &mut letters, &mut whole),
            ',' if closes(letters.clone()) => {}
            _ => whole.push(letter),
        }
    }
    whole
}

fn closes(mut rest: Peekable<Chars<'_>>) -> bool {
    rest.find(|letter| !letter.is_ascii_whitespace()).is_some_and(|next| matches!(next, '}' | ']'))
}

fn copy_string(quote: char, letters: &mut Peekable<Chars<'_>>, whole: &mut String) {
    whole.push('"');
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'\'') => whole.extend(letters.next()),
            '\\' => {
                whole.push('\\');
                whole.extend(letters.next());
            }
            '"' if quote == '\'' => whole.push_str("\\\""),
            _ if letter == quote => {
                whole.push('"');
                return;
            }
            _ => whole.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_mended_without_touching_the_content_of_strings() {
        for (broken, whole) in [
            (r#"{"path":"a",}"#, r#"{"path":"a"}"#),
            ("{'path': 'a\"b', }", r#"{"path":"a\"b"}"#),
            (r"{'it': 'isn\'t'}", r#"{"it":"isn't"}"#),
            ("```json\n{\"a\": [1, 2,\n]}\n```", r#"{"a":[1,2]}"#),
            ("```\n[1]\n```", "[1]"),
            (r#"{"a": "x,}", "b": ",]",}"#, r#"{"a":"x,}","b":",]"}"#),
            (r#"{"a": "it's"}"#, r#"{"a":"it's"}"#),
        ] {
            let value = mended(broken, 10, RepairMode::Json).map(|value| value.to_string());
            assert_eq!(value.as_deref(), Some(whole), "{broken}");
            assert_eq!(mended(broken, 10, RepairMode::Decode), None);
        }
    }

    #[test]
    fn text_that_lacks_something_is_not_completed() {
        for text in
            ["{", r#"{"path":"a""#, "{'a", "[1,", "// x\n{}", r#"{"a":1}{"a":2}"#, "{,}x", r#"{"a":1,'a':2}"#]
        {
            assert_eq!(mended(text, 10, RepairMode::Json), None, "{text}");
        }
    }
}
