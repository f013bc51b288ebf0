//! HTML as Markdown that a model reads well: text, headings, lists, links, code and tables, without scripts, styles and
//! layout. Lenient, in one pass, and bounded by its input.

use client::Url;

use crate::entity::decoded;
use crate::tag::{BLOCKS, HIDDEN, Tag, VOID, after_closing, after_hidden, is_begun, next_tag, tag};

/// The page as Markdown; links are absolute, from `page` on or from what it names as its base.
#[must_use]
pub fn of(html: &str, page: &Url) -> String {
    let mut writer = Writer::new(base_of(html, page));
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        let (text, tag) = rest.split_at(open);
        writer.text(text);
        rest = writer.markup(tag);
    }
    writer.text(rest);
    writer.finish()
}

/// A list that was opened and is not closed.
enum List {
    Bullets,
    /// The number of the last item.
    Numbers(i64),
}

struct Writer {
    base: Url,
    out: String,
    /// What a link said so far, and where it leads.
    link: Option<(usize, String)>,
    lists: Vec<List>,
    quotes: usize,
    is_preformatted: bool,
    /// The first row of a table is followed by a rule.
    row: usize,
    cells: usize,
}

impl Writer {
    fn new(base: Url) -> Self {
        Self {
            base,
            out: String::new(),
            link: None,
            lists: Vec::new(),
            quotes: 0,
            is_preformatted: false,
            row: 0,
            cells: 0,
        }
    }

    fn text(&mut self, raw: &str) {
        if raw.is_empty() {
            return;
        }
        let text = decoded(raw);
        if self.is_preformatted {
            self.out.push_str(&text);
            return;
        }
        for character in text.chars() {
            if character.is_whitespace() {
                if !self.out.is_empty() && !self.out.ends_with([' ', '\n']) {
                    self.out.push(' ');
                }
            } else {
                self.out.push(character);
            }
        }
    }

