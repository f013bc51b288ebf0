//! A server that is a program: messages are lines of its standard input and output.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::frames::{Frame, Frames, Tail};
use super::message::{self, Failure, Incoming};
use super::pending::{Pending, ProgressSink};
use super::reader::Reader;
use crate::output::Redactor;
use crate::process::{Group, Program};

/// Messages that may wait for a server that does not read.
const OUTBOX: usize = 64;

/// How long a server may take to end by itself once its input has ended.
const LINGERING: Duration = Duration::from_millis(500);

/// A running server. Dropping it ends the program, and everything in its process group.
pub(super) struct Stdio {
    outbox: mpsc::Sender<Vec<u8>>,
    pending: Arc<Pending>,
    stop: CancellationToken,
    gone: CancellationToken,
}

impl Stdio {
    /// Starts the program. Must be awaited on the reactor, which drives it from then on. `changed` hears of changes of
    /// the list of tools; a message has at most `most` bytes. What it says before it ends has none of the redactor's secrets.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn start(
        program: Arc<Program>,
        redactor: Option<Arc<Redactor>>,
        most: usize,
        changed: Arc<Notify>,
    ) -> Result<Self, String> {
        let started = tokio::task::spawn_blocking(move || program.start()).await;
        let started = started.map_err(|_| "the runtime is shutting down".to_owned())?;
        let group = started.map_err(|error| error.to_string())?;
        let (outbox, queue) = mpsc::channel(OUTBOX);
        let pending = Arc::<Pending>::default();
        let (stop, gone) = (CancellationToken::new(), CancellationToken::new());
        let following = |error: io::Error| format!("cannot follow the program: {error}");
        let (running, stdin) =
            Running::of(group, most, Arc::clone(&pending), outbox.clone(), changed).map_err(following)?;
        let running = Running { redactor, ..running };
        tokio::spawn(write(stdin, queue, stop.clone(), gone.clone()));
        tokio::spawn(running.follow(stop.clone(), gone.clone()));
        Ok(Self { outbox, pending, stop, gone })
    }

    /// What the server answers. Dropping the future tells the server that nobody waits for it any more.
    pub async fn request(
        &self,
        method: &str,
        params: impl FnOnce(u64) -> Value,
        progress: Option<ProgressSink>,
    ) -> Result<Value, Failure> {
        let (id, answer) = self.pending.begin(progress)?;
        let waiting = Waiting { stdio: self, id };
        let sent = self.outbox.send(message::request(id, method, params(id))).await;
        let ended = || Failure::Gone("the server has ended".to_owned());
        let end = match sent {
            Ok(()) => answer.await.unwrap_or_else(|_| Err(ended())),
            Err(_) => Err(ended()),
        };
        drop(waiting);
        end
    }

    /// Says something that is not answered.
    pub async fn notify(&self, method: &str) {
        let _ = self.outbox.send(message::notification(method, None)).await;
    }

    /// Why there are no more requests, if so.
    pub fn closed(&self) -> Option<String> {
        self.pending.closed()
    }

    /// Cancelled once the server is gone.
    pub fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// The same as [`close`](Self::close), and says why to whoever waits for an answer.
    pub fn give_up(&self, why: &str) -> CancellationToken {
        self.pending.close(why);
        self.close()
    }

    /// Ends the server: its input ends, and what has not ended soon is killed. The token is cancelled once it is gone.
    pub fn close(&self) -> CancellationToken {
        self.stop.cancel();
        self.gone.clone()
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A request on its way; if it is given up, the server is told.
struct Waiting<'a> {
    stdio: &'a Stdio,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.stdio.pending.forget(self.id) {
            let params = json!({ "requestId": self.id, "reason": "nobody waits for the result any more" });
            // A server that does not read does not hear it either.
            let _ =
                self.stdio.outbox.try_send(message::notification("notifications/cancelled", Some(params)));
        }
    }
}

