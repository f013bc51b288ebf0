//! HTTP/1.1 over a connection, with bounds on what a server may send before its body.

use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;

use super::connect::Stream;

/// Headers of a response.
const MAX_HEADERS: usize = 128;

/// Bytes of all headers of a response, and what is read ahead of a body.
const MAX_BUFFER: usize = 64 << 10;

/// A connection that speaks HTTP/1.1. Dropping it closes the socket, whatever was under way.
pub(crate) struct Connection<B> {
    sender: http1::SendRequest<B>,
    driver: JoinHandle<()>,
}

impl<B> Connection<B>
where
    B: hyper::body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Speaks HTTP over `stream`, driven by the runtime that this is called in.
    ///
    /// # Errors
    /// When the stream has ended already.
    pub async fn open(stream: Box<dyn Stream>) -> hyper::Result<Self> {
        let (sender, connection) = http1::Builder::new()
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_BUFFER)
            .handshake(TokioIo::new(stream))
            .await?;
        let driver = tokio::spawn(async move {
            // What went wrong is told to whoever waits for a response.
            let _ = connection.await;
        });
        Ok(Self { sender, driver })
    }

    /// Sends a request and waits for the head of its response. The request must be in origin form, with its `Host`.
    ///
    /// # Errors
    /// What went wrong, and the request where nothing of it was sent: then another connection may take it.
    pub async fn send(
        &mut self,
        request: http::Request<B>,
    ) -> Result<http::Response<Incoming>, (hyper::Error, Option<http::Request<B>>)> {
        self.sender.try_send_request(request).await.map_err(|mut failed| {
            let unsent = failed.take_message();
            (failed.into_error(), unsent)
        })
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
