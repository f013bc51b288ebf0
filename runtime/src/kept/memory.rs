//! Values of one call.

use std::collections::BTreeMap;

use super::{KeepError, Kept, PAGE, size};

/// Entries by bucket and key, each with its place in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    entries: BTreeMap<(String, String), (u64, Vec<u8>)>,
    next: u64,
    bytes: u64,
}

impl Memory {
    pub fn get(&self, bucket: &str, key: &str) -> Option<Vec<u8>> {
        self.entries.get(&place(bucket, key)).map(|(_, value)| value.clone())
    }

    pub fn keys(&self, bucket: &str, cursor: Option<u64>) -> (Vec<String>, Option<u64>) {
        let after = cursor.unwrap_or(0);
        let mut keys: Vec<(u64, &String)> = self
            .entries
            .iter()
            .filter(|((of, _), (number, _))| of == bucket && *number > after)
            .map(|((_, key), (number, _))| (*number, key))
            .collect();
        keys.sort_unstable();
        let more = keys.len() > PAGE;
        keys.truncate(PAGE);
        let cursor = keys.last().map(|(number, _)| *number).filter(|_| more);
        (keys.into_iter().map(|(_, key)| key.clone()).collect(), cursor)
    }

    pub fn set(&mut self, bucket: &str, entries: &[(String, Vec<u8>)], room: u64) -> Kept<()> {
        // The last of several values of one key is the one that stays.
        let last: BTreeMap<&String, &Vec<u8>> = entries.iter().map(|(key, value)| (key, value)).collect();
        let new: u64 = last.iter().map(|(key, value)| size(key, value)).sum();
        let old: u64 = last.keys().filter_map(|key| self.size_of(bucket, key)).sum();
        let wanted = self.bytes.saturating_sub(old).saturating_add(new);
        if wanted > room && new > old {
            return Err(KeepError::Full { wanted });
        }
        for (key, value) in last {
            let number = match self.entries.get(&place(bucket, key)) {
                Some((number, _)) => *number,
                None => {
                    self.next += 1;
                    self.next
                }
            };
            self.entries.insert(place(bucket, key), (number, value.clone()));
        }
        self.bytes = wanted;
        Ok(())
    }

    pub fn delete(&mut self, bucket: &str, keys: &[String]) {
        for key in keys {
            if let Some((_, value)) = self.entries.remove(&place(bucket, key)) {
                self.bytes = self.bytes.saturating_sub(size(key, &value));
            }
        }
    }

    fn size_of(&self, bucket: &str, key: &str) -> Option<u64> {
        self.entries.get(&place(bucket, key)).map(|(_, value)| size(key, value))
    }
}

fn place(bucket: &str, key: &str) -> (String, String) {
    (bucket.to_owned(), key.to_owned())
}
