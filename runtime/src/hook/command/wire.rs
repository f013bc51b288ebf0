//! What a hook's program reads and writes.

use serde::Deserialize;
use serde_json::{Value, json};

use super::program::{Ending, Finished};
use crate::call::Response;
use crate::hook::{HookCall, Post, Pre};
use crate::output::{clean, clean_bytes};
use crate::schema::read_strictly;
use crate::tool::Tool;

/// The exit code that refuses.
const REFUSED: i32 = 2;

/// What of a program's words reaches a reader, in bytes.
const MAX_WORDS: usize = 4 << 10;

const BEFORE: &str = "PreToolUse";
const AFTER: &str = "PostToolUse";

/// What a program answered that cannot be followed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unfit {
    #[error("it ended with exit code {0}{1}")]
    Code(i32, String),
    #[error("it was ended by signal {0}{1}")]
    Signal(i32, String),
    #[error("its answer cannot be read: {0}")]
    Unreadable(String),
    #[error("its answer says `{0}`, which has no meaning {1} a call")]
    Misplaced(&'static str, &'static str),
    #[error("its answer is for `{0}`, and it was asked about `{1}`")]
    OtherEvent(String, &'static str),
    #[error("its answer says `continue: false`, which this version does not follow; deny the call")]
    Stop,
}

/// The input before a call.
pub(super) fn before(call: &HookCall) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&input(call, BEFORE))
}

/// The input after a call: the same with the whole answer.
pub(super) fn after(call: &HookCall, response: &Response) -> serde_json::Result<Vec<u8>> {
    let mut input = input(call, AFTER);
    if let Some(object) = input.as_object_mut() {
        object.insert("tool_response".to_owned(), serde_json::to_value(response)?);
    }
    serde_json::to_vec(&input)
}

fn input(call: &HookCall, event: &str) -> Value {
    json!({
        "hook_event_name": event,
        "session_id": call.session().unwrap_or_default(),
        "tool_name": call.tool().name(),
        "tool_input": call.arguments(),
        "tool_use_id": call.id_text(),
    })
}

/// What the program decided before a call.
pub(super) fn decision(finished: &Finished) -> Result<Pre, Unfit> {
    let Some(said) = said(finished, BEFORE)? else { return Ok(Pre::deny(refusal(finished))) };
    if said.updated_output().is_some() {
        return Err(Unfit::Misplaced("updatedOutput", "before"));
    }
    let specific = said.specific.unwrap_or_default();
    let reason = specific.permission_decision_reason.map(|reason| words(&reason));
    let reason = reason.unwrap_or_else(|| "the hook gave no reason".to_owned());
    let decision = match specific.permission_decision {
        None | Some(Permission::Allow) => Pre::pass(),
        Some(Permission::Deny) => Pre::deny(reason),
        Some(Permission::Ask) => Pre::ask(reason),
    };
    Ok(match specific.updated_input {
        Some(arguments) => decision.rewrite(arguments),
        None => decision,
    })
}

/// What the program decided after a call.
pub(super) fn verdict(finished: &Finished, tool: &Tool) -> Result<Post, Unfit> {
    let Some(said) = said(finished, AFTER)? else { return Ok(Post::Withhold(refusal(finished))) };
    let specific = said.specific.as_ref();
    if specific.is_some_and(|specific| specific.permission_decision.is_some()) {
        return Err(Unfit::Misplaced("permissionDecision", "after"));
    }
    if specific.is_some_and(|specific| specific.updated_input.is_some()) {
        return Err(Unfit::Misplaced("updatedInput", "after"));
    }
    Ok(match said.updated_output() {
        None => Post::Accept,
        Some(output) => Post::replace(replacement(tool, output)),
    })
}

