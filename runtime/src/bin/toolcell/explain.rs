//! `toolcell explain`

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use toolcell::policy::{Decision, RuleSource};
use toolcell::{Runtime, ToolCall};

use crate::arguments::ToolArgs;
use crate::report::{grant_json, grant_lines, limit_lines, limits_json, print_section, repair_text};
use crate::terminal::{Label, print_json, print_line, say};
use crate::toolset::ToolsetArgs;

#[derive(Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    call: ToolArgs,
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.tools.open()?.runtime()?;
    let call = args.call.call(&runtime)?;
    explain(&runtime, call, args.tools.json)
}

/// Says of a name that no tool has what a call of it would say.
pub(crate) fn unknown(runtime: &Runtime, name: &str, is_json: bool) -> anyhow::Result<ExitCode> {
    explain(runtime, ToolCall::new(name, json!({})), is_json)
}

fn explain(runtime: &Runtime, call: ToolCall, is_json: bool) -> anyhow::Result<ExitCode> {
    let name = call.name.clone();
    let explanation = runtime.explain(call);
    let tool = explanation.tool.as_deref();
    let limits = explanation.limits.as_deref();
    if is_json {
        let document = json!({
            "name": name,
            "component": tool.map(toolcell::Tool::component),
            "digest": tool.map(toolcell::Tool::digest),
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
            print_section(narrowed, &grant_lines(&tool.grant()))?;
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
