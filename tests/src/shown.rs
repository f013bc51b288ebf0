//! What documents show: their blocks of code, and whether output is what they say.

/// A block between two fences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The line of its first fence, counting from 1.
    pub line: usize,
    /// What its first fence says: a language, and words after it.
    pub info: String,
    /// What is between the fences.
    pub text: String,
}

impl Block {
    /// The first word of its fence.
    pub fn language(&self) -> &str {
        self.info.split_whitespace().next().unwrap_or_default()
    }

    /// The value of `name=value` in its fence.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut words = self.info.split_whitespace().skip(1);
        words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }
}

/// The blocks of a document in Markdown, in its order.
pub fn blocks(document: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = document.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let inside: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        found.push(Block { line: at + 1, info: info.to_owned(), text: inside.join("\n") });
    }
    found
}

/// Whether `lines` is what `expected` says: `…` in a line is any text, and alone any lines.
pub fn prints<E: AsRef<str>>(expected: &[E], lines: &[&str]) -> bool {
    match expected {
        [] => lines.is_empty(),
        [any, rest @ ..] if any.as_ref().trim() == "…" => {
            (0..=lines.len()).any(|skipped| prints(rest, lines.get(skipped..).unwrap_or_default()))
        }
        [first, rest @ ..] => match lines {
            [] => false,
            [line, others @ ..] => fits(first.as_ref(), line) && prints(rest, others),
        },
    }
}

fn fits(expected: &str, line: &str) -> bool {
    match expected.split_once('…') {
        None => expected == line,
        Some((start, end)) => line.strip_prefix(start).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| rest.get(at..).is_some_and(|rest| fits(end, rest)))
        }),
    }
}
