//! `toolcell describe`

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use toolcell::Tool;

use crate::arguments::only_tool;
use crate::report::{grant_json, limit_lines, limits_json, print_section, reach_lines, tool_json};
use crate::terminal::{print_json, print_line};
use crate::toolset::ToolsetArgs;

#[derive(Args)]
pub(crate) struct DescribeArgs {
    /// The tool; may be left out where there is one
    tool: Option<String>,
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

pub(crate) fn run(args: &DescribeArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.tools.open()?.runtime()?;
    let name = match &args.tool {
        Some(name) => name.clone(),
        None => only_tool(&runtime)?,
    };
    let Some(tool) = runtime.get(&name) else {
        return crate::explain::unknown(&runtime, &name, args.tools.json);
    };
    if args.tools.json {
        let mut document = tool_json(&tool);
        if let Some(members) = document.as_object_mut() {
            members.insert("origin".to_owned(), tool.origin().into());
            members.insert("digest".to_owned(), tool.digest().into());
            members.insert("grant".to_owned(), grant_json(&tool.grant()));
            let withheld: Vec<String> =
                tool.withheld_http().iter().map(|entry| entry.origin.to_string()).collect();
            if !withheld.is_empty() {
                members.insert("withheld".to_owned(), json!({ "http": withheld }));
            }
            members.insert("limits".to_owned(), limits_json(tool.limits()));
            members.extend(tool.off().map(|off| ("off".to_owned(), json!(off))));
            members.extend(tool.instructions().map(|text| ("instructions".to_owned(), json!(text))));
        }
        print_json(&document)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_tool(&tool)?;
    Ok(ExitCode::SUCCESS)
}

fn print_tool(tool: &Tool) -> std::io::Result<()> {
    let title = tool.title().map(|title| format!(": {title}")).unwrap_or_default();
    print_line(format_args!("{}{title}", tool.name()))?;
    if let Some(off) = tool.off() {
        print_section(
            "Off",
            &[format!("{off}; `toolcell approvals allow` with that name approves it as it is")],
        )?;
    }
    let description = if tool.description().is_empty() { "(not described)" } else { tool.description() };
    print_section("Description", &description.lines().map(str::to_owned).collect::<Vec<_>>())?;
    print_section("Arguments", &properties(tool.input_schema()))?;
    match tool.output_schema() {
        Some(schema) => print_section("Result", &properties(schema))?,
        None => print_section("Result", &["content that the tool chooses".to_owned()])?,
    }
    let hints = serde_json::to_value(tool.hints()).unwrap_or_default();
    let hints: Vec<String> = hints
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{} {value}", name.replace('_', "-")))
        .collect();
    print_section("Claims (read-only is enforced)", &hints)?;
    print_section("Examples", &tool.examples().iter().map(Value::to_string).collect::<Vec<_>>())?;
    print_section("May reach", &reach_lines(tool))?;
    print_section("Limits", &limit_lines(tool.limits()))?;
    let place = format!("{} of component {}, {}", tool.origin(), tool.component(), tool.digest());
    print_section("From", &[place])
}

/// The properties of an object's schema, a line each.
fn properties(schema: &Value) -> Vec<String> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let line = |(name, property): (&String, &Value)| {
        let optional = if required.contains(&name.as_str()) { "" } else { ", optional" };
        let default = match &property["default"] {
            Value::Null => String::new(),
            value => format!(", default {value}"),
        };
        let description = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        let text = format!("{name} ({}{optional}{default})  {description}", type_name(property));
        text.trim_end().to_owned()
    };
    schema["properties"].as_object().into_iter().flatten().map(line).collect()
}

/// The type of a property in a word or two.
fn type_name(schema: &Value) -> String {
    if schema["contentEncoding"] == "base64" {
        return "base64".to_owned();
    }
    if let Some(choices) = schema["enum"].as_array() {
        return choices.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" && schema["items"].is_object() => {
            format!("array of {}", type_name(&schema["items"]))
        }
        Value::String(name) => name.clone(),
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| *name != "null")
            .collect::<Vec<_>>()
            .join(" | "),
        _ => {
            let choices = schema["anyOf"].as_array().into_iter().flatten();
            let names: Vec<String> =
                choices.filter(|choice| choice["type"] != "null").map(type_name).collect();
            if names.is_empty() { "any".to_owned() } else { names.join(" | ") }
        }
    }
}
