//! Types, names, constraints and values that are too much or make no sense.

use wasmtime::component::Val;

use super::super::{
    LiftError, Lifted, ResultKind, lift_bounded, lift_bytes, lift_result, lift_scalar, lift_string, lower,
    lower_bytes,
};
use super::*;

fn refused(items: &str) -> Unsupported {
    read(items, &json!({}), &json!({})).unwrap_err()
}

#[test]
fn types_that_cannot_cross_are_named() {
    for (items, says, refuses_component) in [
        ("resource file; f: func(a: borrow<file>);", "the resource `file`", false),
        ("resource file; f: func() -> list<file>;", "the resource `file`", false),
        ("f: func() -> future<u32>;", "`future`", true),
        ("f: func(a: stream<u8>);", "`stream`", true),
        ("f: async func();", "`async func`", true),
    ] {
        let error = refused(items);
        assert!(error.to_string().contains(says), "{items}: {error}");
        assert_eq!(error.refuses_component(), refuses_component, "{items}");
    }
}

#[test]
fn types_that_explode_are_refused_in_no_time() {
    let mut items = "record r0 { a: u8 }\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        items.push_str(&format!("record r{level} {{ a: r{below}, b: r{below} }}\n"));
    }
    let started = std::time::Instant::now();
    assert_eq!(refused(&format!("{items} f: func(a: r39);")), Unsupported::TooLarge);
    assert!(read(&format!("{items} f: func(a: r8);"), &json!({}), &json!({})).is_ok());
    assert!(started.elapsed().as_secs() < 5);

    let mut deep = "type t0 = list<u16>;\n".to_owned();
    for level in 1..80 {
        deep.push_str(&format!("type t{level} = list<t{}>;\n", level - 1));
    }
    assert_eq!(refused(&format!("{deep} f: func(a: t79);")), Unsupported::TooDeep);
    assert!(read(&format!("{deep} f: func(a: t50);"), &json!({}), &json!({})).is_ok());
}

#[test]
fn documentation_that_explodes_is_refused() {
    let types = json!({"test:types/api@1.0.0#color": {"description": "x".repeat(10_000)}});
    let params: Vec<String> = (0..200).map(|number| format!("p{number}: color")).collect();
    let items = format!("enum color {{ red }} f: func({});", params.join(", "));
    assert_eq!(read(&items, &json!({}), &types).unwrap_err(), Unsupported::TooLarge);
}

#[test]
fn names_beyond_64_bytes_are_refused() {
    let long = "a".repeat(65);
    assert!(matches!(refused(&format!("f: func({long}: u8);")), Unsupported::Name { .. }));
    assert!(matches!(refused(&format!("enum e {{ {long} }} f: func(e: e);")), Unsupported::Name { .. }));
}

#[test]
fn constraints_that_do_not_fit_their_type_are_refused() {
    for (ty, docs, says) in [
        ("u32", json!({"pattern": "a"}), "`@pattern` is for strings"),
        ("string", json!({"minimum": 1}), "are for numbers"),
        ("list<u32>", json!({"maximum": 1}), "are for numbers"),
        ("string", json!({"pattern": "("}), "not a regular expression"),
        ("u8", json!({"minimum": 300}), "no integer lies within"),
        ("u8", json!({"minimum": 1.5}), "must be integers"),
        ("f64", json!({"minimum": 2, "maximum": 1}), "no number lies within"),
        ("u8", json!({"default": 256}), "not a value of its type"),
        ("u8", json!({"default": 1, "minimum": 2}), "not a value of its type"),
        ("string", json!({"default": 1}), "not a value of its type"),
    ] {
        let error =
            read(&format!("f: func(a: {ty});"), &json!({"params": {"a": docs}}), &json!({})).unwrap_err();
        assert!(
            error.to_string().contains(says) && error.to_string().contains("`a`"),
            "{ty} {docs}: {error}"
        );
    }
    let behind_option = json!({"params": {"a": {"minimum": 2}, "b": {"pattern": "^x"}}});
    let signature = read("f: func(a: option<u8>, b: option<string>);", &behind_option, &json!({})).unwrap();
    assert!(accept_value(&signature, json!({"a": 2, "b": "xy"})).is_ok());
    assert!(accept_value(&signature, json!({"a": 1})).is_err());
    assert!(accept_value(&signature, json!({"b": "yx"})).is_err());
}

