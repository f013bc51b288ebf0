//! Which connection gives way to one that comes when there are as many as may be. Those of which nobody knows yet who they
//! are of have little time, and go first; then of those of whoever has most, one on which nothing is asked, or one that
//! only listens. One on which a call runs never does.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
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
    /// Those that are known by now, the oldest first.
    known: Mutex<VecDeque<Weak<Newcomer>>>,
    /// Those that were told to leave and are still there.
    leaving: Arc<AtomicUsize>,
}

/// A connection that begins.
pub(super) struct Newcomer {
    from: IpAddr,
    /// The principal whose it is, once that is known.
    owner: OnceLock<Option<String>>,
    /// Requests that are not answered yet, streams included.
    asked: AtomicUsize,
    /// Those of them that only listen.
    listening: AtomicUsize,
    leave: CancellationToken,
    leaving: Arc<AtomicUsize>,
}

/// A request on its way, from its headers to the end of its answer.
pub(super) struct Visit {
    newcomer: Arc<Newcomer>,
    listens: bool,
}

impl Newcomers {
    /// With places for `connections`, of which one address may have half.
    pub fn new(connections: usize) -> Self {
        Self {
            all: Mutex::default(),
            most: (connections / 2).max(1),
            known: Mutex::default(),
            leaving: Arc::default(),
        }
    }

    /// Notes one. Where too many come from its address, the oldest of these leaves.
    pub fn enter(&self, from: IpAddr) -> Arc<Newcomer> {
        let newcomer = Newcomer {
            from: network(from),
            owner: OnceLock::new(),
            asked: AtomicUsize::new(0),
            listening: AtomicUsize::new(0),
            leave: CancellationToken::new(),
            leaving: Arc::clone(&self.leaving),
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

    /// Makes one leave; whether there was one that could.
    pub fn make_room(&self) -> bool {
        let oldest = self.waiting().pop_front();
        leave(oldest) || leave(self.spare().as_ref().map(Arc::downgrade))
    }

    /// How many are still there that were told to leave.
    pub fn leaving(&self) -> usize {
        self.leaving.load(Ordering::Relaxed)
    }

    /// A request on the connection has shown that it is of `principal`.
    pub fn know(&self, newcomer: &Arc<Newcomer>, principal: Option<&str>) {
        if newcomer.owner.set(principal.map(str::to_owned)).is_ok() {
            self.known().push_back(Arc::downgrade(newcomer));
        }
    }

    /// Of the connections of whoever has most that can be spared, the one that is missed least.
    fn spare(&self) -> Option<Arc<Newcomer>> {
        let known: Vec<Arc<Newcomer>> = self.known().iter().filter_map(Weak::upgrade).collect();
        let mut counts: HashMap<Option<&str>, usize> = HashMap::new();
        for newcomer in &known {
            *counts.entry(newcomer.owner()).or_default() += 1;
        }
        let has = |newcomer: &&Arc<Newcomer>| counts.get(&newcomer.owner()).copied().unwrap_or_default();
        let most = known.iter().map(|newcomer| has(&newcomer)).max()?;
        let spared = |is_spared: fn(&Newcomer) -> bool| {
            let mut theirs = known.iter().filter(|newcomer| has(newcomer) == most);
            theirs.find(|newcomer| is_spared(newcomer)).map(Arc::clone)
        };
        spared(Newcomer::is_idle).or_else(|| spared(Newcomer::only_listens))
    }

    /// Those that are known and have not left.
    fn known(&self) -> MutexGuard<'_, VecDeque<Weak<Newcomer>>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|other| other.upgrade().is_some_and(|other| !other.leave.is_cancelled()));
        known
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
    newcomer.inspect(|newcomer| newcomer.leave()).is_some()
}

impl Newcomer {
    fn leave(&self) {
        if !self.leave.is_cancelled() {
            self.leaving.fetch_add(1, Ordering::Relaxed);
            self.leave.cancel();
        }
    }

    fn is_known(&self) -> bool {
        self.owner.get().is_some()
    }

    fn owner(&self) -> Option<&str> {
        self.owner.get().and_then(Option::as_deref)
    }

    fn is_idle(&self) -> bool {
        self.asked.load(Ordering::Relaxed) == 0
    }

    fn only_listens(&self) -> bool {
        self.asked.load(Ordering::Relaxed) == self.listening.load(Ordering::Relaxed)
    }

    /// A request has come on it.
    pub fn visit(self: &Arc<Self>) -> Visit {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Visit { newcomer: Arc::clone(self), listens: false }
    }

    /// Waits until it has to leave: after a while if nobody knows it by then, and when its place is wanted.
    pub async fn overdue(&self) {
        let unknown = async {
            sleep(PATIENCE).await;
            if self.is_known() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = unknown => {}
            () = self.leave.cancelled() => {}
        }
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        if self.leave.is_cancelled() {
            self.leaving.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Visit {
    /// What it is answered with is a stream for what belongs to no request.
    pub fn listens(&mut self) {
        if !std::mem::replace(&mut self.listens, true) {
            self.newcomer.listening.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if self.listens {
            self.newcomer.listening.fetch_sub(1, Ordering::Relaxed);
        }
        self.newcomer.asked.fetch_sub(1, Ordering::Relaxed);
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
        newcomers.know(&first, Some("ada"));
        let visit = first.visit();
        assert!(newcomers.make_room() && has_left(&second) && !has_left(&first) && !has_left(&third));
        assert_eq!(newcomers.leaving(), 1);
        drop(second);
        assert_eq!(newcomers.leaving(), 0);
        drop(third);
        assert!(!newcomers.make_room(), "a call runs on the other");
        assert!(!has_left(&first));
        drop(visit);
        assert!(newcomers.make_room() && has_left(&first), "nothing is asked on it");
    }

    #[test]
    fn whoever_has_most_gives_way() {
        let newcomers = Newcomers::new(100);
        let enter = |principal: &str| {
            let newcomer = newcomers.enter("192.0.2.1".parse().unwrap());
            newcomers.know(&newcomer, Some(principal));
            newcomer
        };
        let idle = enter("bob");
        let all = [enter("ada"), enter("ada"), enter("ada")];
        let [calling, mut listening] = [all[0].visit(), all[1].visit()];
        listening.listens();
        assert!(newcomers.make_room() && has_left(&all[2]), "the one without a request");
        assert!(newcomers.make_room() && has_left(&all[1]), "the one that only listens");
        assert!(!has_left(&all[0]) && !has_left(&idle));
        // One each: that on which nothing is asked, whosever it is.
        assert!(newcomers.make_room() && has_left(&idle) && !has_left(&all[0]));
        assert!(!newcomers.make_room());
        drop((calling, listening));
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
