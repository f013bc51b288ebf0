//! What every promise needs: the probing guests, and runtimes with little said.

pub mod command_line;
mod crafted;
pub mod encoders;
mod executor;
pub mod http_client;
pub mod http_server;
pub mod languages;
pub mod mcp_client;
pub mod model_server;
pub mod process;
pub mod registry;
pub mod scripted;
pub mod shown;
pub mod sources;

use std::path::PathBuf;

use serde_json::Value;
use toolcell::{Grant, Limits, Outcome, Runtime, RuntimeBuilder, ToolCall, ToolComponent};

pub use crafted::{component, crafted, crafted_named};
pub use executor::block_on;

/// The file of a guest of `tests/guests`, built by `tests/guests/build.sh`.
pub fn guest(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("guests/dist/{name}.wasm"))
}

/// The component of `builtin:python`.
#[expect(clippy::panic, reason = "a test that cannot set up fails")]
pub fn python() -> PathBuf {
    let file = repository().join("guest-tools/dist/python.wasm");
    match file.is_file() {
        true => file,
        false => panic!("there is no {}: run `make guests-python`", file.display()),
    }
}

/// The folder of the whole repository.
pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from).unwrap_or_default()
}

/// The probe with `grant` and `limits`.
pub fn probe(grant: Grant, limits: Limits) -> ToolComponent {
    ToolComponent::file(guest("probe")).grant(grant).limits(limits)
}

/// A builder that shares the compiled guests with every other test of this run.
pub fn builder() -> RuntimeBuilder {
    Runtime::builder().cache(cache())
}

/// The folder of compiled guests, beside the test binaries.
pub fn cache() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    exe.ancestors().nth(2).map(|folder| folder.join("compiled-guests")).unwrap_or_default()
}

/// A runtime with the probe alone.
pub fn probing(grant: Grant, limits: Limits) -> Runtime {
    built(builder().component(probe(grant, limits)))
}

/// The runtime, or the reason why there is none as a panic.
#[expect(clippy::panic, reason = "a test that cannot set up fails")]
pub fn built(builder: RuntimeBuilder) -> Runtime {
    match builder.build_blocking() {
        Ok(runtime) => runtime,
        Err(error) => panic!("{error}"),
    }
}

/// Calls a tool.
pub async fn call(runtime: &Runtime, name: &str, arguments: Value) -> Outcome {
    runtime.call(ToolCall::new(name, arguments)).await
}
