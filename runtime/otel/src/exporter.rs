//! The thread that sends spans on, and the queue before it. A call never waits for either.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tracing::{Subscriber, warn};
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use crate::encode;
use crate::error::{Error, Result};
use crate::layer::{Span, Spans, TARGET, filter};
use crate::send::Collector;
use crate::settings::{Sampling, Settings};

/// How many spans wait, in the queue and again while the collector cannot be reached. OpenTelemetry's default.
const MAX_WAITING: usize = 2048;

/// How many spans are sent in one request. OpenTelemetry's default.
const BATCH: usize = 512;

/// How long a span waits for others. OpenTelemetry's default.
const INTERVAL: Duration = Duration::from_secs(5);

/// Sends the spans of its layers to a collector, on a thread of its own.
///
/// Spans wait for others up to five seconds, and longer while the collector cannot be reached; beyond 2048 of them,
/// further ones are lost. [`Exporter::shutdown`], or dropping it, sends the rest.
#[must_use = "spans are exported until the exporter is dropped"]
pub struct Exporter {
    queue: Queue,
    sampling: Sampling,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Starts exporting. Nothing is sent before there is a span.
    ///
    /// # Errors
    /// [`Error::Thread`], where the system gives no thread.
    pub fn start(settings: Settings) -> Result<Self> {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let queue = Queue { sender, lost: Arc::default() };
        let sampling = settings.sampling;
        let sending = Sending {
            receiver,
            collector: Collector::new(settings),
            waiting: Vec::new(),
            lost: Arc::clone(&queue.lost),
            is_failing: false,
        };
        let thread = std::thread::Builder::new().name("toolcell-otel".to_owned());
        let thread = thread.spawn(|| sending.run()).map_err(Error::Thread)?;
        Ok(Self { queue, sampling, thread: Some(thread) })
    }

    /// A layer for a subscriber. It sees the spans of the target `toolcell`, whatever other layers see.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + 'static + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        Spans { queue: self.queue.clone(), sampling: self.sampling }.with_filter(filter())
    }

    /// Sends what waits. Takes as long as two requests may.
    ///
    /// # Errors
    /// [`Error::Export`] where the collector did not take it, [`Error::Lost`] where spans were given up since the last
    /// report.
    pub fn flush(&self) -> Result<()> {
        self.queue.ask(Message::Flush)
    }

    /// Sends what waits, and ends the thread. What the layers see from here on is lost.
    ///
    /// # Errors
    /// As [`Exporter::flush`].
    pub fn shutdown(mut self) -> Result<()> {
        self.stop()
    }

    fn stop(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let end = self.queue.ask(Message::Stop);
        // A panic of the thread was told by the hook, and is in `end` as a thread that does not answer.
        let _ = thread.join();
        end
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // Who wants to know calls `shutdown`.
        let _ = self.stop();
    }
}

/// The way in, for layers.
#[derive(Clone)]
pub(crate) struct Queue {
    sender: SyncSender<Message>,
    lost: Arc<AtomicU64>,
}

impl Queue {
    /// Adds a span, if there is room.
    pub fn add(&self, span: Span) {
        if self.sender.try_send(Message::Span(Box::new(span))).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn ask(&self, what: impl FnOnce(SyncSender<Result<()>>) -> Message) -> Result<()> {
        let (answer, answered) = sync_channel(1);
        self.sender.send(what(answer)).map_err(|_| Error::Stopped)?;
        answered.recv().map_err(|_| Error::Stopped)?
    }
}

enum Message {
    Span(Box<Span>),
    Flush(SyncSender<Result<()>>),
    Stop(SyncSender<Result<()>>),
}

/// What the thread has.
struct Sending {
    receiver: Receiver<Message>,
    collector: Collector,
    waiting: Vec<Span>,
    lost: Arc<AtomicU64>,
    /// Whether the last request failed, so that a failure is told once, and not tried again with each span.
    is_failing: bool,
}

impl Sending {
    fn run(mut self) {
        let mut last = Instant::now();
        loop {
            let message = self.receiver.recv_timeout(INTERVAL.saturating_sub(last.elapsed()));
            match message {
                Ok(Message::Span(span)) => {
                    self.keep(*span);
                    let is_full = self.waiting.len() >= BATCH && !self.is_failing;
                    // Spans may come so fast that the wait for them never times out.
                    if !is_full && last.elapsed() < INTERVAL {
                        continue;
                    }
                    drop(self.send());
                }
                Ok(Message::Flush(answer)) => drop(answer.send(self.send().and_then(|()| self.told()))),
                Ok(Message::Stop(answer)) => {
                    drop(answer.send(self.send().and_then(|()| self.told())));
                    return;
                }
                Err(RecvTimeoutError::Timeout) => drop(self.send()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            last = Instant::now();
        }
    }

    fn keep(&mut self, span: Span) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push(span);
        } else {
            self.lose(1);
        }
    }

    fn lose(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// What was given up since it was last told.
    fn told(&self) -> Result<()> {
        match self.lost.swap(0, Ordering::Relaxed) {
            0 => Ok(()),
            count => Err(Error::Lost { count }),
        }
    }

    /// Sends all that waits, until one request fails or the time is over.
    fn send(&mut self) -> Result<()> {
        let started = Instant::now();
        while let Some(batch) = self.waiting.chunks(BATCH).next() {
            let count = batch.len();
            let body = encode::request(self.collector.resource(), batch);
            let within = self.collector.timeout().saturating_sub(started.elapsed());
            match self.collector.send(&body, within) {
                Ok(rejected) => {
                    self.lose(rejected);
                    self.is_failing = false;
                    self.waiting.drain(..count);
                }
                Err(failure) => {
                    if !failure.is_temporary {
                        self.lose(u64::try_from(count).unwrap_or(u64::MAX));
                        self.waiting.drain(..count);
                    }
                    return Err(self.fail(failure.why));
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, why: String) -> Error {
        let error = Error::Export { endpoint: self.collector.address().to_owned(), why };
        if !self.is_failing {
            warn!(name: "toolcell.export_failed", target: TARGET, %error);
        }
        self.is_failing = true;
        error
    }
}
