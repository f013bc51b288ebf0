//! Connections of which nobody knows yet who they are of: they have little time, and give way to those that come after them.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How long a connection may take until a request on it has shown who asks. Clients send theirs at once; whoever opens connections
/// to hold others off does not.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The newcomers of one server, the oldest first.
pub(super) struct Newcomers {
    all: Mutex<VecDeque<Weak<Newcomer>>>,
    /// How many may come from one address.
    most: usize,
}

/// A connection that begins.
pub(super) struct Newcomer {
    from: IpAddr,
    is_known: AtomicBool,
    leave: CancellationToken,
}

impl Newcomers {
    /// With places for `connections`, of which one address may have half.
    pub fn new(connections: usize) -> Self {
        Self { all: Mutex::default(), most: (connections / 2).max(1) }
    }

    /// Notes one. Where too many come from its address, the oldest of these leaves.
    pub fn enter(&self, from: IpAddr) -> Arc<Newcomer> {
        let newcomer = Newcomer {
            from: network(from),
            is_known: AtomicBool::new(false),
            leave: CancellationToken::new(),
        };
        let newcomer = Arc::new(newcomer);
        let mut all = self.waiting();
        let beside =
            |other: &Weak<Newcomer>| other.upgrade().is_some_and(|other| other.from == newcomer.from);
        if all.iter().filter(|other| beside(other)).count() >= self.most
            && let Some(at) = all.iter().position(beside)
        {
            leave(all.remove(at));
        }
        all.push_back(Arc::downgrade(&newcomer));
        newcomer
    }

    /// Makes the oldest leave; whether there was one.
    pub fn make_room(&self) -> bool {
        leave(self.waiting().pop_front())
    }

    /// Whether one could leave.
    pub fn are_there(&self) -> bool {
        !self.waiting().is_empty()
    }

    /// Those that are still newcomers.
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Weak<Newcomer>>> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.upgrade().is_some_and(|other| !other.is_known()));
        all
    }
}

fn leave(newcomer: Option<Weak<Newcomer>>) -> bool {
    let newcomer = newcomer.and_then(|newcomer| newcomer.upgrade());
    newcomer.inspect(|newcomer| newcomer.leave.cancel()).is_some()
}

impl Newcomer {
    /// A request has shown who asks.
    pub fn is_one_of_us(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }

    /// Waits until it has to leave, which it never has once it is known.
    pub async fn overdue(&self) {
        tokio::select! {
            () = sleep(PATIENCE) => {}
            () = self.leave.cancelled() => {}
        }
        if self.is_known() {
            std::future::pending::<()>().await;
        }
    }
}

/// What one peer can have any number of addresses in.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    fn has_left(newcomer: &Newcomer) -> bool {
        newcomer.leave.is_cancelled()
    }

    #[test]
    fn the_oldest_that_nobody_knows_gives_way() {
        let newcomers = Newcomers::new(100);
        let [one, two] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        let (first, second, third) = (newcomers.enter(one), newcomers.enter(two), newcomers.enter(one));
        first.is_one_of_us();
        assert!(newcomers.make_room() && has_left(&second) && !has_left(&first) && !has_left(&third));
        drop(second);
        assert!(newcomers.are_there());
        drop(third);
        assert!(!newcomers.are_there() && !newcomers.make_room());
        assert!(!has_left(&first));
    }

    #[test]
    fn one_address_pushes_out_its_own_alone() {
        let newcomers = Newcomers::new(4);
        let other = newcomers.enter("192.0.2.2".parse().unwrap());
        for addresses in [["192.0.2.1"; 3], ["2001:db8::1", "2001:db8::2", "2001:db8::3"]] {
            let all = addresses.map(|address| newcomers.enter(address.parse().unwrap()));
            assert_eq!(all.map(|newcomer| has_left(&newcomer)), [true, false, false]);
        }
        assert!(!has_left(&other));
    }
}
