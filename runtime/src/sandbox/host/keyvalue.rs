//! `wasi:keyvalue`: values that a tool keeps, as far as it is granted and while there is room. wasmtime's own forgets
//! everything with the bucket.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::Result;
use wasmtime::component::{HasSelf, Linker, Resource};

use crate::call::Denial;
use crate::kept::{KeepError, Place, Store as Values};
use crate::limits::Limit;
use crate::recording::{Contents, Tape, Taped};
use crate::sandbox::state::CellState;
use crate::sandbox::tape::{given_bytes, taped};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit/deps/wasi-keyvalue",
        world: "wasi:keyvalue/imports",
        imports: { default: trappable },
        with: { "wasi:keyvalue/store.bucket": super::Bucket },
    });
}

use bindings::wasi::keyvalue::{atomics, batch, store};
use store::{Error, KeyResponse};

/// Bytes of a bucket's name.
const MAX_NAME_BYTES: usize = 256;

/// The longest that a call waits for other processes, within its own time.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a call may keep, and where.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeepGrant {
    /// Nothing is granted without one.
    pub place: Option<Place>,
    /// Whether values may only be read: the function claims to be read-only.
    pub read_only: bool,
    /// The setting that grants it.
    pub setting: Arc<str>,
}

/// The values of one call, opened when they are first needed.
#[derive(Default)]
pub(crate) struct Keeping {
    grant: KeepGrant,
    values: Option<Values>,
    /// A write that did not fit, of which the guest was told.
    pub full: Option<(Limit, u64)>,
}

impl Keeping {
    pub fn new(grant: KeepGrant) -> Self {
        Self { grant, ..Self::default() }
    }
}

/// A bucket by its name; it is nothing more.
pub struct Bucket(String);

pub(super) fn add_to_linker(linker: &mut Linker<CellState>) -> Result<()> {
    store::add_to_linker::<CellState, HasSelf<CellState>>(linker, |state| state)?;
    atomics::add_to_linker::<CellState, HasSelf<CellState>>(linker, |state| state)?;
    batch::add_to_linker::<CellState, HasSelf<CellState>>(linker, |state| state)
}

type Answer<T> = std::result::Result<T, Error>;

/// Why something could not be kept, in the words that the guest gets.
struct Untold {
    text: String,
    /// What would have been kept, if it was too much.
    full: Option<u64>,
}

impl Taped for Untold {
    fn to_tape(&self, contents: &mut Contents) -> serde_json::Value {
        (self.text.clone(), self.full).to_tape(contents)
    }

    fn from_tape(value: &serde_json::Value, contents: &Contents) -> Option<Self> {
        let (text, full) = Taped::from_tape(value, contents)?;
        Some(Self { text, full })
    }
}

impl From<KeepError> for Untold {
    fn from(error: KeepError) -> Self {
        let full = match &error {
            KeepError::Full { wanted } => Some(*wanted),
            _ => None,
        };
        Self { text: error.to_string(), full }
    }
}

impl CellState {
    /// Does something with the values of a bucket, within the call's time. `ask` says what, for a recording.
    fn kept<T: Taped>(
        &mut self,
        bucket: &Resource<Bucket>,
        ask: impl FnOnce() -> String,
        work: impl FnOnce(&mut Values, &str, u64) -> std::result::Result<T, KeepError>,
    ) -> Result<Answer<T>> {
        let name = self.table.get(bucket)?.0.clone();
        if self.keeping.grant.place.is_none() {
            return Ok(Err(Error::AccessDenied));
        }
        let done: Result<std::result::Result<T, Untold>> =
            taped!(self.tape.clone(), format!("kept `{name}` {}", ask()), self.keep(&name, work));
        Ok(done?.map_err(|error| self.told(error)))
    }

    fn keep<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Values, &str, u64) -> std::result::Result<T, KeepError>,
    ) -> Result<std::result::Result<T, Untold>> {
        let room = self.budget.limits().get(Limit::StateBytes);
        let patience = self.watch.remaining().min(PATIENCE);
        let keeping = &mut self.keeping;
        let place = keeping.grant.place.as_ref();
        let done = match (&mut keeping.values, place) {
            (Some(values), _) => Ok(values),
            (none, Some(place)) => Values::open(place, patience).map(|values| none.insert(values)),
            (None, None) => Err(KeepError::Wrong("nothing is granted")),
        };
        let done = done.and_then(|values| {
            values.patience(patience);
            work(values, name, room)
        });
        // Whatever was waited for is over: a call that has no time left learns it here.
        self.watch.check()?;
        Ok(done.map_err(Untold::from))
    }

    /// The same for a change, which a function that claims to be read-only may not make.
    fn changed<T: Taped>(
        &mut self,
        bucket: &Resource<Bucket>,
        operation: &str,
        subject: impl FnOnce() -> String,
        work: impl FnOnce(&mut Values, &str, u64) -> std::result::Result<T, KeepError>,
    ) -> Result<Answer<T>> {
        if self.keeping.grant.read_only {
            let name = self.table.get(bucket)?.0.clone();
            self.deny(operation, &name, "none: the function claims to be read-only");
            return Ok(Err(Error::AccessDenied));
        }
        self.kept(bucket, || format!("{operation} {}", subject()), work)
    }

    fn deny(&mut self, operation: &str, target: &str, setting: &str) {
        self.denials.add(Denial::new("state", operation, target, setting));
    }

    fn told(&mut self, error: Untold) -> Error {
        if let Some(wanted) = error.full {
            self.keeping.full = Some((Limit::StateBytes, wanted));
        }
        Error::Other(error.text)
    }

    fn charge<'a>(&mut self, parts: impl IntoIterator<Item = &'a [u8]>) -> Result<()> {
        let bytes = parts.into_iter().map(<[u8]>::len).fold(0_usize, usize::saturating_add);
        Ok(self.budget.charge_host_bytes(u64::try_from(bytes).unwrap_or(u64::MAX))?)
    }
}

