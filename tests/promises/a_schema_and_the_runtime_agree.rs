//! What a schema takes, in whatever format it was exported, the runtime takes as it is; what it refuses, the runtime
//! refuses, or mends and says so.

use crate::validators::Validators;
use serde_json::{Map, Value, json};
use toolcell::format::{Format, Strict};
use toolcell::schema::RepairMode;
use toolcell::{ErrorKind, Grant, Limits, Outcome, Runtime, ToolCall};
use toolcell_tests::{builder, built, probe};

/// Values of each verdict that are tried for each tool.
const VALUES: usize = 200;

/// Choices that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// A value that fits the schema, as far as the keywords of the probe's functions go.
fn fitting(dice: &mut Dice, schema: &Value) -> Value {
    if let Some(choices) = schema["anyOf"].as_array() {
        let choice = dice.pick(choices);
        return fitting(dice, &choice);
    }
    if let Some(words) = schema["enum"].as_array() {
        return dice.pick(words);
    }
    match schema["type"].as_str() {
        Some("null") => Value::Null,
        Some("boolean") => json!(dice.below(2) == 0),
        Some("integer") => integer(dice, schema),
        Some("number") => json!(dice.pick(&[0.0, -1.5, 3.0, 1e30])),
        Some("string") => string(dice, schema),
        Some("array") => array(dice, schema),
        Some("object") => object(dice, schema),
        other => panic!("{other:?} in {schema}"),
    }
}

fn integer(dice: &mut Dice, schema: &Value) -> Value {
    let bounds = [schema["minimum"].clone(), schema["maximum"].clone(), json!(1)];
    let bounded = bounds.map(|bound| if bound.is_null() { json!(1) } else { bound });
    dice.pick(&bounded)
}

fn string(dice: &mut Dice, schema: &Value) -> Value {
    let is = |keyword: &str| !schema[keyword].is_null();
    match () {
        () if is("contentEncoding") => json!(dice.pick(&["", "aGk=", "AAAA"])),
        () if schema["maxLength"] == 1 => json!(dice.pick(&["a", "é", "😀"])),
        () => json!(dice.pick(&["", "a", "7", "two words", "null"])),
    }
}

fn array(dice: &mut Dice, schema: &Value) -> Value {
    if let Some(places) = schema["prefixItems"].as_array() {
        return places.iter().map(|place| fitting(dice, place)).collect();
    }
    let (words, count) = (schema["items"]["enum"].as_array(), dice.below(4));
    match words {
        // Flags: no word twice.
        Some(words) => words[..count.min(words.len())].to_vec().into(),
        None => (0..count).map(|_| fitting(dice, &schema["items"])).collect(),
    }
}

fn object(dice: &mut Dice, schema: &Value) -> Value {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let mut object = Map::new();
    for (name, property) in schema["properties"].as_object().unwrap() {
        if is_required(name) || dice.below(2) == 0 {
            object.insert(name.clone(), fitting(dice, property));
        }
    }
    Value::Object(object)
}

/// Changes one value somewhere to another, or takes or adds a key or an item.
fn spoil(dice: &mut Dice, value: &mut Value) {
    let others = [
        json!(null),
        json!(false),
        json!(-1),
        json!(2.5),
        json!(1e40),
        json!(300),
        json!(u64::MAX),
        json!("x"),
        json!("GET"),
        json!("get"),
        json!("Red"),
        json!([]),
        json!([[]]),
        json!({}),
        json!({ "tag": "point" }),
        json!({ "ok": 1 }),
    ];
    match value {
        Value::Array(items) if !items.is_empty() && dice.below(3) > 0 => {
            let at = dice.below(items.len());
            match dice.below(3) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => spoil(dice, &mut items[at]),
            }
        }
        Value::Object(members) if !members.is_empty() && dice.below(4) > 0 => {
            let keys: Vec<String> = members.keys().cloned().collect();
            let key = dice.pick(&keys);
            match dice.below(5) {
                0 => drop(members.shift_remove(&key)),
                1 => drop(members.insert("extra".to_owned(), json!(1))),
                _ => spoil(dice, members.get_mut(&key).unwrap()),
            }
        }
        other => *other = dice.pick(&others),
    }
}

fn runtime() -> Runtime {
    built(builder().component(probe(Grant::none(), Limits::new()).repair(RepairMode::Off)))
}

/// The input schema of a tool in a format.
fn exported(runtime: &Runtime, format: Format, strict: Strict, name: &str) -> Option<Value> {
    let tool = runtime.get(name).unwrap();
    let definition = format.export(&[tool], strict).tools[0].clone();
    let definition = if format == Format::OpenAi { definition["function"].clone() } else { definition };
    let is_strict = definition["strict"] == true;
    let schema =
        ["parameters", "input_schema", "inputSchema"].iter().find_map(|key| definition.get(*key)).cloned();
    schema.filter(|_| is_strict == (strict == Strict::On))
}

