//! However a value is written, it has one canonical form; and no two values of a guest share one.

use proptest::prelude::*;
use serde_json::{Number, Value, json};

use super::super::shape::*;
use super::super::{lower, spellings};
use super::laws::{Dice, canonical, object, signature};
use super::*;

/// The value as somebody else would write it.
fn respelt(dice: &mut Dice, shape: &Shape, value: Value) -> Value {
    match (shape, value) {
        (Shape::Float(float), Value::Number(number)) => respelt_float(dice, float.kind, number),
        (Shape::Int(_), Value::Number(number)) if dice.one_in(2) => match number.as_i64() {
            Some(whole) if whole.unsigned_abs() < 1 << 53 => {
                format!("{whole}.0").parse().map(Value::Number).unwrap()
            }
            _ => number.into(),
        },
        (Shape::Flags(flags), Value::Array(mut words)) => match dice.below(3) {
            0 => flags
                .cases
                .items()
                .iter()
                .map(|case| (case.wit.to_string(), json!(words.contains(&json!(case.json)))))
                .collect(),
            _ => {
                words.reverse();
                words.into()
            }
        },
        (Shape::Enum(words), Value::String(word)) => words.cases.find(&word).unwrap().wit.to_string().into(),
        (Shape::Option(inner), Value::Object(mut some)) if matches!(**inner, Shape::Option(_)) => {
            let value = some.remove("some").unwrap();
            json!({"some": respelt(dice, inner, value)})
        }
        (Shape::Option(inner), value) if !value.is_null() => respelt(dice, inner, value),
        (Shape::List(item), Value::Array(items)) => {
            items.into_iter().map(|value| respelt(dice, item, value)).collect()
        }
        (Shape::Tuple(shapes), Value::Array(items)) => {
            shapes.iter().zip(items).map(|(shape, value)| respelt(dice, shape, value)).collect()
        }
        (Shape::Record(record), Value::Object(members)) => {
            respelt_record(dice, record, Value::Object(members))
        }
        (Shape::Variant(variant), Value::Object(mut members)) => {
            let tag = members.remove("tag").unwrap();
            let case = variant.cases.find(tag.as_str().unwrap()).unwrap();
            let wit = &case.wit;
            match (&case.payload, members.remove("val")) {
                (None, _) if dice.one_in(2) => wit.to_string().into(),
                (None, _) => json!({"tag": wit}),
                (Some(_), None) => json!({"val": null, "tag": wit}),
                (Some(payload), Some(value)) => json!({"val": respelt(dice, payload, value), "tag": wit}),
            }
        }
        (Shape::Result(result), Value::Object(members)) => {
            let (side, value) = members.into_iter().next().unwrap();
            let shape = if side == "ok" { &result.ok } else { &result.err };
            let value = shape.as_ref().map_or(Value::Null, |shape| respelt(dice, shape, value));
            json!({side: value})
        }
        (_, value) => value,
    }
}

fn respelt_float(dice: &mut Dice, kind: FloatKind, number: Number) -> Value {
    let float = number.as_f64().unwrap();
    #[expect(clippy::cast_possible_truncation, reason = "an f32 in all of its digits")]
    let float = if kind == FloatKind::F32 && dice.one_in(2) { f64::from(float as f32) } else { float };
    let text = if dice.one_in(2) { format!("{float:e}") } else { format!("{float:?}") };
    serde_json::from_str(&text).unwrap()
}

fn respelt_record(dice: &mut Dice, record: &RecordShape, value: Value) -> Value {
    let Value::Object(mut members) = value else { return value };
    let mut written = serde_json::Map::new();
    for member in record.members().iter().rev() {
        let key = if dice.one_in(2) { member.wit_name() } else { member.name() };
        match members.remove(member.name()) {
            Some(value) => drop(written.insert(key.to_owned(), respelt(dice, member.shape(), value))),
            None if member.default().is_none() => drop(written.insert(key.to_owned(), Value::Null)),
            None => {}
        }
    }
    Value::Object(written)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_spelling_of_a_value_has_one_canonical_form(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let signature = signature(&mut dice);
        for _ in 0..20 {
            let value = Value::Object(object(&mut dice, &signature.arguments));
            let other = respelt_record(&mut dice, &signature.arguments, value.clone());
            let (one, other) = (canonical(&signature, value), canonical(&signature, other.clone()));
            prop_assert_eq!(one.to_string().len(), other.to_string().len());
            prop_assert_eq!(&one, &other);
        }
    }

    #[test]
    fn values_that_differ_to_the_guest_differ(one in any::<u64>(), other in any::<u64>(), kind in 0..3_u8) {
        let (ty, one, other) = match kind {
            0 => ("u64", json!(one), json!(other)),
            1 => ("f64", json!(f64::from_bits(one)), json!(f64::from_bits(other))),
            #[expect(clippy::cast_possible_truncation, reason = "any bits are as good")]
            _ => ("f32", json!(f32::from_bits(one as u32)), json!(f32::from_bits(other as u32))),
        };
        prop_assume!(!one.is_null() && !other.is_null());
        let signature = plain(&format!("f: func(a: {ty});"));
        let forms = [one, other].map(|value| canonical(&signature, json!({"a": value})));
        let values = forms.each_ref().map(|form| format!("{:?}", lower(&signature, form).unwrap()));
        prop_assert_eq!(forms[0] == forms[1], values[0] == values[1]);
    }
}

