//! HTML as Markdown that a model reads well: text, headings, lists, links, code and tables, without scripts, styles and
//! layout. Lenient, in one pass, and bounded by its input.

use client::Url;

/// Elements whose content nobody reads.
const HIDDEN: [&str; 10] =
    ["script", "style", "noscript", "template", "svg", "iframe", "head", "object", "canvas", "select"];

/// Elements that stand for themselves.
const BLOCKS: [&str; 25] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figure",
    "figcaption",
    "footer",
    "form",
    "header",
    "main",
    "nav",
    "ol",
    "p",
    "section",
    "summary",
    "table",
    "ul",
    "tbody",
];

/// The page as Markdown; links are absolute, from `base` on.
#[must_use]
pub fn of(html: &str, base: &Url) -> String {
    let mut writer = Writer::new(base);
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
    Numbers(usize),
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
    fn new(base: &Url) -> Self {
        Self {
            base: base.clone(),
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
            self.out.push('<');
            return html.get(1..).unwrap_or_default();
        };
        let name = tag.name.as_str();
        if HIDDEN.contains(&name) && !tag.is_closing && !tag.is_empty {
            return after_closing(after, name);
        }
        match tag.is_closing {
            true => self.close(name),
            false => self.open(&tag),
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
                self.lists.push(if tag.name == "ul" { List::Bullets } else { List::Numbers(0) });
            }
            "li" => {
                self.line();
                self.out.push_str(&"  ".repeat(self.lists.len().saturating_sub(1).min(8)));
                match self.lists.last_mut() {
                    Some(List::Numbers(number)) => {
                        *number += 1;
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
                self.line();
                self.cells = 0;
            }
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
            "tr" if self.cells > 0 => {
                self.trim();
                self.out.push_str(" |");
                self.row += 1;
                if self.row == 1 {
                    self.out.push_str(&format!("\n|{}", " --- |".repeat(self.cells.min(100))));
                }
                self.cells = 0;
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

struct Tag {
    name: String,
    attributes: String,
    is_closing: bool,
    is_empty: bool,
}

impl Tag {
    fn attribute(&self, name: &str) -> Option<String> {
        let lower = self.attributes.to_ascii_lowercase();
        let mut from = 0;
        while let Some(found) = lower.get(from..)?.find(name) {
            let at = from + found;
            from = at + name.len();
            let is_start = at == 0 || lower.as_bytes().get(at - 1).is_some_and(u8::is_ascii_whitespace);
            let Some(value) =
                self.attributes.get(from..).map(str::trim_start).and_then(|it| it.strip_prefix('='))
            else {
                continue;
            };
            if !is_start {
                continue;
            }
            let value = value.trim_start();
            let quoted =
                value.strip_prefix('"').map(|it| (it, '"')).or(value.strip_prefix('\'').map(|it| (it, '\'')));
            let value = match quoted {
                Some((value, quote)) => value.split(quote).next().unwrap_or_default(),
                None => value.split_whitespace().next().unwrap_or_default(),
            };
            return Some(decoded(value));
        }
        None
    }
}

/// The tag at the beginning, with what follows it; a `<` that begins none is text.
fn tag(html: &str) -> Option<(Tag, &str)> {
    let inner = html.get(1..)?;
    let is_closing = inner.starts_with('/');
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    if !inner.starts_with(|first: char| first.is_ascii_alphabetic() || first == '!' || first == '?') {
        return None;
    }
    let end = tag_end(inner)?;
    let (content, after) = inner.split_at(end);
    let name_end =
        content.find(|letter: char| letter.is_whitespace() || letter == '/').unwrap_or(content.len());
    let (name, attributes) = content.split_at(name_end);
    let tag = Tag {
        name: name.to_ascii_lowercase(),
        is_empty: attributes.ends_with('/'),
        attributes: attributes.trim_end_matches('/').to_owned(),
        is_closing,
    };
    Some((tag, after.get(1..).unwrap_or_default()))
}

/// Where a tag ends: at the first `>` that is not inside quotes of a value.
fn tag_end(content: &str) -> Option<usize> {
    let mut quote = None;
    let mut before = ' ';
    for (at, character) in content.char_indices() {
        match (quote, character) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') if before == '=' => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            _ => {}
        }
        if !character.is_whitespace() {
            before = character;
        }
    }
    // A quote that nobody closes.
    quote.and_then(|_| content.find('>'))
}

/// What follows the closing tag of `name`; nothing if there is none.
fn after_closing<'h>(html: &'h str, name: &str) -> &'h str {
    let closing = format!("</{name}");
    let bytes = html.as_bytes();
    let is_here = |at: &usize| {
        let found = bytes.get(*at..at + closing.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(closing.as_bytes()))
    };
    let at = html.match_indices("</").map(|(at, _)| at).find(is_here);
    at.and_then(|at| html.get(at..)?.split_once('>')).map_or("", |(_, after)| after)
}

/// Text with its entities resolved.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, entity) = rest.split_at(at);
        out.push_str(before);
        let name = entity.get(1..).unwrap_or_default();
        let end =
            name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '#').unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        match resolved(name) {
            Some(character) => {
                out.push(character);
                rest = after.strip_prefix(';').unwrap_or(after);
            }
            None => {
                out.push('&');
                rest = entity.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

fn resolved(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|character| !character.is_control() || *character == '\n');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "bull" => '•',
        "middot" => '·',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "deg" => '°',
        "times" => '×',
        "euro" => '€',
        "pound" => '£',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "Auml" => 'Ä',
        "Ouml" => 'Ö',
        "Uuml" => 'Ü',
        "szlig" => 'ß',
        "eacute" => 'é',
        "egrave" => 'è',
        "agrave" => 'à',
        "ccedil" => 'ç',
        "ntilde" => 'ñ',
        "rarr" => '→',
        "larr" => '←',
        _ => return None,
    })
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
        let deep = "<ul><li>".repeat(10_000);
        assert!(read(&deep).len() < 1_000_000);
    }
}
