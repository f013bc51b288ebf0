//! Of a text of JSON what is wanted, in no more memory than it may take: two bytes of a text can be a hundred of a value, and
//! a stranger writes the text.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Bytes of a value beside its text, of a name with its value in an object, and of an object beside these: it is made with
/// room for a few.
const VALUE: usize = size_of::<Value>();
const MEMBER: usize = size_of::<(String, Value)>() + 48;
const OBJECT: usize = 2 * MEMBER;

/// What is kept of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// That it is there.
    Presence,
    /// A text, a number or a boolean.
    Plain,
    /// All of it, as long as that takes at most so many bytes beside its texts; what is beyond is null. Lists grow by halves,
    /// so that they may take up to twice as much.
    Whole(usize),
    /// Of an object these members, if they are there, and of anything else nothing.
    Members(Table),
}

/// Members by their names.
type Table = &'static [(&'static str, Part)];

/// What was kept.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Kept {
    pub members: Map<String, Value>,
    /// Whether something that was wanted whole is not.
    pub is_cut: bool,
}

/// What `wanted` names of the object that `json` is; nothing if it is none.
///
/// # Errors
/// When it is not JSON, or what is wanted whole is nested too deep.
pub(super) fn kept(json: &[u8], wanted: Table) -> serde_json::Result<Option<Kept>> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let mut is_cut = false;
    let value = Members { wanted, is_cut: &mut is_cut }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(match value {
        Value::Object(members) => Some(Kept { members, is_cut }),
        _ => None,
    })
}

/// Reads an object's members.
struct Members<'r> {
    wanted: Table,
    is_cut: &'r mut bool,
}

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(known) = map.next_key_seed(Name(self.wanted))? {
            let Some((name, part)) = known else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = match *part {
                Part::Presence => map.next_value::<IgnoredAny>().map(|_| Value::Null)?,
                Part::Plain => {
                    map.next_value_seed(Tree(&mut Room { left: VALUE, is_full: false })).map(plain)?
                }
                Part::Whole(left) => {
                    let mut room = Room { left, is_full: false };
                    let value = map.next_value_seed(Tree(&mut room))?;
                    *self.is_cut |= room.is_full;
                    value
                }
                Part::Members(wanted) => {
                    map.next_value_seed(Members { wanted, is_cut: &mut *self.is_cut })?
                }
            };
            members.insert((*name).to_owned(), value);
        }
        Ok(Value::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Null)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

/// A value that has no others in it; of any other nothing.
fn plain(value: Value) -> Value {
    if value.is_array() || value.is_object() { Value::Null } else { value }
}

/// Finds a name among those that are wanted, without keeping it.
struct Name(Table);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Option<&'static (&'static str, Part)>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Option<&'static (&'static str, Part)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|(wanted, _)| *wanted == name))
    }
}

/// Bytes that values may still take.
struct Room {
    left: usize,
    is_full: bool,
}

impl Room {
    /// Whether there is room for `bytes`, which are taken then. What was once refused leaves room for nothing.
    fn takes(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes).filter(|_| !self.is_full) {
            Some(left) => self.left = left,
            None => self.is_full = true,
        }
        !self.is_full
    }
}

/// Reads a value with all that is in it, as long as there is room.
struct Tree<'r>(&'r mut Room);

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        if self.0.takes(VALUE) {
            reader.deserialize_any(self)
        } else {
            reader.deserialize_ignored_any(IgnoredAny).map(|_| Value::Null)
        }
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        while !self.0.is_full {
            match items.next_element_seed(Tree(&mut *self.0))? {
                Some(item) => kept.push(item),
                None => return Ok(kept.into()),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(kept.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        let mut has_room = self.0.takes(OBJECT);
        while has_room {
            let Some(name) = map.next_key::<String>()? else { return Ok(kept.into()) };
            has_room = self.0.takes(MEMBER);
            kept.insert(name, map.next_value_seed(Tree(&mut *self.0))?);
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(kept.into())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const ALL: Table = &[("all", Part::Whole(1 << 20))];

    fn of(json: &str, wanted: Table) -> Option<(Value, bool)> {
        kept(json.as_bytes(), wanted).unwrap().map(|kept| (kept.members.into(), kept.is_cut))
    }

    /// The values in a value, itself among them.
    fn count(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
            Value::Object(members) => 1 + members.values().map(count).sum::<usize>(),
            _ => 1,
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let plain = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        plain.prop_recursive(4, 32, 5, |inner| {
            let members = proptest::collection::vec((".{0,3}", inner.clone()), 0..5);
            prop_oneof![
                proptest::collection::vec(inner, 0..5).prop_map(Value::from),
                members.prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_has_room_is_kept_as_it_is(value in any_value()) {
            let text = json!({ "before": value, "all": value, "after": value }).to_string();
            let again: Value = serde_json::from_str(&value.to_string()).unwrap();
            prop_assert_eq!(of(&text, ALL), Some((json!({ "all": again }), false)));
        }
    }

    #[test]
    fn only_what_is_wanted_is_kept() {
        const WANTED: Table = &[
            ("id", Part::Plain),
            ("result", Part::Presence),
            ("error", Part::Members(&[("code", Part::Plain)])),
        ];
        for (text, found) in [
            (r#"{"x":[{"id":1}],"id":7,"result":[1,2]}"#, json!({ "id": 7, "result": null })),
            (r#"{"id":[1],"error":{"code":3,"data":[1]}}"#, json!({ "id": null, "error": { "code": 3 } })),
            (r#"{"id":{"a":1},"error":[1]}"#, json!({ "id": null, "error": null })),
            (r#"{"id":"a","error":"words"}"#, json!({ "id": "a", "error": null })),
            (r#"{"id":1,"\u0069d":2}"#, json!({ "id": 2 })),
            ("{}", json!({})),
        ] {
            assert_eq!(of(text, WANTED), Some((found, false)), "{text}");
        }
        for none in ["[1]", "1", "1.5", "-1", "true", "null", "\"text\""] {
            assert_eq!(of(none, WANTED), None, "{none}");
        }
        for broken in ["{", "{\"id\":}", "{} {}", "", "{\"x\":[}", "{\"id\":NaN}"] {
            assert!(kept(broken.as_bytes(), WANTED).is_err(), "{broken}");
        }
    }

    #[test]
    fn what_takes_too_much_memory_is_cut() {
        for item in ["1", "[]", "{}", "{\"\":0}", "[[1]]", "\"\"", "{\"a\":{\"b\":{\"c\":1}}}"] {
            let items = vec![item; 100_000].join(",");
            let (value, is_cut) = of(&format!("{{\"all\":[{items}]}}"), ALL).unwrap();
            assert!(is_cut && count(&value) <= (1 << 20) / VALUE + 8, "{item}: {}", count(&value));
        }
        let members: Vec<String> = (0..100_000).map(|at| format!("\"{at}\":1")).collect();
        let (value, is_cut) = of(&format!("{{\"all\":{{{}}}}}", members.join(",")), ALL).unwrap();
        assert!(is_cut && count(&value) <= (1 << 20) / MEMBER + 8, "{}", count(&value));
        // A text takes what it takes.
        let long = "x".repeat(4 << 20);
        assert_eq!(of(&json!({ "all": long }).to_string(), ALL), Some((json!({ "all": long }), false)));
    }
}
