//! A result that fits what its reader will see.

/// What a result should fit into.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Bytes of UTF-8.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
}

/// Kept free for the notes at the end.
const NOTES: Budget = Budget { bytes: 800, lines: 8 };

/// Lines that are added as long as they fit, with room kept for notes.
pub struct Page {
    text: String,
    lines: usize,
    max_bytes: usize,
    max_lines: usize,
}

/// A place in a page to return to.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    bytes: usize,
    lines: usize,
}

impl Mark {
    /// Whether it is the page's beginning.
    pub fn is_start(self) -> bool {
        self.bytes == 0
    }
}

impl Page {
    /// An empty page of this budget. Of a tiny budget half is kept for notes.
    pub fn new(budget: Budget) -> Self {
        let keep = |all: u64, notes: u64| usize::try_from(all - notes.min(all / 2)).unwrap_or(usize::MAX);
        Self {
            text: String::new(),
            lines: 0,
            max_bytes: keep(budget.bytes, NOTES.bytes),
            max_lines: keep(budget.lines, NOTES.lines),
        }
    }

    /// Adds a line, unless it does not fit; says whether it did.
    pub fn add(&mut self, line: &str) -> bool {
        let fits = line.len() < self.room() && self.lines < self.max_lines;
        if fits {
            self.text.push_str(line);
            self.text.push('\n');
            self.lines += 1;
        }
        fits
    }

    /// Bytes that are still free.
    pub fn room(&self) -> usize {
        self.max_bytes.saturating_sub(self.text.len())
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The place reached.
    pub fn mark(&self) -> Mark {
        Mark { bytes: self.text.len(), lines: self.lines }
    }

    /// Takes back what was added after `mark`.
    pub fn rewind(&mut self, mark: Mark) {
        self.text.truncate(mark.bytes);
        self.lines = mark.lines;
    }

    /// The text, with each note on a line of its own at the end and no final newline.
    pub fn close(mut self, notes: &[String]) -> String {
        for note in notes {
            self.text.push('[');
            self.text.push_str(note);
            self.text.push_str("]\n");
        }
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_while_they_fit() {
        let mut page = Page::new(Budget { bytes: 20, lines: 100 });
        assert!(page.add("12345"));
        assert!(!page.add("1234"), "4 bytes and a newline do not fit the 4 that are left");
        assert!(page.add("123"));
        assert_eq!(page.close(&["more".to_owned()]), "12345\n123\n[more]");

        let mut page = Page::new(Budget { bytes: 10_000, lines: 4 });
        assert_eq!([page.add("a"), page.add("b"), page.add("c")], [true, true, false]);
    }

    #[test]
    fn what_is_rewound_is_gone() {
        let mut page = Page::new(Budget { bytes: 100, lines: 10 });
        page.add("kept");
        let mark = page.mark();
        page.add("dropped");
        page.rewind(mark);
        assert_eq!(page.close(&[]), "kept");
    }

    #[test]
    fn no_budget_is_no_panic() {
        let mut page = Page::new(Budget { bytes: 0, lines: 0 });
        assert!(!page.add(""));
        let mut page = Page::new(Budget { bytes: u64::MAX, lines: u64::MAX });
        assert!(page.add("x"));
    }
}
