//! The lenient forms that models write, turned into the one canonical value.
//!
//! What follows from here on (hooks, rules, approvals, audit, guest) sees the same value: defaults are filled
//! in for absent properties too. Nothing is guessed: what is not one of the documented forms stays as it is,
//! for validation to report.
//!
//! What the schema admits in several spellings has one as well, and without a note, since none of them is lenient: the
//! digits of a float are those of the guest's own, flags come in declared order, and an option that is none is absent
//! (null only where a default says what absent means).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::float;
use super::mend::mended;
use super::parse::{arguments_object, strict};
use super::path::Path;
use super::repairs::Repairs;
use super::shape::{
    Case, ChoiceShape, IntKind, Member, RecordShape, ResultShape, Shape, integer, number, whole,
};
use super::signature::Signature;
use super::validate::{shape_fits, type_of};
use crate::call::Repair;

/// How deep a string that is decoded may nest.
const MAX_DECODED_DEPTH: usize = 100;

/// How much is made of what a model wrote (`repair` in the configuration).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RepairMode {
    /// Only the alternative forms of the types.
    Off,
    /// Also strings that decode, once, to exactly the declared non-string type.
    #[default]
    Decode,
    /// Also JSON text with trailing commas, single quotes or a code fence.
    Json,
}

/// Turns `arguments` into canonical form, with a note for each lenient form that was there.
///
/// `null` and blank text stand for `{}`. Absent properties that have a default get it, without a note. A value
/// that is canonical already comes back untouched and without an allocation. Notes beyond fifty are counted in
/// a last one.
pub fn canonicalise(signature: &Signature, arguments: Value, mode: RepairMode) -> (Value, Vec<Repair>) {
    let mut canonical = Canonical::new(mode);
    let (mut arguments, repair) = arguments_object(arguments, mode);
    if let Value::Object(object) = &mut arguments {
        canonical.record(&signature.arguments, object, &Path::ROOT);
    }
    let mut repairs = canonical.repairs.into_vec();
    repairs.splice(0..0, repair);
    (arguments, repairs)
}

/// The canonical form of one member's value, without the notes.
pub(super) fn canonical_member(member: &Member, mut value: Value, mode: RepairMode) -> Value {
    Canonical::new(mode).value(&member.shape, &mut value, &Path::ROOT);
    value
}

pub(super) struct Canonical {
    mode: RepairMode,
    repairs: Repairs,
}

impl Canonical {
    pub(super) fn new(mode: RepairMode) -> Self {
        Self { mode, repairs: Repairs::default() }
    }

    fn note(&mut self, path: &Path<'_>, from: &str, to: &str) {
        self.repairs.note(path, from, to);
    }

    fn replace(&mut self, value: &mut Value, new: Value, path: &Path<'_>) {
        self.note(path, type_of(value), type_of(&new));
        *value = new;
    }

    pub(super) fn value(&mut self, shape: &Shape, value: &mut Value, path: &Path<'_>) {
        match (shape, &mut *value) {
            (Shape::Option(_), Value::Null) => {}
            (Shape::Option(inner), Value::Object(object)) if matches!(**inner, Shape::Option(_)) => {
                if let Some(some) = object.get_mut("some") {
                    self.value(inner, some, &path.key("some"));
                }
            }
            (Shape::Option(inner), _) if !matches!(**inner, Shape::Option(_)) => {
                self.value(inner, value, path)
            }
            (Shape::List(item), Value::Array(items)) => {
                for (index, value) in items.iter_mut().enumerate() {
                    self.value(item, value, &path.index(index));
                }
            }
            (Shape::Tuple(shapes), Value::Array(items)) => {
                for (index, (shape, value)) in shapes.iter().zip(items).enumerate() {
                    self.value(shape, value, &path.index(index));
                }
            }
            (Shape::Record(record), Value::Object(object)) => self.record(record, object, path),
            (Shape::Variant(variant), Value::Object(object)) => self.variant(variant, object, path),
            (Shape::Result(result), Value::Object(object)) => self.result(result, object, path),
            (Shape::Flags(flags), Value::Array(items)) => {
                for (index, word) in items.iter_mut().enumerate() {
                    self.word(flags, word, &path.index(index));
                }
                in_declared_order(flags, items);
            }
            (Shape::Float(float), Value::Number(number)) => {
                if let Some(one) = float::one_form(float.kind, number) {
                    *value = one;
                }
            }
            (Shape::Enum(words), _) => self.word(words, value, path),
            _ => {
                if let Some(new) = alternative(shape, value) {
                    self.replace(value, new, path);
                } else if let Value::String(text) = value
                    && let Some(new) = decoded(shape, text, self.mode)
                {
                    self.replace(value, new, path);
                }
            }
        }
    }