async fn call(runtime: &Runtime, name: &str, arguments: &Value) -> Outcome {
    runtime.call(ToolCall::new(name, arguments.clone())).await
}

/// The echoing tools and their schemas in every format that has JSON Schema, with one verdict among them.
fn echoes(runtime: &Runtime) -> Vec<(String, Vec<Validators>)> {
    let formats = [Format::Toolcell, Format::OpenAi, Format::OpenAiResponses, Format::Anthropic, Format::Mcp];
    let names = runtime.list().iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>();
    let of = |name: &str| {
        let schemas = formats.iter().filter_map(|format| exported(runtime, *format, Strict::Off, name));
        schemas.map(|schema| Validators::new(&schema)).collect()
    };
    names.into_iter().filter(|name| name.starts_with("echo_")).map(|name| (name.clone(), of(&name))).collect()
}

#[tokio::test]
async fn schemas_of_every_format_and_the_runtime_give_one_verdict() {
    let runtime = runtime();
    let mut dice = Dice(7);
    for (name, validators) in echoes(&runtime) {
        assert_eq!(validators.len(), 5, "{name}");
        let schema = runtime.get(&name).unwrap().input_schema().clone();
        let (mut valid, mut invalid) = (0, 0);
        for _ in 0..VALUES * 20 {
            let mut value = fitting(&mut dice, &schema);
            if valid >= VALUES || dice.below(2) == 0 {
                spoil(&mut dice, &mut value);
            }
            if !value.is_object() {
                // No arguments at all stand for an empty object.
                continue;
            }
            let fits = validators[0].is_valid(&value);
            assert!(validators.iter().all(|other| other.is_valid(&value) == fits), "{name}: {value}");
            let count = if fits { &mut valid } else { &mut invalid };
            if *count >= VALUES {
                continue;
            }
            *count += 1;
            let outcome = call(&runtime, &name, &value).await;
            let is_taken = outcome.error_kind() != Some(ErrorKind::InvalidArguments);
            let is_mended = !outcome.repaired.is_empty();
            assert_eq!(is_taken && !is_mended, fits, "{name} {value}: {outcome:#?}");
        }
        // A tool without parameters has few values of either kind.
        assert!(valid >= VALUES.min(50) || schema["properties"] == json!({}), "{name}: {valid}");
        assert!(invalid >= VALUES.min(50), "{name}: only {invalid} invalid values");
    }
}

#[tokio::test]
async fn what_fits_a_strict_schema_is_taken_and_all_else_fits_no_other() {
    let runtime = runtime();
    let mut dice = Dice(11);
    let mut tried = 0;
    for (name, validators) in echoes(&runtime) {
        let Some(strict) = exported(&runtime, Format::OpenAi, Strict::On, &name) else { continue };
        let strict_validators = Validators::new(&strict);
        let plain = runtime.get(&name).unwrap().input_schema().clone();
        for _ in 0..VALUES {
            // With `null` for whatever is absent, what fits the plain schema fits the strict one.
            let mut value = fitting(&mut dice, &plain);
            with_nulls(&mut value, &strict);
            assert_eq!(strict_validators.violations(&value), Vec::<String>::new(), "{name} {value}");
            let outcome = call(&runtime, &name, &value).await;
            assert_ne!(outcome.error_kind(), Some(ErrorKind::InvalidArguments), "{value}: {outcome:#?}");
            // Whatever the strict schema refuses beyond absent keys, the plain one refuses.
            spoil(&mut dice, &mut value);
            let mut filled = value.clone();
            with_nulls(&mut filled, &strict);
            if value.is_object() && !strict_validators.is_valid(&filled) {
                assert!(!validators[0].is_valid(&value), "{name}: {value}");
                tried += 1;
            }
        }
    }
    assert!(tried > 1_000, "only {tried} refused values");
}

/// Puts `null` where an object lacks a key that its strict schema has.
fn with_nulls(value: &mut Value, schema: &Value) {
    if let Some(choices) = schema["anyOf"].as_array() {
        let fills = |choice: &&Value| {
            let (tag, properties) = (&choice["properties"]["tag"]["enum"][0], &choice["properties"]);
            match value.as_object() {
                Some(_) if !tag.is_null() => *tag == value["tag"],
                Some(members) => members.keys().all(|key| properties.get(key).is_some()),
                None => choice["type"] != "null",
            }
        };
        if let Some(choice) = choices.iter().find(fills) {
            with_nulls(value, choice);
        }
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| with_nulls(item, &schema["items"])),
        Value::Object(members) => {
            let Some(properties) = schema["properties"].as_object() else { return };
            for (name, property) in properties {
                match members.get_mut(name) {
                    Some(member) => with_nulls(member, property),
                    None => drop(members.insert(name.clone(), Value::Null)),
                }
            }
        }
        _ => {}
    }
}
