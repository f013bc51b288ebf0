#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Work;
use crate::schema::Repairs;
use crate::tool::ArgumentSchema;

fn object(a: Value, defs: Value) -> Value {
    json!({ "type": "object", "properties": { "a": a }, "$defs": defs })
}

fn refused(schema: &Value) -> String {
    ArgumentSchema::new(schema).err().unwrap_or_default()
}

/// Definitions `d0` to `d{last}`, each made of a reference to the one before.
fn chain(last: usize, first: Value, next: impl Fn(Value) -> Value) -> Value {
    let mut defs = serde_json::Map::from_iter([("d0".to_owned(), first)]);
    for number in 1..=last {
        defs.insert(format!("d{number}"), next(json!({ "$ref": format!("#/$defs/d{}", number - 1) })));
    }
    Value::Object(defs)
}

/// A value in an array in an array …
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(7), |inner, _| json!([inner]))
}

/// An array whose items are looked at by `times` schemas, each of them like the array's.
fn branching(times: usize) -> Value {
    let items = vec![json!({ "$ref": "#/$defs/d" }); times];
    object(json!({ "$ref": "#/$defs/d" }), json!({ "d": { "type": "array", "items": { "anyOf": items } } }))
}

#[test]
fn a_schema_that_multiplies_what_applies_to_one_value_is_refused() {
    let start = |last: usize| json!({ "$ref": format!("#/$defs/d{last}") });
    for (keyword, times) in [("anyOf", 8), ("allOf", 8), ("oneOf", 2)] {
        let fan = |inner: Value| json!({ (keyword): vec![inner; times] });
        assert!(refused(&object(start(24), chain(24, json!({}), fan))).contains("parts of it apply"));
    }
    let nots = |inner: Value| json!({ "not": inner, "if": inner, "then": inner, "else": inner });
    assert!(refused(&object(start(12), chain(12, json!({}), nots))).contains("parts of it apply"));
    let dependent = |inner: Value| json!({ "dependentSchemas": { "x": inner, "y": inner } });
    assert!(refused(&object(start(20), chain(20, json!({}), dependent))).contains("parts of it apply"));
    let unevaluated = |inner: Value| json!({ "allOf": [inner], "unevaluatedProperties": false });
    assert!(refused(&object(start(20), chain(20, json!({}), unevaluated))).contains("parts of it apply"));
    let long = chain(200, json!({}), |inner| inner);
    assert!(refused(&object(start(200), long)).contains("in a row"));
}

#[test]
fn a_schema_that_refers_to_itself_without_a_step_into_the_value_is_refused() {
    for defs in [
        json!({ "d": { "$ref": "#/$defs/d" } }),
        json!({ "d": { "anyOf": [{ "$ref": "#/$defs/e" }] }, "e": { "not": { "$ref": "#/$defs/d" } } }),
        json!({ "d": { "$ref": "#e" }, "e": { "$anchor": "e", "if": { "$ref": "#/%24defs/d" } } }),
    ] {
        assert!(refused(&object(json!({ "$ref": "#/$defs/d" }), defs)).contains("refers to itself"));
    }
    for (a, told) in [
        (json!({ "$dynamicRef": "#x" }), "`$dynamicRef`"),
        (json!({ "$id": "urn:x", "type": "string" }), "`$id`"),
        (json!({ "$ref": "#/$defs/none" }), "does not have"),
        (json!({ "$ref": "https://example.org/a" }), "nothing is fetched"),
    ] {
        assert!(refused(&object(a, json!({}))).contains(told), "{told}");
    }
}

