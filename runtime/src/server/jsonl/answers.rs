//! Requests that are answered at once.

use std::collections::BTreeMap;

use super::id::Id;
use super::reply::{ConnectionBounds, Instructions, Refusal, Reply};
use super::{MAX_CALLS, MAX_LINE_BYTES, MAX_SESSIONS, PROTOCOL};
use crate::format::{Format, Strict};
use crate::runtime::Session;

/// Why a request is not carried out.
pub(super) type Problem = (Refusal, String);

/// What a request comes to; nothing where the reply comes later.
pub(super) type Answered = Result<Option<Reply>, Problem>;

pub(super) fn hello(id: Id) -> Option<Reply> {
    let bounds = ConnectionBounds { line_bytes: MAX_LINE_BYTES, calls: MAX_CALLS, sessions: MAX_SESSIONS };
    Some(Reply::Hello { id, protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION"), bounds })
}

pub(super) fn tools(id: Id, session: &Session, format: Format, strict: Strict) -> Option<Reply> {
    let tools = session.list();
    let rules: BTreeMap<&str, &str> =
        tools.iter().filter_map(|tool| Some((tool.component(), tool.instructions()?))).collect();
    let instructions = rules
        .into_iter()
        .map(|(component, text)| Instructions { component: component.to_owned(), text: text.to_owned() });
    let export = format.export(&tools, strict);
    Some(Reply::Tools { id, tools: export.tools, notes: export.notes, instructions: instructions.collect() })
}

pub(super) fn groups(id: Id, session: &Session, activate: &[String], deactivate: &[String]) -> Answered {
    if let Some(both) = activate.iter().find(|group| deactivate.contains(group)) {
        return Err((Refusal::Invalid, format!("`{both}` is in `activate` and in `deactivate`; leave one")));
    }
    let known = session.groups();
    if let Some(unknown) = activate.iter().chain(deactivate).find(|group| !known.contains_key(*group)) {
        let known: Vec<String> = known.keys().map(|group| format!("`{group}`")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = format!("there is no group `{unknown}`, so nothing was switched; there are: {known}");
        return Err((Refusal::NotFound, message));
    }
    for (groups, on) in [(activate, true), (deactivate, false)] {
        for group in groups {
            session.switch(group, on);
        }
    }
    Ok(tools(id, session, Format::Toolcell, Strict::Off))
}
