//! The lines of the input, one ahead.

use crate::stop::Stop;
use crate::stream::Handle;

/// The lines of all inputs, with a look ahead.
pub struct Lines {
    pub handles: std::vec::IntoIter<(String, Handle)>,
    pub current: Option<(String, Handle)>,
    pub next: Option<(Vec<u8>, bool)>,
    pub name: String,
    pub end: u8,
}

impl Lines {
    pub async fn fill(&mut self) -> Result<(), Stop> {
        while self.next.is_none() {
            let Some((_, handle)) = &self.current else {
                self.current = self.handles.next();
                if self.current.is_none() {
                    return Ok(());
                }
                continue;
            };
            let mut line = Vec::new();
            if handle.until(self.end, &mut line).await? {
                let ended = line.last() == Some(&self.end);
                if ended {
                    line.pop();
                }
                self.next = Some((line, ended));
            } else {
                self.current = None;
            }
        }
        Ok(())
    }

    pub async fn take(&mut self) -> Result<Option<(Vec<u8>, bool)>, Stop> {
        self.fill().await?;
        if let Some((name, _)) = &self.current {
            self.name.clone_from(name);
        }
        Ok(self.next.take())
    }

    pub async fn is_last(&mut self) -> Result<bool, Stop> {
        self.fill().await?;
        Ok(self.next.is_none())
    }
}

/// As the command `l` shows it, folded as GNU's does.
pub fn listed(text: &[u8]) -> String {
    let mut pieces = Vec::new();
    for byte in text {
        pieces.push(match byte {
            b'\\' => "\\\\".to_owned(),
            b'\n' => "\\n".to_owned(),
            b'\t' => "\\t".to_owned(),
            b'\r' => "\\r".to_owned(),
            32..=126 => char::from(*byte).to_string(),
            _ => format!("\\{byte:03o}"),
        });
    }
    let (mut shown, mut width) = (String::new(), 0);
    for piece in pieces {
        if width + piece.len() > 69 {
            shown.push_str("\\\n");
            width = 0;
        }
        width += piece.len();
        shown.push_str(&piece);
    }
    shown + "$"
}
