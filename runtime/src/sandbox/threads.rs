//! Threads that belong to guests. A component with directories runs on one, so that its file operations are inline:
//! a tenth of the price of a hand-over for each. One that hangs in the operating system is abandoned and replaced;
//! no thread of the embedder is ever blocked by a guest's file.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;

/// A cell's work, which owns everything that it needs, and what it holds until its thread is free again.
struct Job {
    work: Pin<Box<dyn Future<Output = ()> + Send>>,
    permit: Permit,
}

type Permit = Box<dyn Send>;

/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(10);

/// A pool that grows to the number of cells at work and shrinks when there are none.
#[derive(Clone)]
pub(crate) struct GuestThreads {
    shared: Arc<Shared>,
    handle: Handle,
}

struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Threads that look for a job or soon will.
    idle: usize,
    threads: usize,
    closed: bool,
}

impl GuestThreads {
    /// A pool whose threads use the timers behind `handle`.
    pub fn new(handle: Handle) -> Self {
        let shared = Arc::new(Shared { queue: Mutex::default(), work: Condvar::new() });
        Self { shared, handle }
    }

    /// Runs `work` on a thread of the pool, a new one if none is idle. `permit` is dropped once the thread is free
    /// again, so that there are never more threads than permits.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn run(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
        permit: impl Send + 'static,
    ) -> std::io::Result<()> {
        let mut queue = self.shared.lock();
        queue.jobs.push_back(Job { work: Box::pin(work), permit: Box::new(permit) });
        if queue.jobs.len() <= queue.idle {
            drop(queue);
            self.shared.work.notify_one();
            return Ok(());
        }
        queue.threads += 1;
        queue.idle += 1;
        drop(queue);
        self.spawn().inspect_err(|_| {
            let mut queue = self.shared.lock();
            queue.threads -= 1;
            queue.idle -= 1;
            // Without a thread of its own the job would wait for another's end.
            let job = queue.jobs.pop_back();
            drop(queue);
            drop(job);
        })
    }

    /// Threads that exist, those stuck in the operating system included.
    pub fn count(&self) -> usize {
        self.shared.lock().threads
    }

    /// Lets idle threads end now and the others after their job.
    pub fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
    }

    fn spawn(&self) -> std::io::Result<()> {
        let (shared, handle) = (Arc::clone(&self.shared), self.handle.clone());
        std::thread::Builder::new()
            .name("toolcell-guest".to_owned())
            .spawn(move || {
                while let Some(job) = shared.next() {
                    handle.block_on(job.work);
                    shared.finished(job.permit);
                }
            })
            .map(drop)
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        // Jobs never run under the lock, and no operation on the queue panics half done.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job, or `None` when the thread should end. The thread was counted as idle until now.
    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                queue.idle -= 1;
                return Some(job);
            }
            if queue.closed {
                break;
            }
            let (woken, timeout) =
                self.work.wait_timeout(queue, IDLE).unwrap_or_else(PoisonError::into_inner);
            queue = woken;
            if timeout.timed_out() && queue.jobs.is_empty() {
                break;
            }
        }
        queue.idle -= 1;
        queue.threads -= 1;
        None
    }

    /// The thread counts as idle before the permit lets the next job come.
    fn finished(&self, permit: Permit) {
        self.lock().idle += 1;
        drop(permit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_stuck_job_does_not_hold_up_the_next() -> std::io::Result<()> {
        let threads = GuestThreads::new(Handle::current());
        let (release, stuck) = std::sync::mpsc::channel::<()>();
        threads.run(async move { assert!(stuck.recv().is_err()) }, ())?;
        let (done, finished) = tokio::sync::oneshot::channel();
        threads.run(async move { assert!(done.send(7).is_ok()) }, ())?;
        assert_eq!(finished.await, Ok(7));
        assert_eq!(threads.count(), 2);
        drop(release);
        threads.close();
        Ok(())
    }
}
