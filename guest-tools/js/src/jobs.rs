//! What a program leaves to be done: reactions of promises, timers, loading of modules.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context as Waiting, Poll, Waker};
use std::time::Duration;

use boa_engine::builtins::promise::{OperationType, Promise};
use boa_engine::context::HostHooks;
use boa_engine::context::time::JsInstant;
use boa_engine::job::{GenericJob, IntervalJob, Job, JobExecutor, NativeAsyncJob, PromiseJob, TimeoutJob};
use boa_engine::object::JsObject;
use boa_engine::{Context, JsResult};

use crate::console::Lines;

enum Timer {
    Once(TimeoutJob),
    Again(IntervalJob),
}

impl Timer {
    fn cancelled(&self) -> bool {
        match self {
            Self::Once(job) => job.cancelled(),
            Self::Again(job) => job.cancelled(),
        }
    }
}

/// Runs jobs in their order until there are none. Between timers it sleeps, so that waiting costs nothing but time.
pub(crate) struct Jobs {
    lines: Rc<Lines>,
    promises: RefCell<VecDeque<PromiseJob>>,
    others: RefCell<VecDeque<GenericJob>>,
    loads: RefCell<VecDeque<NativeAsyncJob>>,
    /// By time, and of the same time by the order in which they were set.
    timers: RefCell<BTreeMap<(JsInstant, u64), Timer>>,
    set: Cell<u64>,
}

impl Jobs {
    pub(crate) fn new(lines: Rc<Lines>) -> Self {
        Self {
            lines,
            promises: RefCell::default(),
            others: RefCell::default(),
            loads: RefCell::default(),
            timers: RefCell::default(),
            set: Cell::new(0),
        }
    }

    fn set(&self, at: JsInstant, timer: Timer) {
        self.set.set(self.set.get() + 1);
        self.timers.borrow_mut().insert((at, self.set.get()), timer);
    }

    /// Runs what is to be done at once; whether there was anything.
    fn run_one(&self, context: &mut Context) -> JsResult<bool> {
        let next = self.promises.borrow_mut().pop_front();
        if let Some(job) = next {
            job.call(context)?;
            return Ok(true);
        }
        let next = self.others.borrow_mut().pop_front();
        if let Some(job) = next {
            job.call(context)?;
            return Ok(true);
        }
        let next = self.loads.borrow_mut().pop_front();
        let Some(job) = next else { return Ok(false) };
        let context = RefCell::new(context);
        let load = pin!(job.call(&context));
        // Modules are there at once. What waits for another thread would wait for ever: there is none.
        match load.poll(&mut Waiting::from_waker(Waker::noop())) {
            Poll::Ready(loaded) => loaded.map(|_| true),
            Poll::Pending => Ok(true),
        }
    }

    /// Runs the next timer, after waiting for it; whether there was any.
    fn run_timer(&self, context: &mut Context) -> JsResult<bool> {
        let next = self.timers.borrow_mut().pop_first();
        let Some(((at, _), timer)) = next else { return Ok(false) };
        if timer.cancelled() {
            return Ok(true);
        }
        let now = context.clock().now();
        if at > now {
            let wait = Duration::from_millis((at - now).as_millis().max(1));
            self.lines.wait(wait);
            std::thread::sleep(wait);
        }
        match timer {
            Timer::Once(job) => job.call(context)?,
            Timer::Again(job) => {
                let called = job.call(context)?;
                self.set(context.clock().now() + job.interval(), Timer::Again(job));
                called
            }
        };
        Ok(true)
    }
}

impl JobExecutor for Jobs {
    fn enqueue_job(self: Rc<Self>, job: Job, context: &mut Context) {
        let now = || context.clock().now();
        match job {
            Job::PromiseJob(job) => self.promises.borrow_mut().push_back(job),
            Job::GenericJob(job) => self.others.borrow_mut().push_back(job),
            Job::AsyncJob(job) => self.loads.borrow_mut().push_back(job),
            Job::TimeoutJob(job) => self.set(now() + job.timeout(), Timer::Once(job)),
            Job::IntervalJob(job) => self.set(now() + job.interval(), Timer::Again(job)),
            // Whether a registry learns that an object is gone is the engine's to choose.
            _ => {}
        }
    }

    fn run_jobs(self: Rc<Self>, context: &mut Context) -> JsResult<()> {
        loop {
            self.lines.flush_in_time();
            if !self.run_one(context)? && !self.run_timer(context)? {
                return Ok(());
            }
        }
    }
}

/// Rejected promises that nothing looks at.
#[derive(Default)]
pub(crate) struct Rejections {
    promises: RefCell<Vec<JsObject<Promise>>>,
}

impl Rejections {
    /// The first of them.
    pub(crate) fn first(&self) -> Option<JsObject<Promise>> {
        self.promises.borrow().first().cloned()
    }
}

impl HostHooks for Rejections {
    fn promise_rejection_tracker(
        &self,
        promise: &JsObject<Promise>,
        operation: OperationType,
        _: &mut Context,
    ) {
        let mut promises = self.promises.borrow_mut();
        match operation {
            OperationType::Reject => promises.push(promise.clone()),
            OperationType::Handle => promises.retain(|other| !JsObject::equals(other, promise)),
        }
    }
}
