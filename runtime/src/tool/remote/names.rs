//! Names that other servers give their tools, as names that models can call.

use std::collections::BTreeMap;

use crate::policy::Digest;
use crate::schema::MAX_NAME_BYTES;

/// Letters of a name's digest, where the name alone does not tell two tools apart.
const MARK: usize = 4;

/// The names under which tools are called, in the order of `given`, which has none twice. A name depends on whether
/// others fall together with it, and not on their order: of those, one that needs no change keeps its name, and the others
/// get a mark of their own.
pub(super) fn legal(given: &[&str], prefix: &str) -> Vec<String> {
    let plain: Vec<String> = given.iter().map(|name| format!("{prefix}{}", spelled(name, prefix))).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &plain {
        *counts.entry(name).or_default() += 1;
    }
    let named = given.iter().zip(&plain).map(|(given, plain)| {
        let is_alone = counts.get(plain.as_str()) == Some(&1);
        let is_unchanged = format!("{prefix}{given}") == *plain;
        let fits = plain.len() <= MAX_NAME_BYTES;
        if fits && (is_alone || is_unchanged) { plain.clone() } else { marked(plain, given) }
    });
    named.collect()
}

fn spelled(name: &str, prefix: &str) -> String {
    let letter = |letter: char| match letter.to_ascii_lowercase() {
        plain @ ('a'..='z' | '0'..='9' | '_') => plain,
        _ => '_',
    };
    let spelled: String = name.chars().map(letter).collect();
    let needs_letter = prefix.is_empty() && !spelled.starts_with(|first: char| first.is_ascii_lowercase());
    if needs_letter { format!("t_{spelled}") } else { spelled }
}

fn marked(plain: &str, given: &str) -> String {
    let digest = Digest::of(given.as_bytes()).to_string();
    let mark = digest.trim_start_matches("sha256:").get(..MARK).unwrap_or_default().to_owned();
    let room = MAX_NAME_BYTES.saturating_sub(MARK + 1);
    // All letters are one byte long here.
    format!("{}_{mark}", plain.get(..room).unwrap_or(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_legal_and_each_others_order_never_matters() {
        let given = ["get-issue", "get_issue", "get.issue", "Search", "4chan", "ünï", &"x".repeat(80)];
        let names = legal(&given, "");
        assert_eq!(names[1], "get_issue");
        assert!(names[0].starts_with("get_issue_") && names[2].starts_with("get_issue_"), "{names:?}");
        assert_eq!(&names[3..6], ["search", "t_4chan", "t__n_"]);
        assert_eq!(names[6].len(), 64);
        let reversed: Vec<&str> = given.iter().rev().copied().collect();
        let mut back = legal(&reversed, "");
        back.reverse();
        assert_eq!(back, names);
        let mut unique = names.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
        assert!(names.iter().all(|name| crate::schema::tool_name(name).as_ref() == Ok(name)));
        assert_eq!(legal(&["4chan"], "x_"), ["x_4chan"]);
    }
}
