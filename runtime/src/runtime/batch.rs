//! Several calls of one message of a model.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;

use super::json_bytes::json_bytes;
use super::turns::{Turn, Turns};
use super::{Runtime, Session};
use crate::call::{CallError, ErrorKind, Event, LimitHit, Outcome, ToolCall};
use crate::limits::{Limit, advice};

/// Calls of one batch that run at once; more would wait for cells that other callers could have had.
const TOGETHER: usize = 8;

impl Runtime {
    /// Calls several tools: one outcome for each call, in the order of the calls.
    ///
    /// Calls that follow each other and whose tools are read-only, or are declared safe to run beside
    /// others, run at the same time, up to eight of them and no
    /// more than there are cells; every other call waits for all before it, and all after it wait for it, so that a
    /// read after a write sees it. A failure stops nothing. A call without an id, or with one that an earlier call has,
    /// is refused with `invalid_arguments`: its outcome could not be told from another.
    ///
    /// A batch is bounded by [`Admission`](crate::limits::Admission): calls after the thousandth, and those that have not
    /// begun when the results before them have 64 MiB together, are refused with `resource_limit`. An approver that wants its
    /// questions [one at a time](crate::policy::Approver::is_asked_in_order) gets them in the order of the calls.
    ///
    /// Nothing runs until the batch is awaited, and nothing is spawned: tools that compute take turns on the thread
    /// that awaits, while those with directories have threads of their own.
    pub fn call_batch(&self, calls: Vec<ToolCall>) -> Batch {
        Batch::new(self.anonymous(), calls)
    }
}

/// Several calls on their way; await them.
#[derive(Debug)]
#[must_use = "a batch runs when it is awaited"]
pub struct Batch {
    session: Session,
    calls: Vec<ToolCall>,
    timeout: Option<Duration>,
    cancel: CancellationToken,
    listeners: Listeners,
}

/// Who listens to which call.
#[derive(Default)]
struct Listeners(Option<Box<ListenerOf>>);

/// Gives the listener of a call that is about to begin, if there is one.
type ListenerOf = dyn Fn(&ToolCall) -> Option<Sender<Event>> + Send + Sync;

impl std::fmt::Debug for Listeners {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if self.0.is_some() { "listeners" } else { "nobody" })
    }
}

impl Batch {
    pub(super) fn new(session: Session, calls: Vec<ToolCall>) -> Self {
        Self {
            session,
            calls,
            timeout: None,
            cancel: CancellationToken::new(),
            listeners: Listeners::default(),
        }
    }

