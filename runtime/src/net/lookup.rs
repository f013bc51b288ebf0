//! Look-ups of names: few at once, each name once at a time, and no component with the places of all. A look-up lasts
//! until its resolver has answered, also where nobody waits for it any more, and keeps its place for so long: a name server
//! that is silent costs whoever asks it, and nobody else.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::resolve::{Resolver, SystemSaid};

/// Names that one runtime looks up at once, those included that wait until the operating system can be asked.
const MAX_NAMES: usize = 64;

/// Names that one component has looked up at once: a quarter of what the operating system is asked at once.
const FOR_ONE: usize = 4;

/// Requests of one component that wait for one of these places: those of two calls.
const MAX_WAITING: usize = 64;

/// Why a name has no addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LookupError {
    /// The resolver said so.
    Failed(String),
    /// Too much is looked up already; later there may be room.
    Busy,
}

type Found = Result<Arc<[IpAddr]>, LookupError>;

/// The look-ups of one runtime.
pub(super) struct Lookups {
    resolver: Arc<dyn Resolver>,
    under_way: Mutex<HashMap<String, watch::Receiver<Option<Found>>>>,
}

/// Who asks: what belongs to one component, or one server.
#[derive(Debug)]
pub(crate) struct Asker {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Default for Asker {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(FOR_ONE)), waiting: AtomicUsize::new(0) }
    }
}

impl Asker {
    async fn place(&self) -> Result<OwnedSemaphorePermit, LookupError> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(place);
        }
        let _waiting = Waiting::new(&self.waiting).ok_or(LookupError::Busy)?;
        Arc::clone(&self.places).acquire_owned().await.map_err(|_| LookupError::Busy)
    }
}

