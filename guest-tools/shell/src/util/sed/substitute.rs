//! `s/…/…/`

use crate::regex::{Groups, Regex};

enum Piece {
    Text(String),
    Group(usize),
    Case(char),
}

/// One substitution. Without a pattern, the last one that was used.
pub struct Substitution {
    pub regex: Option<Regex>,
    replacement: Vec<Piece>,
    pub all: bool,
    pub print: bool,
    pub lines: bool,
    /// The match to begin at, from 1.
    pub number: usize,
    pub file: Option<String>,
}

impl Substitution {
    pub fn new(replacement: &str) -> Self {
        Self {
            regex: None,
            replacement: pieces(replacement),
            all: false,
            print: false,
            lines: false,
            number: 1,
            file: None,
        }
    }

    /// The text with its matches replaced; none if there were none.
    pub fn apply(&self, regex: &Regex, text: &[u8]) -> Option<Vec<u8>> {
        let (mut result, mut at, mut copied, mut count) = (Vec::new(), 0, 0, 0);
        let mut last_end = None;
        while at <= text.len() {
            let Some(groups) = regex.captures(text, at) else { break };
            let Some(Some(whole)) = groups.first().cloned() else { break };
            // An empty match right behind another one is none.
            if whole.is_empty() && last_end == Some(whole.start) {
                at = whole.end + 1;
                continue;
            }
            count += 1;
            last_end = Some(whole.end);
            at = if whole.is_empty() { whole.end + 1 } else { whole.end };
            if count < self.number {
                continue;
            }
            result.extend_from_slice(text.get(copied..whole.start).unwrap_or_default());
            self.replace(text, &groups, &mut result);
            copied = whole.end;
            if !self.all {
                break;
            }
        }
        if count < self.number {
            return None;
        }
        result.extend_from_slice(text.get(copied..).unwrap_or_default());
        Some(result)
    }

    fn replace(&self, text: &[u8], groups: &Groups, result: &mut Vec<u8>) {
        let (mut case, mut once) = ('E', None);
        for piece in &self.replacement {
            let part = match piece {
                Piece::Case(letter @ ('u' | 'l')) => {
                    once = Some(*letter);
                    continue;
                }
                Piece::Case(letter) => {
                    case = *letter;
                    continue;
                }
                Piece::Text(part) => part.as_bytes(),
                Piece::Group(number) => groups
                    .get(*number)
                    .cloned()
                    .flatten()
                    .and_then(|range| text.get(range))
                    .unwrap_or_default(),
            };
            if case == 'E' && once.is_none() {
                result.extend_from_slice(part);
                continue;
            }
            let part = String::from_utf8_lossy(part);
            let mut changed = match case {
                'U' => part.to_uppercase(),
                'L' => part.to_lowercase(),
                _ => part.into_owned(),
            };
            if let Some(first) = changed.chars().next().filter(|_| once.is_some()) {
                let head: String = if once == Some('u') {
                    first.to_uppercase().collect()
                } else {
                    first.to_lowercase().collect()
                };
                changed = head + changed.get(first.len_utf8()..).unwrap_or_default();
                once = None;
            }
            result.extend_from_slice(changed.as_bytes());
        }
    }
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        let special = match letter {
            '&' => Some(Piece::Group(0)),
            '\\' => match rest.next() {
                Some(digit @ '0'..='9') => {
                    Some(Piece::Group(usize::try_from(digit.to_digit(10).unwrap_or(0)).unwrap_or(0)))
                }
                Some(case @ ('U' | 'L' | 'E' | 'u' | 'l')) => Some(Piece::Case(case)),
                Some('n') => {
                    plain.push('\n');
                    None
                }
                Some('t') => {
                    plain.push('\t');
                    None
                }
                Some('r') => {
                    plain.push('\r');
                    None
                }
                Some(other) => {
                    plain.push(other);
                    None
                }
                None => None,
            },
            letter => {
                plain.push(letter);
                None
            }
        };
        if let Some(special) = special {
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(special);
        }
    }
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    pieces
}
