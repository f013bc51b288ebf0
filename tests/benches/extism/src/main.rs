//! The `echo` of the benchmark by Extism's Rust SDK. Each line of standard input is `kept N` or `fresh N`; the answer is
//! the nanoseconds of each of N calls, in one line.

use std::io::BufRead as _;
use std::time::Instant;

use anyhow::Context as _;
use extism::{CompiledPlugin, Manifest, Plugin, PluginBuilder, Wasm};

/// Gives the input back where it lies, without a copy by the guest.
const ECHO: &str = r#"
(module
  (import "extism:host/env" "input_offset" (func $offset (result i64)))
  (import "extism:host/env" "input_length" (func $length (result i64)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory (export "memory") 1)
  (func (export "echo") (result i32)
    (call $output (call $offset) (call $length))
    (i32.const 0)))
"#;

fn echo(plugin: &mut Plugin, text: &str) -> anyhow::Result<()> {
    let output: &str = plugin.call("echo", text)?;
    anyhow::ensure!(output.len() == text.len(), "an echo of {} bytes has {}", text.len(), output.len());
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let text = "x".repeat(1024);
    let manifest = Manifest::new([Wasm::data(ECHO.as_bytes())]);
    let compiled = CompiledPlugin::new(PluginBuilder::new(manifest))?;
    let mut kept = Plugin::new_from_compiled(&compiled)?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (way, count) = line.split_once(' ').context("`kept N` or `fresh N`")?;
        let mut times = Vec::new();
        for _ in 0..count.parse()? {
            let started = Instant::now();
            match way {
                "kept" => echo(&mut kept, &text)?,
                _ => echo(&mut Plugin::new_from_compiled(&compiled)?, &text)?,
            }
            times.push(started.elapsed().as_nanos().to_string());
        }
        println!("{}", times.join(" "));
    }
    Ok(())
}
