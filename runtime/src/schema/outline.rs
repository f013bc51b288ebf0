//! What a model or a client wrote around the arguments of several calls, read so that what is wrong with one of them spoils
//! no other.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::names::{is_harmless, printable};
use super::parse::{DEEPEST, strict};

/// Levels above the arguments of a call that are looked into; no message has as many.
const LEVELS: usize = 12;

/// Members in which messages list what was called.
const LISTS: [&str; 5] = ["calls", "content", "output", "parts", "tool_calls"];

/// Members in which calls have what is called.
const WRAPPINGS: [&str; 4] = ["function", "functionCall", "function_call", "params"];

/// A document of JSON that was read part by part.
#[derive(Debug, PartialEq)]
pub(crate) struct Outline {
    pub value: Value,
    /// Whether something outside of its calls could not be read, in whose place is null.
    pub is_patchy: bool,
}

/// Reads a document strictly, by the rules of arguments. Where these refuse a part of it (a key that is there twice, half a
/// surrogate, too many levels, a number that is none), the rest is read all the same:
///
/// - Arguments, the members of the name `arguments`, stay as their text. Whoever makes the call reads that text by the
///   same rules, and refuses it.
/// - A call with a key that is there twice, in whatever part of it but the arguments, has its whole text for arguments, so
///   that it is refused too; of the values the last stands, as for most other readers, so that the refusal has the id that
///   these see.
/// - Anything else is null, as if it were not there.
///
/// # Errors
/// When it is no document of JSON, or a key is there twice outside of the calls.
pub(crate) fn outline(text: &str, arguments: &str) -> Result<Outline, String> {
    if let Ok(value) = strict(text, DEEPEST) {
        return Ok(Outline { value, is_patchy: false });
    }
    // In what is no JSON at all, nothing tells where a part ends. This reads by letters alone, without recursion.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
    let mut reader = Reader { arguments, is_patchy: false, twice: None, is_spoilt: false };
    let whole = Place { levels: LEVELS, is_list: true, is_call: false, is_item: false };
    let value = reader.part(text.trim_start(), whole);
    match reader.twice {
        Some(key) => {
            let key = if is_harmless(&key) { format!(": `{}`", printable(&key, 8)) } else { String::new() };
            Err(format!("a key is there twice, or none that can be read, outside of its calls{key}"))
        }
        None => Ok(Outline { value, is_patchy: reader.is_patchy }),
    }
}

struct Reader<'a> {
    arguments: &'a str,
    is_patchy: bool,
    /// A key that is there twice where no call could be refused for it.
    twice: Option<String>,
    /// Whether a key is there twice in the item that is being read.
    is_spoilt: bool,
}

/// Where a part is.
#[derive(Clone, Copy)]
struct Place {
    /// Levels that are left.
    levels: usize,
    /// Whether the items of a list here are calls, among others.
    is_list: bool,
    /// Whether it is a call, or inside of one.
    is_call: bool,
    /// Whether it is one of the list itself.
    is_item: bool,
}

impl Reader<'_> {
    /// What begins with `text`, without spaces before it.
    fn part(&mut self, text: &str, place: Place) -> Value {
        if let Ok(value) = strict(text, DEEPEST) {
            return value;
        }
        let levels = place.levels.checked_sub(1);
        match (text.as_bytes().first(), levels) {
            (Some(b'{'), Some(levels)) => self.object(text, Place { levels, ..place }),
            (Some(b'['), Some(levels)) => {
                let is_item = place.is_list && !place.is_call;
                let is_call = place.is_call || is_item;
                let place = Place { levels, is_list: false, is_call, is_item };
                parts(text).into_iter().map(|item| self.part(item, place)).collect()
            }
            _ => {
                self.is_patchy |= !place.is_call;
                Value::Null
            }
        }
    }

    fn object(&mut self, text: &str, place: Place) -> Value {
        let mut object = Map::new();
        let mut twice = None;
        self.is_spoilt &= !place.is_item;
        for pair in parts(text).chunks_exact(2) {
            let [written, value] = pair else { continue };
            let Ok(key) = serde_json::from_str::<String>(written) else {
                // Half a surrogate is in it.
                twice = Some((*written).to_owned());
                continue;
            };
            if object.contains_key(&key) {
                twice = Some(key.clone());
            }
            let value = if key == self.arguments {
                strict(value, DEEPEST).unwrap_or_else(|_| Value::String((*value).to_owned()))
            } else {
                let is_list = LISTS.contains(&key.as_str());
                self.part(value, Place { is_list, is_item: false, ..place })
            };
            object.insert(key, value);
        }
        let mut object = Value::Object(object);
        match twice {
            Some(_) if place.is_call => self.is_spoilt = true,
            Some(key) => self.twice = Some(key),
            None => {}
        }
        if place.is_item && self.is_spoilt {
            self.refuse(&mut object, text);
        }
        object
    }

    /// Gives the call that `item` is, and the one that is in it where a format has it, a text for arguments that cannot be
    /// read. Both, since whether the item is the call or has it depends on the format. Nowhere else, or a call of many
    /// members would be copied as often.
    fn refuse(&self, item: &mut Value, text: &str) {
        let Value::Object(object) = item else { return };
        let is_call = |object: &Map<String, Value>| object.contains_key("name");
        for wrapping in WRAPPINGS {
            if let Some(Value::Object(call)) = object.get_mut(wrapping)
                && is_call(call)
            {
                call.insert(self.arguments.to_owned(), text.into());
            }
        }
        if is_call(object) {
            object.insert(self.arguments.to_owned(), text.into());
        }
    }
}