    /// Handles what begins with `<`, and returns what follows it.
    fn markup<'h>(&mut self, html: &'h str) -> &'h str {
        if let Some(comment) = html.strip_prefix("<!--") {
            return comment.split_once("-->").map_or("", |(_, after)| after);
        }
        let Some((tag, after)) = tag(html) else {
            if is_begun(html) {
                self.text(html);
                return "";
            }
            self.out.push('<');
            return html.get(1..).unwrap_or_default();
        };
        let name = tag.name.as_str();
        if HIDDEN.contains(&name) && !tag.is_closing && !tag.is_empty {
            return after_closing(after, name);
        }
        if tag.is_closing {
            self.close(name);
        } else if VOID.contains(&name) || !tag.is_hidden() {
            self.open(&tag);
        } else {
            return after_hidden(after, name);
        }
        after
    }

    fn open(&mut self, tag: &Tag) {
        match tag.name.as_str() {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = tag.name.as_bytes().get(1).map_or(1, |digit| usize::from(digit - b'0'));
                self.block();
                self.out.push_str(&format!("{} ", "#".repeat(level)));
            }
            "br" => self.line(),
            "hr" => {
                self.block();
                self.out.push_str("---");
                self.block();
            }
            "strong" | "b" => self.out.push_str("**"),
            "em" | "i" => self.out.push('*'),
            "code" | "kbd" | "samp" if !self.is_preformatted => self.out.push('`'),
            "pre" => {
                self.block();
                self.out.push_str("```\n");
                self.is_preformatted = true;
            }
            "a" => {
                let target = tag.attribute("href").and_then(|href| self.base.join(&href).ok());
                if let (Some(target), None) = (target, &self.link) {
                    self.out.push('[');
                    self.link = Some((self.out.len(), target.to_string()));
                }
            }
            "img" => {
                if let Some(words) = tag.attribute("alt").filter(|words| !words.trim().is_empty()) {
                    self.text(&format!("[image: {}]", words.trim()));
                }
            }
            "ul" | "ol" => {
                if self.lists.is_empty() {
                    self.block();
                }
                let number = |name| tag.attribute(name).and_then(|text| text.trim().parse::<i64>().ok());
                let before = number("start").unwrap_or(1).saturating_sub(1);
                self.lists.push(if tag.name == "ul" { List::Bullets } else { List::Numbers(before) });
            }
            "li" => {
                self.line();
                self.out.push_str(&"  ".repeat(self.lists.len().saturating_sub(1).min(8)));
                match self.lists.last_mut() {
                    Some(List::Numbers(number)) => {
                        let value = tag.attribute("value").and_then(|text| text.trim().parse().ok());
                        *number = value.unwrap_or(number.saturating_add(1));
                        self.out.push_str(&format!("{number}. "));
                    }
                    _ => self.out.push_str("- "),
                }
            }
            "table" => {
                self.block();
                self.row = 0;
            }
            "tr" => {
                self.end_row();
                self.line();
            }
            "thead" | "tbody" | "tfoot" => self.end_row(),
            "td" | "th" => {
                self.trim();
                self.out.push_str(if self.cells == 0 { "| " } else { " | " });
                self.cells += 1;
            }
            "blockquote" => {
                self.block();
                self.quotes += 1;
                self.out.push_str("> ");
            }
            name if BLOCKS.contains(&name) => self.block(),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "strong" | "b" => self.mark("**"),
            "em" | "i" => self.mark("*"),
            "code" | "kbd" | "samp" if !self.is_preformatted => self.mark("`"),
            "pre" if self.is_preformatted => {
                self.is_preformatted = false;
                self.line();
                self.out.push_str("```");
                self.block();
            }
            "a" => self.close_link(),
            "ul" | "ol" => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.block();
                }
            }
            "tr" | "thead" | "tbody" | "tfoot" => self.end_row(),
            "table" => {
                self.end_row();
                self.block();
            }
            "blockquote" => {
                self.quotes = self.quotes.saturating_sub(1);
                self.block();
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.block(),
            name if BLOCKS.contains(&name) => self.block(),
            _ => {}
        }
    }

    /// Ends a row, also one whose end nobody wrote.
    fn end_row(&mut self) {
        if self.cells == 0 {
            return;
        }
        self.trim();
        self.out.push_str(" |");
        self.row += 1;
        if self.row == 1 {
            self.out.push_str(&format!("\n|{}", " --- |".repeat(self.cells.min(100))));
        }
        self.cells = 0;
    }

    /// Ends an emphasis, before the space that its text may end with.
    fn mark(&mut self, mark: &str) {
        let had_space = self.out.ends_with(' ');
        self.trim();
        self.out.push_str(mark);
        if had_space {
            self.out.push(' ');
        }
    }

    fn close_link(&mut self) {
        let Some((start, target)) = self.link.take() else { return };
        let words = self.out.get(start..).unwrap_or_default().trim().to_owned();
        self.out.truncate(start.saturating_sub(1));
        if words.is_empty() {
            return;
        }
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        self.out.push_str(&format!("[{words}]({target})"));
    }

    fn trim(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
    }

    fn line(&mut self) {
        self.trim();
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Begins a block: in a list or a cell it would tear that apart.
    fn block(&mut self) {
        if self.cells > 0 {
            return self.text(" ");
        }
        if !self.lists.is_empty() {
            if !self.out.ends_with(['-', ' ', '.']) {
                self.line();
            }
            return;
        }
        self.line();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
        if self.quotes > 0 && !self.out.ends_with("> ") {
            self.out.push_str("> ");
        }
    }

    fn finish(mut self) -> String {
        self.close_link();
        self.end_row();
        let mut written = String::with_capacity(self.out.len());
        let mut blank = 0;
        for line in self.out.lines() {
            let line = line.trim_end();
            blank = if line.is_empty() || line == ">" { blank + 1 } else { 0 };
            if blank < 2 && !(written.is_empty() && line.is_empty()) {
                written.push_str(line);
                written.push('\n');
            }
        }
        written.truncate(written.trim_end_matches(['\n', '>', ' ']).len());
        written
    }
}

