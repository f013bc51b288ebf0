//! Whole numbers in the one form that they have where a schema says integer: `13.0` and `1.3e1` are `13`.

use serde_json::Value;

use super::{Place, Work};
use crate::schema::{Repairs, whole};

/// Whether a keyword says that a number is an integer.
pub(super) fn says_integer(keyword: &str, value: &Value) -> bool {
    let is_named = |kind: &Value| kind == "integer";
    let is_one = |value: &Value| value.as_number().is_some_and(|number| !number.is_f64());
    match (keyword, value) {
        ("type", Value::Array(kinds)) => kinds.iter().any(is_named),
        ("type", kind) => is_named(kind),
        ("enum", Value::Array(values)) => values.iter().any(is_one),
        ("const", value) => is_one(value),
        _ => false,
    }
}

impl Work {
    /// Writes whole numbers as integers where any part of the schema that looks at them says integer, with a note for each.
    /// To a JSON Schema both are the same value, so that what fits goes on to fit.
    pub fn write_integers(&self, value: &mut Value, repairs: &mut Repairs) {
        if has_whole(value) {
            let seen = vec![0; self.places.len()];
            let mut writing = Writing { work: self, repairs, path: String::new(), seen, round: 0 };
            writing.value(vec![0], value);
        }
    }
}

/// A value on the way through. Each place looks at a value once, so this is no more than the check was.
struct Writing<'w> {
    work: &'w Work,
    repairs: &'w mut Repairs,
    path: String,
    /// When each place was last met, by the number of the round.
    seen: Vec<u32>,
    round: u32,
}

impl<'w> Writing<'w> {
    /// Writes what is in `value`, at which the places of `here` look, and all that these apply to it.
    fn value(&mut self, here: Vec<usize>, value: &mut Value) {
        let here = self.with_all_here(here);
        match value {
            Value::Number(number) => {
                if let Some(integer) = whole(number).filter(|_| here.iter().any(|place| place.is_integer)) {
                    self.repairs.note(&self.path, "number", "integer");
                    *number = integer;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate().filter(|(_, item)| is_looked_into(item)) {
                    let inner = here.iter().flat_map(|place| {
                        let own = place.positions.get(index);
                        let others = if own.is_some() { &[] } else { place.other_items.as_slice() };
                        own.into_iter().chain(others).chain(&place.every_item)
                    });
                    self.below(&index.to_string(), inner.copied().collect(), item);
                }
            }
            Value::Object(members) => {
                for (name, member) in members.iter_mut().filter(|(_, member)| is_looked_into(member)) {
                    let inner = here.iter().flat_map(|place| {
                        let own = place.properties.get(name);
                        let others = if own.is_some() { &[] } else { place.other_properties.as_slice() };
                        own.into_iter().chain(others).chain(&place.every_property)
                    });
                    self.below(name, inner.copied().collect(), member);
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, name: &str, here: Vec<usize>, value: &mut Value) {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&name.replace('~', "~0").replace('/', "~1"));
        self.value(here, value);
        self.path.truncate(length);
    }

    fn with_all_here(&mut self, mut left: Vec<usize>) -> Vec<&'w Place> {
        self.round = self.round.wrapping_add(1);
        let mut all = Vec::new();
        while let Some(at) = left.pop() {
            let (Some(place), Some(seen)) = (self.work.places.get(at), self.seen.get_mut(at)) else {
                continue;
            };
            if std::mem::replace(seen, self.round) != self.round {
                all.push(place);
                left.extend(&place.here);
            }
        }
        all
    }
}

fn is_looked_into(value: &Value) -> bool {
    match value {
        Value::Number(number) => whole(number).is_some(),
        other => other.is_array() || other.is_object(),
    }
}

/// Whether a whole number with a fraction is in it.
fn has_whole(value: &Value) -> bool {
    match value {
        Value::Number(number) => whole(number).is_some(),
        Value::Array(items) => items.iter().any(has_whole),
        Value::Object(members) => members.values().any(has_whole),
        _ => false,
    }
}