/// A text, or data: as the output schema has it, or the value that it wraps.
fn replacement(tool: &Tool, output: Value) -> Response {
    let is_whole = output.is_object() && tool.admits(&output);
    match output {
        Value::String(text) => Response::text(text),
        output if is_whole => Response::structured(output),
        output => {
            let wrapped = json!({ "result": output });
            Response::structured(if tool.admits(&wrapped) { wrapped } else { output })
        }
    }
}

/// The answer; nothing where the program refused by its exit code.
fn said(finished: &Finished, event: &'static str) -> Result<Option<Said>, Unfit> {
    match finished.ending {
        Ending::Code(0) => {}
        Ending::Code(REFUSED) => return Ok(None),
        Ending::Code(code) => return Err(Unfit::Code(code, complaint(finished))),
        Ending::Signal(signal) => return Err(Unfit::Signal(signal, complaint(finished))),
    }
    if finished.stdout.trim_ascii().is_empty() {
        return Ok(Some(Said::default()));
    }
    if !finished.stdout.trim_ascii_start().starts_with(b"{") {
        return Err(Unfit::Unreadable("it is no JSON object".to_owned()));
    }
    let unreadable = |problem: &dyn std::fmt::Display| Unfit::Unreadable(words(&problem.to_string()));
    let said: Said = serde_json::from_slice(&finished.stdout).map_err(|error| unreadable(&error))?;
    // In the arguments or the result that it gives a reader of its own would take the last of two values, or the first.
    let text = std::str::from_utf8(&finished.stdout).map_err(|error| unreadable(&error))?;
    read_strictly(text).map_err(|error| unreadable(&error))?;
    if said.goes_on == Some(false) {
        return Err(Unfit::Stop);
    }
    let named = said.specific.as_ref().and_then(|specific| specific.hook_event_name.as_deref());
    match named {
        Some(other) if other != event => Err(Unfit::OtherEvent(words(other), event)),
        _ => Ok(Some(said)),
    }
}

/// The reason of a refusal by exit code.
fn refusal(finished: &Finished) -> String {
    let said = words(&clean_bytes(&finished.stderr));
    if said.is_empty() { "the hook gave no reason".to_owned() } else { said }
}

/// What a program that failed printed to standard error.
fn complaint(finished: &Finished) -> String {
    let said = words(&clean_bytes(&finished.stderr));
    if said.is_empty() { said } else { format!(": {said}") }
}

