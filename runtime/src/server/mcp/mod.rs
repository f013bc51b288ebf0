//! The Model Context Protocol, over a pair of streams with one line a message, and by [`http`]: every call through
//! [`Session::call`].

mod answer;
mod approval;
mod calling;
mod changes;
mod client;
mod connection;
mod frame;
#[cfg(feature = "http")]
pub mod http;
mod id;
mod in_place;
mod lines;
mod lists;
mod outputs;
mod room;
#[cfg(feature = "http")]
mod shared;
#[cfg(not(feature = "http"))]
#[path = "shared_absent.rs"]
mod shared;
mod speech;
mod version;
mod writer;

use std::io::{Read, Write};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use approval::ClientApprover;

use crate::error::{Error, Result};
use crate::runtime::Runtime;
#[cfg(doc)]
use crate::runtime::Session;
use client::Client;
use connection::Connection;
use in_place::InPlace;
use lines::Line;
use writer::Writer;

/// How long calls may go on after the end of input. Clients wait about two seconds before they kill.
const GRACE: Duration = Duration::from_millis(1500);

/// How long a cancelled call may take to end; one that is stuck in the operating system is left behind.
pub(in crate::server) const ENDING: Duration = Duration::from_secs(5);

/// How long the last replies may take to be read.
const FLUSHING: Duration = Duration::from_secs(1);

/// Serves `runtime` to one client until its input ends or nobody reads the output any more, both eras of the protocol at
/// once: requests that carry their revision with them (2026-07-28), and those after a handshake (up to 2025-11-25).
///
/// The connection is a session of its own with a name that nobody can guess. At the end of input, calls have 1.5 seconds
/// to finish, and are then cancelled; `stop` cancels them at once, and ends the connection. Of what waits then, that is dropped
/// which a client does not read for a second. Must be awaited within a tokio runtime with timers; input and output have a
/// thread each, and that of the input goes on until its stream ends or gives another line.
///
/// # Errors
/// When there are no random bytes for the session's name, or a thread cannot be started.
pub async fn serve(
    runtime: Runtime,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: CancellationToken,
) -> Result<()> {
    serve_until(runtime, input, output, stop, CancellationToken::new()).await
}

/// [`serve`] for a client of which it can be told that it has `left`, whatever of its lines is still to be read: of one that
/// reads no answers no more lines are taken, so that the end of its input would never be seen.
///
/// # Errors
/// As [`serve`].
pub async fn serve_until(
    runtime: Runtime,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: CancellationToken,
    left: CancellationToken,
) -> Result<()> {
    let mut lines = lines::read(input).map_err(|error| unstarted(&error))?;
    let (writer, mut written) = Writer::start(output).map_err(|error| unstarted(&error))?;
    let client = Arc::new(Client::unnamed(runtime, None)?);
    let connection = Arc::new(Connection::new(client, Some(writer.clone())));
    let watching = tokio::spawn(changes::watch(Arc::clone(&connection)));
    let mut calls = JoinSet::new();
    take(&mut lines, &connection, &writer, &mut calls, [&stop, &left]).await;
    end(&connection, &writer, &mut calls, &stop).await;
    watching.abort();
    let _ = watching.await;
    drop((connection, writer));
    let _ = timeout(FLUSHING, written.recv()).await;
    Ok(())
}

/// Takes lines until there are no more, or none are wanted.
async fn take(
    lines: &mut Receiver<Line>,
    connection: &Arc<Connection>,
    writer: &Writer,
    calls: &mut JoinSet<()>,
    [stop, left]: [&CancellationToken; 2],
) {
    let mut over = pin!(over(writer, stop, left));
    let in_place = InPlace::default();
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            // Keeps the set as small as what runs.
            Some(_) = calls.join_next() => continue,
            () = &mut over => return,
        };
        let Some(line) = line else { return };
        tokio::select! {
            taken = connection.take(line, writer) => {
                if let Some(call) = taken
                    && let Some(rest) = in_place.run(call.run()).await
                {
                    calls.spawn(rest);
                }
            }
            () = &mut over => return,
        }
    }
}

/// Waits until no more lines are to be taken.
async fn over(writer: &Writer, stop: &CancellationToken, left: &CancellationToken) {
    tokio::select! {
        () = writer.closed() => {}
        () = stop.cancelled() => {}
        () = async {
            left.cancelled().await;
            writer.stalled(FLUSHING).await;
        } => {}
    }
}

/// Lets calls finish, cancels what has not, and waits for both.
async fn end(connection: &Connection, writer: &Writer, calls: &mut JoinSet<()>, stop: &CancellationToken) {
    connection.close_questions();
    connection.client.end_parked();
    let ending = async {
        let is_over = tokio::select! {
            biased;
            () = stop.cancelled() => false,
            () = writer.closed() => false,
            finished = timeout(GRACE, all(calls)) => finished.is_ok(),
        };
        if !is_over {
            connection.cancel_all();
            let _ = timeout(ENDING, all(calls)).await;
            // One that cannot be ended is left behind.
            calls.abort_all();
        }
        connection.end_subscriptions().await;
    };
    let mut ending = pin!(ending);
    tokio::select! {
        () = &mut ending => return,
        () = writer.stalled(FLUSHING) => writer.give_up(),
    }
    ending.await;
}

async fn all(calls: &mut JoinSet<()>) {
    while calls.join_next().await.is_some() {}
}

fn unstarted(error: &std::io::Error) -> Error {
    Error::Sandbox { message: format!("no thread for the protocol's streams: {error}") }
}