    fn record(&mut self, record: &RecordShape, object: &mut Map<String, Value>, path: &Path<'_>) {
        let (mut is_misspelt, mut has_none) = (false, false);
        for (key, value) in object.iter_mut() {
            let Some(member) = record.members.find(key) else { continue };
            is_misspelt |= **key != *member.json;
            self.member(member, value, &path.key(&member.json));
            has_none |= value.is_null() && member.is_absent_for_null();
        }
        if is_misspelt {
            self.rename(record, object, path);
        }
        if has_none {
            without_none(record, object);
        }
        if record.has_defaults {
            for member in record.members() {
                if let Some(default) = &member.default
                    && !object.contains_key(&*member.json)
                {
                    object.insert(member.json.to_string(), default.clone());
                }
            }
        }
    }

    /// `null` for something that is no option but has a default is how strict schemas make a model say "absent".
    fn member(&mut self, member: &Member, value: &mut Value, path: &Path<'_>) {
        match &member.default {
            Some(default) if value.is_null() && !matches!(member.shape, Shape::Option(_)) => {
                self.note(path, "null", "default");
                *value = default.clone();
            }
            _ => self.value(&member.shape, value, path),
        }
    }

    /// Spells keys as the schema does, in place and order. A key whose canonical spelling is there too stays,
    /// to be refused as unknown.
    fn rename(&mut self, record: &RecordShape, object: &mut Map<String, Value>, path: &Path<'_>) {
        let old = std::mem::take(object);
        let canonical = |key: &String| {
            let json = &*record.members.find(key)?.json;
            (json != key && !old.contains_key(json)).then(|| json.to_owned())
        };
        let names: Vec<Option<String>> = old.keys().map(canonical).collect();
        for ((key, value), name) in old.into_iter().zip(names) {
            if let Some(name) = &name {
                self.note(&path.key(name), &key, name);
            }
            object.insert(name.unwrap_or(key), value);
        }
    }

    fn variant(&mut self, variant: &ChoiceShape, object: &mut Map<String, Value>, path: &Path<'_>) {
        let Some(tag) = object.get_mut("tag") else { return };
        self.word(variant, tag, &path.key("tag"));
        let case = tag.as_str().and_then(|tag| variant.cases.find(tag));
        if let Some(Case { payload: Some(payload), .. }) = case
            && let Some(value) = object.get_mut("val")
        {
            self.value(payload, value, &path.key("val"));
            if value.is_null() && matches!(payload, Shape::Option(_)) {
                object.shift_remove("val");
            }
        }
    }

    fn result(&mut self, result: &ResultShape, object: &mut Map<String, Value>, path: &Path<'_>) {
        for (side, shape) in [("ok", &result.ok), ("err", &result.err)] {
            if let (Some(shape), Some(value)) = (shape, object.get_mut(side)) {
                self.value(shape, value, &path.key(side));
            }
        }
    }

    /// WIT's spelling of a case becomes the schema's.
    pub(super) fn word(&mut self, choice: &ChoiceShape, value: &mut Value, path: &Path<'_>) {
        let Value::String(word) = value else { return };
        if let Some(case) = choice.cases.find(word)
            && **word != *case.json
        {
            self.note(path, &case.wit, &case.json);
            *word = case.json.to_string();
        }
    }
}

