//! Laws over random types and values: schema and decoder agree, and values survive the way there and back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

use super::super::canonical::canonical_member;
use super::super::names::Words;
use super::super::shape::*;
use super::super::{
    Bounds, LiftError, Lifted, RepairMode, ResultKind, Returns, Signature, canonicalise, lift_bounded,
    lift_result, lower, parse_arguments, validate,
};
use super::validators::Validators;
use crate::schema::pattern::Pattern;

/// Choices that follow from one seed.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.roll() % u64::try_from(bound).unwrap()).unwrap()
    }

    pub(super) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn int(&mut self, min: i128, max: i128) -> i128 {
        match self.below(4) {
            0 => min,
            1 => max,
            _ => min + i128::from(self.roll()) % (max - min + 1),
        }
    }

    fn text(&mut self) -> String {
        (0..self.below(6))
            .map(|_| *self.pick(&['a', 'z', '7', '"', '\\', '\n', '\u{1}', 'é', '😀', '\0']))
            .collect()
    }
}

const INTS: [IntKind; 8] = [
    IntKind::S8,
    IntKind::U8,
    IntKind::S16,
    IntKind::U16,
    IntKind::S32,
    IntKind::U32,
    IntKind::S64,
    IntKind::U64,
];

fn shape(dice: &mut Dice, depth: usize) -> Shape {
    match dice.below(if depth == 0 { 8 } else { 16 }) {
        0 => Shape::Bool,
        1 | 2 => {
            let mut int = IntShape::new(*dice.pick(&INTS));
            if dice.one_in(3) {
                (int.min, int.max) = (int.min.max(-3), int.max.min(100));
            }
            Shape::Int(int)
        }
        3 => {
            let mut float = FloatShape::new(*dice.pick(&[FloatKind::F32, FloatKind::F64]));
            if dice.one_in(3) {
                (float.min, float.max) = (Some(-1.5), Some(1e6));
            }
            Shape::Float(float)
        }
        4 => Shape::Char,
        5 => {
            let pattern = dice.one_in(3).then(|| Pattern::new("^[a-z0-9]*$").unwrap());
            Shape::String(StringShape { pattern })
        }
        6 => Shape::Bytes,
        7 => {
            let words = choice(dice, |_| None);
            if dice.one_in(2) { Shape::Enum(words) } else { Shape::Flags(words) }
        }
        8 => match shape(dice, depth - 1) {
            Shape::Int(IntShape { kind: IntKind::U8, .. }) => Shape::Bytes,
            item => Shape::List(Box::new(item)),
        },
        9 => Shape::Tuple((0..1 + dice.below(3)).map(|_| shape(dice, depth - 1)).collect()),
        10 | 11 => Shape::Record(Box::new(record(dice, depth - 1))),
        12 => Shape::Variant(choice(dice, |dice| (!dice.one_in(3)).then(|| shape(dice, depth - 1)))),
        13 | 14 => Shape::Option(Box::new(shape(dice, depth - 1))),
        _ => {
            let mut side = || (!dice.one_in(3)).then(|| shape(dice, depth - 1));
            Shape::Result(Box::new(ResultShape { ok: side(), err: side() }))
        }
    }
}

fn choice(dice: &mut Dice, mut payload: impl FnMut(&mut Dice) -> Option<Shape>) -> Box<ChoiceShape> {
    let count = if dice.one_in(10) { 40 } else { 1 + dice.below(4) };
    let cases = (0..count).map(|number| Case {
        wit: format!("case-{number}").into(),
        json: format!("case_{number}").into(),
        docs: None,
        payload: payload(dice),
        secret: false,
    });
    Box::new(ChoiceShape { docs: None, cases: Words::new(cases.collect()).unwrap() })
}

fn record(dice: &mut Dice, depth: usize) -> RecordShape {
    let members = (0..1 + dice.below(4)).map(|number| {
        let shape = shape(dice, depth);
        let default = dice.one_in(4).then(|| value(dice, &shape));
        let mut member = Member {
            wit: format!("field-{number}").into(),
            json: format!("field_{number}").into(),
            docs: None,
            shape,
            default: None,
            secret: false,
        };
        member.default = default.map(|default| canonical_member(&member, default, RepairMode::Off));
        member
    });
    RecordShape::new(None, members.collect()).unwrap()
}

pub(super) fn signature(dice: &mut Dice) -> Signature {
    let arguments = record(dice, 3);
    let ok = Some(Shape::Record(Box::new(arguments.clone())));
    let returns = Returns { ok, err: None, fallible: false, kind: ResultKind::Plain };
    Signature { arguments, flattened: true, returns }
}

