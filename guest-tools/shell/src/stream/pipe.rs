//! Pipes in memory, of the size that systems give them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::{Buffer, Handle};
use crate::stop::Stop;
use crate::task;

/// As on Linux: a writer waits while so much is unread.
const CAPACITY: usize = 64 << 10;

#[derive(Default)]
struct Shared {
    buffer: RefCell<Buffer>,
    closed: Cell<bool>,
    abandoned: Cell<bool>,
}

/// Both ends of a new pipe: what is written to the second is read from the first.
pub fn pipe() -> (Handle, Handle) {
    let shared = Rc::new(Shared::default());
    (Handle::Reader(Rc::new(Reader(Rc::clone(&shared)))), Handle::Writer(Rc::new(Writer(shared))))
}

/// The end to read from. When the last copy goes, writers learn that nobody reads.
pub struct Reader(Rc<Shared>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.abandoned.set(true);
        task::moved();
    }
}

impl Reader {
    /// Waits for bytes; false at the end.
    pub async fn fill(&self) -> bool {
        task::until(|| {
            if !self.0.buffer.borrow().is_empty() {
                return Some(true);
            }
            self.0.closed.get().then_some(false)
        })
        .await
    }

    pub fn with<T>(&self, see: impl FnOnce(&mut Buffer) -> T) -> T {
        task::moved();
        see(&mut self.0.buffer.borrow_mut())
    }
}

/// The end to write to. When the last copy goes, readers find the end.
pub struct Writer(Rc<Shared>);

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.closed.set(true);
        task::moved();
    }
}

impl Writer {
    pub fn is_abandoned(&self) -> bool {
        self.0.abandoned.get()
    }

    pub async fn write(&self, bytes: &[u8]) -> Result<(), Stop> {
        task::until(|| (self.0.abandoned.get() || self.0.buffer.borrow().len() < CAPACITY).then_some(()))
            .await;
        if self.is_abandoned() {
            return Err(Stop::Pipe);
        }
        self.0.buffer.borrow_mut().push(bytes);
        task::moved();
        Ok(())
    }
}
