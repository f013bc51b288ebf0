//! Values that are kept.

use crate::Probe;
use crate::bindings::exports::toolcell::guests::keep::Guest;
use crate::bindings::wasi::keyvalue::store::{Bucket, Error, open};
use crate::bindings::wasi::keyvalue::{atomics, batch};

fn words(error: Error) -> String {
    match error {
        Error::NoSuchStore => "no-such-store".to_owned(),
        Error::AccessDenied => "access-denied".to_owned(),
        Error::Other(text) => format!("other: {text}"),
    }
}

fn opened(bucket: &str) -> Result<Bucket, String> {
    open(bucket).map_err(words)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Guest for Probe {
    fn keep_set(bucket: String, key: String, value: String) -> Result<(), String> {
        opened(&bucket)?.set(&key, value.as_bytes()).map_err(words)
    }

    fn keep_get(bucket: String, key: String) -> Result<Option<String>, String> {
        Ok(opened(&bucket)?.get(&key).map_err(words)?.map(text))
    }

    fn keep_delete(bucket: String, key: String) -> Result<(), String> {
        opened(&bucket)?.delete(&key).map_err(words)
    }

    fn keep_exists(bucket: String, key: String) -> Result<bool, String> {
        opened(&bucket)?.exists(&key).map_err(words)
    }

    fn keep_keys(bucket: String) -> Result<Vec<String>, String> {
        let bucket = opened(&bucket)?;
        let mut page = bucket.list_keys(None).map_err(words)?;
        let mut keys = page.keys;
        while page.cursor.is_some() {
            page = bucket.list_keys(page.cursor).map_err(words)?;
            keys.append(&mut page.keys);
        }
        Ok(keys)
    }

    fn keep_increment(bucket: String, key: String, times: u32) -> Result<u64, String> {
        let bucket = opened(&bucket)?;
        let mut sum = 0;
        for _ in 0..times {
            sum = atomics::increment(&bucket, &key, 1).map_err(words)?;
        }
        Ok(sum)
    }

    fn keep_batch(bucket: String, entries: Vec<(String, String)>) -> Result<Vec<Option<String>>, String> {
        let bucket = opened(&bucket)?;
        let keys: Vec<String> =
            entries.iter().map(|(key, _)| key.clone()).chain(["missing".to_owned()]).collect();
        let entries: Vec<_> = entries.into_iter().map(|(key, value)| (key, value.into_bytes())).collect();
        batch::set_many(&bucket, &entries).map_err(words)?;
        let found = batch::get_many(&bucket, &keys).map_err(words)?;
        batch::delete_many(&bucket, &keys).map_err(words)?;
        Ok(found.into_iter().map(|entry| entry.map(|(_, value)| text(value))).collect())
    }

    fn keep_fill(bucket: String, bytes: u32) -> Result<(), String> {
        let (bucket, value) = (opened(&bucket)?, vec![b'x'; bytes as usize]);
        for number in 0_u64.. {
            bucket.set(&number.to_string(), &value).map_err(words)?;
        }
        Ok(())
    }

    fn keep_open_many(bucket: String) -> Result<u32, String> {
        let mut held = Vec::new();
        for _ in 0..u32::MAX {
            held.push(opened(&bucket)?);
        }
        Ok(held.len() as u32)
    }

    fn keep_set_and_spin(bucket: String, key: String, value: String) -> Result<(), String> {
        Self::keep_set(bucket, key, value)?;
        loop {
            std::hint::black_box(());
        }
    }
}
