//! A command: JSON on standard input, JSON on standard output.
//!
//! The input is an object. `text` is printed reversed as `{"reversed": …}`; without it the whole input is printed as
//! `{"echo": …}`. `stderr` is printed to standard error, `panic` panics with its text, `exit` ends with that code.

use std::io::Read;
use std::process::ExitCode;

use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut input = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut input) {
        eprintln!("cannot read standard input: {error}");
        return ExitCode::from(2);
    }
    let input: Value = match serde_json::from_str(&input) {
        Ok(input) => input,
        Err(error) => {
            eprintln!("standard input is no JSON: {error}");
            return ExitCode::from(2);
        }
    };
    if let Some(text) = input["stderr"].as_str() {
        eprintln!("{text}");
    }
    if let Some(message) = input["panic"].as_str() {
        panic!("{message}");
    }
    let output = match input["text"].as_str() {
        Some(text) => json!({"reversed": text.chars().rev().collect::<String>()}),
        None => json!({"echo": input}),
    };
    println!("{output}");
    ExitCode::from(input["exit"].as_u64().and_then(|code| u8::try_from(code).ok()).unwrap_or(0))
}