fn quoted(key: &str, operation: &str) -> String {
    format!("{operation} `{key}`")
}

/// Keys with how long their values are, and their digests.
fn listed(tape: Option<&Tape>, entries: &[(String, Vec<u8>)]) -> String {
    let entry = |(key, value): &(String, Vec<u8>)| format!("`{key}` {}", given_bytes(tape, value));
    entries.iter().map(entry).collect::<Vec<_>>().join(", ")
}

impl store::Host for CellState {
    fn open(&mut self, identifier: String) -> Result<Answer<Resource<Bucket>>> {
        self.charge([identifier.as_bytes()])?;
        if self.keeping.grant.place.is_none() {
            let setting = Arc::clone(&self.keeping.grant.setting);
            self.deny("open", &identifier, &setting);
            return Ok(Err(Error::AccessDenied));
        }
        if identifier.len() > MAX_NAME_BYTES {
            return Ok(Err(Error::NoSuchStore));
        }
        Ok(Ok(self.table.push(Bucket(identifier))?))
    }
}

impl store::HostBucket for CellState {
    fn get(&mut self, bucket: Resource<Bucket>, key: String) -> Result<Answer<Option<Vec<u8>>>> {
        let value = self.kept(&bucket, || quoted(&key, "get"), |values, name, _| values.get(name, &key))?;
        let found = value.as_ref().ok().and_then(Option::as_deref).unwrap_or_default();
        self.charge([key.as_bytes(), found])?;
        Ok(value)
    }

    fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> Result<Answer<()>> {
        self.charge([key.as_bytes(), &value])?;
        let (tape, entries) = (self.tape.clone(), [(key, value)]);
        self.changed(
            &bucket,
            "set",
            || listed(tape.as_ref(), &entries),
            |values, name, room| values.set(name, &entries, room),
        )
    }

    fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> Result<Answer<()>> {
        self.charge([key.as_bytes()])?;
        let keys = [key];
        self.changed(&bucket, "delete", || format!("{keys:?}"), |values, name, _| values.delete(name, &keys))
    }

    fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> Result<Answer<bool>> {
        self.charge([key.as_bytes()])?;
        self.kept(&bucket, || quoted(&key, "exists"), |values, name, _| values.exists(name, &key))
    }

    fn list_keys(&mut self, bucket: Resource<Bucket>, cursor: Option<u64>) -> Result<Answer<KeyResponse>> {
        let ask = || format!("list-keys {cursor:?}");
        let page = self.kept(&bucket, ask, |values, name, _| values.keys(name, cursor))?;
        if let Ok((keys, _)) = &page {
            self.charge(keys.iter().map(String::as_bytes))?;
        }
        Ok(page.map(|(keys, cursor)| KeyResponse { keys, cursor }))
    }

    fn drop(&mut self, bucket: Resource<Bucket>) -> Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl atomics::Host for CellState {
    fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: u64) -> Result<Answer<u64>> {
        self.charge([key.as_bytes()])?;
        let subject = || format!("`{key}` {delta}");
        self.changed(&bucket, "increment", subject, |values, name, room| {
            values.increment(name, &key, delta, room)
        })
    }
}

/// Entries in the order of their keys, none where there is no value.
type Found = Vec<Option<(String, Vec<u8>)>>;

impl batch::Host for CellState {
    fn get_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Result<Answer<Found>> {
        let mut found = Vec::new();
        for key in keys {
            // One by one, so that what they make the host hold is counted on the way.
            match store::HostBucket::get(self, Resource::new_borrow(bucket.rep()), key.clone())? {
                Ok(value) => found.push(value.map(|value| (key, value))),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(found))
    }

    fn set_many(&mut self, bucket: Resource<Bucket>, entries: Vec<(String, Vec<u8>)>) -> Result<Answer<()>> {
        self.charge(entries.iter().flat_map(|(key, value)| [key.as_bytes(), value]))?;
        let tape = self.tape.clone();
        self.changed(
            &bucket,
            "set-many",
            || listed(tape.as_ref(), &entries),
            |values, name, room| values.set(name, &entries, room),
        )
    }

    fn delete_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Result<Answer<()>> {
        self.charge(keys.iter().map(String::as_bytes))?;
        let subject = || format!("{keys:?}");
        self.changed(&bucket, "delete-many", subject, |values, name, _| values.delete(name, &keys))
    }
}
