//! JSON cut to bounds: still JSON, still what its schema announces. Only free strings and lists are shortened.

use std::io;

use serde::Serialize;
use serde_json::Value;

use super::{Bounds, Keep, truncate_text};
use crate::call::Shortened;

/// What may be shortened in a value, as its type says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shrink {
    /// Nothing: numbers, enums, strings with a pattern.
    Fixed,
    /// A string that may hold any text.
    Text,
    /// Base64 of bytes of any number.
    Base64,
    /// A list of any length; what may be shortened in its items.
    List(Box<Shrink>),
    /// A list of fixed length: its items by position.
    Tuple(Vec<Shrink>),
    /// An object: its members by key. Members that are not named are fixed.
    Object(Vec<(String, Shrink)>),
    /// An object `{tag, val}`: what may be shortened in `val`, by the tag.
    Tagged(Vec<(String, Shrink)>),
    /// A value without a schema: all its strings and lists, none of its keys.
    Any,
}

static FIXED: Shrink = Shrink::Fixed;
static ANY: Shrink = Shrink::Any;

/// The bytes that an item of a list is granted before the list is cut behind it: a list of few large items keeps
/// them all shortened, one of many small ones its first.
const ITEM_BYTES: usize = 1024;

/// Cuts `value` to `max_bytes` of compact JSON and says what was shortened, or returns `None` if it cannot be made to
/// fit.
///
/// The room goes evenly to the members of an object, so that the largest are shortened first. Strings keep head and
/// tail, lists their first items. The bound on lines does not count: newlines are escaped in JSON.
pub fn truncate_json(value: &Value, shrink: &Shrink, bounds: &Bounds) -> Option<(Value, Vec<Shortened>)> {
    let mut fitting = Fitting { bounds, path: String::new(), shortened: Vec::new() };
    if floor(value, shrink) > bounds.max_bytes {
        return None;
    }
    let fitted = fitting.fit(value, shrink, bounds.max_bytes);
    Some((fitted, fitting.shortened))
}

/// The bytes of a value as compact JSON.
fn size(value: &(impl Serialize + ?Sized)) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting does not fail, and neither do values whose keys are strings.
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

/// What the children of an array or object may shrink to, by index.
fn child_shrinks<'s>(value: &Value, shrink: &'s Shrink) -> Vec<&'s Shrink> {
    let named = |members: &'s [(String, Shrink)], key: &str| {
        members.iter().find(|(name, _)| name == key).map_or(&FIXED, |(_, shrink)| shrink)
    };
    match (value, shrink) {
        (Value::Object(object), Shrink::Object(members)) => {
            object.keys().map(|key| named(members, key)).collect()
        }
        (Value::Object(object), Shrink::Tagged(cases)) => {
            let tag = object.get("tag").and_then(Value::as_str).unwrap_or_default();
            object.keys().map(|key| if key == "val" { named(cases, tag) } else { &FIXED }).collect()
        }
        (Value::Object(object), Shrink::Any) => vec![&ANY; object.len()],
        (Value::Array(items), Shrink::Tuple(shrinks)) => {
            (0..items.len()).map(|index| shrinks.get(index).unwrap_or(&FIXED)).collect()
        }
        (Value::Array(items), Shrink::List(item)) => vec![item; items.len()],
        (Value::Array(items), Shrink::Any) => vec![&ANY; items.len()],
        _ => Vec::new(),
    }
}

/// The bytes of punctuation and keys around the children of an object or array.
fn frame(value: &Value) -> usize {
    match value {
        Value::Object(object) => {
            let keys: usize = object.keys().map(|key| size(key) + 1).sum();
            2 + keys + object.len().saturating_sub(1)
        }
        Value::Array(items) => 2 + items.len().saturating_sub(1),
        _ => 0,
    }
}

/// The fewest bytes to which a value can be shortened.
fn floor(value: &Value, shrink: &Shrink) -> usize {
    match (value, shrink) {
        (Value::String(_), Shrink::Text | Shrink::Base64 | Shrink::Any)
        | (Value::Array(_), Shrink::List(_) | Shrink::Any) => 2,
        (Value::Array(items), Shrink::Tuple(_)) => {
            frame(value) + floors(items, &child_shrinks(value, shrink))
        }
        (Value::Object(object), Shrink::Object(_) | Shrink::Tagged(_) | Shrink::Any) => {
            frame(value) + floors(object.values(), &child_shrinks(value, shrink))
        }
        _ => size(value),
    }
}

