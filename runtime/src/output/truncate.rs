//! Text cut to bounds: whole lines from its head and its tail, and one marker that says what is missing.

use std::borrow::Cow;
use std::ops::Range;

use super::bounds::count_lines;
use super::{Bounds, cut};
use crate::call::Truncation;

/// Which part of a text matters most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// Head and tail alike.
    #[default]
    Ends,
    /// Three quarters of the room for the tail: errors say what happened in their last lines.
    Tail,
}

impl Keep {
    /// The head's share of `room`.
    fn head_share(self, room: usize) -> usize {
        match self {
            Self::Ends => room.div_ceil(2),
            Self::Tail => room.div_ceil(4),
        }
    }
}

/// A text inside its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncated<'a> {
    /// The text; borrowed where nothing was cut.
    pub text: Cow<'a, str>,
    /// What was cut; absent where nothing was.
    pub truncation: Option<Truncation>,
}

impl Truncated<'_> {
    /// The same, independent of the text that it was made from.
    pub fn into_owned<'b>(self) -> Truncated<'b> {
        Truncated { text: Cow::Owned(self.text.into_owned()), truncation: self.truncation }
    }
}

/// Cuts a cleaned `text` to `bounds`.
///
/// The result holds both bounds at once, the marker included, for every value of them; where there is no room for
/// the marker it is shortened and at last left out. `hint` is put into the marker and says where the rest is; only
/// its first line counts. Of long lines the middle is left out. A text that is within its bounds comes back as it is,
/// so that truncating twice is truncating once.
pub fn truncate_text<'a>(text: &'a str, bounds: &Bounds, keep: Keep, hint: &str) -> Truncated<'a> {
    if bounds.fit(text) {
        return Truncated { text: Cow::Borrowed(text), truncation: None };
    }
    let cutting = Cutting { text, bounds, keep, total_lines: count_lines(text) };
    let (text, kept) = cutting.run(hint.lines().next().unwrap_or_default());
    let kept = kept.into_iter().map(|range| (range.start as u64, range.end as u64)).collect();
    let truncation = Truncation::new(cutting.text.len() as u64, cutting.total_lines as u64, kept);
    Truncated { text: Cow::Owned(text), truncation: Some(truncation) }
}

/// One text that does not fit, on its way to be cut.
struct Cutting<'a> {
    text: &'a str,
    bounds: &'a Bounds,
    keep: Keep,
    total_lines: usize,
}

/// What is kept of one end of the text.
#[derive(Default)]
struct End {
    text: String,
    kept: Vec<Range<usize>>,
    /// How far into the text (from its start, or back from its end) this end reaches.
    reach: usize,
    lines: usize,
}

