//! Tools, grants, limits and outcomes in words and as JSON, the same in every command.

use serde_json::{Map, Value, json};
use toolcell::call::{Content, Denial, Log, Repair};
use toolcell::limits::EffectiveLimits;
use toolcell::policy::{HttpGrant, StateScope};
use toolcell::{Access, Grant, Limit, Outcome, Status, Tool};

use crate::terminal::{Label, print, print_line, say, say_plain};

/// The tool as a document.
pub(crate) fn tool_json(tool: &Tool) -> Value {
    let mut document = json!({
        "name": tool.name(), "component": tool.component(), "title": tool.title(),
        "description": tool.description(), "input_schema": tool.input_schema(),
        "output_schema": tool.output_schema(), "hints": tool.hints(), "examples": tool.examples(),
    });
    if let Some(members) = document.as_object_mut() {
        members.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty()));
    }
    document
}

/// The grant as a document; of the environment and the configuration only the names, for the values may be secret.
pub(crate) fn grant_json(grant: &Grant) -> Value {
    let dirs: Vec<Value> = grant
        .dirs
        .iter()
        .map(|dir| json!({ "host": dir.host, "guest": dir.guest, "access": dir.access, "deny": dir.deny }))
        .collect();
    let http: Vec<Value> = grant.http.iter().map(http_json).collect();
    let (env, config) = (names(&grant.env), names(&grant.config));
    json!({
        "dirs": dirs, "http": http, "env": env, "config": config, "secrets": names(&grant.secrets),
        "state": grant.state,
    })
}

/// A place for requests; of the headers that are added only the names, each with that of its secret.
fn http_json(entry: &HttpGrant) -> Value {
    let headers =
        entry.headers.iter().map(|(name, value)| (name.clone(), Value::from(value.secret.as_str())));
    json!({
        "origin": entry.origin.to_string(), "methods": entry.methods, "paths": entry.paths,
        "headers": headers.collect::<Map<_, _>>(), "private": entry.private, "read_only": entry.read_only,
    })
}

fn http_line(entry: &HttpGrant) -> String {
    let mut parts = vec![format!("http   {}", entry.origin)];
    if !entry.methods.is_empty() {
        parts.push(format!(" ({})", entry.methods.join(" ")));
    }
    if !entry.paths.is_empty() {
        parts.push(format!(", below {}", entry.paths.join(" ")));
    }
    for (name, value) in &entry.headers {
        parts.push(format!(", with `{name}` from the secret {}", value.secret));
    }
    if entry.private {
        parts.push(", private addresses too".to_owned());
    }
    if entry.read_only {
        parts.push(", only reading".to_owned());
    }
    parts.concat()
}

fn names<V>(map: &std::collections::BTreeMap<String, V>) -> Vec<&str> {
    map.keys().map(String::as_str).collect()
}

/// The grant, a line for each thing.
pub(crate) fn grant_lines(grant: &Grant) -> Vec<String> {
    let mut lines = Vec::new();
    for dir in &grant.dirs {
        let access = match dir.access {
            Access::Read => "read",
            Access::ReadWrite => "read and write",
        };
        let but = match dir.deny.as_slice() {
            [] => String::new(),
            deny => format!(", except {}", deny.join(" ")),
        };
        lines.push(format!("dir    {} ({access}), here {}{but}", dir.guest, dir.host.display()));
    }
    lines.extend(grant.http.iter().map(http_line));
    lines.extend(grant.env.keys().map(|name| format!("env    {name}")));
    lines.extend(grant.config.keys().map(|name| format!("config {name}")));
    if grant.state != StateScope::None {
        lines.push(format!("state  {}", grant.state.as_str()));
    }
    lines.extend(grant.secrets.iter().map(|(name, secret)| match secret.readable {
        true => format!("secret {name}, which it reads as configuration"),
        false => format!("secret {name}, which it does not see"),
    }));
    if lines.is_empty() {
        lines.push("nothing: no directory, network or environment".to_owned());
    }
    lines
}

/// What a tool may reach, and what of its component's grants it is withheld.
pub(crate) fn reach_lines(tool: &Tool) -> Vec<String> {
    let mut lines = grant_lines(&tool.grant());
    let withheld = tool.withheld_http();
    if !withheld.is_empty() {
        lines.push(format!("not    {}", withheld_line(&withheld)));
    }
    lines
}

/// Why a tool that claims to be read-only is withheld entries of `grant.http`, and what changes that.
pub(crate) fn withheld_line(withheld: &[HttpGrant]) -> String {
    let origins: Vec<String> = withheld.iter().map(|entry| entry.origin.to_string()).collect();
    format!(
        "http {}: it claims to be read-only, and these requests may write; if they only read, say `read_only = true` \
         in the entry, or `--allow-http ORIGIN::ro`",
        origins.join(", ")
    )
}

