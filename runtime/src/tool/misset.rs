//! Errors about settings that only the component itself can prove wrong.

use crate::error::Error;
use crate::limits::Origin;

/// What is wrong with a setting that only the component itself can prove wrong.
pub(super) fn misset(origin: &Origin, message: String) -> Error {
    match &origin.at {
        Some(at) => Error::Config { at: at.to_string(), message: format!("`{}`: {message}", origin.setting) },
        None => Error::Config { at: origin.setting.to_string(), message },
    }
}

/// A setting's address with its place in a file, if it has one.
pub(super) fn placed(setting: &str, at: Option<&str>) -> String {
    at.map_or_else(|| setting.to_owned(), |at| format!("{setting} ({at})"))
}

/// Names for a message, which a component may have a thousand of.
pub(super) fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