impl Cutting<'_> {
    fn run(&self, hint: &str) -> (String, Vec<Range<usize>>) {
        if self.bounds.max_lines == 0 || self.bounds.max_bytes == 0 {
            return (String::new(), Vec::new());
        }
        // The numbers in the marker are at most the totals, so the marker is at most as long as this one. It names
        // lines or a place, and the lines are the longer.
        let widest = Marker { cutting: self, lines: self.total_lines, bytes: self.text.len(), place: "" };
        let Some(form) = Form::choose(&widest, hint, self.bounds.max_bytes) else {
            return self.without_marker();
        };
        // One byte for the newline after the marker.
        let room = self.bounds.max_bytes.saturating_sub(widest.render(form, hint).len() + 1);
        let line_cap = self.bounds.max_line_bytes.max((room / self.total_lines.max(1)).saturating_sub(1));
        // Below three lines the marker shares its line with the tail, or the only line with both ends.
        let line_room = self.bounds.max_lines.saturating_sub(1).max(2);

        let head_lines = self.keep.head_share(line_room);
        let mut head = self.head(self.keep.head_share(room), head_lines, line_cap);
        if self.bounds.max_lines == 1 {
            head.drop_newline();
        }
        let tail_lines = if self.bounds.max_lines == 1 { 1 } else { line_room.saturating_sub(head.lines) };
        let tail = self.tail(head.reach, room.saturating_sub(head.text.len()), tail_lines, line_cap);

        let kept = merged(head.kept, tail.kept);
        let kept_bytes: usize = kept.iter().map(ExactSizeIterator::len).sum();
        let tail_start = self.text.len() - tail.reach;
        let between = self.text.get(head.reach..tail_start).unwrap_or_default();
        let cut_lines =
            [head.reach, tail_start].into_iter().filter(|position| !self.starts_line(*position)).count();
        let lines = count_lines(between).saturating_sub(cut_lines);
        let place = if between.is_empty() { " of long lines" } else { "" };
        let marker = Marker { cutting: self, lines, bytes: self.text.len() - kept_bytes, place };
        let mut text = head.text;
        text.push_str(&marker.render(form, hint));
        if self.starts_line(tail_start) && !tail.text.is_empty() && self.bounds.max_lines >= 3 {
            text.push('\n');
        }
        text.push_str(&tail.text);
        (text, kept)
    }

    fn starts_line(&self, position: usize) -> bool {
        self.text.get(..position).is_some_and(|before| before.is_empty() || before.ends_with('\n'))
    }

    /// Lines from the start, as many as have room; of the first at least a part.
    fn head(&self, room: usize, lines: usize, line_cap: usize) -> End {
        let mut end = End::default();
        for line in self.text.split_inclusive('\n').take(lines) {
            let (body, newline) = split_newline(line);
            let (first, marker, last) = cut::middle_out(body, line_cap);
            let length = first.len() + marker.len() + last.len() + newline.len();
            if end.text.len() + length > room {
                break;
            }
            end.kept.push(end.reach..end.reach + first.len());
            end.reach += line.len();
            end.kept.push(end.reach - last.len() - newline.len()..end.reach);
            end.lines += 1;
            end.text.extend([first, &marker, last, newline]);
        }
        if end.lines == 0 {
            let first = self.text.split('\n').next().unwrap_or_default();
            end.text.push_str(cut::head(first, room));
            end.reach = end.text.len();
            end.kept.push(0..end.reach);
            end.lines = usize::from(end.reach > 0);
        }
        end
    }

    /// Lines from the end, as many as have room and do not reach back before `start`; of the last at least a part.
    fn tail(&self, start: usize, room: usize, lines: usize, line_cap: usize) -> End {
        let mut end = End::default();
        let mut pieces = Vec::new();
        let mut length = 0;
        let part_of_line = self.text.get(start..).unwrap_or_default();
        // What is left of a line that the head holds a part of is no line to be taken as a whole.
        let line_start = match part_of_line.find('\n') {
            _ if self.starts_line(start) => start,
            Some(newline) => start + newline + 1,
            None => self.text.len(),
        };
        let mut rest = self.text.get(line_start..).unwrap_or_default();
        while end.lines < lines && !rest.is_empty() {
            let (before, newline) = split_newline(rest);
            let line_start = before.rfind('\n').map_or(0, |position| position + 1);
            let (before, body) = before.split_at_checked(line_start).unwrap_or_default();
            let (first, marker, last) = cut::middle_out(body, line_cap);
            let piece = first.len() + marker.len() + last.len() + newline.len();
            if length + piece > room {
                break;
            }
            let stop = self.text.len() - end.reach;
            end.reach += body.len() + newline.len();
            end.kept.push(stop - last.len() - newline.len()..stop);
            end.kept.push(self.text.len() - end.reach..self.text.len() - end.reach + first.len());
            end.lines += 1;
            length += piece;
            pieces.push([first.to_owned(), marker, last.to_owned(), newline.to_owned()].concat());
            rest = before;
        }
        end.kept.reverse();
        end.text = pieces.into_iter().rev().collect();
        if end.lines == 0 && lines > 0 {
            let (before, newline) = split_newline(part_of_line);
            let last = before.rsplit('\n').next().unwrap_or_default();
            let part = cut::tail(last, room.saturating_sub(newline.len()));
            if !part.is_empty() {
                end.text = [part, newline].concat();
            }
            end.reach = end.text.len();
            end.kept.push(self.text.len() - end.reach..self.text.len());
        }
        end
    }

    /// One end alone: with two, nothing would tell where one stops.
    fn without_marker(&self) -> (String, Vec<Range<usize>>) {
        let Bounds { max_bytes, max_lines, .. } = *self.bounds;
        let kept = match self.keep {
            Keep::Ends => {
                let lines: usize = self.text.split_inclusive('\n').take(max_lines).map(str::len).sum();
                0..cut::head(self.text, max_bytes).len().min(lines)
            }
            Keep::Tail => {
                let lines: usize = self.text.split_inclusive('\n').rev().take(max_lines).map(str::len).sum();
                self.text.len() - cut::tail(self.text, max_bytes).len().min(lines)..self.text.len()
            }
        };
        (self.text.get(kept.clone()).unwrap_or_default().to_owned(), merged(vec![kept], Vec::new()))
    }
}