#[test]
fn patterns_are_bounded_and_searched_in_linear_time() {
    let pattern = |pattern: &str| object(json!({ "type": "string", "pattern": pattern }), json!({}));
    for (source, told) in [
        ("(a{1,1000}){1,1000}", "too big"),
        (r"^(a|a)*\1$", "look-around and back-references"),
        ("a(?!b)", "look-around and back-references"),
        ("(", "look-around and back-references"),
    ] {
        assert!(refused(&pattern(source)).contains(told), "{source}: {}", refused(&pattern(source)));
    }
    let many: serde_json::Map<String, Value> =
        (0..300).map(|number| (format!("p{number}"), json!({ "pattern": "[a-z]" }))).collect();
    assert!(refused(&json!({ "type": "object", "properties": many })).contains("256 patterns"));
    let begun = Instant::now();
    let schema = ArgumentSchema::new(&pattern("(a+)+$")).unwrap();
    assert_eq!(schema.violations(&json!({ "a": "a".repeat(10_000) + "b" })).len(), 1);
    assert!(schema.violations(&json!({ "a": "a".repeat(10_000) })).is_empty());
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_value_that_multiplies_what_is_checked_is_refused_by_its_count() {
    let schema = ArgumentSchema::new(&branching(3)).unwrap();
    let begun = Instant::now();
    let violations = schema.violations(&json!({ "a": nested(60) }));
    assert!(violations[0].expected.contains("within seconds"), "{violations:?}");
    assert!(!schema.is_quick(&json!({ "a": nested(60) })) && !schema.admits(&json!({ "a": nested(60) })));
    assert!(schema.misfit(&json!({ "a": nested(60) })).is_some());
    assert!(begun.elapsed() < Duration::from_secs(60));
    // The same schema serves who does not.
    assert!(
        schema.is_quick(&json!({ "a": [[[]]] })) && schema.violations(&json!({ "a": [[[]]] })).is_empty()
    );
    assert!(ArgumentSchema::new(&branching(1)).unwrap().is_quick(&json!({ "a": nested(60) })));
}

#[test]
fn items_that_are_compared_with_each_other_are_counted() {
    let schema =
        ArgumentSchema::new(&object(json!({ "type": "array", "uniqueItems": true }), json!({}))).unwrap();
    let whole: Vec<Value> = (0..100_000).map(Value::from).collect();
    assert!(schema.violations(&json!({ "a": whole })).is_empty());
    // These have one hash, all of them.
    let alike: Vec<Value> = (0..100_000_u64).map(|number| json!((1_u64 << 63) + number % 1024)).collect();
    let begun = Instant::now();
    assert_eq!(schema.violations(&json!({ "a": alike })).len(), 1);
    let arrays: Vec<Value> = (0..100_000).map(|number| json!([vec![json!([]); number % 7]])).collect();
    assert_eq!(schema.violations(&json!({ "a": arrays })).len(), 1);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn what_is_wrong_with_a_large_value_is_not_copied_for_each_alternative() {
    let many = json!({ "anyOf": vec![json!({ "type": "integer" }); 2000] });
    let schema = ArgumentSchema::new(&object(many, json!({}))).unwrap();
    let told = |value: Value| schema.violations(&value)[0].got.clone();
    assert_eq!(told(json!({ "a": "x" })), "string");
    assert!(told(json!({ "a": "x".repeat(1 << 20) })).contains("too large"));
}

#[test]
fn what_is_deep_fits_a_small_stack() {
    let within = thread::Builder::new().stack_size(2 << 20).spawn(|| {
        // As long as a way through a schema may be.
        let step = |inner: Value| json!({ "type": "object", "properties": { "x": inner } });
        let schema = object(json!({ "$ref": "#/$defs/d190" }), chain(190, json!({}), step));
        let schema = ArgumentSchema::new(&schema).unwrap();
        assert!(schema.violations(&json!({ "a": { "x": { "x": 1 } } })).len() == 1);
        let too_long = chain(400, json!({}), step);
        let schema = object(json!({ "$ref": "#/$defs/d400" }), too_long);
        assert!(refused(&schema).contains("lead from one to the next"));
        // As deep as a value may be, with as much as may lie in between.
        let row = chain(50, json!({ "items": { "$ref": "#/$defs/d50" } }), |inner| inner);
        let schema = ArgumentSchema::new(&object(json!({ "$ref": "#/$defs/d50" }), row)).unwrap();
        assert!(schema.violations(&json!({ "a": nested(15) })).is_empty());
        assert_eq!(schema.violations(&json!({ "a": nested(90) })).len(), 1);
    });
    within.unwrap().join().unwrap();
}

#[test]
fn schemas_as_people_and_generators_write_them_are_quick() {
    let tree = json!({
        "type": "object", "required": ["root"], "properties": { "root": { "$ref": "#/$defs/Node" } },
        "$defs": { "Node": {
            "type": "object", "additionalProperties": false,
            "properties": {
                "name": { "type": "string", "pattern": "^[a-z_]+$", "maxLength": 64 },
                "tags": { "type": "array", "items": { "enum": ["a", "b"] }, "uniqueItems": true },
                "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } },
                "parent": { "anyOf": [{ "$ref": "#/$defs/Node" }, { "type": "null" }], "default": null },
            },
        } },
    });
    let node = |inner: Vec<Value>| json!({ "name": "n", "tags": ["a"], "children": inner });
    let filled = (0..6).fold(node(Vec::new()), |inner, _| node(vec![inner.clone(), inner]));
    let schema = ArgumentSchema::new(&tree).unwrap();
    assert!(schema.is_quick(&json!({ "root": filled })));
    assert!(schema.violations(&json!({ "root": filled })).is_empty());
    // A filter as an adjacently tagged union: two alternatives look at `args`.
    let filter = |op: &str| {
        let args = json!({ "type": "array", "items": { "$ref": "#/definitions/F" } });
        json!({ "type": "object", "properties": { "op": { "const": op }, "args": args }, "required": ["op"] })
    };
    let union = json!({
        "type": "object", "properties": { "f": { "$ref": "#/definitions/F" } },
        "definitions": { "F": { "oneOf": [filter("and"), filter("or"), filter("not")] } },
    });
    let value = (0..6).fold(json!({ "op": "and" }), |inner, _| json!({ "op": "or", "args": [inner] }));
    let schema = ArgumentSchema::new(&union).unwrap();
    assert!(schema.violations(&json!({ "f": value })).is_empty());
    assert!(schema.admits(&json!({ "f": value })));
}

fn integers(schema: &Value, mut value: Value) -> (Value, Vec<String>) {
    let mut repairs = Repairs::default();
    Work::of(schema).unwrap().write_integers(&mut value, &mut repairs);
    (value, repairs.into_vec().into_iter().map(|repair| repair.path).collect())
}

#[test]
fn whole_numbers_are_integers_wherever_the_schema_says_so() {
    let integer = json!({ "type": "integer" });
    for (part, value, written) in [
        (integer.clone(), json!(13.0), json!(13)),
        (integer.clone(), json!(-0.0), json!(0)),
        (integer.clone(), json!(1e19), json!(1e19)),
        (json!({ "type": ["null", "integer"] }), json!(13.0), json!(13)),
        (json!({ "type": "number" }), json!(13.0), json!(13.0)),
        (json!({}), json!(13.0), json!(13.0)),
        (json!({ "enum": [12, 13] }), json!(13.0), json!(13)),
        (json!({ "const": 13 }), json!(13.0), json!(13)),
        (json!({ "$ref": "#/$defs/d" }), json!(13.0), json!(13)),
        (json!({ "anyOf": [{ "type": "string" }, integer.clone()] }), json!(13.0), json!(13)),
        (json!({ "allOf": [{ "type": "number" }, integer.clone()] }), json!(13.0), json!(13)),
        (json!({ "items": integer.clone() }), json!([1.0, 2.5, 3, "4.0"]), json!([1, 2.5, 3, "4.0"])),
        (
            json!({ "prefixItems": [{}, integer.clone()], "items": {} }),
            json!([1.0, 2.0, 3.0]),
            json!([1.0, 2, 3.0]),
        ),
        (
            json!({ "additionalProperties": integer.clone() }),
            json!({ "x/y": [1.0], "z": 2.0 }),
            json!({ "x/y": [1.0], "z": 2 }),
        ),
        (json!({ "patternProperties": { "^x": integer.clone() } }), json!({ "x": 1.0 }), json!({ "x": 1 })),
        (
            json!({ "properties": { "x": { "$ref": "#/properties/a" }, "n": integer } }),
            json!({ "x": { "x": { "n": 1.0 } } }),
            json!({ "x": { "x": { "n": 1 } } }),
        ),
    ] {
        let schema = object(part, json!({ "d": { "type": "integer" } }));
        let (got, _) = integers(&schema, json!({ "a": value, "b": value }));
        assert_eq!(got, json!({ "a": written, "b": value }), "{schema}");
    }
    let schema = object(json!({ "type": "array", "items": { "type": "integer" } }), json!({}));
    let (_, paths) = integers(&schema, json!({ "a": [1.0, 2, 3.0] }));
    assert_eq!(paths, ["/a/0", "/a/2"]);
    let (_, paths) = integers(&schema, json!({ "a": vec![1.0; 1000] }));
    assert_eq!(paths.len(), 51);
}
