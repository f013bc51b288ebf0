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
use std::sync::Arc;
use std::time::Duration;

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
/// to finish, and are then cancelled; `stop` cancels them at once, and ends the connection. Must be awaited within a tokio runtime with timers; input and output have a
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
    let mut lines = lines::read(input).map_err(|error| unstarted(&error))?;
    let (writer, mut written) = Writer::start(output).map_err(|error| unstarted(&error))?;
    let client = Arc::new(Client::unnamed(runtime, None)?);
    let connection = Arc::new(Connection::new(client, Some(writer.clone())));
    let watching = tokio::spawn(changes::watch(Arc::clone(&connection)));
    let mut calls = JoinSet::new();
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => {
                    // A client that does not read makes this wait, and must not keep the process from its end.
                    let taken = tokio::select! {
                        taken = connection.take(line, &writer) => taken,
                        () = stop.cancelled() => break,
                    };
                    if let Some(call) = taken {
                        calls.spawn(call.run());
                    }
                }
                None => break,
            },
            // Keeps the set as small as what runs.
            Some(_) = calls.join_next() => {}
            () = writer.closed() => break,
            () = stop.cancelled() => break,
        }
    }
    end(&connection, &writer, &mut calls, &stop).await;
    watching.abort();
    let _ = watching.await;
    drop((connection, writer));
    let _ = timeout(FLUSHING, written.recv()).await;
    Ok(())
}

/// Lets calls finish, cancels what has not, and waits for both.
async fn end(connection: &Connection, writer: &Writer, calls: &mut JoinSet<()>, stop: &CancellationToken) {
    connection.close_questions();
    connection.client.end_parked();
    let is_over = tokio::select! {
        biased;
        () = stop.cancelled() => false,
        () = writer.closed() => false,
        finished = timeout(GRACE, all(calls)) => finished.is_ok(),
    };
    if !is_over {
        connection.cancel_all();
        let _ = timeout(ENDING, all(calls)).await;
        calls.shutdown().await;
    }
    let _ = timeout(FLUSHING, connection.end_subscriptions()).await;
}

async fn all(calls: &mut JoinSet<()>) {
    while calls.join_next().await.is_some() {}
}

fn unstarted(error: &std::io::Error) -> Error {
    Error::Sandbox { message: format!("no thread for the protocol's streams: {error}") }
}
