//! `toolcell explain`

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use toolcell::policy::{Decision, RuleSource};
use toolcell::{Runtime, Session, ToolCall};

use crate::arguments::ToolArgs;
use crate::report::{grant_json, limit_lines, limits_json, print_section, reach_lines, repair_text};
use crate::sessions::NamedSession;
use crate::terminal::{Label, print_json, print_line, say};
use crate::toolset::ToolsetArgs;

#[derive(Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    call: ToolArgs,
    /// Explain a call of this session, with the groups that it has switched
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let toolset = args.tools.open()?;
    let runtime = toolset.runtime()?;
    let call = args.call.call(&runtime)?;
    runtime.policy_warnings().iter().for_each(|warning| say(Label::Warning, warning));
    let named = NamedSession::open(&toolset, &runtime, args.session.as_deref());
    explain(&named.session, call, args.tools.json)
}

/// Says of a name that no tool has what a call of it would say.
pub(crate) fn unknown(runtime: &Runtime, name: &str, is_json: bool) -> anyhow::Result<ExitCode> {
    explain(&runtime.session(""), ToolCall::new(name, json!({})), is_json)
}

fn explain(session: &Session, call: ToolCall, is_json: bool) -> anyhow::Result<ExitCode> {
    let name = call.name.clone();
    let group = group_of(session, &name);
    let explanation = session.explain(call);
    let tool = explanation.tool.as_deref();
    let limits = explanation.limits.as_deref();
    if is_json {
        let document = json!({
            "name": name,
            "component": tool.map(toolcell::Tool::component),
            "digest": tool.map(toolcell::Tool::digest),
            "group": group.as_ref().map(|(group, is_on)| json!({ "name": group, "active": is_on })),
            "arguments": explanation.arguments,
            "repaired": explanation.repaired,
            "decision": explanation.decision.as_ref().map(decision_json),
            "hooks": explanation.hooks,
            "grant": tool.map(|tool| grant_json(&tool.grant())),
            "limits": limits.map(limits_json),
            "error": explanation.error,
        });
        print_json(&document)?;
    } else {
        if let Some(tool) = tool {
            print_line(format_args!(
                "{} of component {}, {}",
                tool.origin(),
                tool.component(),
                tool.digest()
            ))?;
        }
        if let Some((group, is_on)) = &group {
            let state = if *is_on { "on" } else { "off" };
            print_section("Group", &[format!("{group}, switched {state}")])?;
        }
        if let Some(arguments) = &explanation.arguments {
            print_section("Arguments", &[arguments.to_string()])?;
        }
        if let Some(decision) = &explanation.decision {
            print_section("Decision", &decision_lines(decision))?;
        }
        print_section("Hooks, which were not asked", &explanation.hooks)?;
        let repaired: Vec<String> = explanation.repaired.iter().map(repair_text).collect();
        print_section("Repaired", &repaired)?;
        if let Some(tool) = tool {
            let narrowed = if tool.is_read_only() {
                "May reach (narrowed: it claims to be read-only)"
            } else {
                "May reach"
            };
            print_section(narrowed, &reach_lines(tool))?;
        }
        if let Some(limits) = limits {
            print_section("Limits", &limit_lines(limits))?;
        }
        if let Some(error) = &explanation.error {
            say(Label::Error, format_args!("{}: {}", error.kind, error.message));
            if let Some(help) = &error.help {
                say(Label::Help, help);
            }
        }
    }
    let code = explanation.error.map_or(0, |error| error.kind.exit_code());
    Ok(ExitCode::from(code))
}

/// The group of the tool, and whether it is on in the session.
fn group_of(session: &Session, tool: &str) -> Option<(String, bool)> {
    let group = session.get(tool)?.group()?.to_owned();
    let is_on = session.groups().get(&group).copied()?;
    Some((group, is_on))
}

fn decision_json(decision: &Decision) -> Value {
    let rule = |rule: &Arc<RuleSource>| json!({ "setting": rule.setting, "at": rule.at.as_deref(), "reason": rule.reason, "matches": rule.words });
    json!({
        "action": decision.action.as_str(),
        "rule": decision.deciding.as_ref().map(rule),
        "asks": decision.asks.iter().map(rule).collect::<Vec<_>>(),
    })
}

fn decision_lines(decision: &Decision) -> Vec<String> {
    let action = decision.action.as_str();
    let Some(rule) = &decision.deciding else {
        return vec![format!("{action}, by `policy.default`: no rule matches")];
    };
    let at = rule.at.as_deref().map(|at| format!(" ({at})")).unwrap_or_default();
    let reason = rule.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let mut lines = vec![format!("{action}, by `{}`{at}{reason}", rule.setting)];
    lines.push(format!("it matches {}", rule.words));
    lines
}