fn floors<'v>(children: impl IntoIterator<Item = &'v Value>, shrinks: &[&Shrink]) -> usize {
    children.into_iter().zip(shrinks).map(|(child, shrink)| floor(child, shrink)).sum()
}

struct Fitting<'b> {
    bounds: &'b Bounds,
    path: String,
    shortened: Vec<Shortened>,
}

impl Fitting<'_> {
    /// `value` in at most `room` bytes. `room` is at least its floor.
    fn fit(&mut self, value: &Value, shrink: &Shrink, room: usize) -> Value {
        match (value, shrink) {
            (_, Shrink::Fixed) => value.clone(),
            _ if size(value) <= room => value.clone(),
            (Value::String(text), Shrink::Text | Shrink::Any) => self.fit_text(text, room),
            (Value::String(text), Shrink::Base64) => self.fit_base64(text, room),
            (Value::Array(items), Shrink::List(_) | Shrink::Any) => {
                self.fit_list(items, &child_shrinks(value, shrink), room)
            }
            (Value::Array(items), Shrink::Tuple(_)) => {
                let shares = shares(items, &child_shrinks(value, shrink), room.saturating_sub(frame(value)));
                let items = items.iter().zip(shares).enumerate();
                items.map(|(index, (item, share))| self.fit_child(&index.to_string(), item, share)).collect()
            }
            (Value::Object(object), _) => {
                let room = room.saturating_sub(frame(value));
                let shares = shares(object.values(), &child_shrinks(value, shrink), room);
                let members = object.iter().zip(shares);
                members
                    .map(|((key, member), share)| (key.clone(), self.fit_child(key, member, share)))
                    .collect()
            }
            _ => value.clone(),
        }
    }

    fn fit_child(&mut self, key: &str, child: &Value, share: Share<'_>) -> Value {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let fitted = self.fit(child, share.shrink, share.room);
        self.path.truncate(length);
        fitted
    }

    fn fit_text(&mut self, text: &str, room: usize) -> Value {
        // Escapes make the JSON longer than the text: the text's bound shrinks until the JSON fits.
        let mut bytes = room.saturating_sub(2);
        for attempt in 0.. {
            let bounds = self.bounds.max_bytes(bytes).max_lines(usize::MAX);
            let truncated = truncate_text(text, &bounds, Keep::Ends, "");
            let found = size(truncated.text.as_ref());
            if found <= room || bytes == 0 {
                let kept = truncated.truncation.map_or(text.len() as u64, |truncation| {
                    truncation.kept_bytes.iter().map(|(start, end)| end - start).sum()
                });
                self.shortened.push(Shortened::new(&self.path, kept, text.len() as u64));
                return Value::String(truncated.text.into_owned());
            }
            let smaller = if attempt < 8 { bytes.saturating_mul(room) / found } else { bytes / 2 };
            bytes = smaller.min(bytes - 1);
        }
        Value::String(String::new())
    }

    /// The first bytes, in whole groups of four letters: what is left is base64 of the beginning.
    fn fit_base64(&mut self, text: &str, room: usize) -> Value {
        let letters = room.saturating_sub(2) / 4 * 4;
        let kept = text.get(..letters).unwrap_or_default();
        self.shortened.push(Shortened::new(&self.path, kept.len() as u64, text.len() as u64));
        Value::String(kept.to_owned())
    }

    fn fit_list(&mut self, items: &[Value], shrinks: &[&Shrink], room: usize) -> Value {
        let share = (room / items.len().max(1)).max(ITEM_BYTES);
        let mut left = room.saturating_sub(2);
        let mut fitted = Vec::new();
        for (index, (item, shrink)) in items.iter().zip(shrinks).enumerate() {
            let separator = usize::from(index > 0);
            let size_of_item = size(item);
            let room = left.saturating_sub(separator);
            let wanted = size_of_item.min(share).max(floor(item, shrink).min(size_of_item));
            // The first item takes what there is; a later one that has to be cut to fit is left out.
            if wanted > room && (index > 0 || floor(item, shrink) > room) {
                break;
            }
            let item = self.fit_child(&index.to_string(), item, Share { shrink, room: wanted.min(room) });
            let Some(rest) = left.checked_sub(size(&item) + separator) else { break };
            left = rest;
            fitted.push(item);
        }
        if fitted.len() < items.len() {
            self.shortened.push(Shortened::new(&self.path, fitted.len() as u64, items.len() as u64));
        }
        Value::Array(fitted)
    }
}