impl End {
    /// Leaves out the newline at the end.
    fn drop_newline(&mut self) {
        if self.text.ends_with('\n') {
            self.text.pop();
            self.reach -= 1;
            if let Some(last) = self.kept.last_mut() {
                last.end -= 1;
            }
        }
    }
}

fn split_newline(line: &str) -> (&str, &str) {
    match line.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (line, ""),
    }
}

/// Both lists as one, without empty ranges, neighbours joined.
fn merged(head: Vec<Range<usize>>, tail: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in head.into_iter().chain(tail).filter(|range| !range.is_empty()) {
        match merged.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => merged.push(range),
        }
    }
    merged
}

/// How much the marker says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Hint,
    Counts,
    Short,
}

impl Form {
    /// The fullest form that leaves at least half of the room to the text.
    fn choose(widest: &Marker<'_>, hint: &str, max_bytes: usize) -> Option<Self> {
        [Self::Hint, Self::Counts, Self::Short]
            .into_iter()
            .find(|form| widest.render(*form, hint).len() < max_bytes.div_ceil(2))
    }
}

/// The text that stands for what is missing.
struct Marker<'a> {
    cutting: &'a Cutting<'a>,
    lines: usize,
    bytes: usize,
    /// Where the bytes are missing, if it is not where the marker stands.
    place: &'static str,
}

impl Marker<'_> {
    fn render(&self, form: Form, hint: &str) -> String {
        if form == Form::Short {
            return cut::SHORT_MARKER.to_owned();
        }
        let lines = match self.lines {
            0 => String::new(),
            lines => format!("{} of {} lines, ", group_digits(lines), group_digits(self.cutting.total_lines)),
        };
        let (bytes, total) = (group_digits(self.bytes), group_digits(self.cutting.text.len()));
        let hint = match (form, hint) {
            (Form::Counts, _) | (_, "") => String::new(),
            (_, hint) => format!("; {hint}"),
        };
        format!("[... {lines}{bytes} of {total} bytes left out{}{hint} ...]", self.place)
    }
}

