//! Which outputs give way when there is no room.

use std::collections::{BTreeMap, VecDeque};

use crate::error::{Error, Result};

/// An output that is there.
#[derive(Debug, Clone)]
pub(super) struct Held<K> {
    /// Where it is.
    pub key: K,
    /// The label of its owner.
    pub owner: String,
    pub bytes: u64,
}

/// Which of the outputs, the oldest first, make room for `incoming` bytes of `owner`, so that at most `quota` are there:
/// always the oldest of whoever has most then.
///
/// # Errors
/// When the owner would have most and has nothing to give.
pub(super) fn giving_way<K>(held: Vec<Held<K>>, owner: &str, incoming: u64, quota: u64) -> Result<Vec<K>> {
    let mut total = incoming;
    // Who has most, and of those with as much who has the oldest.
    let mut owners: BTreeMap<String, Owned<K>> = BTreeMap::new();
    owners.entry(owner.to_owned()).or_default().bytes = incoming;
    for (age, one) in held.into_iter().enumerate() {
        total = total.saturating_add(one.bytes);
        let owned = owners.entry(one.owner).or_default();
        owned.bytes = owned.bytes.saturating_add(one.bytes);
        owned.oldest_first.push_back((age, one.bytes, one.key));
    }
    let mut removed = Vec::new();
    while total > quota {
        let oldest = |owned: &Owned<K>| owned.oldest_first.front().map(|(age, ..)| *age);
        let most = owners
            .values_mut()
            .max_by(|one, other| one.bytes.cmp(&other.bytes).then_with(|| oldest(other).cmp(&oldest(one))));
        let Some((_, bytes, key)) = most.and_then(|most| {
            let (age, bytes, key) = most.oldest_first.pop_front()?;
            most.bytes = most.bytes.saturating_sub(bytes);
            Some((age, bytes, key))
        }) else {
            return Err(Error::Output(format!(
                "an output of {incoming} bytes takes the room of others, who have less of the output store's {quota} bytes"
            )));
        };
        total = total.saturating_sub(bytes);
        removed.push(key);
    }
    Ok(removed)
}

struct Owned<K> {
    bytes: u64,
    oldest_first: VecDeque<(usize, u64, K)>,
}

impl<K> Default for Owned<K> {
    fn default() -> Self {
        Self { bytes: 0, oldest_first: VecDeque::new() }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]

    use super::*;

    fn removed(held: &[(&str, u64)], owner: &str, incoming: u64) -> Result<Vec<usize>> {
        let held = held.iter().enumerate().map(|(key, (owner, bytes))| Held {
            key,
            owner: (*owner).to_owned(),
            bytes: *bytes,
        });
        giving_way(held.collect(), owner, incoming, 100)
    }

    #[test]
    fn the_oldest_of_who_has_most_gives_way() {
        for (held, owner, incoming, gone) in [
            (&[("a", 50), ("b", 50)][..], "a", 0, &[][..]),
            (&[("a", 50), ("b", 50)], "a", 10, &[0]),
            (&[("a", 30), ("b", 60)], "a", 20, &[1]),
            (&[("b", 30), ("a", 30), ("b", 30)], "a", 20, &[0]),
            (&[("a", 40), ("a", 40), ("b", 10)], "b", 30, &[0]),
        ] {
            assert_eq!(removed(held, owner, incoming).unwrap(), gone, "{held:?} {owner} {incoming}");
        }
        // Of those with as much, who has the oldest.
        assert_eq!(removed(&[("b", 40), ("a", 40)], "c", 30).unwrap(), [0]);
        assert!(removed(&[("b", 10), ("a", 40)], "a", 95).is_err(), "not from who has less");
        assert!(removed(&[("a", 10)], "c", 95).unwrap_err().to_string().contains("room of others"));
        assert!(removed(&[("c", 10)], "c", 95).unwrap() == [0]);
    }
}
