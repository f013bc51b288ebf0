#![expect(missing_docs, clippy::print_stdout, reason = "an example speaks for itself, to its user")]

use std::time::Duration;

use serde_json::json;
use toolcell::{Access, Grant, Limits, Runtime, ToolCall, ToolComponent};

#[tokio::main]
async fn main() -> toolcell::Result<()> {
    let files = ToolComponent::builtin("files").grant(Grant::none().dir(".", "/work", Access::Read));
    let runtime = Runtime::builder()
        .component(files)
        .limits(Limits::new().timeout(Duration::from_secs(5)).memory(64 << 20))
        .build()
        .await?;
    let call = ToolCall::new("grep", json!({ "pattern": "^pub mod", "path": "/work/runtime/src/lib.rs" }));
    let outcome = runtime.call(call.id("call_1")).await;
    println!("{:?}: {}", outcome.status, outcome.text());
    Ok(())
}
