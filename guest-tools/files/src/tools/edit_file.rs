//! `edit-file`

use std::io::Read;
use std::path::Path;

use crate::replace::Replace;
use crate::text::not_text;
use crate::{Answer, Workspace, source};
use granted::show;

mod lines;
mod missing;

use lines::Lines;

/// The largest file that is edited: it is held in memory whole, twice if it has CRLF line endings.
const LARGEST: u64 = 48 << 20;
/// Line numbers that a message lists.
const LISTED: usize = 10;

/// What to put in place of what.
pub struct Edit<'a> {
    /// The text to replace.
    pub old: &'a str,
    /// The text to put there.
    pub new: &'a str,
    /// Whether every occurrence is meant.
    pub all: bool,
}

/// Replaces exact text in a file.
pub fn edit_file(workspace: &Workspace, replace: &impl Replace, path: &str, edit: &Edit<'_>) -> Answer {
    let (old, new) = (lines::with_lf(edit.old), lines::with_lf(edit.new));
    if old.is_empty() {
        return Err("old is empty; to create a file use write_file".to_owned());
    }
    if edit.old == edit.new {
        return Err("old and new are the same".to_owned());
    }
    if old == new {
        return Err("old and new differ only in line endings, which the file keeps".to_owned());
    }
    let path = workspace.grants.resolve_file(path)?;
    let content = read_whole(workspace, &path)?;
    let text = Lines::of(&content);
    let found = occurrences(text.lf(), old.as_bytes(), edit.all);
    match found.as_slice() {
        [] => {
            return Err(format!("old is not in {}: {}", show(&path), missing::explain(text.lf(), edit.old)));
        }
        [_, _, ..] if !edit.all => return Err(ambiguous(&path, &text, &found)),
        _ => {}
    }

    // Only what differs is replaced, so that line endings within the unchanged parts of `old` stay as they are.
    let differs = Difference::between(old.as_bytes(), new.as_bytes());
    let changes: Vec<_> = found
        .iter()
        .map(|&at| {
            let range = at + differs.start..at + old.len() - differs.end;
            let inserted = &new.as_bytes()[differs.start..new.len() - differs.end];
            (text.original(range.start)..text.original(range.end), text.in_style_of(range.start, inserted))
        })
        .collect();
    replace.replace(&path, &mut pieces(&content, &changes))?;
    Ok(format!("replaced {} in {}", places(&text, &found), show(&path)))
}

fn read_whole(workspace: &Workspace, path: &Path) -> Result<Vec<u8>, String> {
    let (file, size) = source::open(&workspace.grants, path)?;
    if size > LARGEST {
        return Err(format!("{} is too large to edit: {size} bytes, at most {LARGEST}", show(path)));
    }
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // One byte more than allowed shows that the file grew meanwhile.
    let read = file.take(LARGEST + 1).read_to_end(&mut content);
    let read = read.map_err(|error| workspace.grants.explain("read", path, &error))?;
    if read as u64 > LARGEST {
        return Err(format!("{} is too large to edit: more than {LARGEST} bytes", show(path)));
    }
    match not_text(&content) {
        Some(reason) => Err(format!("{} is {reason} ({size} bytes)", show(path))),
        None => Ok(content),
    }
}

/// Where `old` begins: every place without overlap for `all`; otherwise overlapping ones count too, since each is a
/// place that could be meant.
fn occurrences(text: &[u8], old: &[u8], all: bool) -> Vec<usize> {
    let finder = memchr::memmem::Finder::new(old);
    let apart: Vec<usize> = finder.find_iter(text).collect();
    match apart.as_slice() {
        &[at] if !all => {
            let again = text.get(at + 1..).and_then(|rest| finder.find(rest)).map(|next| at + 1 + next);
            apart.into_iter().chain(again).collect()
        }
        _ => apart,
    }
}

fn ambiguous(path: &Path, text: &Lines<'_>, found: &[usize]) -> String {
    format!(
        "old is in {} more than once: {}; take more of the text around the one you mean, or set all",
        show(path),
        places(text, found)
    )
}

/// `3 occurrences (lines 1, 5, 9)`
fn places(text: &Lines<'_>, found: &[usize]) -> String {
    let numbers: Vec<String> =
        text.numbers(found.iter().copied().take(LISTED)).map(|line| line.to_string()).collect();
    let more = if found.len() > LISTED { ", …" } else { "" };
    match found.len() {
        1 => format!("1 occurrence (line {})", numbers.join("")),
        count => format!("{count} occurrences (lines {}{more})", numbers.join(", ")),
    }
}

/// How many bytes two texts have in common at their beginning and, after that, at their end.
struct Difference {
    start: usize,
    end: usize,
}

impl Difference {
    fn between(old: &[u8], new: &[u8]) -> Self {
        let same = |(a, b): &(&u8, &u8)| a == b;
        let start = old.iter().zip(new).take_while(same).count();
        let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(same).count();
        Self { start, end }
    }
}

