//! The keys of a file against those that this version enforces: an unknown one is an error, never skipped.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{Address, Document};
use super::problem::Problems;
use crate::limits::Limit;

/// Adds a problem for each key of `table` that `schema` does not have, and takes it out of the table.
pub(super) fn check(
    schema: &Value,
    table: &mut DeTable<'_>,
    document: &Document<'_>,
    problems: &mut Problems,
) {
    check_table(schema, table, &Address::default(), &mut Checker { document, problems });
}

struct Checker<'a, 't> {
    document: &'a Document<'t>,
    problems: &'a mut Problems,
}

fn check_table(schema: &Value, table: &mut DeTable<'_>, address: &Address, checker: &mut Checker<'_, '_>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties");
    let mut unknown = Vec::new();
    for (key, value) in table.iter_mut() {
        let key = key.get_ref();
        let here = address.key(key);
        let property = properties.and_then(|properties| properties.get(key.as_ref()));
        match property.or(others) {
            // Known, and not to be set here: whoever validates it says why.
            Some(Value::Bool(false)) if property.is_some() => {}
            Some(Value::Bool(false)) => {
                let known = properties.into_iter().flatten().filter(|(_, property)| !property.is_boolean());
                let known: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
                let message = refusal(key, &here, &known);
                checker.problems.add(checker.document.line_of(&here), message);
                unknown.push(key.to_string());
            }
            Some(schema) => check_value(schema, value, &here, checker),
            None => {}
        }
    }
    for key in unknown {
        table.remove(key.as_str());
    }
}

fn check_value(
    schema: &Value,
    value: &mut Spanned<DeValue<'_>>,
    address: &Address,
    checker: &mut Checker<'_, '_>,
) {
    match value.get_mut() {
        DeValue::Table(table) => check_table(as_table(schema), table, address, checker),
        DeValue::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for (index, item) in items.iter_mut().enumerate() {
                check_value(schema, item, &address.item(index), checker);
            }
        }
        _ => {}
    }
}

/// What holds of a table where a table is one of the ways to write a value.
fn as_table(schema: &Value) -> &Value {
    let ways = schema.get("anyOf").and_then(Value::as_array);
    let table = ways.and_then(|ways| ways.iter().find(|way| way.get("type") == Some(&"object".into())));
    table.unwrap_or(schema)
}

fn refusal(key: &str, address: &Address, known: &[&str]) -> String {
    if let Some(near) = nearest(key, known) {
        return format!("`{address}`: unknown key; did you mean `{near}`?");
    }
    if Limit::from_name(key).is_some() {
        return format!("`{address}`: unknown key here; limits are set under a `limits` table");
    }
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("`{address}`: unknown key; known here: {}", known.join(", "))
}

/// The name that is meant by `written`, if one is near: up to a third of its letters may be wrong.
pub(super) fn nearest<'n>(written: &str, known: &[&'n str]) -> Option<&'n str> {
    let plain = written.to_ascii_lowercase().replace('-', "_");
    let (distance, name) = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&plain, name), *name))
        .min_by_key(|near| near.0)?;
    (distance <= (name.len() / 3).max(1)).then_some(name)
}
