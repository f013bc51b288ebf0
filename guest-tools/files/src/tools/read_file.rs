//! `read-file`

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::page::Page;
use crate::text::{CARRIAGE_RETURN, Ending, lossy, not_text, one_line, read_line, skip_lines};
use crate::{Answer, Workspace, source};
use granted::show;

/// Lines of a page when the model asks for no number.
const DEFAULT_LIMIT: u32 = 2_000;
/// Bytes of a line that are shown: minified code and data in one line must not fill the page.
const LONGEST_LINE: usize = 2_000;
/// Bytes that one call looks through, to find its page and then to count the lines behind it. It bounds the time that a
/// file of any size costs.
const LOOK: u64 = 2 << 30;
const BUFFER: usize = 64 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Shows lines of a text file with their numbers.
pub fn read_file(workspace: &Workspace, path: &str, offset: Option<u32>, limit: Option<u32>) -> Answer {
    let first = u64::from(offset.unwrap_or(1));
    let limit = u64::from(limit.unwrap_or(DEFAULT_LIMIT));
    if first == 0 {
        return Err("offset counts lines from 1".to_owned());
    }
    if limit == 0 {
        return Err("limit must be at least 1".to_owned());
    }
    let path = workspace.grants.resolve(path)?;
    let (file, size) = source::open(&workspace.grants, &path)?;
    let mut reader = BufReader::with_capacity(BUFFER, file.take(size.min(LOOK)));
    let fail = |error: std::io::Error| workspace.grants.explain("read", &path, &error);

    let head = reader.fill_buf().map_err(fail)?;
    if head.is_empty() {
        return Ok("[the file is empty]".to_owned());
    }
    if let Some(reason) = not_text(head) {
        return Err(format!("{} is {reason} ({size} bytes)", show(&path)));
    }
    let bom = head.starts_with(BOM);

    let skipped = skip_lines(&mut reader, first - 1).map_err(fail)?;
    if skipped.at_end {
        return Err(past_the_end(&path, first, skipped.lines, size));
    }
    let mut shown = Shown::new(Page::new(workspace.budget), first, bom && first == 1);
    let mut kept = Vec::new();
    while shown.lines < limit {
        let Some(line) = read_line(&mut reader, LONGEST_LINE, &mut kept).map_err(fail)? else { break };
        if !shown.add(&kept, line.length, line.ending) {
            shown.passed = 1;
            break;
        }
    }
    let rest = skip_lines(&mut reader, u64::MAX).map_err(fail)?.lines + shown.passed;
    Ok(shown.close(rest, size > LOOK))
}

fn past_the_end(path: &Path, first: u64, lines: u64, size: u64) -> String {
    let path = show(path);
    if size > LOOK {
        return format!(
            "line {first} of {path} lies past its first {LOOK} bytes, where this tool stops; use grep"
        );
    }
    format!(
        "offset {first} is past the end: {path} has {lines} {}",
        if lines == 1 { "line" } else { "lines" }
    )
}

/// What is shown of a file, and what there is to say about it.
struct Shown {
    page: Page,
    first: u64,
    lines: u64,
    /// Lines that were read and did not fit.
    passed: u64,
    bom: bool,
    crlf: u64,
    not_utf8: bool,
    carriage_return: bool,
    open_end: bool,
}

impl Shown {
    fn new(page: Page, first: u64, bom: bool) -> Self {
        Self {
            page,
            first,
            lines: 0,
            passed: 0,
            bom,
            crlf: 0,
            not_utf8: false,
            carriage_return: false,
            open_end: false,
        }
    }

