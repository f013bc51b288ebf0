//! A small guest that works: what the benchmark calls in every way that there is.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

mod bindings {
    wit_bindgen::generate!({ path: "../wit", world: "kernel", generate_all });
}

use bindings::exports::toolcell::guests::work::Guest;

struct Kernel;

bindings::export!(Kernel with_types_in bindings);

const PAGE: usize = 4096;

fn count(value: &Value) -> u32 {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<u32>(),
        Value::Object(members) => 1 + members.values().map(count).sum::<u32>(),
        _ => 1,
    }
}

impl Guest for Kernel {
    fn sum(a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }

    fn repeat(text: String) -> String {
        text
    }

    fn digest(mib: u32) -> String {
        let piece: Vec<u8> = (0..1u32 << 20).map(|byte| (byte % 251) as u8).collect();
        let mut hash = Sha256::new();
        for _ in 0..mib {
            hash.update(&piece);
        }
        hash.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    fn values(json: String) -> Result<u32, String> {
        serde_json::from_str(&json).map(|value| count(&value)).map_err(|error| error.to_string())
    }

    fn content(path: String) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    }

    fn take(kib: u32) -> u32 {
        let mut bytes = vec![0u8; kib as usize * 1024];
        for at in (0..bytes.len()).step_by(PAGE) {
            bytes[at] = 1;
        }
        bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() * PAGE as u32
    }
}
