//! What the module promises as a whole: cases as data, laws over random types, and the schemas as models see them.
#![expect(clippy::unwrap_used, reason = "tests")]

mod cases;
mod engine;
mod laws;
mod limits;
mod schemas;
mod spellings;
#[path = "../../../../tests/promises/validators.rs"]
mod validators;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcell_package::{ToolDoc, TypeDoc};
use wit_parser::Resolve;

use super::{
    Bounds, RepairMode, Signature, Unsupported, accept_arguments, canonicalise, parse_arguments, validate,
    without_secrets,
};
use crate::call::{Repair, Violation};

/// The signature of the function `f` in an interface of these WIT items.
fn read(items: &str, docs: &Value, types: &Value) -> Result<Signature, Unsupported> {
    let mut resolve = Resolve::default();
    let text = format!("package test:types@1.0.0;\ninterface api {{\n{items}\n}}");
    resolve.push_source("test.wit", &text).unwrap();
    let docs: ToolDoc = serde_json::from_value(docs.clone()).unwrap();
    let types: BTreeMap<String, TypeDoc> = serde_json::from_value(types.clone()).unwrap();
    let interface = resolve.interfaces.iter().find(|(_, it)| it.name.as_deref() == Some("api")).unwrap().1;
    Signature::from_wit(&resolve, &interface.functions["f"], Some(&docs), &types)
}

/// The signature of `f: func(…)` without documentation.
fn plain(items: &str) -> Signature {
    read(items, &json!({}), &json!({})).unwrap()
}

/// The canonical arguments of a text, or what a model would be told.
fn accept(signature: &Signature, text: &str, mode: RepairMode) -> Result<(Value, Vec<Repair>), String> {
    let (value, repair) =
        parse_arguments(text, Bounds::default(), mode).map_err(|error| error.to_string())?;
    check(signature, value, repair, mode)
}

/// The same for arguments that are a value already.
fn accept_value(signature: &Signature, value: Value) -> Result<Value, String> {
    let mode = RepairMode::Decode;
    let (value, repair) =
        accept_arguments(value, Bounds::default(), mode).map_err(|error| error.to_string())?;
    check(signature, value, repair, mode).map(|(value, _)| value)
}

fn check(
    signature: &Signature,
    value: Value,
    repair: Option<Repair>,
    mode: RepairMode,
) -> Result<(Value, Vec<Repair>), String> {
    let (value, repairs) = canonicalise(signature, value, mode);
    let violations = validate(signature, &value);
    if violations.is_empty() {
        super::lower(signature, &value).unwrap();
        return Ok((value, repair.into_iter().chain(repairs).collect()));
    }
    Err(shown(&violations))
}

fn shown(violations: &[Violation]) -> String {
    let line = |violation: &Violation| {
        let hint = violation.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}: expected {}, got {}{hint}", violation.path, violation.expected, violation.got)
    };
    violations.iter().map(line).collect::<Vec<_>>().join("\n")
}
