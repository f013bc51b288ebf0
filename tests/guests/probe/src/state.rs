//! What a call leaves behind, and what the next one finds.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::Probe;
use crate::bindings::exports::toolcell::guests::state::Guest;

static VALUE: AtomicI64 = AtomicI64::new(0);

const PAGES_OF_MIB: usize = 16;
const PAGE: usize = 65536;
const MARK: u64 = 0x6D61_726B_6D61_726B;

/// New memory of `mib` MiB as words, straight from the host.
fn new_words(mib: u64) -> impl Iterator<Item = *mut u64> {
    let pages = mib as usize * PAGES_OF_MIB;
    let first = core::arch::wasm32::memory_grow::<0>(pages);
    assert_ne!(first, usize::MAX, "the host gives no {mib} MiB");
    (first * PAGE..(first + pages) * PAGE).step_by(size_of::<u64>()).map(|address| address as *mut u64)
}

impl Guest for Probe {
    fn set(value: i64) -> i64 {
        VALUE.swap(value, Ordering::Relaxed)
    }

    fn get() -> i64 {
        VALUE.load(Ordering::Relaxed)
    }

    fn leave_marks(mib: u32) -> u64 {
        // SAFETY: the words lie in memory that was just grown and that nothing else knows of.
        new_words(u64::from(mib)).map(|word| unsafe { word.write_volatile(MARK) }).count() as u64
    }

    fn find_marks(mib: u32) -> u64 {
        // SAFETY: as above; new memory holds zeroes, or whatever the host left in it, which is the question.
        new_words(u64::from(mib)).filter(|word| unsafe { word.read_volatile() } == MARK).count() as u64
    }
}