/// The room of one child and what may be shortened in it.
struct Share<'s> {
    shrink: &'s Shrink,
    room: usize,
}

/// Divides `room` evenly: nobody gets less than its floor or more than its size.
fn shares<'v, 's>(
    children: impl IntoIterator<Item = &'v Value>,
    shrinks: &[&'s Shrink],
    room: usize,
) -> Vec<Share<'s>> {
    let sizes: Vec<(usize, usize)> = children
        .into_iter()
        .zip(shrinks)
        .map(|(child, shrink)| {
            let size = size(child);
            (floor(child, shrink).min(size), size)
        })
        .collect();
    let wanted = |level: usize| {
        sizes.iter().map(|(floor, size)| level.clamp(*floor, *size)).fold(0, usize::saturating_add)
    };
    let (mut low, mut high) = (0, room);
    while low < high {
        let level = low + (high - low).div_ceil(2);
        match wanted(level) <= room {
            true => low = level,
            false => high = level - 1,
        }
    }
    let granted = sizes.iter().map(|(floor, size)| low.clamp(*floor, *size));
    shrinks.iter().zip(granted).map(|(shrink, room)| Share { shrink, room }).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object(members: &[(&str, Shrink)]) -> Shrink {
        Shrink::Object(members.iter().map(|(key, shrink)| ((*key).to_owned(), shrink.clone())).collect())
    }

    fn cut_to(value: &Value, shrink: &Shrink, max_bytes: usize) -> Option<(Value, Vec<Shortened>)> {
        let fitted = truncate_json(value, shrink, &Bounds::default().max_bytes(max_bytes));
        if let Some((fitted, shortened)) = &fitted {
            assert!(size(fitted) <= max_bytes, "{fitted} in {max_bytes}");
            assert_eq!(shortened.is_empty(), fitted == value, "{fitted} {shortened:?}");
        }
        fitted
    }

    #[test]
    fn base64_is_cut_to_the_base64_of_its_beginning() {
        let value = json!("QUJDREVGR0g=");
        for (max_bytes, kept) in
            [(14, "QUJDREVGR0g="), (13, "QUJDREVG"), (10, "QUJDREVG"), (9, "QUJD"), (5, "")]
        {
            let (cut, shortened) = cut_to(&value, &Shrink::Base64, max_bytes).unwrap();
            assert_eq!(cut, json!(kept), "{max_bytes}");
            assert_eq!(shortened.len(), usize::from(max_bytes < 14));
        }
        assert_eq!(cut_to(&value, &Shrink::Base64, 1), None);
    }

    #[test]
    fn what_fits_is_left_alone() {
        let value = json!({"a": [1, 2], "b": "text"});
        assert_eq!(cut_to(&value, &Shrink::Any, 100), Some((value, vec![])));
    }

    #[test]
    fn the_largest_strings_are_shortened_first_and_keep_both_ends() {
        let shrink = object(&[("log", Shrink::Text), ("note", Shrink::Text), ("code", Shrink::Fixed)]);
        let value = json!({"log": "line\n".repeat(1000), "note": "short", "code": "A".repeat(300)});
        let (fitted, shortened) = cut_to(&value, &shrink, 1000).unwrap();
        assert_eq!((&fitted["note"], &fitted["code"]), (&value["note"], &value["code"]));
        let log = fitted["log"].as_str().unwrap();
        assert!(log.starts_with("line\n") && log.ends_with("\nline\n") && log.contains("left out"));
        assert_eq!(shortened.len(), 1);
        assert_eq!((shortened[0].path.as_str(), shortened[0].total), ("/log", 5000));
        assert!(shortened[0].kept > 300 && shortened[0].kept < 700);
    }

    #[test]
    fn lists_keep_their_first_items_or_all_of_them_shorter() {
        let many = json!((0..10_000).collect::<Vec<_>>());
        let (fitted, shortened) = cut_to(&many, &Shrink::List(Box::new(Shrink::Fixed)), 100).unwrap();
        let kept = fitted.as_array().unwrap().len();
        assert_eq!(&many.as_array().unwrap()[..kept], fitted.as_array().unwrap());
        assert!(kept > 30);
        assert_eq!(shortened, [Shortened::new("", kept as u64, 10_000)]);

        let few = json!(["a".repeat(9000), "b".repeat(9000), "c".repeat(9000)]);
        let (fitted, shortened) = cut_to(&few, &Shrink::List(Box::new(Shrink::Text)), 6000).unwrap();
        assert_eq!(fitted.as_array().unwrap().len(), 3);
        assert_eq!(shortened.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["/0", "/1", "/2"]);
    }

    #[test]
    fn counts_tags_and_keys_stay() {
        let long = "x".repeat(500);
        let shrink = Shrink::Tagged(vec![("text".into(), Shrink::Text), ("code".into(), Shrink::Fixed)]);
        let (fitted, shortened) = cut_to(&json!({"tag": "text", "val": long}), &shrink, 200).unwrap();
        assert_eq!((&fitted["tag"], shortened[0].path.as_str()), (&json!("text"), "/val"));
        assert_eq!(cut_to(&json!({"tag": "code", "val": long}), &shrink, 200), None);

        let tuple = Shrink::Tuple(vec![Shrink::Fixed, Shrink::List(Box::new(Shrink::Fixed))]);
        let (fitted, _) = cut_to(&json!([7, vec![1; 500]]), &tuple, 60).unwrap();
        assert_eq!((fitted.as_array().unwrap().len(), &fitted[0]), (2, &json!(7)));
        assert_eq!(cut_to(&json!({"a/b": {"~": long}}), &Shrink::Any, 100).unwrap().1[0].path, "/a~1b/~0");
    }

    #[test]
    fn what_cannot_fit_is_refused() {
        let long = "x".repeat(500);
        for (value, shrink) in [
            (json!(long), Shrink::Fixed),
            (json!({"unnamed": long}), object(&[("other", Shrink::Text)])),
            (json!([1, 2, 3]), Shrink::Tuple(vec![])),
            (json!({"": 12_345_678}), Shrink::Any),
        ] {
            assert_eq!(cut_to(&value, &shrink, 5), None, "{value}");
        }
        assert_eq!(
            cut_to(&json!("long"), &Shrink::Text, 2),
            Some((json!(""), vec![Shortened::new("", 0, 4)]))
        );
        assert_eq!(cut_to(&json!("long"), &Shrink::Text, 1), None);
        // Null where a text or list could be is what it is.
        assert_eq!(cut_to(&json!(null), &Shrink::Text, 4), Some((json!(null), vec![])));
    }

    #[test]
    fn escapes_count() {
        let value = json!("\u{1}\"\\".repeat(5000));
        let (fitted, _) = cut_to(&value, &Shrink::Text, 1000).unwrap();
        assert!(size(&fitted) > 700, "{}", size(&fitted));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<i32>().prop_map(|n| json!(n)),
            "\\PC{0,80}".prop_map(|s| json!(s)),
            "[\n\"\\\\]{0,40}".prop_map(|s| json!(s))
        ];
        leaf.prop_recursive(4, 60, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
                prop::collection::vec(("[a-z/~]{0,3}", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Whether `fitted` could be `value` with strings and lists shortened.
    fn is_shortened(fitted: &Value, value: &Value) -> bool {
        match (fitted, value) {
            (Value::String(_), Value::String(_)) => true,
            (Value::Array(fitted), Value::Array(items)) => {
                fitted.len() <= items.len()
                    && fitted.iter().zip(items).all(|(fitted, item)| is_shortened(fitted, item))
            }
            (Value::Object(fitted), Value::Object(object)) => {
                fitted.len() == object.len()
                    && fitted
                        .iter()
                        .all(|(key, member)| object.get(key).is_some_and(|whole| is_shortened(member, whole)))
            }
            _ => fitted == value,
        }
    }

    proptest! {
        #[test]
        fn the_result_fits_and_has_the_values_shape(value in values(), max_bytes in 0usize..300) {
            match cut_to(&value, &Shrink::Any, max_bytes) {
                Some((fitted, shortened)) => {
                    prop_assert!(is_shortened(&fitted, &value));
                    for one in shortened {
                        prop_assert!(value.pointer(&one.path).is_some(), "{}", one.path);
                        prop_assert!(one.kept <= one.total);
                    }
                }
                None => prop_assert!(floor(&value, &Shrink::Any) > max_bytes),
            }
        }
    }
}