/// The limits as a document, each with where it was set.
pub(crate) fn limits_json(limits: &EffectiveLimits) -> Value {
    let limit = |limit: Limit| {
        let value = json!({ "value": limit.format(limits.get(limit)), "from": origin(limits, limit) });
        (limit.name().to_owned(), value)
    };
    Value::Object(Limit::ALL.map(limit).into_iter().collect::<Map<_, _>>())
}

/// The limits that most calls meet, and all that somebody set, a line each.
pub(crate) fn limit_lines(limits: &EffectiveLimits) -> Vec<String> {
    let line = |limit: Limit| {
        format!("{:<14} {:<12} {}", limit.name(), limit.format(limits.get(limit)), origin(limits, limit))
    };
    Limit::ALL.into_iter().map(line).collect()
}

fn origin(limits: &EffectiveLimits, limit: Limit) -> String {
    let origin = limits.origin(limit);
    match (&origin.at, origin.setting.is_empty()) {
        (_, true) => "default".to_owned(),
        (None, false) => origin.setting.to_string(),
        (Some(at), false) => format!("{} ({at})", origin.setting),
    }
}

/// A heading and its lines.
pub(crate) fn print_section(heading: &str, lines: &[String]) -> std::io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    print(format!("\n{heading}\n{lines}"))
}

/// One repair in words.
pub(crate) fn repair_text(repair: &Repair) -> String {
    let path = if repair.path.is_empty() { "the arguments" } else { &repair.path };
    format!("{path}: {} became {}", repair.from, repair.to)
}

/// What went wrong beside a call, on standard error; `place` says beside which, where there are several.
pub(crate) fn say_warnings(outcome: &Outcome, place: &str) {
    for warning in &outcome.warnings {
        say(Label::Warning, format_args!("{place}{}: {}: {}", warning.kind, warning.source, warning.message));
    }
}

/// The outcome for a person: what the tool gave on standard output, all else on standard error.
pub(crate) fn print_outcome(outcome: &Outcome, session: Option<&str>) -> std::io::Result<()> {
    say_warnings(outcome, "");
    outcome.logs.iter().for_each(say_log);
    for repair in &outcome.repaired {
        say(Label::Note, format_args!("repaired {}", repair_text(repair)));
    }
    let mut content = outcome.content.as_slice();
    // The last block of a failed call is its message, which goes to standard error.
    if outcome.error.is_some() {
        content = content.split_last().map_or(content, |(_, before)| before);
    }
    for block in content {
        let text = block_text(block);
        if text.ends_with('\n') { print(text) } else { print_line(text) }?;
    }
    if content.is_empty()
        && outcome.status == Status::Success
        && let Some(structured) = outcome.structured.as_ref().filter(|value| **value != json!({}))
    {
        print_line(structured)?;
    }
    for Denial { capability, operation, target, setting, .. } in &outcome.denials {
        match operation.as_str() {
            "more" => say(Label::Note, target),
            operation => {
                say(Label::Note, format_args!("refused {capability} {operation} of {target} (`{setting}`)"));
            }
        }
    }
    if let Some(cut) = &outcome.truncated {
        let of = format!("the output was cut: it has {} bytes, {} lines", cut.total_bytes, cut.total_lines);
        let session = session.map(|session| format!(" --session {session}")).unwrap_or_default();
        match &cut.handle {
            Some(handle) => say(Label::Note, format_args!("{of}; `toolcell output show {handle}{session}`")),
            None => say(Label::Note, of),
        }
    }
    if let Some(error) = &outcome.error {
        say(Label::Error, format_args!("{}: {}", error.kind, error.message));
        if let Some(help) = &error.help {
            say(Label::Help, help);
        }
    }
    Ok(())
}

fn say_log(log: &Log) {
    let lines: Vec<String> = log.text.lines().map(|line| format!("{} | {line}", log.stream)).collect();
    // In one piece: standard error has no buffer, and a tool may have printed thousands of lines.
    if !lines.is_empty() {
        say_plain(lines.join("\n"));
    }
}

fn block_text(block: &Content) -> String {
    let encoded = |what: &str, mime_type: &str, data: &str| {
        format!("[{what}, {mime_type}, {} bytes of base64; --json shows it]", data.len())
    };
    match block {
        Content::Text { text } => text.clone(),
        Content::Json { json } => json.to_string(),
        Content::Image { data, mime_type } => encoded("image", mime_type, data),
        Content::Audio { data, mime_type } => encoded("audio", mime_type, data),
        Content::Blob { data, mime_type, .. } => encoded("blob", mime_type, data),
        Content::Link { uri, name, .. } => match name {
            Some(name) => format!("{name}: {uri}"),
            None => uri.clone(),
        },
        _ => "[content of a newer kind; --json shows it]".to_owned(),
    }
}