/// A program's words, cleaned and bounded. Where they are cut an ellipsis says so, by which whoever redacts them knows of a
/// secret that may be halved there.
fn words(text: &str) -> String {
    let text = clean(text);
    let text = text.trim();
    if text.len() <= MAX_WORDS {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_WORDS - '…'.len_utf8());
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// An answer. What it does not know is refused: it may be meant to deny.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a JSON object")]
struct Said {
    #[serde(rename = "hookSpecificOutput")]
    specific: Option<Specific>,
    #[serde(rename = "updatedOutput")]
    updated_output: Option<Value>,
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    /// For other readers than us.
    #[serde(rename = "suppressOutput")]
    _suppress_output: Option<bool>,
    #[serde(rename = "systemMessage")]
    _system_message: Option<String>,
}

impl Said {
    fn updated_output(&self) -> Option<Value> {
        let specific = self.specific.as_ref().and_then(|specific| specific.updated_output.as_ref());
        specific.or(self.updated_output.as_ref()).cloned()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase", expecting = "a JSON object")]
struct Specific {
    hook_event_name: Option<String>,
    permission_decision: Option<Permission>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
    updated_output: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Permission {
    Allow,
    Deny,
    Ask,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(ending: Ending, stdout: &str, stderr: &str) -> Finished {
        Finished { ending, stdout: stdout.into(), stderr: stderr.into() }
    }

    fn decided(stdout: &str) -> Result<Pre, Unfit> {
        decision(&ended(Ending::Code(0), stdout, ""))
    }

    #[test]
    fn an_answer_before_a_call() {
        let specific = |text: &str| format!(r#"{{"hookSpecificOutput": {{{text}}}}}"#);
        let no_reason = "the hook gave no reason";
        for (stdout, expected) in [
            (String::new(), Pre::pass()),
            (" \n".to_owned(), Pre::pass()),
            ("{}".to_owned(), Pre::pass()),
            (r#"{"continue": true, "suppressOutput": true, "systemMessage": "hi"}"#.to_owned(), Pre::pass()),
            (specific(r#""hookEventName": "PreToolUse", "permissionDecision": "allow""#), Pre::pass()),
            (specific(r#""permissionDecision": "deny""#), Pre::deny(no_reason)),
            (
                specific(r#""permissionDecision": "ask", "permissionDecisionReason": "\u001b[31msure? ""#),
                Pre::ask("sure?"),
            ),
            (specific(r#""updatedInput": {"a": 1}"#), Pre::pass().rewrite(json!({"a": 1}))),
            (
                specific(r#""permissionDecision": "ask", "updatedInput": {"a": 1}"#),
                Pre::ask(no_reason).rewrite(json!({"a": 1})),
            ),
        ] {
            assert_eq!(decided(&stdout).as_ref(), Ok(&expected), "{stdout}");
        }
    }

    #[test]
    fn what_cannot_be_followed_fails() {
        for stdout in [
            "ok",
            "{",
            r#"{"hookSpecificOutput": {"permissionDecision": "de"#,
            "[]",
            "null",
            "{} {}",
            r#"{"decision": "block"}"#,
            r#"{"continue": false}"#,
            r#"{"updatedOutput": "x"}"#,
            r#"{"hookSpecificOutput": {"permissionDecision": "block"}}"#,
            r#"{"hookSpecificOutput": {"permissionDecision": "DENY"}}"#,
            r#"{"hookSpecificOutput": {"permissionDecision": "allow", "permissionDecision": "deny"}}"#,
            r#"{"hookSpecificOutput": {"updatedInput": {"a": 1, "a": 2}}}"#,
            r#"{"hookSpecificOutput": {"updatedInput": {"a": [{"b": 1, "b": 1}]}}}"#,
            r#"{"hookSpecificOutput": {"hookEventName": "PostToolUse"}}"#,
            r#"{"hookSpecificOutput": {"additionalContext": "x"}}"#,
        ] {
            assert!(decided(stdout).is_err(), "{stdout}");
        }
        assert!(
            decision(&ended(Ending::Code(1), "", "why"))
                .is_err_and(|unfit| unfit.to_string().ends_with("1: why"))
        );
        assert!(decision(&ended(Ending::Code(-1), "{}", "")).is_err());
        assert!(decision(&ended(Ending::Signal(9), "{}", "")).is_err());
    }

    #[test]
    fn an_exit_code_refuses_with_bounded_clean_words() {
        let long = format!("\u{1b}]0;x\u{7}no{}", "!".repeat(100_000));
        let denied = decision(&ended(Ending::Code(2), "{", &long));
        let Ok(Pre { objection: Some(crate::hook::Objection::Deny(reason)), .. }) = denied else {
            unreachable!("{denied:?}")
        };
        assert!(reason.starts_with("no!!!") && reason.len() <= MAX_WORDS, "{reason}");
        assert!(reason.ends_with("!…"), "{reason}");
        let secret = "sk-live_AbCd1234-wxyz9876";
        let redactor = crate::output::Redactor::new([("key", secret)]).ok().flatten();
        for before in 0..=secret.len() + '…'.len_utf8() {
            let said = format!("{}{secret}", "x".repeat(MAX_WORDS - before));
            let shown =
                redactor.as_ref().map(|redactor| redactor.excerpts(&words(&said))).unwrap_or_default();
            let left = shown.trim_start_matches('x').replace("[redacted:key]", "");
            assert!(left.trim_end_matches('…').len() <= 3, "{before}: {left}");
        }
    }
}
