//! The order in which calls of one batch ask whoever answers their questions one at a time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// How far the calls of a batch have come.
#[derive(Debug)]
pub(super) struct Turns {
    calls: usize,
    /// The first call of which it is not decided yet whether it may run.
    first: watch::Sender<usize>,
    /// Those after it that are decided already.
    later: Mutex<BTreeSet<usize>>,
}

/// The place of one call. Dropping it says that the call is decided, in whatever way it ended.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Arc<Turns>,
    at: usize,
}

impl Turns {
    pub fn of(calls: usize) -> Arc<Self> {
        Arc::new(Self { calls, first: watch::Sender::new(0), later: Mutex::default() })
    }

    /// The place of the call at this index. Whoever has a later one must not wait before this was given out.
    pub fn turn(self: &Arc<Self>, at: usize) -> Turn {
        Turn { turns: Arc::clone(self), at }
    }

    fn decided(&self, at: usize) {
        let mut later = self.later.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *self.first.borrow();
        if at < before {
            return;
        }
        later.insert(at);
        let mut first = before;
        while later.remove(&first) {
            first += 1;
        }
        if first != before {
            self.first.send_replace(first);
        }
    }
}

impl Turn {
    /// Waits until every call before this one is decided.
    pub async fn comes(&self) {
        let mut first = self.turns.first.subscribe();
        // The sender lives as long as this.
        let _ = first.wait_for(|first| *first >= self.at).await;
    }

    /// Says that the call is decided.
    pub fn is_over(&self) {
        self.turns.decided(self.at);
    }

    /// The place, counted from 1, and how many calls there are.
    pub fn place(&self) -> (usize, usize) {
        (self.at + 1, self.turns.calls)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.is_over();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn a_turn_comes_when_all_before_it_are_over() {
        let turns = Turns::of(4);
        let [first, second, third, fourth] = [0, 1, 2, 3].map(|at| turns.turn(at));
        let mut context = Context::from_waker(Waker::noop());
        let mut has_come = |turn: &Turn| pin!(turn.comes()).poll(&mut context).is_ready();
        assert!(has_come(&first) && !has_come(&second));
        third.is_over();
        assert!(!has_come(&fourth), "two are before it");
        drop(first);
        assert!(has_come(&second) && !has_come(&fourth));
        second.is_over();
        second.is_over();
        assert!(has_come(&fourth));
        assert_eq!(fourth.place(), (4, 4));
    }
}
