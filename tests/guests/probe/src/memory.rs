//! Memory of the guest, and results that take much of the host's.

use std::hint::black_box;

use crate::Probe;
use crate::bindings::exports::toolcell::guests::memory::{Guest, Item};

const MIB: usize = 1 << 20;

impl Guest for Probe {
    fn alloc(mib: u32) -> u64 {
        let blocks: Vec<Vec<u8>> = (0..mib).map(|_| black_box(vec![1; MIB])).collect();
        blocks.iter().map(|block| block.len() as u64).sum()
    }

    fn recurse(depth: u64) -> u64 {
        // The frame is used after the call returns, so that no frame can be left out.
        let frame = black_box([depth; 4]);
        match depth {
            0 => frame[0],
            _ => Self::recurse(depth - 1) + u64::from(frame[3] == depth),
        }
    }

    fn blob(bytes: u64) -> Vec<u8> {
        (0..bytes).map(|index| index as u8).collect()
    }

    fn text(bytes: u64) -> String {
        let line = format!("{}\n", "0123456789".repeat(8).split_at(79).0);
        line.chars().cycle().take(bytes as usize).collect()
    }

    fn long_line(bytes: u64, end: String) -> String {
        format!("start{}{end}", "-".repeat(bytes as usize))
    }

    fn many(count: u64) -> Vec<Item> {
        (0..count).map(|id| Item { id: id as u32, name: format!("item {id}") }).collect()
    }

    fn list_strings(count: u64, size: u64) -> Vec<String> {
        (0..count).map(|_| "x".repeat(size as usize)).collect()
    }

    fn shared_strings(count: u64, size: u64) -> Vec<String> {
        let shared = "x".repeat(size as usize).leak();
        // SAFETY: none. The bindings only copy pointer and length of each into the result, but once the host has
        // read it they free each of them. That is the guest's own trouble: the host must survive it.
        (0..count)
            .map(|_| unsafe { String::from_raw_parts(shared.as_mut_ptr(), shared.len(), shared.len()) })
            .collect()
    }

    fn bits(count: u64) -> Vec<bool> {
        (0..count).map(|index| index % 2 == 0).collect()
    }
}