/// Takes out the options that are none. Where a key of another spelling is left, since its canonical one is there too, all
/// of them stay for validation to refuse: neither spelling wins by saying nothing.
fn without_none(record: &RecordShape, object: &mut Map<String, Value>) {
    let is_misspelt = |key: &String| record.members.find(key).is_some_and(|member| *member.json != **key);
    if object.keys().any(is_misspelt) {
        return;
    }
    object.retain(|key, value| {
        !value.is_null() || record.members.by_json(key).is_none_or(|member| !member.is_absent_for_null())
    });
}

/// Flags have no order of their own. Where a word is none of them, it stays where validation is to report it.
fn in_declared_order(flags: &ChoiceShape, items: &mut [Value]) {
    let position = |item: &Value| flags.cases.position(item.as_str()?);
    if items.iter().map(position).is_sorted() || items.iter().any(|item| position(item).is_none()) {
        return;
    }
    items.sort_by_cached_key(position);
}

/// The documented alternative forms that change the JSON type.
fn alternative(shape: &Shape, value: &Value) -> Option<Value> {
    match (shape, value) {
        (Shape::Int(_), Value::Number(float)) => Some(whole(float)?.into()),
        (Shape::Int(int), Value::String(text)) if int.kind.is_wide() => decimal(int.kind, text),
        (Shape::Bytes, Value::Array(items)) => base64_of(items),
        (Shape::Variant(variant), Value::String(word)) => {
            let case = variant.cases.find(word).filter(|case| case.payload.is_none())?;
            let mut object = Map::new();
            object.insert("tag".to_owned(), Value::String(case.json.to_string()));
            Some(Value::Object(object))
        }
        (Shape::Flags(flags), Value::Object(object)) => set_flags(flags, object),
        _ => None,
    }
}

/// A decimal string of an integer of 64 bits, written as JSON would write it: no sign but `-`, no leading zero.
fn decimal(kind: IntKind, text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = !digits.is_empty()
        && digits.len() <= 20
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == text || digits != "0")
        && (digits == "0" || !digits.starts_with('0'));
    let (min, max) = kind.bounds();
    let integer = text.parse::<i128>().ok().filter(|integer| is_plain && (min..=max).contains(integer))?;
    Some(number(integer).into())
}

fn base64_of(items: &[Value]) -> Option<Value> {
    let byte = |item: &Value| match item {
        Value::Number(number) => u8::try_from(integer(number)?).ok(),
        _ => None,
    };
    let bytes: Vec<u8> = items.iter().map(byte).collect::<Option<_>>()?;
    Some(Value::String(STANDARD.encode(bytes)))
}

/// The flags that are `true` of an object of booleans, in declared order.
fn set_flags(flags: &ChoiceShape, object: &Map<String, Value>) -> Option<Value> {
    let mut is_set = vec![None; flags.cases.items().len()];
    for (key, value) in object {
        let flag = is_set.get_mut(flags.cases.position(key)?)?;
        if flag.replace(value.as_bool()?).is_some() {
            return None;
        }
    }
    let words = flags.cases.names().zip(is_set).filter(|(_, is_set)| *is_set == Some(true));
    Some(words.map(|(word, _)| Value::String(word.to_owned())).collect())
}

/// The value that `text` decodes to, if the declared type is no string and the value is exactly of that type.
/// What was decoded is not decoded again.
fn decoded(shape: &Shape, text: &str, mode: RepairMode) -> Option<Value> {
    if mode == RepairMode::Off || shape.is_text() {
        return None;
    }
    let mut value = decoded_text(text, mode).filter(|value| !value.is_null())?;
    Canonical::new(RepairMode::Off).value(shape, &mut value, &Path::ROOT);
    shape_fits(shape, &value).then_some(value)
}

/// The value of JSON that `text` holds, unless that is text.
pub(crate) fn decoded_text(text: &str, mode: RepairMode) -> Option<Value> {
    let value = strict(text, MAX_DECODED_DEPTH).ok().or_else(|| mended(text, MAX_DECODED_DEPTH, mode))?;
    (!value.is_string()).then_some(value)
}