/// A canonical value of the shape.
fn value(dice: &mut Dice, shape: &Shape) -> Value {
    match shape {
        Shape::Bool => dice.one_in(2).into(),
        Shape::Int(int) => Value::Number(number(dice.int(int.min, int.max))),
        Shape::Float(float) => {
            let values = match (float.min, float.kind) {
                (Some(_), _) => &[-1.5, 0.0, 1e6][..],
                (None, FloatKind::F32) => &[-0.0, 0.1, 3.4e38, -1e-40, 16_777_217.0],
                (None, FloatKind::F64) => &[-0.0, 0.1, 1e308, -5e-324, 0.300_000_000_000_000_04],
            };
            if dice.one_in(3) { 1.into() } else { Number::from_f64(*dice.pick(values)).unwrap().into() }
        }
        Shape::Char => dice.pick(&["a", "é", "😀", "\0", "\""]).to_string().into(),
        Shape::String(StringShape { pattern: Some(_) }) => dice.pick(&["", "a7"]).to_string().into(),
        Shape::String(_) => dice.text().into(),
        Shape::Bytes => STANDARD.encode(dice.text()).into(),
        Shape::List(item) => (0..dice.below(4)).map(|_| value(dice, item)).collect(),
        Shape::Tuple(shapes) => shapes.iter().map(|shape| value(dice, shape)).collect(),
        Shape::Record(record) => Value::Object(object(dice, record)),
        Shape::Variant(variant) => {
            let case = dice.pick(variant.cases.items());
            match &case.payload {
                None => json!({"tag": case.json}),
                Some(Shape::Option(_)) if dice.one_in(2) => json!({"tag": case.json}),
                Some(payload) => json!({"tag": case.json, "val": value(dice, payload)}),
            }
        }
        Shape::Enum(words) => dice.pick(words.cases.items()).json.to_string().into(),
        Shape::Flags(flags) => flags.cases.names().filter(|_| dice.one_in(2)).map(Value::from).collect(),
        Shape::Option(_) if dice.one_in(3) => Value::Null,
        Shape::Option(inner) => match &**inner {
            Shape::Option(_) => json!({"some": value(dice, inner)}),
            _ => value(dice, inner),
        },
        Shape::Result(result) => {
            let (key, shape) = if dice.one_in(2) { ("ok", &result.ok) } else { ("err", &result.err) };
            json!({key: shape.as_ref().map_or(Value::Null, |shape| value(dice, shape))})
        }
    }
}

pub(super) fn object(dice: &mut Dice, record: &RecordShape) -> Map<String, Value> {
    let mut object = Map::new();
    for member in record.members() {
        if member.is_required() || dice.one_in(2) {
            object.insert(member.json.to_string(), value(dice, &member.shape));
        }
    }
    object
}

/// Changes one value somewhere: to something else, or a key or an item more or less.
fn mutate(dice: &mut Dice, value: &mut Value) {
    match value {
        Value::Array(items) if !items.is_empty() && !dice.one_in(3) => {
            let at = dice.below(items.len());
            match dice.below(4) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => mutate(dice, &mut items[at]),
            }
        }
        Value::Object(members) if !members.is_empty() && !dice.one_in(4) => {
            let keys: Vec<String> = members.keys().cloned().collect();
            let key = dice.pick(&keys).clone();
            match dice.below(6) {
                0 => drop(members.shift_remove(&key)),
                1 => drop(members.insert("extra".to_owned(), json!(1))),
                _ => mutate(dice, members.get_mut(&key).unwrap()),
            }
        }
        other => {
            let values = [
                json!(null),
                json!(true),
                json!(-1),
                json!(0),
                json!(101),
                json!(256),
                json!(5.0),
                json!(5.5),
                json!(u64::MAX),
                json!(i64::MIN),
                json!(1e39),
                json!(""),
                json!("a"),
                json!("ab"),
                json!("A"),
                json!("YQ=="),
                json!("YR=="),
                json!("YWI"),
                json!("case_0"),
                json!("case-1"),
                json!("é\n"),
                json!([]),
                json!([1, "a"]),
                json!({}),
                json!({"some": 1}),
                json!({"ok": null}),
                json!({"tag": "case_0"}),
                json!({"case_0": true}),
            ];
            *other = dice.pick(&values).clone();
        }
    }
}

pub(super) fn canonical(signature: &Signature, value: Value) -> Value {
    canonicalise(signature, value, RepairMode::Off).0
}