#[test]
fn arguments_are_bounded_in_size_and_depth() {
    let bounds = Bounds { bytes: 100, depth: 5 };
    let mode = RepairMode::Decode;
    let long = json!({"a": "x".repeat(100)});
    assert!(parse_arguments(&long.to_string(), bounds, mode).is_err());
    assert!(accept_arguments(long, bounds, mode).is_err());
    for (depth, fits) in [(4, true), (5, false)] {
        let text = format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(parse_arguments(&text, bounds, mode).is_ok(), fits, "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(accept_arguments(value, bounds, mode).is_ok(), fits, "{text}");
    }
    let deep = format!("{{\"a\":{}", "[".repeat(1 << 19));
    let error = parse_arguments(&deep, Bounds { depth: 10_000, ..Bounds::default() }, mode).unwrap_err();
    assert!(error.to_string().contains("deeper than 120 levels"), "{error}");
}

#[test]
fn a_text_of_many_values_is_not_read() {
    let mode = RepairMode::Json;
    let ones = |count: usize| format!("{{\"a\":[{}1]}}", "1,".repeat(count));
    let told = |text: &str| parse_arguments(text, Bounds::default(), mode).map_err(|error| error.to_string());
    let error = told(&ones(1 << 20)).unwrap_err();
    assert!(error.contains("more than 1048576 values"), "{error}");
    assert!(told(&ones((1 << 20) - 10)).is_ok());
    // In an object that is encoded twice, and in many small ones.
    let twice = format!("{{\"a\":{}}}", json!(ones(1 << 20)));
    assert!(told(&twice).unwrap().0["a"].is_string());
    assert!(told(&format!("[{}{{}}]", "{},".repeat(1 << 20))).unwrap_err().contains("values"));
    // Commas in strings are none.
    let text = json!({ "a": format!("\"[{{{}", ",\\".repeat(2 << 20)) }).to_string();
    assert!(told(&text).is_ok());
}

#[test]
fn violations_and_repairs_are_bounded_and_counted() {
    let signature = plain("f: func(a: list<u32>);");
    let (value, repairs) = canonicalise(&signature, json!({"a": vec!["1"; 1000]}), RepairMode::Decode);
    assert_eq!(validate(&signature, &value), []);
    assert_eq!((repairs.len(), repairs[50].from.as_str()), (51, "950 more values"));
    let violations = validate(&signature, &json!({"a": vec!["x"; 1000]}));
    assert_eq!((violations.len(), violations[50].got.as_str()), (51, "950 more violations"));
    assert_eq!(violations[49].path, "/a/49");
}

#[test]
fn a_result_stops_being_copied_at_its_bound() {
    let signature = plain("f: func() -> list<string>;");
    let items = |count| [Val::List(vec![Val::String("x".repeat(100)); count])];
    assert!(lift_result(&signature, &items(10), 2_000).is_ok());
    // It stops within one item of the bound.
    let error = lift_result(&signature, &items(100_000), 200_000).unwrap_err();
    assert!(matches!(error, LiftError::TooLarge { at_least: 200_000..200_300 }), "{error}");
    let many = [Val::List(vec![Val::Bool(true); 100_000])];
    assert!(lift_result(&plain("f: func() -> list<bool>;"), &many, 500_000).is_err());
    let bytes = [Val::List(vec![Val::U8(0); 3_000])];
    let signature = plain("f: func() -> list<u8>;");
    assert!(
        lift_result(&signature, &bytes, 4_100).is_ok() && lift_result(&signature, &bytes, 3_900).is_err()
    );
    assert_eq!(lift_result(&signature, &[Val::Bool(true)], 100), Err(LiftError::Mismatch));
    assert_eq!(lift_result(&signature, &[], 100), Err(LiftError::Mismatch));
}

#[test]
fn results_say_what_json_numbers_cannot() {
    for (ty, value, json) in [
        ("f64", Val::Float64(f64::NAN), r#""NaN""#),
        ("f64", Val::Float64(f64::INFINITY), r#""Infinity""#),
        ("f32", Val::Float32(f32::NEG_INFINITY), r#""-Infinity""#),
        ("f64", Val::Float64(-0.0), "-0.0"),
        ("f64", Val::Float64(1e308), "1e+308"),
        ("f32", Val::Float32(0.1), "0.1"),
        ("f32", Val::Float32(16_777_216.0), "16777216"),
        ("u64", Val::U64((1 << 53) - 1), "9007199254740991"),
        ("u64", Val::U64(1 << 53), r#""9007199254740992""#),
        ("s64", Val::S64(i64::MIN), r#""-9223372036854775808""#),
        ("option<u8>", Val::Option(None), "null"),
        ("option<option<u8>>", Val::Option(Some(Box::new(Val::Option(None)))), r#"{"some":null}"#),
        ("list<u8>", Val::List(vec![Val::U8(104), Val::U8(105)]), r#""aGk=""#),
    ] {
        let signature = plain(&format!("f: func() -> {ty};"));
        let lifted = lift_bounded(signature.returns().ok().unwrap(), &value, 1000).unwrap();
        assert_eq!(lift_result(&signature, &[value], 1000), Ok(Lifted::Ok(lifted.clone())));
        assert_eq!(lifted.to_string(), json, "{ty}");
        let structured = signature.returns().structured(lifted);
        assert!(jsonschema::is_valid(&signature.output_schema().unwrap(), &structured), "{structured}");
    }
}

#[test]
fn a_top_level_result_is_taken_apart() {
    let signature = plain("f: func() -> result<u8, string>;");
    let ok = [Val::Result(Ok(Some(Box::new(Val::U8(5)))))];
    let err = [Val::Result(Err(Some(Box::new(Val::String("no".into())))))];
    assert_eq!(lift_result(&signature, &ok, 100), Ok(Lifted::Ok(json!(5))));
    assert_eq!(lift_result(&signature, &err, 100), Ok(Lifted::Err(json!("no"))));
    assert_eq!(signature.returns().structured(json!(5)), json!({"result": 5}));
    let unit = plain("f: func() -> result;");
    assert_eq!(lift_result(&unit, &[Val::Result(Ok(None))], 100), Ok(Lifted::Ok(Value::Null)));
    assert_eq!(unit.returns().structured(Value::Null), json!({}));
    let nothing = plain("f: func();");
    assert_eq!(lift_result(&nothing, &[], 100), Ok(Lifted::Ok(Value::Null)));
}

#[test]
fn the_output_record_is_recognised_by_its_place() {
    let mut resolve = Resolve::default();
    let types = "package toolcell:tool@1.0.0; interface types { record output { text: string } }";
    resolve.push_source("types.wit", types).unwrap();
    let api = "package test:types@1.0.0;
        interface api { use toolcell:tool/types@1.0.0.{output}; f: func() -> result<output, string>; g: func() -> list<output>; }";
    resolve.push_source("api.wit", api).unwrap();
    let interface = resolve.interfaces.iter().find(|(_, it)| it.name.as_deref() == Some("api")).unwrap().1;
    let read = |name: &str| {
        Signature::from_wit(&resolve, &interface.functions[name], None, &BTreeMap::new()).unwrap()
    };
    assert_eq!(read("f").returns().kind(), ResultKind::Output);
    assert_eq!(read("f").output_schema(), None);
    assert_eq!(read("g").returns().kind(), ResultKind::Plain);
    let own = plain("record output { text: string } f: func() -> output;");
    assert_eq!(own.returns().kind(), ResultKind::Plain);
}

#[test]
fn arguments_that_do_not_fit_are_not_lowered() {
    let signature = plain("f: func(a: u8);");
    for wrong in [json!({"a": 256}), json!({}), json!({"a": 1, "b": 2}), json!([1]), Value::Null] {
        assert!(!lower(&signature, &wrong).unwrap_err().is_empty(), "{wrong}");
    }
}

#[test]
fn fast_paths_are_found_where_everything_crosses_by_copy() {
    for (items, expected) in [
        ("f: func(a: string) -> string;", true),
        ("f: func(a: option<list<u8>>, b: f64) -> result<option<string>, string>;", true),
        ("f: func() -> result<_, string>;", true),
        ("f: func() -> result;", true),
        ("f: func();", true),
        ("f: func(a: list<string>);", false),
        ("f: func(a: option<option<u8>>);", false),
        ("record r { a: u8 } f: func(a: r);", false),
        ("f: func() -> result<result, string>;", false),
        ("enum e { a } f: func(a: e);", false),
    ] {
        assert_eq!(plain(items).fast_path().is_some(), expected, "{items}");
    }
}

#[test]
fn typed_functions_get_and_give_the_same_json() {
    let signature = plain("f: func() -> string;");
    for text in ["", "plain", "\"quoted\"\n\u{1}"] {
        let value = Val::String(text.to_owned());
        for max in [0, 7, 8, 12, 30, 100] {
            let dynamic = lift_bounded(signature.returns().ok().unwrap(), &value, max);
            assert_eq!(lift_string(text.to_owned(), max), dynamic, "{text:?} {max}");
        }
    }
    let signature = plain("f: func() -> list<u8>;");
    for length in [0, 1, 2, 3, 4] {
        let bytes = vec![7_u8; length];
        let value = Val::List(bytes.iter().copied().map(Val::U8).collect());
        for max in [7, 8, 11, 12, 16, 100] {
            assert_eq!(lift_bytes(&bytes, max), lift_bounded(signature.returns().ok().unwrap(), &value, max));
        }
        let text = lift_bytes(&bytes, 100).unwrap();
        assert_eq!(lower_bytes(text.as_str().unwrap()), Some(bytes));
    }
    assert_eq!(lift_scalar(&Val::U64(u64::MAX)), Some(json!("18446744073709551615")));
    assert_eq!(lift_scalar(&Val::Float32(0.1)), Some(json!(0.1)));
    assert_eq!(lift_scalar(&Val::List(Vec::new())), None);
}

#[test]
fn canonical_arguments_come_back_untouched() {
    let signature = plain("record r { a: list<string> } f: func(text: string, r: option<r>, n: s64);");
    let value = json!({"text": "as it is", "r": {"a": ["x", "y"]}, "n": 5});
    let before = (value["text"].as_str().unwrap().as_ptr(), value["r"]["a"].as_array().unwrap().as_ptr());
    let (value, repairs) = canonicalise(&signature, value, RepairMode::Json);
    let after = (value["text"].as_str().unwrap().as_ptr(), value["r"]["a"].as_array().unwrap().as_ptr());
    assert_eq!((after, repairs), (before, Vec::new()));
}
