//! Waiting for a moment without giving the thread up: to put it to sleep and to wake it takes longer than many calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::oneshot::Receiver;
use tokio::sync::oneshot::error::{RecvError, TryRecvError};

/// How long to wait so: a few file operations, and the wake of the thread that does them. Measured: a read of 10 KB takes 25 µs
/// and its two wakes 45.
const MOMENT: Duration = Duration::from_micros(60);

/// How many may wait so at once, that others have the processors for their work.
#[derive(Debug)]
pub(super) struct Spinning {
    now: AtomicUsize,
    most: usize,
}

impl Spinning {
    /// Half of the processors; with one alone nobody.
    pub fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { now: AtomicUsize::new(0), most: processors / 2 }
    }

    /// What comes in a moment, if it does.
    pub fn receive<T>(&self, receiver: &mut Receiver<T>) -> Option<Result<T, RecvError>> {
        let _place = self.place()?;
        let begun = Instant::now();
        loop {
            match receiver.try_recv() {
                Ok(received) => return Some(Ok(received)),
                // Awaited, it says the same.
                Err(TryRecvError::Closed) => return None,
                Err(TryRecvError::Empty) if begun.elapsed() >= MOMENT => return None,
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
    }

    fn place(&self) -> Option<Place<'_>> {
        let before = self.now.fetch_add(1, Ordering::Relaxed);
        let place = Place(&self.now);
        (before < self.most).then_some(place)
    }
}

struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_received_and_what_is_not_is_left_to_be_awaited() {
        let spinning = Spinning { now: AtomicUsize::new(0), most: 1 };
        let (sender, mut receiver) = tokio::sync::oneshot::channel();
        assert!(spinning.receive::<u8>(&mut receiver).is_none());
        assert!(sender.send(7).is_ok());
        let other = spinning.place();
        assert!(other.is_some() && spinning.receive(&mut receiver).is_none(), "another has the place");
        drop(other);
        assert_eq!(spinning.receive(&mut receiver), Some(Ok(7)));
        let (sender, mut receiver) = tokio::sync::oneshot::channel::<u8>();
        drop(sender);
        assert!(spinning.receive(&mut receiver).is_none());
        assert_eq!(spinning.now.load(Ordering::Relaxed), 0);
    }
}
