//! Splitting what was expanded into fields.

/// A piece of an expanded word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bit {
    Text(String, Kind),
    /// Between the elements of `"$@"`.
    Break,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Means itself.
    Quoted,
    /// Stood in the script: has wildcards, is not split.
    Plain,
    /// Came from an expansion: has wildcards, is split.
    Split,
}

/// A field in pieces; true where a piece means itself.
pub type Field = Vec<(String, bool)>;

/// The fields that the pieces of a word give.
pub fn fields(bits: &[Bit], ifs: &str) -> Vec<Field> {
    let mut splitter = Splitter { ifs, done: Vec::new(), field: None };
    for bit in bits {
        match bit {
            Bit::Break => splitter.end(),
            Bit::Text(text, Kind::Split) => splitter.split(text),
            Bit::Text(text, kind) => splitter.add(text, *kind == Kind::Quoted),
        }
    }
    splitter.end();
    splitter.done
}

struct Splitter<'a> {
    ifs: &'a str,
    done: Vec<Field>,
    field: Option<Field>,
}

impl Splitter<'_> {
    fn add(&mut self, text: &str, quoted: bool) {
        let field = self.field.get_or_insert_default();
        match field.last_mut() {
            Some((last, kind)) if *kind == quoted => last.push_str(text),
            _ => field.push((text.to_owned(), quoted)),
        }
    }

    fn end(&mut self) {
        self.done.extend(self.field.take());
    }

    fn split(&mut self, text: &str) {
        let is_blank = |letter: char| self.ifs.contains(letter) && matches!(letter, ' ' | '\t' | '\n');
        let is_sign = |letter: char| self.ifs.contains(letter) && !matches!(letter, ' ' | '\t' | '\n');
        let mut rest = text;
        loop {
            let end = rest.find(|letter| is_blank(letter) || is_sign(letter)).unwrap_or(rest.len());
            let (piece, after) = rest.split_at(end);
            if !piece.is_empty() {
                self.add(piece, false);
            }
            if after.is_empty() {
                return;
            }
            // Blanks around a sign, and the sign, are one separator; a sign alone separates even nothing.
            let next = after.trim_start_matches(is_blank);
            match next.chars().next().filter(|letter| is_sign(*letter)) {
                Some(sign) => {
                    self.field.get_or_insert_default();
                    self.end();
                    rest = next.get(sign.len_utf8()..).unwrap_or_default().trim_start_matches(is_blank);
                }
                None => {
                    self.end();
                    rest = next;
                }
            }
        }
    }
}
