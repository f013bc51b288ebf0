//! Step 8 for a tool of another server.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::Value;
use tokio::sync::mpsc;

use super::checking::as_announced;
use super::runs::{Runs, bounded};
use crate::call::{Ended, ErrorKind};
use crate::output::EventSinks;
use crate::tool::RemoteBody;

/// Progress that may wait for a listener that is slow; more is not kept.
const PROGRESS: usize = 16;

impl Runs<'_> {
    /// A call of another server's tool.
    pub(super) async fn remote(&self, remote: &RemoteBody, arguments: Value, events: EventSinks) -> Ended {
        let entering = self.whole.within(remote.server.enter());
        let _place = match Box::pin(self.shared.sandbox.entered(entering)).await {
            Ok(place) => place,
            Err(error) => return Ended::failed(error),
        };
        let limits = self.whole.lower(Arc::clone(self.limits));
        let (told, mut progress) = mpsc::channel(PROGRESS);
        let calling = remote.server.call(remote, arguments, self.tool.mirrored(), Some(told), &limits);
        let work = async {
            let mut calling = pin!(calling);
            loop {
                // Progress first: none comes after the end.
                let next = poll_fn(|context| match progress.poll_recv(context) {
                    Poll::Ready(Some(progress)) => Poll::Ready(Err(progress)),
                    _ => calling.as_mut().poll(context).map(Ok),
                });
                match next.await {
                    Ok(end) => {
                        // What came between the two looks.
                        while let Ok(progress) = progress.try_recv() {
                            events.progress(progress.done, progress.total, progress.text.as_deref()).await;
                        }
                        return Ended::from(end);
                    }
                    Err(progress) => {
                        events.progress(progress.done, progress.total, progress.text.as_deref()).await;
                    }
                }
            }
        };
        let ended = self.timed(work, &limits).await;
        if matches!(&ended.end, Err(error) if error.kind == ErrorKind::Timeout) {
            remote.server.doubt();
        }
        bounded(as_announced(self.whole, self.tool, ended).await, &limits)
    }
}