/// What the links of a page lead on from: itself, or what it names for that before its body.
fn base_of(html: &str, page: &Url) -> Url {
    let mut rest = html;
    while let Some((tag, after)) = next_tag(rest) {
        match tag.name.as_str() {
            "body" => break,
            "base" => {
                if let Some(base) = tag.attribute("href").and_then(|href| page.join(&href).ok()) {
                    return base;
                }
            }
            _ => {}
        }
        rest = after;
    }
    page.clone()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "the address is right")]

    use super::*;

    fn read(html: &str) -> String {
        of(html, &Url::parse("https://a.org/d/page").unwrap())
    }

    #[test]
    fn a_page_becomes_what_a_reader_sees() {
        let html = "<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body>\
            <nav><a href='/'>Home</a></nav><h1>Head &amp; <em>line</em></h1>\n<p>One\n  two <b>three </b>&nbsp;four.\
            <br>five</p><script>if (a < b) { '</p>' }</script><ul><li>a<li><p>b</p><ul><li>c</ul></ul>\
            <ol><li>x</li><li>y</li></ol><pre><code>let a =\n    1 &lt; 2;</code></pre><p><a href=\"x?y=1&amp;z\">Link\n\
            text</a><a href='javascript:x'>no</a><a href=#top></a> <img alt='A cat' src=c.png></p>\
            <blockquote><p>said</p></blockquote><table><tr><th>k<th>v</tr><tr><td>1</td><td><p>2</p></td></tr></table>";
        let expected = "[Home](https://a.org/)\n\n# Head & *line*\n\nOne two **three** four.\nfive\n\n- a\n- b\n  - c\n\n\
            1. x\n2. y\n\n```\nlet a =\n    1 < 2;\n```\n\n[Link text](https://a.org/d/x?y=1&z)no [image: A cat]\n\n\
            > said\n\n| k | v |\n| --- | --- |\n| 1 | 2 |";
        assert_eq!(read(html), expected);
    }

    #[test]
    fn links_lead_on_from_the_base_of_a_page() {
        let link = "<body><a href=x>l</a>";
        for (head, expected) in [
            ("<head><base href='/b/'></head>", "https://a.org/b/x"),
            ("<head><title>t</title><BASE target=_top HREF=https://b.org/c/d></head>", "https://b.org/c/x"),
            ("<base target=_top><base href=e/>", "https://a.org/d/e/x"),
            ("<!-- <base href=/b/> --><script>'<base href=/b/>'</script>", "https://a.org/d/x"),
            ("<basefont href=/b/><base href=javascript:x>", "https://a.org/d/x"),
            ("", "https://a.org/d/x"),
        ] {
            assert_eq!(read(&format!("{head}{link}")), format!("[l]({expected})"), "{head}");
        }
        assert_eq!(read("<body><a href=x>l</a><base href=/b/>"), "[l](https://a.org/d/x)");
    }

    #[test]
    fn a_table_has_its_rows_also_without_their_ends() {
        let expected = "| k | v |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n\nx";
        for table in [
            "<table><tr><th>k<th>v<tr><td>1<td>2<tr><td>3<td>4</table>x",
            "<table><thead><tr><th>k<th>v<tbody><tr><td>1<td>2<tr><td>3<td>4</table>x",
            "<table><thead><tr><th>k</th><th>v</th></tr></thead>\n<tbody>\n<tr><td>1</td><td>2</td></tr>\n\
             <tr><td>3</td><td>4</td></tr></tbody></table>x",
        ] {
            assert_eq!(read(table), expected, "{table}");
        }
        assert_eq!(read("<table><tr><td>1<td>2"), "| 1 | 2 |\n| --- | --- |");
    }

    #[test]
    fn a_list_counts_as_its_page_says() {
        let list = "<ol start=5><li>a<li>b<li value=\"9\">c<li>d</ol><ol start=x><li>e</ol><ol start=-1><li>f<li>g</ol>";
        assert_eq!(read(list), "5. a\n6. b\n9. c\n10. d\n\n1. e\n\n-1. f\n0. g");
        assert!(
            read("<ol start=9223372036854775807><li>a<li>b<li>c</ol>").contains("9223372036854775807. c")
        );
    }

    #[test]
    fn what_a_page_hides_is_not_read() {
        for (html, expected) in [
            ("a<p hidden>no</p><p>b", "a\n\nb"),
            ("a<div style='color: red; Display : none !important'>no<div>no</div>no</div>b", "ab"),
            ("a<span style=visibility:hidden>no</span>b", "ab"),
            ("a<div hidden=until-found>no<script>'</div>'</script><!-- </div> -->no</div>b", "ab"),
            ("<ul><li hidden>no<li>a<li hidden>no<ul><li>no</ul></ul><p>b", "- a\n\nb"),
            ("<p hidden>no<div>a</div>", "a"),
            ("<div><p hidden>no <b>no</b></div>a", "a"),
            ("<table><tr><td>1<td hidden>no<td>2<tr hidden><td>no</table>", "| 1 | 2 |\n| --- | --- |"),
            ("a<dialog>no</dialog><dialog open>b</dialog>", "ab"),
            ("a<div hidden>never closed", "a"),
            ("a<input hidden>b<br hidden>c", "ab\nc"),
            ("<body style=display:none>a<b data-hidden hiddenx style=display:block>b</b>", "a**b**"),
        ] {
            assert_eq!(read(html), expected, "{html}");
        }
        let deep = "<div hidden>".repeat(100_000);
        assert_eq!(read(&deep), "");
    }

    #[test]
    fn what_is_broken_is_read_to_its_end() {
        for (html, expected) in [
            ("", ""),
            ("a < b", "a < b"),
            ("a <b", "a <b"),
            ("<p", "<p"),
            ("<script>never closed", ""),
            ("<!-- never closed", ""),
            ("x</p></p></ul></blockquote>y", "x\n\ny"),
            ("<a href=\"unclosed>x</a> y", "[x](https://a.org/d/unclosed) y"),
            ("&unknown; &#x41; &#0; &#1114112;", "&unknown; A &#0; &#1114112;"),
            ("<SCRIPT>x</ScRiPt>y", "y"),
            ("<p title='a>b'>c", "c"),
        ] {
            assert_eq!(read(html), expected, "{html}");
        }
        let begun = "<a b ".repeat(1 << 18);
        assert_eq!(read(&begun).len(), begun.len() - 1, "in a moment");
        let deep = "<ul><li>".repeat(10_000);
        assert!(read(&deep).len() < 1_000_000);
    }
}
