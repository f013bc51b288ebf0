//! The matches of one file, as they are found.

use std::io;
use std::path::Path;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};

use super::allowance::Allowance;
use crate::page::{Mark, Page};
use crate::text::{lossy, one_line};
use granted::spelled;

/// Bytes of a line that are shown, around its match.
const LONGEST_LINE: usize = 400;

/// What was found in one file.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Matching lines.
    pub(super) lines: u64,
    /// Those that are on the page.
    pub(super) shown: u64,
    /// Whether one of them did not fit.
    pub(super) full: bool,
    /// Where the first NUL byte is, if one was met.
    pub(super) nul: Option<u64>,
}

/// Which of a file's matches are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// How many are on earlier pages.
    pub(super) passed: u64,
    /// How many may be shown after those.
    pub(super) left: u64,
}

/// Puts a file's matches on the page, under the file's path.
pub(super) struct Matches<'a> {
    matcher: &'a RegexMatcher,
    page: &'a mut Page,
    path: &'a Path,
    wanted: Wanted,
    allowance: &'a Allowance,
    /// Context that comes onto the page together with the match it belongs to.
    pending: Vec<String>,
    /// Where the page was before the match that was shown last, as long as its context goes on.
    last_shown: Option<Mark>,
    /// Whether to stop at the first match.
    pub(super) first_only: bool,
    pub(super) found: Found,
}

impl<'a> Matches<'a> {
    pub(super) fn new(
        matcher: &'a RegexMatcher,
        page: &'a mut Page,
        path: &'a Path,
        wanted: Wanted,
        allowance: &'a Allowance,
    ) -> Self {
        Self {
            matcher,
            page,
            path,
            wanted,
            allowance,
            pending: Vec::new(),
            last_shown: None,
            first_only: false,
            found: Found::default(),
        }
    }

    /// Whether another match may be shown.
    fn open(&self) -> bool {
        !self.found.full && self.found.shown < self.wanted.left
    }

    /// Adds a match with the context before it, all or nothing. Says where the page was before. On an empty page the
    /// context gives way, the farthest first, or no page would ever show the match.
    fn add(&mut self, line: &str) -> Option<Mark> {
        let start = self.page.mark();
        let context = std::mem::take(&mut self.pending);
        let dispensable = if start.is_start() { context.len() } else { 0 };
        let added = (0..=dispensable)
            .any(|left_out| self.add_all(start, context.get(left_out..).unwrap_or_default(), line));
        added.then_some(start)
    }

    fn add_all(&mut self, start: Mark, context: &[String], line: &str) -> bool {
        let headed = self.found.shown > 0
            || ((self.page.is_empty() || self.page.add("")) && self.page.add(&spelled(self.path)));
        let added = headed && context.iter().all(|line| self.page.add(line)) && self.page.add(line);
        if !added {
            self.page.rewind(start);
        }
        added
    }

    /// Adds context after a match. Where it does not fit, the match moves to the next page with all that is around it,
    /// unless it began this one: then its context is cut, or no page would ever show it.
    fn add_after(&mut self, line: &str, before: Mark) {
        if self.page.add(line) {
            return;
        }
        self.last_shown = None;
        self.found.full = true;
        self.allowance.begin();
        if !before.is_start() {
            self.page.rewind(before);
            self.found.shown -= 1;
        }
    }

    fn excerpt(&self, line: &[u8], number: Option<u64>, mark: char) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let number = number.unwrap_or_default();
        if line.len() <= LONGEST_LINE {
            return format!("{number}{mark} {}", one_line(&lossy(line, LONGEST_LINE)));
        }
        let matched = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
        let start = matched.saturating_sub(LONGEST_LINE / 4).min(line.len() - LONGEST_LINE);
        // Not inside a character: the bytes that continue one are passed.
        let start = (start..line.len()).find(|&at| line[at] & 0xc0 != 0x80).unwrap_or(start);
        let text = lossy(&line[start..], LONGEST_LINE);
        let text = one_line(&text);
        let before = if start > 0 { "…" } else { "" };
        let after = if start + LONGEST_LINE < line.len() { "…" } else { "" };
        format!("{number}{mark} {before}{text}{after}")
    }
}

impl Sink for Matches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        self.found.lines += 1;
        self.last_shown = None;
        if self.found.lines <= self.wanted.passed {
            self.pending.clear();
        } else if self.open() {
            let line = self.excerpt(matched.bytes(), matched.line_number(), ':');
            self.last_shown = self.add(&line);
            self.found.full = self.last_shown.is_none();
            self.found.shown += u64::from(self.last_shown.is_some());
        }
        if self.found.lines > self.wanted.passed && !self.open() {
            self.allowance.begin();
        }
        Ok(!self.first_only)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let line = || self.excerpt(context.bytes(), context.line_number(), '-');
        match context.kind() {
            SinkContextKind::Before if self.open() => {
                let line = line();
                self.pending.push(line);
            }
            SinkContextKind::After => {
                if let Some(before) = self.last_shown {
                    let line = line();
                    self.add_after(&line, before);
                }
            }
            _ => {}
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.open() && self.found.shown > 0 {
            self.pending.push("--".to_owned());
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> io::Result<bool> {
        self.found.nul = Some(offset);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.found.nul = self.found.nul.or(finish.binary_byte_offset());
        Ok(())
    }
}