/// One that waits for a place; until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(waiting: &'a AtomicUsize) -> Option<Self> {
        let one = Self(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < MAX_WAITING).then_some(one)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lookups {
    pub fn new(resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, under_way: Mutex::default() }
    }

    /// The addresses of `name`, for `asker`. What is looked up is driven by `handle`.
    ///
    /// # Errors
    /// That there are none, or that it has to be asked for later.
    pub async fn find(self: &Arc<Self>, name: &str, asker: &Asker, handle: &Handle) -> Found {
        let shared = self.lock().get(name).cloned();
        let mut answer = match shared {
            Some(answer) => answer,
            None => self.begin(name, asker.place().await?, handle)?,
        };
        let found = answer.wait_for(Option::is_some).await;
        let failed = || Err(LookupError::Failed("the look-up failed".to_owned()));
        found.map_or_else(|_| failed(), |found| found.clone().unwrap_or_else(failed))
    }

    /// Begins to look up `name`, unless somebody did meanwhile.
    fn begin(
        self: &Arc<Self>,
        name: &str,
        place: OwnedSemaphorePermit,
        handle: &Handle,
    ) -> Result<watch::Receiver<Option<Found>>, LookupError> {
        let mut under_way = self.lock();
        if let Some(answer) = under_way.get(name) {
            return Ok(answer.clone());
        }
        if under_way.len() >= MAX_NAMES {
            return Err(LookupError::Busy);
        }
        let (sender, answer) = watch::channel(None);
        under_way.insert(name.to_owned(), answer.clone());
        drop(under_way);
        let lookup = Lookup { lookups: Arc::clone(self), name: name.to_owned(), _place: place };
        handle.spawn(async move {
            let found = lookup.lookups.resolver.resolve(&lookup.name).await;
            // First it is no longer under way: who asks from now on asks anew.
            drop(lookup);
            sender.send_replace(Some(found.map(Into::into).map_err(failed)));
        });
        Ok(answer)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Receiver<Option<Found>>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that is under way, until it is dropped, in whatever way it ends.
struct Lookup {
    lookups: Arc<Lookups>,
    name: String,
    _place: OwnedSemaphorePermit,
}

impl Drop for Lookup {
    fn drop(&mut self) {
        self.lookups.lock().remove(&self.name);
    }
}

/// In words that may be shown: an embedder's resolver may say what is none of a tool's business.
fn failed(error: io::Error) -> LookupError {
    let said = error.get_ref().and_then(|inner| inner.downcast_ref::<SystemSaid>());
    LookupError::Failed(said.map_or_else(|| error.kind().to_string(), ToString::to_string))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test's failure is its report")]

    use std::time::Duration;

    use tokio::sync::Notify;

    use super::*;

    /// Answers when it is let, but for names that begin with `now`, and counts who it was asked for.
    #[derive(Default)]
    struct Slow {
        asked: Mutex<Vec<String>>,
        let_go: Notify,
    }

    #[async_trait::async_trait]
    impl Resolver for Arc<Slow> {
        async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
            self.asked.lock().unwrap().push(name.to_owned());
            if !name.starts_with("now") {
                self.let_go.notified().await;
            }
            Ok(vec![IpAddr::from([10, 0, 0, 1])])
        }
    }

    fn lookups() -> (Arc<Slow>, Arc<Lookups>) {
        let slow = Arc::new(Slow::default());
        (Arc::clone(&slow), Arc::new(Lookups::new(Arc::new(slow))))
    }

    async fn asked(slow: &Slow, count: usize) {
        while slow.asked.lock().unwrap().len() < count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn who_gives_up_keeps_its_place_and_takes_nobody_elses() {
        let (slow, lookups) = lookups();
        let (hostile, other, handle) = (Asker::default(), Asker::default(), Handle::current());
        // Seven hundred names whose server is silent, by who waits for none of them.
        for number in 0..700 {
            let name = format!("silent-{number}.test");
            let find = lookups.find(&name, &hostile, &handle);
            assert!(tokio::time::timeout(Duration::ZERO, find).await.is_err());
        }
        asked(&slow, FOR_ONE).await;
        assert_eq!(slow.asked.lock().unwrap().len(), FOR_ONE);
        assert!(lookups.find("now.test", &other, &handle).await.is_ok());
        assert_eq!((slow.asked.lock().unwrap().len(), lookups.lock().len()), (FOR_ONE + 1, FOR_ONE));
        slow.let_go.notify_waiters();
        assert!(lookups.find("now.test", &hostile, &handle).await.is_ok());
        while !lookups.lock().is_empty() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_name_is_looked_up_once_for_all_who_ask_meanwhile() {
        let (slow, lookups) = lookups();
        let handle = Handle::current();
        let many: Vec<_> = (0..100)
            .map(|_| {
                let (lookups, handle) = (Arc::clone(&lookups), handle.clone());
                tokio::spawn(async move { lookups.find("one.test", &Asker::default(), &handle).await })
            })
            .collect();
        asked(&slow, 1).await;
        tokio::task::yield_now().await;
        slow.let_go.notify_waiters();
        for one in many {
            assert!(one.await.unwrap().is_ok());
        }
        assert_eq!(*slow.asked.lock().unwrap(), ["one.test"]);
    }

    #[tokio::test]
    async fn whoever_would_wait_too_long_is_told_to_come_later() {
        let (slow, lookups) = lookups();
        let (asker, handle) = (Arc::new(Asker::default()), Handle::current());
        let waiting: Vec<_> = (0..FOR_ONE + MAX_WAITING)
            .map(|number| {
                let (lookups, asker, handle) = (Arc::clone(&lookups), Arc::clone(&asker), handle.clone());
                tokio::spawn(async move { lookups.find(&format!("{number}.test"), &asker, &handle).await })
            })
            .collect();
        while asker.waiting.load(Ordering::Relaxed) < MAX_WAITING {
            tokio::task::yield_now().await;
        }
        assert_eq!(lookups.find("more.test", &asker, &handle).await, Err(LookupError::Busy));
        drop(waiting);
        // So is everybody, where all names that may be looked up are.
        for number in 0..MAX_NAMES {
            let name = format!("other-{number}.test");
            let asker = Asker::default();
            let find = lookups.find(&name, &asker, &handle);
            let _ = tokio::time::timeout(Duration::ZERO, find).await;
        }
        assert_eq!(lookups.find("more.test", &Asker::default(), &handle).await, Err(LookupError::Busy));
        assert!(slow.asked.lock().unwrap().len() <= MAX_NAMES);
    }
}