/// An integer beyond 2^53 written as a float: the one number on which schema and decoder may differ.
fn has_wide_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|float| float.abs() > 9e15),
        Value::Array(items) => items.iter().any(has_wide_float),
        Value::Object(members) => members.values().any(has_wide_float),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn valid_values_are_valid_for_schema_and_decoder(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let signature = signature(&mut dice);
        let schema = Validators::new(&signature.input_schema());
        for _ in 0..20 {
            let value = Value::Object(object(&mut dice, &signature.arguments));
            prop_assert_eq!(schema.violations(&value), Vec::<String>::new(), "schema refuses {}", value);
            prop_assert_eq!(validate(&signature, &value), vec![]);
            prop_assert!(lower(&signature, &value).is_ok());
        }
    }

    #[test]
    fn schema_and_decoder_give_one_verdict_on_canonical_form(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let signature = signature(&mut dice);
        let schema = Validators::new(&signature.input_schema());
        for _ in 0..40 {
            let mut value = Value::Object(object(&mut dice, &signature.arguments));
            (0..1 + dice.below(3)).for_each(|_| mutate(&mut dice, &mut value));
            let value = canonical(&signature, value);
            if has_wide_float(&value) {
                continue;
            }
            let violations = validate(&signature, &value);
            prop_assert_eq!(schema.is_valid(&value), violations.is_empty(), "{} {:?} {}", value, violations, signature.input_schema());
            prop_assert!(lower(&signature, &value).is_ok() || !violations.is_empty(), "{}", value);
        }
    }

    #[test]
    fn values_survive_the_way_there_and_back(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let signature = signature(&mut dice);
        let output = Validators::new(&signature.output_schema().unwrap());
        for _ in 0..20 {
            let value = Value::Object(object(&mut dice, &signature.arguments));
            let there = lower(&signature, &value).unwrap();
            let Lifted::Ok(back) = lift_result(&signature, &there, u64::MAX).unwrap() else { unreachable!() };
            prop_assert!(output.is_valid(&back), "output schema refuses {}", back);
            let back = canonical(&signature, back);
            let again = lower(&signature, &back).unwrap();
            prop_assert_eq!(&again, &there);
            prop_assert_eq!(back, canonical(&signature, value), "one form for each value of the guest");
        }
    }

    #[test]
    fn canonical_form_is_final_and_text_means_the_value(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let signature = signature(&mut dice);
        for _ in 0..20 {
            let mut value = Value::Object(object(&mut dice, &signature.arguments));
            let text = value.to_string();
            let (parsed, repair) = parse_arguments(&text, Bounds::default(), RepairMode::Off).unwrap();
            prop_assert_eq!((&parsed, repair), (&value, None));
            let (filled, repairs) = canonicalise(&signature, value.clone(), RepairMode::Decode);
            prop_assert_eq!(repairs, vec![], "{}", value);
            prop_assert_eq!(lower(&signature, &filled), lower(&signature, &value));
            mutate(&mut dice, &mut value);
            for mode in [RepairMode::Off, RepairMode::Decode, RepairMode::Json] {
                let once = canonicalise(&signature, value.clone(), mode).0;
                let (twice, repairs) = canonicalise(&signature, once.clone(), mode);
                prop_assert_eq!(&twice, &once);
                prop_assert_eq!(repairs, vec![]);
            }
        }
    }

    #[test]
    fn a_lifted_result_is_never_longer_than_its_bound(seed in any::<u64>(), max in 0_u64..400) {
        let mut dice = Dice(seed);
        let signature = signature(&mut dice);
        let value = Value::Object(object(&mut dice, &signature.arguments));
        let there = lower(&signature, &value).unwrap();
        match lift_bounded(signature.returns().ok().unwrap(), &there[0], max) {
            Ok(lifted) => prop_assert!(u64::try_from(lifted.to_string().len()).unwrap() <= max),
            Err(LiftError::TooLarge { at_least }) => prop_assert!(at_least > max),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,60}", mode in 0_usize..3) {
        let mode = [RepairMode::Off, RepairMode::Decode, RepairMode::Json][mode];
        let _ = parse_arguments(&text, Bounds::default(), mode);
        let text = format!("{{\"a\":{text}}}");
        let _ = parse_arguments(&text, Bounds::default(), mode);
    }

    #[test]
    fn every_f32_keeps_its_value_and_its_shortest_digits(bits in any::<u32>()) {
        let float = f32::from_bits(bits);
        prop_assume!(float.is_finite());
        let shape = Shape::Float(FloatShape::new(FloatKind::F32));
        let lifted = lift_bounded(&shape, &wasmtime::component::Val::Float32(float), 100).unwrap();
        let number = lifted.as_f64().unwrap();
        #[expect(clippy::cast_possible_truncation, reason = "the rounding is what is tested")]
        let back = number as f32;
        prop_assert_eq!(back.to_bits(), float.to_bits());
        let text = lifted.to_string();
        let digits: String = text.chars().take_while(|letter| *letter != 'e').filter(char::is_ascii_digit).collect();
        prop_assert!(digits.trim_matches('0').len() <= 9, "{}", lifted);
    }
}
