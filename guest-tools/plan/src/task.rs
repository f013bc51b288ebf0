//! One task, and how it is kept: its title, its status as a word, and its details, each by itself.

/// A longer title is no line for a list.
const MAX_TITLE: usize = 200;

/// Longer details belong in a file.
const MAX_DETAILS: usize = 4_000;

/// How far a task has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Done,
    /// Given up.
    Cancelled,
}

const WORDS: [(Status, &str); 4] = [
    (Status::Pending, "pending"),
    (Status::InProgress, "in-progress"),
    (Status::Done, "done"),
    (Status::Cancelled, "cancelled"),
];

impl Status {
    /// The status as it is kept.
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(status, _)| *status == self).map_or("pending", |(_, word)| word)
    }

    fn of(word: &str) -> Option<Self> {
        WORDS.iter().find(|(_, known)| *known == word).map(|(status, _)| *status)
    }
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The number by which it is known.
    pub id: u32,
    /// What is to be done, in one line.
    pub title: String,
    /// How far it has come.
    pub status: Status,
    /// What else there is to know.
    pub details: Option<String>,
}

/// What of a task is kept by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its title.
    Title,
    /// How far it has come.
    Status,
    /// What else there is to know.
    Details,
}

/// All parts of a task.
pub const PARTS: [Part; 3] = [Part::Title, Part::Status, Part::Details];

impl Part {
    /// What it is called where it is kept.
    pub fn word(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Status => "status",
            Self::Details => "details",
        }
    }
}

impl Task {
    /// One part as it is kept.
    pub fn part(&self, part: Part) -> String {
        match part {
            Part::Title => self.title.clone(),
            Part::Status => self.status.word().to_owned(),
            Part::Details => self.details.clone().unwrap_or_default(),
        }
    }

    /// The task that these parts are; none if they are not as this tool writes them.
    pub fn of(id: u32, title: &[u8], status: Option<&[u8]>, details: Option<&[u8]>) -> Option<Self> {
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        let status = Status::of(&text(status?)?)?;
        Some(Self { id, title: text(title)?, status, details: some(&text(details?)?) })
    }
}

/// A title as it is kept: one line, not empty.
pub fn title(written: &str) -> Result<String, String> {
    let title = written.split_whitespace().collect::<Vec<_>>().join(" ");
    match title.chars().count() {
        0 => Err("the title is empty; say in one line what is to be done".to_owned()),
        1..=MAX_TITLE => Ok(title),
        long => Err(format!(
            "the title has {long} characters, and {MAX_TITLE} are allowed; move the rest to the details"
        )),
    }
}

/// Details as they are kept; none for empty ones.
pub fn details(written: &str) -> Result<Option<String>, String> {
    let length = written.chars().count();
    if length > MAX_DETAILS {
        return Err(format!(
            "the details have {length} characters, and {MAX_DETAILS} are allowed; shorten them"
        ));
    }
    Ok(some(written))
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]

    use super::*;

    #[test]
    fn a_task_is_read_as_it_was_kept() {
        for (status, _) in WORDS {
            for details in [None, Some("one\n\ntwo\n".to_owned())] {
                let task = Task { id: 7, title: "a title: b".to_owned(), status, details };
                let [title, word, rest] = PARTS.map(|part| task.part(part).into_bytes());
                assert_eq!(Task::of(7, &title, Some(&word), Some(&rest)), Some(task));
            }
        }
        assert_eq!(Task::of(1, b"x", None, Some(b"")), None);
        assert_eq!(Task::of(1, b"x", Some(b"lost"), Some(b"")), None);
        assert_eq!(Task::of(1, b"\xff", Some(b"done"), Some(b"")), None);
        assert_eq!(Task::of(1, b"x", Some(b"done"), None), None);
    }

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(title("  a \n b\t c ").unwrap(), "a b c");
        assert!(title(" \n").unwrap_err().contains("empty"));
        assert!(title(&"x".repeat(201)).unwrap_err().contains("201 characters"));
        assert_eq!(title(&"é".repeat(200)).unwrap().chars().count(), 200);
        assert_eq!(details(" \n").unwrap(), None);
        assert!(details(&"x".repeat(4_001)).is_err());
    }
}
