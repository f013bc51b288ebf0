//! Many things at once on one thread: the stages of a pipeline and background jobs are futures that are polled in turn.
//!
//! Nothing here wakes anything: a round polls everybody. A round in which nobody moved means that all wait for each
//! other, or for the time.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::stop::{Status, Stop};

/// Subshells, stages and jobs that may live at once. A script of a person has a dozen; a fork bomb is over at once.
const PROCESSES: usize = 128;

/// Between two turns of somebody who does not wait.
const TURNS: u32 = 256;

/// Between two looks at the clock: it is a crossing to the host.
const TICKS: u32 = 64;

type Task = Pin<Box<dyn Future<Output = ()>>>;

thread_local! {
    static TASKS: RefCell<VecDeque<Task>> = const { RefCell::new(VecDeque::new()) };
    static MOVES: Cell<u64> = const { Cell::new(0) };
    static WAKE: Cell<Option<Instant>> = const { Cell::new(None) };
    static END: Cell<Option<Instant>> = const { Cell::new(None) };
    static TICK: Cell<u32> = const { Cell::new(0) };
    static TURN: Cell<u32> = const { Cell::new(0) };
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

/// Counts as one process while it lives.
pub struct Process(());

impl Process {
    pub fn start() -> Result<Self, Stop> {
        if LIVE.get() >= PROCESSES {
            return Err(Stop::Abort(254, "fork: more than 128 processes at once".to_owned()));
        }
        LIVE.set(LIVE.get() + 1);
        Ok(Self(()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        LIVE.set(LIVE.get().saturating_sub(1));
    }
}

/// Forgets what an earlier run left, and says when this one has to be over.
pub fn reset(end: Option<Instant>) {
    TASKS.with_borrow_mut(VecDeque::clear);
    WAKE.set(None);
    END.set(end);
    LIVE.set(0);
}

/// Says that somebody did something, so that nobody is stuck.
pub fn moved() {
    MOVES.set(MOVES.get().wrapping_add(1));
}

/// Whether the time of this run is over; looks at the clock now and then.
pub fn tick() -> Result<(), Stop> {
    let tick = TICK.get() + 1;
    TICK.set(tick % TICKS);
    if tick < TICKS { Ok(()) } else { expired() }
}

/// The same, and lets others go on now and then: for whatever may go on for long without waiting.
pub async fn turn() -> Result<(), Stop> {
    tick()?;
    let turn = TURN.get() + 1;
    TURN.set(turn % TURNS);
    if turn == TURNS {
        moved();
        once().await;
    }
    Ok(())
}

/// Waits for one round.
async fn once() {
    let mut waited = false;
    poll_fn(|_| if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

fn expired() -> Result<(), Stop> {
    match END.get() {
        Some(end) if Instant::now() >= end => Err(Stop::TimeOver),
        _ => Ok(()),
    }
}

/// Runs beside whatever else runs, until its end or that of the run.
pub fn spawn(task: impl Future<Output = ()> + 'static) {
    moved();
    TASKS.with_borrow_mut(|tasks| tasks.push_back(Box::pin(task)));
}

/// Waits until `ready` gives something. It is asked once a round.
pub async fn until<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    poll_fn(|_| ready().map_or(Poll::Pending, Poll::Ready)).await
}

/// Waits for that long, while others run.
pub async fn sleep(duration: Duration) {
    let Some(end) = Instant::now().checked_add(duration) else {
        return until(|| None).await;
    };
    until(|| {
        if Instant::now() >= end {
            moved();
            return Some(());
        }
        WAKE.set(Some(WAKE.get().map_or(end, |earlier| earlier.min(end))));
        None
    })
    .await;
}

/// A stage of a pipeline.
pub type Stage<'a> = Pin<Box<dyn Future<Output = Status> + 'a>>;

/// Runs all of them at the same time; gives their statuses in their order, or the first reason to stop, which ends all.
pub async fn all(stages: Vec<Stage<'_>>) -> Result<Vec<i32>, Stop> {
    let mut running: Vec<_> = stages.into_iter().map(|stage| (Some(stage), 0)).collect();
    poll_fn(move |context| {
        let mut waiting = false;
        for (stage, status) in &mut running {
            let Some(polled) = stage else { continue };
            match polled.as_mut().poll(context) {
                Poll::Ready(ended) => {
                    *status = match ended {
                        Ok(status) => status,
                        Err(stop) => return Poll::Ready(Err(stop)),
                    };
                    // Dropped at once: its end of a pipe goes with it.
                    *stage = None;
                    moved();
                }
                Poll::Pending => waiting = true,
            }
        }
        if waiting {
            Poll::Pending
        } else {
            Poll::Ready(Ok(running.iter().map(|(_, status)| *status).collect()))
        }
    })
    .await
}

/// Polls everything until `future` is done.
pub fn block_on<T>(future: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    let mut stuck = 0;
    loop {
        let before = MOVES.get();
        WAKE.set(None);
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            moved();
            return value;
        }
        round(&mut context);
        if MOVES.get() != before {
            stuck = 0;
            tick()?;
            continue;
        }
        expired()?;
        stuck += 1;
        pause(stuck)?;
    }
}

/// Polls each background task once.
fn round(context: &mut Context<'_>) {
    for _ in 0..TASKS.with_borrow(VecDeque::len) {
        // Out of the queue while it is polled, since it may start others, or poll them itself.
        let Some(mut task) = TASKS.with_borrow_mut(VecDeque::pop_front) else { return };
        match task.as_mut().poll(context) {
            Poll::Ready(()) => moved(),
            Poll::Pending => TASKS.with_borrow_mut(|tasks| tasks.push_back(task)),
        }
    }
}

/// Nobody moved: until somebody's time comes, or never.
fn pause(stuck: u32) -> Result<(), Stop> {
    // A future that gave its turn away moves in the next round.
    if stuck < 3 {
        return Ok(());
    }
    let now = Instant::now();
    let Some(wake) = WAKE.get() else {
        return Err(Stop::Abort(1, "everything waits for something that nobody will do".to_owned()));
    };
    let until = END.get().map_or(wake, |end| end.min(wake));
    std::thread::sleep(until.saturating_duration_since(now));
    Ok(())
}

/// A status that somebody waits for.
#[derive(Clone, Default)]
pub struct Done(Rc<Cell<Option<i32>>>);

impl Done {
    /// The first one stays.
    pub fn set(&self, status: i32) {
        self.0.set(self.0.get().or(Some(status)));
    }

    /// One that is set.
    pub fn over() -> Self {
        Self(Rc::new(Cell::new(Some(0))))
    }

    pub fn get(&self) -> Option<i32> {
        self.0.get()
    }

    /// Runs `job` until it ends or somebody else sets the status, which drops it.
    pub async fn or(&self, job: impl Future<Output = ()>) {
        let mut job = pin!(job);
        poll_fn(|context| match self.get() {
            Some(_) => Poll::Ready(()),
            None => job.as_mut().poll(context),
        })
        .await;
    }
}

/// Waits for a status, unless nobody does anything any more.
pub async fn settle(done: &Done) {
    let (mut moves, mut idle) = (MOVES.get(), 0);
    until(|| {
        idle = if MOVES.get() == moves { idle + 1 } else { 0 };
        moves = MOVES.get();
        (done.get().is_some() || idle > 2).then_some(())
    })
    .await;
}

/// Runs `future` for at most that long; none if it was not over by then.
pub async fn within<T>(duration: Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut time = pin!(sleep(duration));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => time.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// Runs what is left in the background for as long as it does something. What only waits for its time ends here, as it
/// would outlive the call.
pub fn rest() -> Result<(), Stop> {
    let mut context = Context::from_waker(Waker::noop());
    let mut idle = 0;
    while idle < 3 && !TASKS.with_borrow(VecDeque::is_empty) {
        let before = MOVES.get();
        round(&mut context);
        idle = if MOVES.get() == before { idle + 1 } else { 0 };
        tick()?;
    }
    // A job that ended because of it does not say so.
    expired()
}

/// Lets others go on while there are many.
pub async fn crowded() {
    for _ in 0..3 {
        if LIVE.get() < PROCESSES / 2 {
            return;
        }
        once().await;
    }
}