    /// Adds the line whose beginning is `kept`, unless it does not fit.
    fn add(&mut self, kept: &[u8], length: u64, ending: Ending) -> bool {
        let number = self.first + self.lines;
        let kept = if self.bom && self.lines == 0 { kept.strip_prefix(BOM).unwrap_or(kept) } else { kept };
        // A line that alone is more than the page is cut rather than never shown.
        let room = if self.lines == 0 { self.page.room().saturating_sub(60) } else { usize::MAX };
        let long = length > LONGEST_LINE as u64;
        let text = lossy(kept, if long { LONGEST_LINE - 1 } else { kept.len() });
        let text = one_line(&text);
        // What stands for a byte may be longer than it.
        let whole = !long && text.len() <= room;
        let text = lossy(text.as_bytes(), room);
        let cut = if whole { String::new() } else { format!("… [line cut, {length} bytes]") };
        if !self.page.add(&format!("{number}\t{text}{cut}")) {
            return false;
        }
        self.lines += 1;
        self.crlf += u64::from(ending == Ending::CrLf);
        self.open_end = ending == Ending::None;
        self.carriage_return |= text.contains(CARRIAGE_RETURN) && kept.contains(&b'\r');
        self.not_utf8 |= text.contains(char::REPLACEMENT_CHARACTER) && std::str::from_utf8(kept).is_err();
        true
    }

