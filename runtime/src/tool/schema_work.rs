//! What it takes to check values against a JSON Schema that somebody else wrote: bounded for the schema when it is loaded,
//! counted for a value before it is checked.
//!
//! A few hundred bytes of schema can make a check endless: references that fan out (`anyOf` of eight references to an
//! `anyOf` of eight others, …), a schema whose every level of an array is looked at by two others, patterns that backtrack.

mod integers;

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::schema_reach::{Applied, Reach, applied};
use crate::schema::compiled_pattern;
use integers::says_integer;

/// Parts of a schema that may apply to one and the same value, counted with multiplicity. Schemas that people and generators
/// write stay below a few hundred.
const MAX_EXPANDED: u64 = 10_000;

/// Parts that may lie inside of each other for one and the same value, and on the whole way through the schema: checking and
/// compiling recurse.
const MAX_IN_PLACE: usize = 64;
const MAX_THROUGH: usize = 400;

/// Levels of a check, of the value and of the schema together, for what fits the stack of an executor's thread.
const MAX_LEVELS: usize = 1_000;

/// Patterns of one schema, and bytes of all once they are compiled.
const MAX_PATTERNS: usize = 256;
const MAX_PATTERN_BYTES: u64 = 8 << 20;

/// Bytes of a compiled pattern for each step that it takes a byte of text, at its worst.
const BYTES_A_STEP: u64 = 512;

/// Bytes whose letters are counted in one step.
const COUNTED: u64 = 64;

/// Items of an array that are compared with each other rather than by their hashes.
const COMPARED: usize = 15;

/// How a schema spreads over a value.
pub(super) struct Work {
    places: Vec<Place>,
}

/// A part of the schema, with the other parts that it applies, by their places in the list.
#[derive(Default)]
struct Place {
    /// Steps of its own keywords.
    own: u64,
    /// Steps for a byte of a string, and for one of a property's name, times [`COUNTED`].
    a_byte: u64,
    a_name_byte: u64,
    here: Vec<usize>,
    /// Whether what is here is told of once more for each way in which it fails.
    is_choice: bool,
    /// How often what is here is looked at.
    times: u64,
    properties: BTreeMap<String, usize>,
    every_property: Vec<usize>,
    other_properties: Vec<usize>,
    names: Vec<usize>,
    positions: Vec<usize>,
    every_item: Vec<usize>,
    other_items: Vec<usize>,
    is_unique: bool,
    /// Whether it says of a number that it is an integer.
    is_integer: bool,
    /// Of itself and all that is here: steps to check what has no parts and to say what is wrong with it, steps for a byte
    /// of it, and levels.
    checking: u64,
    telling: u64,
    a_byte_of_all: u64,
    height: usize,
}

/// A check takes more than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

impl Work {
    /// What checks against `root` take.
    ///
    /// # Errors
    /// When no value could be checked in a bounded time, in words.
    pub fn of(root: &Value) -> Result<Self, String> {
        let reach = Reach::of(root)?;
        let mut reading = Reading { reach, known: HashMap::new(), places: Vec::new(), patterns: 0, bytes: 0 };
        reading.place(root, 0)?;
        let mut work = Self { places: reading.places };
        let mut states = vec![State::New; work.places.len()];
        for at in 0..work.places.len() {
            work.total(at, &mut states)?;
        }
        Ok(work)
    }

    /// The steps of a check of `value`.
    ///
    /// # Errors
    /// When they are more than `most`.
    pub fn steps(&self, value: &Value, most: u64) -> Result<u64, TooMuch> {
        let mut counting = Counting { work: self, left: most, copied: None };
        counting.visit(0, value, 1, 0)?;
        Ok(most - counting.left)
    }

    /// Whether at most `most` values, or pieces of texts, are copied to say what is wrong with `value`: each way in which it
    /// fits none of several schemas has a copy.
    pub fn copies_at_most(&self, value: &Value, steps: u64, most: u64) -> bool {
        let mut counting = Counting { work: self, left: steps, copied: Some(0) };
        counting.visit(0, value, 1, 0).is_ok() && counting.copied.is_some_and(|copied| copied <= most)
    }

