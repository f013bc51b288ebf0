//! Which of many results a page shows, and how to come to the others.

/// A run of results, counted from 1 in the order that they are always in: pages that follow each other by
/// [`Span::note`] have every result once, as long as nobody changes the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The number of the first result that is wanted.
    pub first: u64,
    /// How many are shown from there.
    pub shown: u64,
    /// How many there are altogether, as far as they were counted.
    pub total: u64,
    /// Whether counting stopped before the end, with the page full.
    pub more: bool,
}

impl Span {
    /// Nothing shown yet of what starts at `offset`; from the beginning without one.
    pub fn from(offset: Option<u32>) -> Result<Self, String> {
        match offset {
            Some(0) => Err("offset counts from 1".to_owned()),
            offset => Ok(Self { first: u64::from(offset.unwrap_or(1)), shown: 0, total: 0, more: false }),
        }
    }

    /// Counts one more result, and says whether the page should show it: those before the first are passed, and once
    /// one was not shown, none after it is, since a list with holes would mislead.
    pub fn count(&mut self) -> bool {
        self.total += 1;
        self.total == self.first + self.shown
    }

    /// What to say at the page's end. `what` names the results, as `entries`; `among` follows their number.
    ///
    /// # Errors
    /// When the page would begin past the last result.
    pub fn note(&self, what: &str, among: &str) -> Result<Option<String>, String> {
        let Self { first, shown, total, more } = *self;
        let next = first + shown;
        if first > total {
            // Where there is nothing at all, that is the answer.
            return if total == 0 { Ok(None) } else { Err(past_the_end(first, total, what, among)) };
        }
        let counted = if more { format!("at least {total}") } else { total.to_string() };
        if shown == 0 {
            let next = first + 1;
            let rest =
                if first < total || more { format!("; go on with offset {next}") } else { String::new() };
            return Ok(Some(format!(
                "number {first} of {counted} {what}{among} does not fit the output{rest}"
            )));
        }
        if next <= total || more {
            let last = next - 1;
            return Ok(Some(format!("{what} {first}-{last} of {counted}{among}; go on with offset {next}")));
        }
        Ok((first > 1).then(|| format!("{what} {first}-{total} of {total}{among}: the last")))
    }
}

fn past_the_end(first: u64, total: u64, what: &str, among: &str) -> String {
    format!("offset {first} is past the end: the number of {what} is {total}{among}")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failing test may panic")]

    use super::*;

    #[test]
    fn a_page_tells_where_it_is() {
        let cases = [
            ((1, 0, 0), Ok(None)),
            ((9, 0, 0), Ok(None)),
            ((1, 5, 5), Ok(None)),
            ((1, 2, 5), Ok(Some("entries 1-2 of 5; go on with offset 3"))),
            ((3, 2, 5), Ok(Some("entries 3-4 of 5; go on with offset 5"))),
            ((5, 1, 5), Ok(Some("entries 5-5 of 5: the last"))),
            ((6, 0, 5), Err("offset 6 is past the end: the number of entries is 5")),
            ((2, 0, 5), Ok(Some("number 2 of 5 entries does not fit the output; go on with offset 3"))),
            ((5, 0, 5), Ok(Some("number 5 of 5 entries does not fit the output"))),
        ];
        for ((first, shown, total), expected) in cases {
            let note = Span { first, shown, total, more: false }.note("entries", "");
            assert_eq!(note, expected.map(|note| note.map(str::to_owned)).map_err(str::to_owned));
        }
        for (shown, expected) in [
            (5, "entries 1-5 of at least 5; go on with offset 6"),
            (0, "number 1 of at least 5 entries does not fit the output; go on with offset 2"),
        ] {
            let span = Span { first: 1, shown, total: 5, more: true };
            assert_eq!(span.note("entries", ""), Ok(Some(expected.to_owned())));
        }
    }

    #[test]
    fn only_an_unbroken_run_is_shown() {
        let mut span = Span::from(Some(3)).unwrap();
        let mut shown = Vec::new();
        for number in 1..=6 {
            // The fifth does not fit.
            if span.count() && number != 5 {
                shown.push(number);
                span.shown += 1;
            }
        }
        assert_eq!((shown, span.total), (vec![3, 4], 6));
        assert_eq!(Span::from(Some(0)), Err("offset counts from 1".to_owned()));
    }
}