/// Written next to each other on purpose.
const ALIKE: [(&str, &str, &str); 7] = [
    ("f64", "0.0", "-0.0"),
    ("f64", "9007199254740992", "9007199254740994"),
    ("f64", "1e308", "1.0000000000000002e308"),
    ("f32", "0.1", "0.10000001"),
    ("u64", "9007199254740992", "9007199254740993"),
    ("u64", "18446744073709551615", "18446744073709551614"),
    ("s64", "-9223372036854775808", "-9223372036854775807"),
];

#[test]
fn numbers_that_are_nearly_the_same_stay_apart() {
    for (ty, one, other) in ALIKE {
        let signature = plain(&format!("f: func(a: {ty});"));
        let form =
            |digits: &str| accept(&signature, &format!("{{\"a\":{digits}}}"), RepairMode::Decode).unwrap().0;
        assert_ne!(form(one).to_string(), form(other).to_string(), "{ty}");
        assert_eq!(form(&form(one)["a"].to_string()), form(one), "{ty}");
    }
    let float = plain("f: func(a: f64);");
    let huge = [r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#, r#"{"a":9007199254740992.0}"#];
    let forms = huge.map(|text| accept(&float, text, RepairMode::Off).unwrap().0);
    assert!(forms.iter().all(|form| *form == forms[0]), "one double: {forms:?}");
    assert!(accept(&plain("f: func(a: f32);"), r#"{"a":3.5e38}"#, RepairMode::Off).is_err(), "not infinity");
}

#[test]
fn bounds_are_rounded_as_values_are() {
    let docs = json!({"params": {"a": {"minimum": 0.100_000_001_49, "maximum": 16_777_217}}});
    let signature = read("f: func(a: f32);", &docs, &json!({})).unwrap();
    for (sent, wanted) in [
        ("0.10000000149", Some(json!(0.1))),
        ("0.1", Some(json!(0.1))),
        ("0.0999", None),
        ("16777217", Some(json!(16_777_216))),
        ("16777219", None),
    ] {
        let got = accept(&signature, &format!("{{\"a\":{sent}}}"), RepairMode::Off);
        assert_eq!(got.ok().map(|(value, _)| value["a"].clone()), wanted, "{sent}");
    }
}

#[test]
fn what_an_operator_names_is_spelt_by_the_types() {
    let signature = plain(
        "enum color { red, dark-blue } flags perms { read, write-all, x } variant mode { off, level(f32), maybe(option<color>) }
        record item { size: f32, color: color, note: option<string> }
        f: func(n: u32, f: f32, big: u64, c: color, p: perms, m: mode, items: list<item>, fs: list<f32>, b: list<u8>,
            o: option<option<f32>>, r: result<f32, color>, s: string);",
    );
    for (name, written, spelt) in [
        ("n", json!(13.0), vec![json!(13)]),
        ("n", json!("13"), vec![json!(13)]),
        ("n", json!(13), vec![]),
        ("n", json!("x"), vec![]),
        ("f", json!(0.100_000_001_49), vec![json!(0.1)]),
        ("big", json!("9007199254740993"), vec![json!(9_007_199_254_740_993_u64)]),
        ("c", json!("dark-blue"), vec![json!("dark_blue")]),
        ("p", json!(["write-all", "read"]), vec![json!(["read", "write_all"])]),
        ("p", json!({"x": true, "read": false}), vec![json!(["x"])]),
        ("p", json!("write-all"), vec![json!("write_all")]),
        ("m", json!("off"), vec![json!({"tag": "off"})]),
        ("m", json!({"tag": "maybe", "val": null}), vec![json!({"tag": "maybe"})]),
        ("m.tag", json!("off"), vec![]),
        ("m.val", json!(1.0), vec![json!(1)]),
        (
            "items",
            json!({"size": 1.0, "color": "dark-blue", "note": null}),
            vec![json!({"size": 1, "color": "dark_blue"})],
        ),
        ("items.color", json!("dark-blue"), vec![json!("dark_blue")]),
        ("items.size", json!(2.0), vec![json!(2)]),
        ("fs", json!(2.0), vec![json!(2)]),
        ("fs", json!([2.0, 1]), vec![json!([2, 1])]),
        ("b", json!([104, 105]), vec![json!("aGk=")]),
        ("o.some", json!(2.0), vec![json!(2)]),
        ("r.err", json!("dark-blue"), vec![json!("dark_blue")]),
        ("s", json!("13"), vec![]),
        ("nothing", json!(13.0), vec![]),
        ("n.deeper", json!(13.0), vec![]),
        ("", json!(13.0), vec![]),
    ] {
        assert_eq!(spellings(&signature, name, &written), spelt, "{name} {written}");
    }
}
