//! The text of a configuration with its places: from a setting's address to its line, and back.

use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeOwned, IntoDeserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Problems;
use crate::limits::Origin;

/// One step into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A table's key.
    Key(String),
    /// An array's item.
    Item(usize),
}

/// Where a setting is: `component.files.grant.dirs[0]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Address(pub(super) Vec<Step>);

impl Address {
    /// The address of the table at the keys `path`, from the top.
    pub(super) fn of(path: &[&str]) -> Self {
        Self(path.iter().map(|key| Step::Key((*key).to_owned())).collect())
    }

    /// The address of the entry `key` in this table.
    pub(super) fn key(&self, key: &str) -> Self {
        self.step(Step::Key(key.to_owned()))
    }

    /// The address of an item of this array.
    pub(super) fn item(&self, index: usize) -> Self {
        self.step(Step::Item(index))
    }

    fn step(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Item(index) => write!(formatter, "[{index}]")?,
                Step::Key(key) => {
                    if position > 0 {
                        formatter.write_str(".")?;
                    }
                    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
                    if !key.is_empty() && key.bytes().all(bare) {
                        formatter.write_str(key)?;
                    } else {
                        write!(formatter, "{key:?}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A configuration's text, parsed as TOML.
pub(super) struct Document<'t> {
    text: &'t str,
    /// The name of the file without folders: origins reach models, which are shown no host path.
    file_name: String,
    root: DeTable<'t>,
}

impl<'t> Document<'t> {
    /// Parses `text`; every mistake in the TOML itself goes to `problems`.
    pub(super) fn parse(text: &'t str, file_name: String, problems: &mut Problems) -> Self {
        let (root, errors) = DeTable::parse_recoverable(text);
        let document = Self { text, file_name, root: root.into_inner() };
        for error in errors {
            let start = error.span().map_or(0, |span| span.start);
            let message = error.message().trim().replace('\n', ", ");
            let message = match (message.as_str(), error.span().and_then(|span| text.get(span))) {
                ("duplicate key", Some(key)) => format!("`{}` is set twice; keep one of them", key.trim()),
                _ => message,
            };
            problems.add(document.line(start), message);
        }
        document
    }

    /// The top table.
    pub(super) fn root(&self) -> &DeTable<'t> {
        &self.root
    }

    /// The line, from 1, of a byte offset.
    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or(self.text.as_bytes());
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    /// The line of the setting at `address`, or of the nearest table above it that is there.
    pub(super) fn line_of(&self, address: &Address) -> usize {
        self.line(self.place(address).0)
    }

    /// Whether the setting at `address` is there.
    pub(super) fn has(&self, address: &Address) -> bool {
        self.place(address).1 == address.0.len()
    }

    /// Where the setting at `address` begins, or the nearest above it that is there, and how many steps lead there.
    fn place(&self, address: &Address) -> (usize, usize) {
        let mut steps = address.0.iter();
        let Some(Step::Key(first)) = steps.next() else { return (0, 0) };
        let Some((key, mut value)) = self.root.get_key_value(first.as_str()) else { return (0, 0) };
        let (mut start, mut depth) = (key.span().start, 1);
        for step in steps {
            let found = match (step, value.get_ref()) {
                (Step::Key(key), DeValue::Table(table)) => {
                    table.get_key_value(key.as_str()).map(|(key, value)| (key.span(), value))
                }
                (Step::Item(index), DeValue::Array(items)) => {
                    items.get(*index).map(|value| (value.span(), value))
                }
                _ => None,
            };
            let Some((span, inner)) = found else { break };
            (start, depth, value) = (span.start, depth + 1, inner);
        }
        (start, depth)
    }

    /// Where the setting at `address` was set, for messages about calls.
    pub(super) fn origin(&self, address: &Address) -> Origin {
        Origin::in_file(address.to_string(), format!("{}:{}", self.file_name, self.line_of(address)))
    }

    /// Reads `value`, the table at `address`; a mistake goes to `problems` and leaves the default.
    pub(super) fn read<T: DeserializeOwned + Default>(
        &self,
        value: Spanned<DeValue<'t>>,
        address: &Address,
        problems: &mut Problems,
    ) -> T {
        T::deserialize(value.into_deserializer()).unwrap_or_else(|error: toml::de::Error| {
            let place = error.span().and_then(|span| self.address_at(&span));
            let place = place.unwrap_or_else(|| address.clone());
            problems.add(self.line_of(&place), format!("`{place}`: {}", in_words(error.message())));
            T::default()
        })
    }

    /// The innermost setting whose key or value is at `span`.
    fn address_at(&self, span: &Range<usize>) -> Option<Address> {
        innermost(&self.root, span, &Address::default())
    }
}

/// The words of TOML for those of the deserializer; without the text that was there, which may be a secret.
fn in_words(message: &str) -> String {
    let message = match (message.strip_prefix("invalid type: string "), message.rfind(", expected ")) {
        (Some(_), Some(expected)) => format!("invalid type: string{}", &message[expected..]),
        _ => message.trim().to_owned(),
    };
    message
        .replace("expected a map", "expected a table")
        .replace("type: map", "type: table")
        .replace("type: sequence", "type: array")
        .replace("expected a sequence", "expected an array")
}

fn covers(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn innermost(table: &DeTable<'_>, span: &Range<usize>, address: &Address) -> Option<Address> {
    // A table's own span is its header alone, so its entries are looked at whether it covers them or not.
    table.iter().find_map(|(key, value)| {
        let here = address.key(key.get_ref());
        innermost_of(value, span, &here)
            .or_else(|| (covers(&key.span(), span) || covers(&value.span(), span)).then_some(here))
    })
}

fn innermost_of(value: &Spanned<DeValue<'_>>, span: &Range<usize>, address: &Address) -> Option<Address> {
    match value.get_ref() {
        DeValue::Table(table) => innermost(table, span, address),
        DeValue::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            let here = address.item(index);
            innermost_of(item, span, &here).or_else(|| covers(&item.span(), span).then_some(here))
        }),
        _ => None,
    }
}
