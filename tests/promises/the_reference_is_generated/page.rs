//! A page of Markdown, written part by part.

/// A page of the reference.
pub(super) struct Page {
    parts: Vec<String>,
}

impl Page {
    /// A page with its title and what it is about.
    pub fn new(title: &str, about: &str) -> Self {
        let note = "<!-- generated: see tests/promises/the_reference_is_generated.rs -->";
        Self { parts: vec![format!("# {title}"), note.to_owned(), about.to_owned()] }
    }

    pub fn heading(&mut self, text: &str) {
        self.parts.push(format!("## {text}"));
    }

    pub fn smaller_heading(&mut self, text: &str) {
        self.parts.push(format!("### {text}"));
    }

    /// A paragraph; nothing where there is nothing to say.
    pub fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            self.parts.push(text.to_owned());
        }
    }

    pub fn block(&mut self, language: &str, text: &str) {
        assert!(!text.lines().any(|line| line.trim_start().starts_with("```")), "a fence inside of a block");
        self.parts.push(format!("```{language}\n{text}\n```"));
    }

    /// A table; nothing where it has no rows.
    pub fn table<const N: usize>(&mut self, head: [&str; N], rows: impl Iterator<Item = [String; N]>) {
        let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let rows: Vec<String> =
            rows.map(|cells| row(cells.map(|cell| cell.replace('|', "\\|")).to_vec())).collect();
        if rows.is_empty() {
            return;
        }
        let head = row(head.map(str::to_owned).to_vec());
        self.parts.push(format!("{head}\n|{}\n{}", "---|".repeat(N), rows.join("\n")));
    }

    pub fn text(&self) -> String {
        format!("{}\n", self.parts.join("\n\n"))
    }
}
