//! Where a text may be cut: never inside a character, and where it can be helped not inside what a reader sees as
//! one (combining marks, emoji joined by U+200D).

use super::truncate::group_digits;

/// How far a cut moves to spare a cluster. The longest emoji have about 40 bytes; a text that is one endless stack of
/// combining marks is cut anyway.
const MAX_CLUSTER: usize = 64;

/// The longest beginning of `text` of at most `budget` bytes.
pub(super) fn head(text: &str, budget: usize) -> &str {
    let limit = text.floor_char_boundary(budget);
    let mut end = limit;
    while !is_cluster_border(text, end) {
        end = text.floor_char_boundary(end.saturating_sub(1));
        if limit - end > MAX_CLUSTER {
            end = limit;
            break;
        }
    }
    text.get(..end).unwrap_or_default()
}

/// The longest end of `text` of at most `budget` bytes.
pub(super) fn tail(text: &str, budget: usize) -> &str {
    let limit = text.ceil_char_boundary(text.len().saturating_sub(budget));
    let mut start = limit;
    while !is_cluster_border(text, start) {
        start = text.ceil_char_boundary(start + 1);
        if start - limit > MAX_CLUSTER {
            start = limit;
            break;
        }
    }
    text.get(start..).unwrap_or_default()
}

fn is_cluster_border(text: &str, position: usize) -> bool {
    let Some((before, after)) = text.split_at_checked(position) else { return true };
    let (Some(last), Some(next)) = (before.chars().next_back(), after.chars().next()) else { return true };
    last != '\u{200d}' && !extends_cluster(next)
}

/// Whether a character belongs to the one before it: joiners, combining marks, variation selectors, skin tones, tags.
fn extends_cluster(character: char) -> bool {
    matches!(
        character,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{489}'
            | '\u{591}'..='\u{5bd}'
            | '\u{610}'..='\u{61a}'
            | '\u{64b}'..='\u{65f}'
            | '\u{93c}'
            | '\u{93e}'..='\u{94d}'
            | '\u{e31}'
            | '\u{e34}'..='\u{e3a}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{200d}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fe20}'..='\u{fe2f}'
            | '\u{1f3fb}'..='\u{1f3ff}'
            | '\u{e0020}'..='\u{e007f}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

/// A line without its middle, so that it has at most `budget` bytes: its head, what stands for the rest, its end.
pub(super) fn middle_out(line: &str, budget: usize) -> (&str, String, &str) {
    if line.len() <= budget {
        return (line, String::new(), "");
    }
    let reserve = line_marker(line.len()).len();
    let (reserve, short) = match budget / 2 {
        half if half >= reserve => (reserve, None),
        half if half >= SHORT_MARKER.len() => (SHORT_MARKER.len(), Some(SHORT_MARKER)),
        _ => return (head(line, budget), String::new(), ""),
    };
    let head = head(line, (budget - reserve).div_ceil(2));
    let tail = tail(line.get(head.len()..).unwrap_or_default(), budget - reserve - head.len());
    let marker = short.map_or_else(|| line_marker(line.len() - head.len() - tail.len()), str::to_owned);
    (head, marker, tail)
}

/// The marker where there is no room to say how much was left out.
pub(super) const SHORT_MARKER: &str = "[...]";

fn line_marker(bytes: usize) -> String {
    format!("[... {} bytes ...]", group_digits(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_spares_characters_and_clusters() {
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        let text = format!("ab{family}cd");
        for budget in 0..2 + family.len() {
            assert_eq!(head(&text, budget), &"ab"[..budget.min(2)], "{budget}");
            assert_eq!(tail(&text, budget), &"cd"[2 - budget.min(2)..], "{budget}");
        }
        assert_eq!(head(&text, 2 + family.len()), format!("ab{family}"));
        assert_eq!(head("e\u{301}e\u{301}", 4), "e\u{301}");
        assert_eq!(tail("e\u{301}e\u{301}", 5), "e\u{301}");
    }

    #[test]
    fn endless_combining_marks_are_cut_all_the_same() {
        let text = format!("a{}", "\u{301}".repeat(1000));
        assert_eq!(head(&text, 1001).len(), 1001);
        assert_eq!(tail(&text, 1000).len(), 1000);
    }

    #[test]
    fn a_long_line_keeps_both_ends() {
        let line = format!("start{}end", "-".repeat(1000));
        let (head, marker, tail) = middle_out(&line, 60);
        assert_eq!((head, marker.as_str(), tail), (&line[..20], "[... 969 bytes ...]", &line[989..]));
        assert_eq!(middle_out(&line, 12), ("star", "[...]".to_owned(), "end"));
        assert_eq!(middle_out(&line, 4), ("star", String::new(), ""));
        assert_eq!(middle_out("short", 5), ("short", String::new(), ""));
    }
}