/// Writes until there is nothing more to say; then the server's input ends.
async fn write(
    mut stdin: pipe::Sender,
    mut queue: mpsc::Receiver<Vec<u8>>,
    stop: CancellationToken,
    gone: CancellationToken,
) {
    let writing = async {
        while let Some(mut line) = queue.recv().await {
            line.push(b'\n');
            if stdin.write_all(&line).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = writing => {}
        () = stop.cancelled() => {}
        () = gone.cancelled() => {}
    }
}

/// A program with the host's ends of its pipes.
struct Running {
    group: Group,
    leader: AsyncFd<OwnedFd>,
    stdout: Frames,
    stderr: Tail,
    redactor: Option<Arc<Redactor>>,
    reader: Reader,
    pending: Arc<Pending>,
    outbox: mpsc::Sender<Vec<u8>>,
    changed: Arc<Notify>,
}

impl Running {
    fn of(
        mut group: Group,
        most: usize,
        pending: Arc<Pending>,
        outbox: mpsc::Sender<Vec<u8>>,
        changed: Arc<Notify>,
    ) -> io::Result<(Self, pipe::Sender)> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let leader = group.leader().ok_or_else(missing)?;
        let (stdin, stdout, stderr) = group.streams().ok_or_else(missing)?;
        // SAFETY: the descriptor is owned by what is registered, and is closed with it.
        let leader = unsafe { AsyncFd::register(pidfd_open(leader, PidfdFlags::empty())?)? };
        let stdout = Frames::of(stdout.into(), most)?;
        let stderr = Tail::of(stderr.into())?;
        let stdin = pipe::Sender::from_owned_fd(stdin.into())?;
        let reader = Reader::default();
        let running =
            Self { group, leader, stdout, stderr, redactor: None, reader, pending, outbox, changed };
        Ok((running, stdin))
    }

    async fn follow(self, stop: CancellationToken, gone: CancellationToken) {
        let changed = Arc::clone(&self.changed);
        self.until_end(stop).await;
        gone.cancel();
        // Whoever waits for changes sees that there will be none.
        changed.notify_one();
    }

    /// Reads until the program ends, is stopped, or cannot be understood.
    async fn until_end(mut self, stop: CancellationToken) {
        let why = loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break None,
                frame = self.stdout.next() => match frame {
                    Some(frame) => tokio::select! {
                        biased;
                        () = stop.cancelled() => break None,
                        taken = self.take(frame) => if let Err(why) = taken { break Some(why) },
                    },
                    None => break Some("it closed its standard output"),
                },
                _ = self.leader.readable() => {
                    let rest = self.stdout.rest();
                    for frame in rest {
                        let _ = self.take(frame).await;
                    }
                    break Some("it ended");
                }
                () = self.stderr.read() => {}
            }
        };
        let Some(why) = why else {
            self.pending.close("the server was stopped");
            let _ = tokio::time::timeout(LINGERING, self.leader.readable()).await;
            return;
        };
        // One that closes its output is about to end, and how says more.
        let exited = tokio::time::timeout(LINGERING, self.leader.readable()).await.is_ok();
        let status = if exited { self.group.finish().ok() } else { None };
        let mut told = status.map_or_else(|| why.to_owned(), ended);
        let stderr = self.stderr.text(self.redactor.as_deref());
        if !stderr.is_empty() {
            told = format!("{told}; its last words: {stderr}");
        }
        self.pending.close(&told);
    }

    /// Does what a message is for.
    ///
    /// # Errors
    /// When nothing that follows could be trusted to be understood.
    async fn take(&self, frame: Frame) -> Result<(), &'static str> {
        let line = match frame {
            Frame::Line(line) => line,
            Frame::TooLong if self.pending.fail_only(Failure::TooLong) => return Ok(()),
            Frame::TooLong => return Err("it sent a message that is longer than it may be"),
        };
        let pending = Arc::clone(&self.pending);
        match self.reader.read(line, move |id| pending.awaits(id)).await {
            Incoming::Answer { id, end } => self.pending.answer(id, end),
            Incoming::Request { id, method } => {
                // Who asks more than it reads answers for has to do without.
                let _ = self.outbox.try_send(message::answer(&id, &method));
            }
            Incoming::Notification { method, params } => match method.as_str() {
                "notifications/progress" => self.pending.progress(&params),
                "notifications/tools/list_changed" => self.changed.notify_one(),
                _ => {}
            },
            Incoming::Error(error) => {
                self.pending.fail_only(Failure::Refused(error));
            }
            Incoming::Unreadable => {
                self.pending.fail_only(Failure::Unreadable);
            }
            // Programs print what is no message.
            Incoming::Nothing => {}
        }
        // Who says much leaves others on this thread their turn.
        tokio::task::yield_now().await;
        Ok(())
    }
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}