    /// Sums up a place and what applies where it does.
    fn total(&mut self, at: usize, states: &mut [State]) -> Result<(), String> {
        match states.get(at) {
            Some(State::New) => {}
            Some(State::Begun) => {
                return Err("a part of it refers to itself without a property or an item between".to_owned());
            }
            _ => return Ok(()),
        }
        let set = |states: &mut [State], state| {
            if let Some(slot) = states.get_mut(at) {
                *slot = state;
            }
        };
        set(states, State::Begun);
        let here = self.places.get(at).map(|place| place.here.clone()).unwrap_or_default();
        let (mut checking, mut telling, mut a_byte, mut height) = (0_u64, 0_u64, 0_u64, 0_usize);
        for inner in here {
            self.total(inner, states)?;
            let Some(inner) = self.places.get(inner) else { continue };
            checking = checking.saturating_add(inner.checking);
            telling = telling.saturating_add(inner.telling);
            a_byte = a_byte.saturating_add(inner.a_byte_of_all);
            height = height.max(inner.height);
        }
        set(states, State::Done);
        let Some(place) = self.places.get_mut(at) else { return Ok(()) };
        // What is evaluated is looked for again on every level below.
        place.times = if place.times == 0 { 1 } else { 2 + u64::try_from(height).unwrap_or(u64::MAX) };
        place.checking = place.own.saturating_add(checking.saturating_mul(place.times));
        let again = if place.is_choice { place.checking } else { place.own };
        place.telling = again.saturating_add(telling.saturating_mul(place.times));
        place.a_byte_of_all = place.a_byte.saturating_add(a_byte.saturating_mul(place.times));
        place.height = height + 1;
        if place.checking > MAX_EXPANDED {
            return Err(format!(
                "with what it refers to, more than {MAX_EXPANDED} parts of it apply to one value; use fewer references"
            ));
        }
        if place.height > MAX_IN_PLACE {
            return Err(format!("more than {MAX_IN_PLACE} parts of it refer to each other in a row"));
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum State {
    New,
    Begun,
    Done,
}

/// A schema on its way to places.
struct Reading<'s> {
    reach: Reach<'s>,
    /// The places of what was met, by where it is in memory: it stays there.
    known: HashMap<*const Value, usize>,
    places: Vec<Place>,
    patterns: usize,
    bytes: u64,
}

impl<'s> Reading<'s> {
    fn place(&mut self, schema: &'s Value, depth: usize) -> Result<usize, String> {
        if let Some(known) = self.known.get(&std::ptr::from_ref(schema)) {
            return Ok(*known);
        }
        if depth > MAX_THROUGH {
            return Err(format!("more than {MAX_THROUGH} parts of it lead from one to the next"));
        }
        let at = self.places.len();
        self.known.insert(std::ptr::from_ref(schema), at);
        self.places.push(Place::default());
        let mut place = Place { own: 1, ..Place::default() };
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            self.keyword(&mut place, keyword, value, depth + 1)?;
        }
        if let Some(slot) = self.places.get_mut(at) {
            *slot = place;
        }
        Ok(at)
    }

    fn keyword(
        &mut self,
        place: &mut Place,
        keyword: &str,
        value: &'s Value,
        depth: usize,
    ) -> Result<(), String> {
        place.is_integer |= says_integer(keyword, value);
        match applied(keyword, value) {
            Applied::Reference(reference) => {
                let target = self.reach.target(reference)?;
                place.here.push(self.place(target, depth)?);
            }
            Applied::Here { schemas, is_choice } => {
                place.is_choice |= is_choice;
                self.all(&mut place.here, schemas, depth)?;
            }
            Applied::Properties(properties) => {
                place.own = place.own.saturating_add(count(properties.len()) / 4);
                for (name, schema) in properties {
                    let inner = self.place(schema, depth)?;
                    place.properties.insert(name.clone(), inner);
                }
            }
            Applied::Patterns(properties) => {
                for (pattern, schema) in properties {
                    place.a_name_byte = place.a_name_byte.saturating_add(self.pattern(pattern)?);
                    place.every_property.push(self.place(schema, depth)?);
                }
            }
            Applied::OtherProperties { schema, is_unevaluated } => {
                place.times = place.times.max(u64::from(is_unevaluated));
                place.other_properties.push(self.place(schema, depth)?);
            }
            Applied::Names(schema) => place.names.push(self.place(schema, depth)?),
            Applied::Positions(schemas) => self.all(&mut place.positions, schemas, depth)?,
            Applied::OtherItems(schema) => place.other_items.push(self.place(schema, depth)?),
            Applied::EveryItem { schema, is_unevaluated } => {
                place.times = place.times.max(u64::from(is_unevaluated));
                place.every_item.push(self.place(schema, depth)?);
            }
            Applied::Pattern(pattern) => {
                place.a_byte = place.a_byte.saturating_add(self.pattern(pattern)?);
            }
            Applied::Length => place.a_byte = place.a_byte.saturating_add(1),
            Applied::Unique => place.is_unique = true,
            Applied::Own => place.own = place.own.saturating_add(1 + nodes(value) / 4),
            Applied::Nothing => {}
        }
        Ok(())
    }

    fn all(&mut self, into: &mut Vec<usize>, schemas: Vec<&'s Value>, depth: usize) -> Result<(), String> {
        for schema in schemas {
            into.push(self.place(schema, depth)?);
        }
        Ok(())
    }

    /// The steps of a pattern for a byte, times [`COUNTED`].
    fn pattern(&mut self, source: &str) -> Result<u64, String> {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} patterns"));
        }
        let bytes = compiled_pattern(source)?;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_PATTERN_BYTES {
            return Err("its patterns are too big once compiled".to_owned());
        }
        Ok((bytes / BYTES_A_STEP).max(1).saturating_mul(COUNTED))
    }
}

