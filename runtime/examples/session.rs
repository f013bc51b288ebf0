//! A model's message, answered with a tool in a cell and one of this program, under a rule, a hook and a session.

#![expect(clippy::print_stdout, reason = "an example speaks to its user")]

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcell::hook::{Events, HookCall, HookResult, Pre, async_trait};
use toolcell::policy::{Answer, Question, Rule};
use toolcell::tool::NativeCall;
use toolcell::{Access, Format, Grant, Hook, Narrowing, NativeTool, Runtime, ToolComponent};

/// What a model says when it orders.
#[derive(Deserialize, JsonSchema)]
struct Order {
    /// What to order.
    item: String,
    /// How many of it.
    count: u32,
}

async fn order(order: Order, _: NativeCall) -> Result<String, String> {
    match order.count {
        0..=100 => Ok(format!("ordered {} of {}", order.count, order.item)),
        _ => Err("more than 100 are not sold; order less".to_owned()),
    }
}

/// Refuses orders of what there is enough of.
struct Stock;

#[async_trait]
impl Hook for Stock {
    fn events(&self) -> Events {
        Events::PRE
    }

    async fn pre(&self, call: &HookCall) -> HookResult<Pre> {
        Ok(match call.arguments().get("item").and_then(Value::as_str) {
            Some("milk") => Pre::deny("there is milk enough"),
            _ => Pre::pass(),
        })
    }
}

/// Stands for whoever is asked: says yes, once.
async fn asked(question: Question) -> Answer {
    println!("may it {} {}?", question.tool, question.arguments);
    Answer::Once
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::builder()
        .component(ToolComponent::builtin("files").grant(Grant::none().dir(".", "/work", Access::Read)))
        .native(NativeTool::new("order", "Orders something for the kitchen.", order))
        .rule(Rule::ask("order").reason("it costs money"))
        .approver(asked)
        .hook(Stock)
        .build()
        .await?;

    let message = json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "1", "name": "order", "input": { "item": "bread", "count": 2 } },
        { "type": "tool_use", "id": "2", "name": "order", "input": { "item": "milk", "count": 1 } },
        { "type": "tool_use", "id": "3", "name": "read_file", "input": { "path": "/work/secrets/key" } },
    ] });
    let session =
        runtime.session("s1").user("u42").narrow(Narrowing::none().withhold("/work", "secrets/**"))?;
    let outcomes = session.call_batch(Format::Anthropic.parse_calls(&message)?).await;
    for outcome in &outcomes {
        println!("{} {:?}: {}", outcome.name, outcome.status, outcome.text());
    }
    let reply = Format::Anthropic.results(&outcomes);
    println!("{} results go back", reply["content"].as_array().map_or(0, Vec::len));
    Ok(())
}
