//! Tags of HTML: what they are, and what of a page lies between them that nobody sees.

use crate::entity::decoded;

/// Elements whose content nobody reads.
pub(crate) const HIDDEN: [&str; 10] =
    ["script", "style", "noscript", "template", "svg", "iframe", "head", "object", "canvas", "select"];

/// Elements that stand for themselves.
pub(crate) const BLOCKS: [&str; 24] = [
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
];

/// Elements without content, and so without an end.
pub(crate) const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// Elements whose end may be left out: the next of their kind ends them, or the end of what is around them.
const OPEN_ENDED: [&str; 8] = ["li", "p", "td", "th", "tr", "dt", "dd", "option"];

/// A tag.
pub(crate) struct Tag {
    pub name: String,
    attributes: String,
    pub is_closing: bool,
    pub is_empty: bool,
    /// Bytes from its `<` to behind its `>`.
    length: usize,
}

impl Tag {
    /// The value of an attribute; empty for one without.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes.as_str();
        while let Some((found, value, after)) = attribute(rest) {
            if found.eq_ignore_ascii_case(name) {
                return Some(decoded(value));
            }
            rest = after;
        }
        None
    }

    /// Whether nobody who looks at the page sees what is in it. Scripts show the body of many pages later.
    pub fn is_hidden(&self) -> bool {
        if matches!(self.name.as_str(), "html" | "body") {
            return false;
        }
        let style = self.attribute("style").unwrap_or_default();
        let style: String = style.chars().filter(|letter| !letter.is_whitespace()).collect();
        let style = style.to_ascii_lowercase();
        self.attribute("hidden").is_some()
            || style.contains("display:none")
            || style.contains("visibility:hidden")
            || (self.name == "dialog" && self.attribute("open").is_none())
    }
}

/// The first attribute of the text in a tag: its name, its value, and what follows it.
fn attribute(text: &str) -> Option<(&str, &str, &str)> {
    let text = text.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '/');
    let is_end = |letter: char| letter.is_whitespace() || matches!(letter, '=' | '/');
    let first = text.chars().next()?;
    let from = first.len_utf8();
    let end = text.get(from..)?.find(is_end).map_or(text.len(), |at| from + at);
    let (name, rest) = text.split_at(end);
    let Some(value) = rest.trim_start().strip_prefix('=') else { return Some((name, "", rest)) };
    let value = value.trim_start();
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
    let (value, after) = match quote {
        Some(quote) => value.get(1..)?.split_once(quote).unwrap_or((value.get(1..)?, "")),
        None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
    };
    Some((name, value, after))
}

/// The next tag, and what follows it: not one in a comment, or in what is no markup.
pub(crate) fn next_tag(html: &str) -> Option<(Tag, &str)> {
    let mut rest = html;
    loop {
        rest = rest.get(rest.find('<')?..)?;
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->")?.1;
            continue;
        }
        let Some((tag, after)) = tag(rest) else {
            if is_begun(rest) {
                return None;
            }
            rest = rest.get(1..)?;
            continue;
        };
        let is_markup = tag.is_closing || tag.name == "head" || !HIDDEN.contains(&tag.name.as_str());
        if is_markup {
            return Some((tag, after));
        }
        rest = if tag.is_empty { after } else { after_closing(after, &tag.name) };
    }
}

/// What follows a hidden element that was opened just before.
pub(crate) fn after_hidden<'h>(html: &'h str, name: &str) -> &'h str {
    let is_open_ended = OPEN_ENDED.contains(&name);
    // Elements inside that are open: of the same name, or of any that cannot be left open.
    let mut inside = 0_usize;
    let mut rest = html;
    while let Some((tag, after)) = next_tag(rest) {
        let found = tag.name.as_str();
        let here = || rest.get(rest.len() - after.len() - tag.length..).unwrap_or_default();
        if is_open_ended && inside == 0 {
            match tag.is_closing {
                true if found == name => return after,
                false if found == name || (name == "p" && BLOCKS.contains(&found)) => return here(),
                _ => {}
            }
        }
        let counts = match is_open_ended {
            true => !OPEN_ENDED.contains(&found) && !VOID.contains(&found),
            false => found == name,
        };
        match (counts, tag.is_closing) {
            (true, false) => inside += 1,
            (true, true) if inside > 0 => inside -= 1,
            // The end of what is around it, or its own.
            (true, true) => return if is_open_ended { here() } else { after },
            (false, _) => {}
        }
        rest = after;
    }
    ""
}

/// Whether a tag begins there: one that has no end either has none after it. Who looked for its end on and on would be busy for
/// hours with a page of nothing else.
pub(crate) fn is_begun(html: &str) -> bool {
    let inner = html.get(1..).unwrap_or_default();
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    inner.starts_with(|first: char| first.is_ascii_alphabetic() || first == '!' || first == '?')
}

/// The tag at the beginning, with what follows it; a `<` that begins none is text.
pub(crate) fn tag(html: &str) -> Option<(Tag, &str)> {
    if !is_begun(html) {
        return None;
    }
    let inner = html.get(1..)?;
    let is_closing = inner.starts_with('/');
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let end = tag_end(inner)?;
    let (content, after) = inner.split_at(end);
    let after = after.get(1..).unwrap_or_default();
    let name_end =
        content.find(|letter: char| letter.is_whitespace() || letter == '/').unwrap_or(content.len());
    let (name, attributes) = content.split_at(name_end);
    // A slash behind a value without quotes is a part of that.
    let before = attributes.trim_end_matches('/');
    let is_empty = before.len() < attributes.len()
        && (before.is_empty()
            || before.ends_with(|last: char| last.is_whitespace() || matches!(last, '"' | '\'')));
    let tag = Tag {
        name: name.to_ascii_lowercase(),
        is_empty,
        attributes: attributes.to_owned(),
        is_closing,
        length: html.len() - after.len(),
    };
    Some((tag, after))
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
pub(crate) fn after_closing<'h>(html: &'h str, name: &str) -> &'h str {
    let closing = format!("</{name}");
    let bytes = html.as_bytes();
    let is_here = |at: &usize| {
        let found = bytes.get(*at..at + closing.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(closing.as_bytes()))
    };
    let at = html.match_indices("</").map(|(at, _)| at).find(is_here);
    at.and_then(|at| html.get(at..)?.split_once('>')).map_or("", |(_, after)| after)
}