    /// The page with its notes; `rest` lines follow it, and more than these if `more`.
    fn close(self, rest: u64, more: bool) -> String {
        let mut notes = Vec::new();
        if self.bom {
            notes.push("the file begins with a byte order mark".to_owned());
        }
        if self.crlf > 0 {
            let which = if self.crlf + u64::from(self.open_end) == self.lines { "" } else { "partly " };
            notes.push(format!("line endings: {which}CRLF"));
        }
        if self.carriage_return {
            notes.push(format!("carriage returns inside a line are shown as {CARRIAGE_RETURN}"));
        }
        if self.not_utf8 {
            notes.push("bytes that are not UTF-8 are shown as \u{fffd}".to_owned());
        }
        let next = self.first + self.lines;
        let total = next - 1 + rest;
        if rest > 0 || more {
            let total = if more { format!("at least {total}") } else { total.to_string() };
            notes.push(format!("lines {}-{} of {total}; go on with offset {next}", self.first, next - 1));
        } else if self.open_end {
            notes.push("no newline at the end of the file".to_owned());
        }
        self.page.close(&notes)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failing test may panic")]

    use std::fs;
    use std::io::{Seek, SeekFrom, Write};

    use super::*;
    use crate::page::Budget;
    use granted::Grants;

    const WIDE: Budget = Budget { bytes: 40_000, lines: 2_000 };

    fn read(content: &[u8], offset: Option<u32>, limit: Option<u32>, budget: Budget) -> Answer {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), content).unwrap();
        let workspace = Workspace { grants: Grants::new([dir.path().display().to_string()]), budget };
        read_file(&workspace, "f", offset, limit)
            .map_err(|message| message.replace(&dir.path().display().to_string(), "/work"))
    }

    #[test]
    fn text_comes_with_line_numbers() {
        for (content, expected) in [
            ("a\nb\n", "1\ta\n2\tb"),
            ("a\nb", "1\ta\n2\tb\n[no newline at the end of the file]"),
            ("\n", "1\t"),
            ("a\r\nb\r\n", "1\ta\n2\tb\n[line endings: CRLF]"),
            ("a\r\nb\n", "1\ta\n2\tb\n[line endings: partly CRLF]"),
            ("\u{feff}a\n", "1\ta\n[the file begins with a byte order mark]"),
            ("", "[the file is empty]"),
        ] {
            assert_eq!(read(content.as_bytes(), None, None, WIDE).as_deref(), Ok(expected), "{content:?}");
        }
        assert_eq!(
            read(b"one\r2\tforged line\rthree\n\r\r\n\r", None, None, WIDE).as_deref(),
            Ok("1\tone\u{240d}2\tforged line\u{240d}three\n2\t\u{240d}\n3\t\u{240d}\n\
                [line endings: partly CRLF]\n[carriage returns inside a line are shown as \u{240d}]\n\
                [no newline at the end of the file]")
        );
        let latin1 = read(b"caf\xe9\n", None, None, WIDE).unwrap();
        assert_eq!(latin1, "1\tcaf\u{fffd}\n[bytes that are not UTF-8 are shown as \u{fffd}]");
    }

    #[test]
    fn offset_and_limit_count_lines() {
        let five = b"1\n2\n3\n4\n5\n";
        for (offset, limit, expected) in [
            (Some(2), Some(2), Ok("2\t2\n3\t3\n[lines 2-3 of 5; go on with offset 4]")),
            (Some(5), None, Ok("5\t5")),
            (Some(4), Some(u32::MAX), Ok("4\t4\n5\t5")),
            (Some(6), None, Err("offset 6 is past the end: /work/f has 5 lines")),
            (Some(u32::MAX), None, Err("offset 4294967295 is past the end: /work/f has 5 lines")),
            (Some(0), None, Err("offset counts lines from 1")),
            (None, Some(0), Err("limit must be at least 1")),
        ] {
            let answer = read(five, offset, limit, WIDE);
            assert_eq!(answer.as_deref().map_err(String::as_str), expected, "{offset:?} {limit:?}");
        }
        assert_eq!(
            read(b"x", Some(2), None, WIDE),
            Err("offset 2 is past the end: /work/f has 1 line".to_owned())
        );
    }

    #[test]
    fn a_page_fits_the_budget_and_the_next_follows() {
        let content: String = (1..=500).map(|number| format!("line {number}\n")).collect();
        let budget = Budget { bytes: 2_000, lines: 2_000 };
        let (mut offset, mut seen) = (1u32, 0);
        loop {
            let page = read(content.as_bytes(), Some(offset), None, budget).unwrap();
            assert!(page.len() <= 2_000, "{}", page.len());
            for line in page.lines().filter(|line| !line.starts_with('[')) {
                seen += 1;
                assert_eq!(line, format!("{seen}\tline {seen}"));
            }
            let Some((_, next)) = page.split_once("go on with offset ") else { break };
            assert!(page.contains("of 500;"));
            offset = next.trim_end_matches(']').parse().unwrap();
        }
        assert_eq!(seen, 500);
    }

    #[test]
    fn long_lines_are_cut_and_never_stop_the_paging() {
        let content = format!("{}\nafter\n", "ü".repeat(500_000));
        let page = read(content.as_bytes(), None, None, WIDE).unwrap();
        assert!(page.contains("… [line cut, 1000000 bytes]\n2\tafter"), "{page}");
        for byte in [b'\r', 0xe9] {
            let content = [&[byte; 900][..], b"|\nafter\n"].concat();
            let page = read(&content, None, None, Budget { bytes: 2_000, lines: 10 }).unwrap();
            assert!(page.len() <= 2_000 && page.contains("… [line cut, 901 bytes]\n2\tafter"), "{page}");
        }
        let content = format!("{}\n{0}\n", "ü".repeat(500_000));
        let page = read(content.as_bytes(), None, None, Budget { bytes: 200, lines: 10 }).unwrap();
        assert!(
            page.starts_with("1\tü") && page.ends_with("[lines 1-1 of 2; go on with offset 2]"),
            "{page}"
        );
    }

    #[test]
    fn what_is_not_text_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("binary"), [0u8; 64]).unwrap();
        let workspace = Workspace { grants: Grants::new([dir.path().display().to_string()]), budget: WIDE };
        for (path, expected) in [
            ("binary", "is a binary file (64 bytes)"),
            (".", "is a folder"),
            ("missing", "does not exist"),
            ("binary/x", "not a folder"),
            ("/nowhere/x", "is outside the granted directories"),
        ] {
            let message = read_file(&workspace, path, None, None).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_gigabyte_is_counted_in_bounded_memory() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = fs::File::create(dir.path().join("f")).unwrap();
        file.write_all("text\n".repeat(2_000).as_bytes()).unwrap();
        file.seek(SeekFrom::Start((1 << 30) - 2)).unwrap();
        file.write_all(b"\nx").unwrap();
        let workspace = Workspace { grants: Grants::new([dir.path().display().to_string()]), budget: WIDE };
        let page = read_file(&workspace, "f", Some(1), Some(1)).unwrap();
        assert_eq!(page, "1\ttext\n[lines 1-1 of 2002; go on with offset 2]");
        let page = read_file(&workspace, "f", Some(2_002), None).unwrap();
        assert_eq!(page, "2002\tx\n[no newline at the end of the file]");
    }
}
