//! What was taken from registries, as it is kept.

use super::content::Content;
use crate::config::{Locked, Reference, StoredComponents};

/// What was taken from a registry, if it is what was locked; else what is wrong. No call waits for a registry.
pub(super) fn taken(
    name: &str,
    reference: &Reference,
    locked: Option<&Locked>,
    stored: &StoredComponents,
) -> Result<Content, String> {
    let Some(Locked { digest: locked, .. }) = locked else {
        return Err(format!(
            "`{reference}` is not in the lock file; `toolcell update {name}` takes it from its registry, and locks it"
        ));
    };
    let wrong = |what: String| {
        format!(
            "`{reference}` is locked as {locked}, {what}; `toolcell update --locked {name}` fetches it as it is locked"
        )
    };
    let file = stored.file(locked);
    if !file.exists() {
        return Err(wrong("which is not on this machine".to_owned()));
    }
    let content =
        Content::of_file(&file).map_err(|error| wrong(format!("and that cannot be used: {error}")))?;
    let (content, digest) = content.digested();
    match digest == *locked {
        true => Ok(content),
        false => Err(wrong(format!("and what is kept of it is {digest}"))),
    }
}