/// The member of that name of an object whose other members may be such that nothing reads them; none if it is there twice,
/// or not at all.
pub(crate) fn only_member(text: &str, name: &str) -> Option<Value> {
    let text = text.trim_start();
    serde_json::from_str::<IgnoredAny>(text).ok().filter(|_| text.starts_with('{'))?;
    let parts = parts(text);
    let is_named = |written: &str| serde_json::from_str::<String>(written).is_ok_and(|key| key == name);
    let mut found = parts.chunks_exact(2).filter(|pair| pair.first().is_some_and(|key| is_named(key)));
    let value = found.next()?.get(1)?;
    if found.next().is_some() { None } else { strict(value, DEEPEST).ok() }
}

/// The texts of the values in a list, or of an object's keys and values in turn, of a document that is valid.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.get(1..).unwrap_or_default();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n', ',', ':']);
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        let Some(Ok(_)) = values.next() else { return parts };
        let Some((part, after)) = rest.split_at_checked(values.byte_offset()) else { return parts };
        parts.push(part);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Value {
        outline(text, "input").unwrap().value
    }

    #[test]
    fn a_refused_call_is_copied_once_however_many_members_it_has() {
        let members: Vec<String> = (0..2_000).map(|at| format!(r#""k{at}": {{"name": 1}}"#)).collect();
        for call in [
            format!(r#"{{"id": 1, "id": 1, "name": "t", {}}}"#, members.join(",")),
            format!(r#"{{"id": 1, "id": 1, "function": {{"name": "t"}}, {}}}"#, members.join(",")),
        ] {
            let value = read(&format!(r#"{{"calls": [{call}]}}"#));
            let copied = value.to_string().len();
            assert!(value.to_string().contains(r#""input":"{"#), "it is refused");
            assert!(copied < 4 * call.len(), "{copied} of {}", call.len());
        }
    }

    #[test]
    fn arguments_that_cannot_be_read_stay_text_and_the_rest_is_read() {
        let deep = format!("{}{}", "[".repeat(125), "]".repeat(125));
        for broken in [
            r#"{"a": 1, "a": 2}"#,
            r#"{"a": {"b": 1, "b": 1}}"#,
            r#"{"a": "\ud800"}"#,
            r#""\ud800""#,
            r#"{"\udfff": 1}"#,
            r#"{"a": 1e999}"#,
            &format!(r#"{{"a": {deep}}}"#),
        ] {
            let text = format!(
                r#" {{"content": [
                    {{"type": "text", "text": "\ud800"}},
                    {{"type": "tool_use", "id": "one", "name": "t", "input": {{"a": [1, "]}}\""]}} }} ,
                    {{"type": "tool_use", "id": "two", "name": "t", "input" : {broken} }},
                    {{"type": "tool_use", "id": "three", "name": "t", "input": {{}}}}
                ], "stop": true}} "#
            );
            let call = |id, input| json!({ "type": "tool_use", "id": id, "name": "t", "input": input });
            let expected = json!({ "content": [
                { "type": "text", "text": null },
                call("one", json!({ "a": [1, "]}\""] })),
                call("two", json!(broken)),
                call("three", json!({})),
            ], "stop": true });
            assert_eq!(outline(&text, "input").unwrap(), Outline { value: expected, is_patchy: false });
        }
    }

    #[test]
    fn a_call_with_a_key_twice_has_its_text_for_arguments() {
        let twice = r#"{"id": "a", "name": "t", "input": {}, "id": "b"}"#;
        assert_eq!(read(&format!("[{twice}]")), json!([{ "id": "b", "name": "t", "input": twice }]));
        let half = r#"{"id": "a", "name": "t", "\ud800": 1}"#;
        assert_eq!(read(&format!("[{half}]")), json!([{ "id": "a", "name": "t", "input": half }]));
        let around = r#"{"id": 1, "id": 1, "function": {"name": "t", "input": {"a": 1}}}"#;
        assert_eq!(
            read(&format!(r#"{{"choices": [{{"message": {{"tool_calls": [{around}]}}}}]}}"#)),
            json!({ "choices": [{ "message": { "tool_calls": [
                { "id": 1, "function": { "name": "t", "input": around } },
            ] } }] })
        );
    }

    #[test]
    fn a_key_twice_inside_of_a_call_refuses_the_call_and_no_other() {
        let other = json!({ "id": "z", "name": "t", "input": {} });
        for (call, expected) in [
            (
                r#"{"id": "a", "name": "t", "input": {}, "meta": {"u": 1, "u": 2}}"#,
                json!({ "id": "a", "name": "t", "input": null, "meta": { "u": 2 } }),
            ),
            (
                r#"{"id": "a", "name": "t", "meta": {"name": "x", "u": [{"u": 1, "u": 2}]}}"#,
                json!({ "id": "a", "name": "t", "input": null, "meta": { "name": "x", "u": [{ "u": 2 }] } }),
            ),
            (
                r#"{"name": "x", "functionCall": {"name": "t", "input": 1}, "functionCall": {"name": "t", "input": 2}}"#,
                json!({ "name": "x", "input": null, "functionCall": { "name": "t", "input": null } }),
            ),
            (
                r#"{"function_call": {"name": "t", "input": 1}, "function_call": {"name": "t", "input": 2}}"#,
                json!({ "function_call": { "name": "t", "input": null } }),
            ),
            (
                r#"{"params": {"name": "t", "name": "u", "input": {}}}"#,
                json!({ "params": { "name": "u", "input": null } }),
            ),
            (
                r#"{"params": {"name": "t", "_meta": {"\ud800": 1}}}"#,
                json!({ "params": { "name": "t", "_meta": {}, "input": null } }),
            ),
            (r#"[{"a": 1, "a": 2}]"#, json!([{ "a": 2 }])),
            (r#"{"type": "text", "text": "a", "text": "b"}"#, json!({ "type": "text", "text": "b" })),
        ] {
            let value = read(&format!(r#"{{"calls": [{other}, {call}, {other}]}}"#));
            let mut got = value["calls"][1].clone();
            let hide = |part: Option<&mut Value>| {
                if let Some(input) = part.and_then(|part| part.get_mut("input")) {
                    assert_eq!(*input, json!(call), "it is the text of the call");
                    *input = Value::Null;
                }
            };
            ["", "/function", "/functionCall", "/function_call", "/params"]
                .iter()
                .for_each(|place| hide(got.pointer_mut(place)));
            assert_eq!(got, expected, "{call}");
            assert_eq!((&value["calls"][0], &value["calls"][2]), (&other, &other), "{call}");
        }
    }

    #[test]
    fn what_is_wrong_outside_of_the_calls_is_told() {
        for text in [
            r#"{"content": [], "content": [{"name": "t"}]}"#,
            r#"{"choices": [{"message": {}, "message": {}}]}"#,
            r#"{"content": [1], "a": "\ud800", "content": [2]}"#,
            "{",
            "[1, 2",
            "[] []",
            "{\"a\": nul}",
        ] {
            assert!(outline(text, "input").is_err(), "{text}");
        }
        let patchy = outline(r#"{"session": "\ud800", "calls": [{"id": "\ud800"}]}"#, "input").unwrap();
        let expected = json!({ "session": null, "calls": [{ "id": null }] });
        assert_eq!(patchy, Outline { value: expected, is_patchy: true });
        let in_call = outline(r#"{"calls": [{"id": "\ud800"}]}"#, "input").unwrap();
        assert!(!in_call.is_patchy);
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let value = read(&format!(r#"{{"content": [{deep}, {{"name": "t", "input": {deep}}}]}}"#));
        assert_eq!(value.pointer("/content/1/input"), Some(&json!(deep)));
    }

    /// Any value, written with spaces of any kind.
    fn written() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("-1.5e3".to_owned()),
            Just("18446744073709551615".to_owned()),
            "[ -~é]{0,8}".prop_map(|text| Value::from(text).to_string()),
            Just(r#""\u00e9\\\"{[]},:""#.to_owned()),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                (prop::collection::vec(inner.clone(), 0..4), "[ \n]{0,2}").prop_map(
                    |(items, space)| format!("[{space}{}{space}]", items.join(&format!(" ,{space}")))
                ),
                (prop::collection::btree_map("[a-e\"]{1,2}", inner, 0..4), "[ \t]{0,2}").prop_map(
                    |(members, space)| {
                        let member = |(key, value)| format!("{}{space}:{space}{value}", Value::String(key));
                        let members: Vec<String> = members.into_iter().map(member).collect();
                        format!("{{{space}{}{space}}}", members.join(","))
                    }
                ),
            ]
        })
    }

    proptest! {
        /// A broken call beside others changes nothing of what is read of these.
        #[test]
        fn parts_are_read_as_they_are_alone(items in prop::collection::vec(written(), 0..5)) {
            let broken = r#"{"name": "t", "input": {"a": 1, "a": 1}}"#;
            let whole = format!("[{}]", items.iter().map(String::as_str).chain([broken]).collect::<Vec<_>>().join(", "));
            let mut alone: Vec<Value> = items.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
            alone.push(json!({ "name": "t", "input": r#"{"a": 1, "a": 1}"# }));
            prop_assert_eq!(read(&whole), Value::Array(alone));
        }

        #[test]
        fn any_text_is_read_or_refused(text in r#"[\[\]{}:,"\\a0 ]{0,40}"#) {
            let valid = serde_json::from_str::<IgnoredAny>(&text).is_ok();
            prop_assert!(valid || outline(&text, "input").is_err());
        }
    }
}
