//! HTTP/1.1 over a connection, with bounds on what a server may send before its body.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::connect::Stream;
use super::traffic::{Count, Counted, Exceeded, Traffic};

/// Headers of a response.
const MAX_HEADERS: usize = 128;

/// Bytes of all headers of a response, and what is read ahead of a body.
const MAX_BUFFER: usize = 64 << 10;

/// A connection that speaks HTTP/1.1. Dropping it closes the socket, whatever was under way.
pub(crate) struct Connection<B> {
    sender: http1::SendRequest<B>,
    driver: JoinHandle<()>,
    traffic: Arc<Traffic>,
}

impl<B> Connection<B>
where
    B: hyper::body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Speaks HTTP over `stream`, driven by `handle`.
    ///
    /// # Errors
    /// When the stream has ended already.
    pub async fn open(stream: Box<dyn Stream>, handle: &Handle) -> hyper::Result<Self> {
        let traffic = Arc::new(Traffic::default());
        let counted = Counted { stream, traffic: Arc::clone(&traffic) };
        let (sender, connection) = http1::Builder::new()
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_BUFFER)
            .handshake(TokioIo::new(counted))
            .await?;
        let driver = handle.spawn(async move {
            // What went wrong is told to whoever waits for a response.
            let _ = connection.await;
        });
        Ok(Self { sender, driver, traffic })
    }

    /// Sends a request and waits for the head of its response, counting what comes by `count`. The request must be in
    /// origin form, with its `Host`.
    ///
    /// # Errors
    /// What went wrong, and the request where nothing of it was sent: then another connection may take it.
    pub async fn send(
        &mut self,
        request: http::Request<B>,
        count: Option<Count>,
    ) -> Result<http::Response<Incoming>, (hyper::Error, Option<http::Request<B>>)> {
        self.traffic.begin(count);
        match self.sender.try_send_request(request).await {
            Ok(response) => {
                self.traffic.has_head();
                Ok(response)
            }
            Err(mut failed) => {
                let unsent = failed.take_message();
                Err((failed.into_error(), unsent))
            }
        }
    }

    /// Whether nothing came for the latest request.
    pub fn is_unanswered(&self) -> bool {
        self.traffic.received() == 0
    }

    /// Whether more came for the latest request than may: then this is why it ended.
    pub fn exceeded(&self) -> Option<Exceeded> {
        self.traffic.exceeded()
    }

    /// Counts no more of what comes, since the response was read.
    pub(super) fn rest(&self) {
        self.traffic.end();
    }

    /// Waits until another request may be sent. False where there never will be one.
    pub async fn is_reusable(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// Whether a request may be sent now.
    pub fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }
}

impl<B> Drop for Connection<B> {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