/// A number with commas between groups of three digits.
pub(super) fn group_digits(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]
    use proptest::prelude::*;

    use super::*;

    const MARK: &str = "left out";

    fn cut_to(text: &str, bounds: &Bounds, keep: Keep, hint: &str) -> Truncated<'static> {
        truncate_text(text, bounds, keep, hint).into_owned()
    }

    /// The laws that hold for every text, every bounds, every choice of what to keep.
    fn check(text: &str, bounds: &Bounds, keep: Keep, hint: &str) -> Truncated<'static> {
        let truncated = cut_to(text, bounds, keep, hint);
        let result = truncated.text.as_ref();
        let subject = format!("{bounds:?} {keep:?} {text:?} -> {result:?}");
        assert!(result.len() <= bounds.max_bytes, "bytes: {subject}");
        assert!(count_lines(result) <= bounds.max_lines, "lines: {subject}");
        assert_eq!(cut_to(result, bounds, keep, hint).truncation, None, "idempotent: {subject}");
        let Some(truncation) = &truncated.truncation else {
            assert_eq!(result, text);
            return truncated;
        };
        assert_eq!(truncation.total_bytes, text.len() as u64);
        assert_eq!(truncation.total_lines, count_lines(text) as u64);
        let mut kept = String::new();
        let mut last_end = 0;
        for (start, end) in &truncation.kept_bytes {
            assert!(*start >= last_end && end > start, "ranges: {subject}");
            last_end = *end;
            kept.push_str(&text[usize::try_from(*start).unwrap()..usize::try_from(*end).unwrap()]);
        }
        // Nothing but the kept ranges and the markers, which may stand on lines of their own.
        let markers = regex::Regex::new(r"\[\.\.\.( .*? \.\.\.)?\]").unwrap();
        assert_eq!(markers.replace_all(result, "").replace('\n', ""), kept.replace('\n', ""), "{subject}");
        assert!(last_end <= text.len() as u64);
        truncated
    }

    fn lines(count: usize) -> String {
        (1..=count).map(|number| format!("line {number}\n")).collect()
    }

    #[test]
    fn whole_lines_of_both_ends_are_kept() {
        let text = lines(1000);
        let bounds = Bounds::default().max_lines(5);
        let result = check(&text, &bounds, Keep::Ends, "the full output: o-1").text;
        assert_eq!(
            result,
            "line 1\nline 2\n[... 996 of 1,000 lines, 8,860 of 8,893 bytes left out; the full output: o-1 ...]\nline 999\nline 1000\n"
        );
        let result = check(&text, &bounds, Keep::Tail, "").text;
        assert_eq!(
            result,
            "line 1\n[... 996 of 1,000 lines, 8,858 of 8,893 bytes left out ...]\nline 998\nline 999\nline 1000\n"
        );
    }

    #[test]
    fn few_lines_share_one_or_two() {
        for (max_lines, expected) in [
            (1, "line 1[... 98 of 100 lines, 777 of 792 bytes left out ...]line 100\n"),
            (2, "line 1\n[... 98 of 100 lines, 776 of 792 bytes left out ...]line 100\n"),
            (0, ""),
        ] {
            let result = check(&lines(100), &Bounds::default().max_lines(max_lines), Keep::Ends, "").text;
            assert_eq!(result, expected);
        }
    }

    #[test]
    fn the_reason_in_the_last_line_survives_every_shape() {
        let reason = "ERROR: the reason";
        for text in [
            format!("{}\n{reason}\n", "x".repeat(5 << 20)),
            format!("{0}\n{0}\n{0} {reason}", "x".repeat(1 << 20)),
            format!("start {} {reason}", "\u{20ac}".repeat(2 << 20)),
            format!("start\n{}{reason}\n", "short\n".repeat(10_000)),
        ] {
            for keep in [Keep::Ends, Keep::Tail] {
                let result = check(&text, &Bounds::default(), keep, "the full output: o-1").text;
                assert!(result.trim_end().ends_with(reason));
                assert!(result.starts_with(&text[..5]));
                assert_eq!(result.matches(MARK).count(), 1);
                assert!(result.contains("o-1"));
            }
        }
    }

    #[test]
    fn one_long_line_loses_its_middle_and_uses_its_room() {
        let text = format!("start {} end", "x".repeat(1 << 20));
        let result = check(&text, &Bounds::default(), Keep::Ends, "").text;
        assert_eq!(count_lines(&result), 1);
        assert!(result.len() > 40_000 && result.starts_with("start xx") && result.ends_with("xx end"));
    }

    #[test]
    fn long_lines_do_not_crowd_out_the_others() {
        let text = format!("a{}b\n", "-".repeat(20_000)).repeat(100);
        let result = check(&text, &Bounds::default(), Keep::Ends, "").text;
        assert!(result.lines().filter(|line| line.starts_with('a') && line.ends_with('b')).count() >= 8);
        assert!(result.lines().all(|line| line.len() <= 4096));
        // A long line in a text that fits is left alone.
        let text = "y".repeat(30_000);
        assert_eq!(check(&text, &Bounds::default(), Keep::Ends, "").text, text);
    }

    #[test]
    fn every_small_cap_and_every_cap_around_the_default_holds() {
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        let texts = [
            "abcdefghij".repeat(20),
            "\u{e9}\u{20ac}\u{1f600}e\u{301}\n".repeat(20),
            family.repeat(10),
            "\n".repeat(100),
            format!("\n\n{}\n\n", "z".repeat(300)),
            lines(60),
        ];
        for text in &texts {
            let wide = text.repeat(41_000 / text.len() + 1);
            for keep in [Keep::Ends, Keep::Tail] {
                for max_bytes in 0..200 {
                    for max_lines in [0, 1, 2, 3, 4, 10, 2000] {
                        let bounds =
                            Bounds::default().max_bytes(max_bytes).max_lines(max_lines).max_line_bytes(30);
                        check(text, &bounds, keep, "the full output: o-1");
                    }
                }
                for max_bytes in 40_900..41_020 {
                    check(&wide, &Bounds::default().max_bytes(max_bytes), keep, "the full output: o-1");
                }
            }
        }
    }

    #[test]
    fn the_marker_gives_way_as_room_shrinks() {
        let text = lines(1000);
        for (max_bytes, marker) in
            [(400, "; the full output: o-1 ...]"), (150, "left out ...]"), (40, "[...]"), (8, "")]
        {
            let bounds = Bounds::default().max_bytes(max_bytes);
            let result = check(&text, &bounds, Keep::Ends, "the full output: o-1\nsecond line").text;
            assert!(result.contains(marker), "{result}");
            assert_eq!(result.matches("[...").count(), usize::from(!marker.is_empty()), "{result}");
            assert!(result.starts_with("line 1"));
        }
        assert_eq!(check(&text, &Bounds::default().max_bytes(8), Keep::Tail, "").text, "ne 1000\n");
    }

    #[test]
    fn digits_are_grouped() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (812_345, "812,345"), (1_234_567, "1,234,567")]
        {
            assert_eq!(group_digits(number), text);
        }
    }

    proptest! {
        #[test]
        fn the_laws_hold(
            pieces in prop::collection::vec(
                prop_oneof!["[a-z]{0,12}", "\\PC{0,6}", Just("\n".to_owned()), Just("\u{1f468}\u{200d}\u{1f469}".to_owned()), "x{20,90}"],
                0..80,
            ),
            max_bytes in 0usize..400,
            max_lines in 0usize..20,
            max_line_bytes in 0usize..100,
            tail in any::<bool>(),
            hint in "[a-z ]{0,30}",
        ) {
            let text = pieces.concat();
            let bounds = Bounds { max_bytes, max_lines, max_line_bytes };
            let keep = if tail { Keep::Tail } else { Keep::Ends };
            let truncated = check(&text, &bounds, keep, &hint);
            if truncated.truncation.is_some() && max_bytes >= 200 && max_lines >= 1 {
                prop_assert_eq!(truncated.text.matches(MARK).count(), 1);
            }
            // A line's cap may be too small for the one emoji that the line holds.
            if truncated.truncation.is_some() && max_bytes >= 200 && max_lines >= 1 && max_line_bytes >= 16 {
                let first = text.chars().next().unwrap();
                prop_assert!(truncated.text.starts_with(first) || truncated.text.starts_with("[..."));
                let last = text.chars().next_back().unwrap();
                prop_assert!(truncated.text.ends_with(last) || truncated.text.ends_with("...]"));
            }
        }
    }
}
