//! What of a tool is in neither its name nor its digest nor its grants, and yet decides what its calls give.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

use super::{Body, Tool};
use crate::policy::Deterministic;

/// The key of this process: a mark says nothing of a secret to whoever has the mark alone.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A mark of secrets, another one once a value of them is another.
pub(super) fn mark_of(secrets: &BTreeMap<String, String>) -> u64 {
    KEY.hash_one(secrets)
}

impl Tool {
    /// Time and chance of its calls, where they are not the host's.
    pub(crate) fn deterministic(&self) -> Option<Deterministic> {
        match &self.body {
            Body::Component { component, .. } => component.deterministic,
            Body::Native(_) | Body::Remote(_) => None,
        }
    }

    /// A mark, another one once the values of secrets have changed that its calls use, or the server that they go to is
    /// reached in another way.
    pub(crate) fn renewed(&self) -> String {
        match &self.body {
            Body::Component { component, .. } => component.secrets.to_string(),
            Body::Native(_) => String::new(),
            Body::Remote(remote) => remote.server.made_of().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_changes_with_any_value_and_with_nothing_else() {
        let of = |secrets: &[(&str, &str)]| {
            mark_of(&secrets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        let mark = of(&[("a", "one-one-one"), ("b", "two-two-two")]);
        assert_eq!(mark, of(&[("b", "two-two-two"), ("a", "one-one-one")]));
        for others in [
            &[("a", "one-one-one"), ("b", "two-two-tw3")][..],
            &[("a", "one-one-one")],
            &[("a", "one-one-oneb"), ("", "two-two-two")],
            &[("b", "one-one-one"), ("a", "two-two-two")],
            &[],
        ] {
            assert_ne!(mark, of(others));
        }
    }
}