    /// Lowers the time that each cell may take; a longer one than a tool's limit changes nothing.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Ends what is not finished when `token` is cancelled, with the kind `cancelled`; what is finished stays.
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = token;
        self
    }

    /// Asks `listener`, before each call begins, for a channel that gets what its tool says, as [`Call::events`] does.
    ///
    /// [`Call::events`]: super::Call::events
    pub fn events(
        mut self,
        listener: impl Fn(&ToolCall) -> Option<Sender<Event>> + Send + Sync + 'static,
    ) -> Self {
        self.listeners = Listeners(Some(Box::new(listener)));
        self
    }

    async fn run(mut self) -> Vec<Outcome> {
        let calls = std::mem::take(&mut self.calls);
        let (refusals, turns) = (without_own_id(&calls), Turns::of(calls.len()));
        let mut outcomes = Outcomes { all: Vec::with_capacity(calls.len()), bytes: 0 };
        let mut together = VecDeque::new();
        for (at, (call, refusal)) in calls.into_iter().zip(refusals).enumerate() {
            // A refused call and one of a tool that is not there change nothing.
            let is_barrier = refusal.is_none()
                && at < self.most_calls()
                && self.session.get(&call.name).is_some_and(|tool| !tool.runs_beside_others());
            let next = Next { at, call, refusal };
            if is_barrier {
                self.together(std::mem::take(&mut together), &turns, &mut outcomes).await;
                self.together(VecDeque::from([next]), &turns, &mut outcomes).await;
            } else {
                together.push_back(next);
            }
        }
        self.together(together, &turns, &mut outcomes).await;
        outcomes.all
    }

    /// Calls at the same time, a bounded number of them.
    async fn together(&self, mut waiting: VecDeque<Next>, turns: &Arc<Turns>, outcomes: &mut Outcomes) {
        let width = TOGETHER.min(self.session.runtime.shared.door.cells());
        let mut running = Vec::new();
        let mut ended: Vec<Option<Outcome>> = waiting.iter().map(|_| None).collect();
        let mut place = 0;
        let bytes = &mut outcomes.bytes;
        poll_fn(|context| {
            loop {
                while running.len() < width
                    && let Some(next) = waiting.pop_front()
                {
                    let turn = turns.turn(next.at);
                    running.push((place, Box::pin(self.one(next, turn, *bytes))));
                    place += 1;
                }
                let before = running.len();
                running.retain_mut(|(at, one)| match one.as_mut().poll(context) {
                    Poll::Pending => true,
                    Poll::Ready(outcome) => {
                        *bytes = bytes.saturating_add(json_bytes(&outcome, u64::MAX));
                        if let Some(place) = ended.get_mut(*at) {
                            *place = Some(outcome);
                        }
                        false
                    }
                });
                if running.is_empty() && waiting.is_empty() {
                    return Poll::Ready(());
                }
                // A place that became free is filled at once, and what fills it is polled, or nothing would wake us.
                if running.len() == before || waiting.is_empty() {
                    return Poll::Pending;
                }
            }
        })
        .await;
        outcomes.all.extend(ended.into_iter().flatten());
    }

    async fn one(&self, next: Next, turn: Turn, bytes: u64) -> Outcome {
        let Next { at, call, refusal } = next;
        let refusal = refusal.or_else(|| self.beyond(at, bytes)).or_else(|| {
            let why = "the batch was cancelled before this call began";
            self.cancel.is_cancelled().then(|| CallError::new(ErrorKind::Cancelled, why))
        });
        let sink = self.listeners.0.as_ref().and_then(|listener| listener(&call));
        let call = self.session.call(call).cancel(self.cancel.clone()).refused(refusal).turn(turn);
        let call = sink.into_iter().fold(call, super::Call::events);
        match self.timeout {
            Some(timeout) => call.timeout(timeout).await,
            None => call.await,
        }
    }

    fn most_calls(&self) -> usize {
        usize::try_from(self.session.runtime.shared.door.admission().batch_calls).unwrap_or(usize::MAX)
    }

    /// Why a call is not made, if the batch has too many or the results before it too many `bytes`.
    fn beyond(&self, at: usize, bytes: u64) -> Option<CallError> {
        let door = &self.session.runtime.shared.door;
        let admission = door.admission();
        let nth = at.saturating_add(1);
        let (name, at, allowed, used, what) = if nth > self.most_calls() {
            (
                "batch_calls",
                door.batch_calls_at(),
                admission.batch_calls.to_string(),
                nth.to_string(),
                "calls of one message are made",
            )
        } else if bytes > admission.batch_bytes {
            let format = |bytes| Limit::ResultBytes.format(bytes);
            let allowed = format(admission.batch_bytes);
            (
                "batch_bytes",
                door.batch_bytes_at(),
                allowed,
                format(bytes),
                "are kept of the results of one message",
            )
        } else {
            return None;
        };
        let message = format!(
            "this call was not made: at most {allowed} {what}, and it is call {nth}; make it again in a later message"
        );
        let mut hit = LimitHit::new(name, allowed, used, format!("limits.{name}"));
        hit.at = at.at.as_ref().map(ToString::to_string);
        Some(CallError::new(ErrorKind::ResourceLimit, message).help(advice(&hit)).limit(hit))
    }
}

/// A call that has not begun.
struct Next {
    at: usize,
    call: ToolCall,
    /// Why it is not made, where that is known before.
    refusal: Option<CallError>,
}

/// The outcomes so far.
struct Outcomes {
    all: Vec<Outcome>,
    /// What they have as JSON.
    bytes: u64,
}

impl IntoFuture for Batch {
    type Output = Vec<Outcome>;
    type IntoFuture = Pin<Box<dyn Future<Output = Vec<Outcome>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// For each call why its outcome could not be told from another, if that is so. Calls are counted from 1, since where an id
/// is missing nothing else tells which one is meant.
fn without_own_id(calls: &[ToolCall]) -> Vec<Option<CallError>> {
    // By its JSON, in which 1 and "1" are two ids.
    let mut known: HashMap<String, usize> = HashMap::new();
    let why = |(at, call): (usize, &ToolCall)| {
        let nth = at + 1;
        if call.id.is_null() || call.id == "" {
            return Some(format!("call {nth} of the message has no id; give each call one of its own"));
        }
        let first = *known.entry(call.id.to_string()).or_insert(nth);
        (first != nth).then(|| {
            format!(
                "call {nth} of the message has the same id as call {first}; give each call one of its own"
            )
        })
    };
    let refused = |why: Option<String>| Some(CallError::new(ErrorKind::InvalidArguments, why?));
    calls.iter().enumerate().map(why).map(refused).collect()
}