/// `content` with the changes made, which are in order and apart.
fn pieces<'a>(
    content: &'a [u8],
    changes: &'a [(std::ops::Range<usize>, Vec<u8>)],
) -> impl Iterator<Item = &'a [u8]> {
    let ends = changes.iter().map(|(range, _)| range.end);
    let kept = std::iter::once(0)
        .chain(ends)
        .zip(changes.iter().map(|(range, _)| range.start).chain(std::iter::once(content.len())));
    let inserted = changes.iter().map(|(_, inserted)| inserted.as_slice()).chain(std::iter::once(&[][..]));
    kept.zip(inserted).flat_map(|((from, to), inserted)| [&content[from..to], inserted])
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failing test may panic")]

    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::page::Budget;
    use crate::replace::stand_in::{Direct, Never};
    use granted::Grants;

    const BUDGET: Budget = Budget { bytes: 40_000, lines: 2_000 };

    /// The content after the edit, or the message.
    fn edited(content: &[u8], old: &str, new: &str, all: bool) -> Result<Vec<u8>, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        fs::write(&file, content).unwrap();
        let workspace = Workspace { grants: Grants::new([dir.path().display().to_string()]), budget: BUDGET };
        let answer = edit_file(&workspace, &Direct, "f", &Edit { old, new, all });
        answer
            .map_err(|message| message.replace(&file.display().to_string(), "f"))
            .map(|_| fs::read(&file).unwrap())
    }

    #[test]
    fn only_the_edited_bytes_differ() {
        for (content, old, new, expected) in [
            ("a\nb\nc\n", "b", "B", "a\nB\nc\n"),
            ("a\nb", "b", "", "a\n"),
            ("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n"),
            ("a\r\nb\r\n", "a\r\nb", "a\r\nx", "a\r\nx\r\n"),
            ("a\r\nb\nc\r\n", "a\nb\nc", "a\nb\nd", "a\r\nb\nd\r\n"),
            ("a\r\nb\nc\n", "c", "x\ny", "a\r\nb\nx\ny\n"),
            ("a\nb\r\nc\r\n", "c", "x\ny", "a\nb\r\nx\r\ny\r\n"),
            ("a\nb\n", "a", "x\r\ny", "x\ny\nb\n"),
            ("\u{feff}a\n", "a", "b", "\u{feff}b\n"),
            ("a\r\n\r\nb", "\n\nb", "\nb", "a\r\nb"),
            ("a\r\n", "a\n", "a", "a"),
            ("äö", "ä", "ö", "öö"),
            ("x", "x", "x\ny", "x\ny"),
        ] {
            let edited =
                edited(content.as_bytes(), old, new, false).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(edited.as_deref(), Ok(expected), "{content:?} {old:?} {new:?}");
        }
        assert_eq!(edited(b"caf\xe9 au lait\n", "lait", "the", false), Ok(b"caf\xe9 au the\n".to_vec()));
        assert_eq!(edited(b"a\rb\r\nc\n", "a\rb\n", "a\rB\n", false), Ok(b"a\rB\r\nc\n".to_vec()));
        assert_eq!(edited("␍".as_bytes(), "␍", "x", false), Ok(b"x".to_vec()));
        assert_eq!(edited(b"aXbXc", "X", "--", true), Ok(b"a--b--c".to_vec()));
        assert_eq!(edited(b"aaa", "aa", "b", true), Ok(b"ba".to_vec()));
    }

    #[test]
    fn refusals_say_what_to_change() {
        for (content, old, new, expected) in [
            ("a\nb\na\n", "a", "x", "old is in f more than once: 2 occurrences (lines 1, 3); take more"),
            ("aaa", "aa", "x", "2 occurrences (lines 1, 1)"),
            ("a", "", "x", "old is empty"),
            ("a", "a", "a", "the same"),
            ("a\r\n", "a\n", "a\r\n", "differ only in line endings"),
            ("a\rb\r\n", "a␍b\n", "x", "`␍` is how read_file shows a carriage return; write it as `\\r`"),
            ("a\0", "a", "b", "is a binary file (2 bytes)"),
        ] {
            let message = edited(content.as_bytes(), old, new, false).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn nothing_is_written_on_a_refusal() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), "a a").unwrap();
        let workspace = Workspace { grants: Grants::new([dir.path().display().to_string()]), budget: BUDGET };
        for (path, old) in [("f", "a"), ("f", "x"), ("missing", "a"), (".", "a")] {
            let message =
                edit_file(&workspace, &Never, path, &Edit { old, new: "b", all: false }).unwrap_err();
            assert!(!message.contains("was written"), "{message}");
        }
    }

    proptest! {
        #[test]
        fn with_lf_alone_an_edit_is_a_plain_replacement(text in "[ab\n]{0,30}", old in "[ab\n]{1,3}", new in "[abc\n]{0,3}") {
            prop_assume!(old != new && text.contains(&old));
            prop_assert_eq!(edited(text.as_bytes(), &old, &new, true), Ok(text.replace(&old, &new).into_bytes()));
        }

        #[test]
        fn with_crlf_an_edit_is_the_same_edit_of_the_lines(text in "[ab\n]{0,30}", old in "[ab\n]{1,3}", new in "[abc\n]{0,3}") {
            prop_assume!(old != new && text.contains(&old) && text.contains('\n'));
            let crlf = |text: &str| text.replace('\n', "\r\n").into_bytes();
            prop_assert_eq!(edited(&crlf(&text), &old, &new, true), Ok(crlf(&text.replace(&old, &new))));
        }
    }
}
