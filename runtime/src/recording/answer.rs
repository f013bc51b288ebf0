//! What the host says, as a recording has it: JSON, with contents beside it, each once, by its digest.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::policy::Digest;

/// The contents of a recording by their digest.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Contents {
    by_digest: BTreeMap<String, Arc<[u8]>>,
}

impl Contents {
    /// Adds a content unless it is there, and says how it is known.
    pub fn add(&mut self, bytes: &[u8]) -> String {
        let digest = Digest::of(bytes).to_string();
        self.by_digest.entry(digest.clone()).or_insert_with(|| bytes.into());
        digest
    }

    pub fn get(&self, digest: &str) -> Option<&Arc<[u8]>> {
        self.by_digest.get(digest)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.by_digest.iter().map(|(digest, bytes)| (digest.as_str(), bytes.as_ref()))
    }

    /// Takes over what `other` has.
    pub fn append(&mut self, mut other: Self) {
        self.by_digest.append(&mut other.by_digest);
    }

    /// The bytes of all of them.
    pub fn size(&self) -> usize {
        self.by_digest.values().map(|bytes| bytes.len()).fold(0, usize::saturating_add)
    }
}

/// An answer of the host that a recording can hold.
pub(crate) trait Taped: Sized {
    /// The answer as it is recorded.
    fn to_tape(&self, contents: &mut Contents) -> Value;

    /// The answer as it was; none where something else was recorded.
    fn from_tape(value: &Value, contents: &Contents) -> Option<Self>;
}

impl Taped for () {
    fn to_tape(&self, _: &mut Contents) -> Value {
        Value::Null
    }

    fn from_tape(value: &Value, _: &Contents) -> Option<Self> {
        value.is_null().then_some(())
    }
}

impl Taped for bool {
    fn to_tape(&self, _: &mut Contents) -> Value {
        (*self).into()
    }

    fn from_tape(value: &Value, _: &Contents) -> Option<Self> {
        value.as_bool()
    }
}

impl Taped for u64 {
    fn to_tape(&self, _: &mut Contents) -> Value {
        (*self).into()
    }

    fn from_tape(value: &Value, _: &Contents) -> Option<Self> {
        value.as_u64()
    }
}

impl Taped for u32 {
    fn to_tape(&self, _: &mut Contents) -> Value {
        (*self).into()
    }

    fn from_tape(value: &Value, _: &Contents) -> Option<Self> {
        value.as_u64()?.try_into().ok()
    }
}

impl Taped for u16 {
    fn to_tape(&self, _: &mut Contents) -> Value {
        (*self).into()
    }

    fn from_tape(value: &Value, _: &Contents) -> Option<Self> {
        value.as_u64()?.try_into().ok()
    }
}

impl Taped for String {
    fn to_tape(&self, _: &mut Contents) -> Value {
        self.as_str().into()
    }

    fn from_tape(value: &Value, _: &Contents) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Taped for Vec<u8> {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        contents.add(self).into()
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        contents.get(value.as_str()?).map(|bytes| bytes.to_vec())
    }
}

/// Lists, but for those of bytes, which are contents.
macro_rules! taped_list {
    ($($item:ty),*) => {$(
        impl Taped for Vec<$item> {
            fn to_tape(&self, contents: &mut Contents) -> Value {
                self.iter().map(|item| item.to_tape(contents)).collect()
            }

            fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
                value.as_array()?.iter().map(|item| Taped::from_tape(item, contents)).collect()
            }
        }
    )*};
}

taped_list!(u32, String, (u64, String));

impl<T: Taped> Taped for Option<T> {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        self.as_ref().map_or(Value::Null, |value| json!([value.to_tape(contents)]))
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        match value.as_array().map(Vec::as_slice) {
            None => value.is_null().then_some(None),
            Some([value]) => T::from_tape(value, contents).map(Some),
            Some(_) => None,
        }
    }
}

impl<A: Taped, B: Taped> Taped for (A, B) {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        json!([self.0.to_tape(contents), self.1.to_tape(contents)])
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        let [first, second] = value.as_array()?.as_slice() else { return None };
        Some((A::from_tape(first, contents)?, B::from_tape(second, contents)?))
    }
}

impl<T: Taped, E: Taped> Taped for Result<T, E> {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        match self {
            Ok(value) => json!({ "ok": value.to_tape(contents) }),
            Err(error) => json!({ "err": error.to_tape(contents) }),
        }
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        match (value.get("ok"), value.get("err")) {
            (Some(value), None) => T::from_tape(value, contents).map(Ok),
            (None, Some(error)) => E::from_tape(error, contents).map(Err),
            _ => None,
        }
    }
}
