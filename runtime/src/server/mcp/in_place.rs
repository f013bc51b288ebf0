//! Calls that are over at once are run where their request was read: to wake a thread for each costs more than they do.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::sandbox::catch_unwind;

/// What is left of a call, to be run elsewhere.
pub(super) type Rest = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The longest that others may have waited for a call that is taken to be over at once. A guest gives way after about a
/// millisecond.
const QUICK: Duration = Duration::from_micros(250);

/// Calls that are run elsewhere after one that was not over at once, before the next is tried.
const ELSEWHERE: u32 = 15;

/// Whether calls of late were over at once.
#[derive(Debug, Default)]
pub(super) struct InPlace {
    elsewhere: AtomicU32,
}

impl InPlace {
    /// Runs `call` until it has to wait for something, if those before it did not. What is left of it is returned.
    pub async fn run(&self, call: impl Future<Output = ()> + Send + 'static) -> Option<Rest> {
        let mut call: Rest = Box::pin(call);
        let less = |left: u32| left.checked_sub(1);
        if self.elsewhere.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return Some(call);
        }
        let begun = Instant::now();
        let mut first = catch_unwind(AssertUnwindSafe(&mut call));
        let polled = poll_fn(|context| Poll::Ready(Pin::new(&mut first).poll(context))).await;
        if polled.is_pending() || begun.elapsed() > QUICK {
            self.elsewhere.store(ELSEWHERE, Ordering::Relaxed);
        }
        polled.is_pending().then_some(call)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn what_is_over_at_once_is_run_where_it_is() {
        let (in_place, ran) = (InPlace::default(), Arc::new(AtomicU32::new(0)));
        for count in 1..=3 {
            let counted = Arc::clone(&ran);
            let call = async move {
                counted.fetch_add(1, Ordering::Relaxed);
            };
            assert!(in_place.run(call).await.is_none());
            assert_eq!(ran.load(Ordering::Relaxed), count);
        }
    }

    #[tokio::test]
    async fn after_one_that_waits_others_are_run_elsewhere() {
        let in_place = InPlace::default();
        let rest = in_place.run(tokio::task::yield_now()).await;
        assert!(rest.is_some(), "it was not over");
        for _ in 0..ELSEWHERE {
            assert!(in_place.run(async {}).await.is_some());
        }
        assert!(in_place.run(async {}).await.is_none());
        if let Some(rest) = rest {
            rest.await;
        }
    }

    #[tokio::test]
    async fn a_call_that_takes_its_time_is_not_followed_by_another() {
        let in_place = InPlace::default();
        let busy = async { std::thread::sleep(QUICK * 2) };
        assert!(in_place.run(busy).await.is_none());
        assert!(in_place.run(async {}).await.is_some());
    }

    #[tokio::test]
    async fn a_panic_ends_its_call_alone() {
        let in_place = InPlace::default();
        let none: Option<u32> = std::hint::black_box(None);
        let call = async move {
            #[expect(clippy::unwrap_used, reason = "to panic is what it is for")]
            none.unwrap();
        };
        assert!(in_place.run(call).await.is_none());
    }
}
