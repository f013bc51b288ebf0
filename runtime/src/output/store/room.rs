//! Which outputs give way when there is no room.

use std::collections::{BTreeMap, VecDeque};

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
/// always the oldest of whoever has most then, and of whoever comes next where that one has none to give.
pub(super) fn giving_way<K>(held: Vec<Held<K>>, owner: &str, incoming: u64, quota: u64) -> Vec<K> {
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
            .filter(|owned| !owned.oldest_first.is_empty())
            .max_by(|one, other| one.bytes.cmp(&other.bytes).then_with(|| oldest(other).cmp(&oldest(one))));
        let Some((_, bytes, key)) = most.and_then(|most| {
            let (age, bytes, key) = most.oldest_first.pop_front()?;
            most.bytes = most.bytes.saturating_sub(bytes);
            Some((age, bytes, key))
        }) else {
            // The caller has seen that it fits alone.
            break;
        };
        total = total.saturating_sub(bytes);
        removed.push(key);
    }
    removed
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
    use super::*;

    fn removed(held: &[(&str, u64)], owner: &str, incoming: u64) -> Vec<usize> {
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
            assert_eq!(removed(held, owner, incoming), gone, "{held:?} {owner} {incoming}");
        }
        // Of those with as much, who has the oldest.
        assert_eq!(removed(&[("b", 40), ("a", 40)], "c", 30), [0]);
        // Its own first, then of who has most of the others.
        assert_eq!(removed(&[("b", 10), ("a", 40), ("d", 20)], "a", 75), [1, 2]);
        assert_eq!(removed(&[("a", 10)], "c", 95), [0]);
        // Sessions that have ended have all that is there.
        let ended: Vec<(String, u64)> = (0..50).map(|session| (format!("s{session}"), 2)).collect();
        let ended: Vec<(&str, u64)> = ended.iter().map(|(owner, bytes)| (owner.as_str(), *bytes)).collect();
        assert_eq!(removed(&ended, "new", 5), [0, 1, 2]);
    }
}