/// The steps that are left while a check is gone through as it would be at its worst.
struct Counting<'w> {
    work: &'w Work,
    left: u64,
    copied: Option<u64>,
}

impl Counting<'_> {
    fn spend(&mut self, steps: u64) -> Result<(), TooMuch> {
        self.left = self.left.checked_sub(steps).ok_or(TooMuch)?;
        Ok(())
    }

    fn visit(&mut self, at: usize, value: &Value, weight: u64, level: usize) -> Result<(), TooMuch> {
        let Some(place) = self.work.places.get(at) else { return Ok(()) };
        if level > MAX_LEVELS {
            return Err(TooMuch);
        }
        if let Some(copied) = self.copied.as_mut().filter(|_| place.height > 1) {
            *copied = copied.saturating_add(nodes(value).saturating_mul(place.telling));
        }
        match value {
            Value::Array(items) => self.items(place, items, weight, level)?,
            Value::Object(members) => self.members(place, members, weight, level)?,
            Value::String(text) => return self.text(place, text, weight),
            _ => return self.spend(weight.saturating_mul(place.telling)),
        }
        let weight = weight.saturating_add(u64::from(place.is_choice)).saturating_mul(place.times);
        place.here.iter().try_for_each(|inner| self.visit(*inner, value, weight, level + 1))
    }

    fn text(&mut self, place: &Place, text: &str, weight: u64) -> Result<(), TooMuch> {
        let bytes = count(text.len()).saturating_mul(place.a_byte_of_all) / COUNTED;
        self.spend(weight.saturating_mul(place.telling.saturating_add(bytes)))
    }

    fn items(&mut self, place: &Place, items: &[Value], weight: u64, level: usize) -> Result<(), TooMuch> {
        self.spend(weight.saturating_mul(place.own))?;
        if place.is_unique {
            self.unique(items, weight)?;
        }
        for (index, item) in items.iter().enumerate() {
            let own = place.positions.get(index);
            let others = if own.is_some() { &[] } else { place.other_items.as_slice() };
            for inner in own.into_iter().chain(others).chain(&place.every_item) {
                self.visit(*inner, item, weight, level + 1)?;
            }
        }
        Ok(())
    }

    fn members(
        &mut self,
        place: &Place,
        members: &Map<String, Value>,
        weight: u64,
        level: usize,
    ) -> Result<(), TooMuch> {
        self.spend(weight.saturating_mul(place.own.saturating_add(count(members.len()))))?;
        for (name, value) in members {
            let bytes = count(name.len()).saturating_mul(place.a_name_byte) / COUNTED;
            self.spend(weight.saturating_mul(bytes))?;
            for inner in &place.names {
                let Some(inner) = self.work.places.get(*inner) else { continue };
                self.text(inner, name, weight)?;
            }
            let own = place.properties.get(name);
            let others = if own.is_some() { &[] } else { place.other_properties.as_slice() };
            for inner in own.into_iter().chain(others).chain(&place.every_property) {
                self.visit(*inner, value, weight, level + 1)?;
            }
        }
        Ok(())
    }

    /// Items are found twice by their hashes, which whoever writes the items can make the same for all that are more than
    /// a text or a short number.
    fn unique(&mut self, items: &[Value], weight: u64) -> Result<(), TooMuch> {
        let size = items.iter().fold(0, |size, item| nodes(item).saturating_add(size));
        let is_plain = |item: &Value| match item {
            Value::Number(number) => {
                number.as_i64().is_some_and(|number| number.unsigned_abs() < 1 << 53) || number.is_f64()
            }
            Value::Array(_) | Value::Object(_) => false,
            _ => true,
        };
        let is_compared = items.len() <= COMPARED || !items.iter().all(is_plain);
        let times = if is_compared { count(items.len()).max(1) } else { 1 };
        self.spend(weight.saturating_mul(size).saturating_mul(times))
    }
}

/// The values in a value, itself among them, a text as many as it has pieces.
fn nodes(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().fold(1, |sum, item| nodes(item).saturating_add(sum)),
        Value::Object(members) => members.values().fold(1, |sum, item| nodes(item).saturating_add(sum + 1)),
        Value::String(text) => 1 + count(text.len()) / COUNTED,
        _ => 1,
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
