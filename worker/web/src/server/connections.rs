//! Limits the number and lifetime of the connections of a listener.
//!
//! Anybody who reaches an address can connect and stay silent, and each connection uses one of the process's file
//! descriptors. So a slot is taken before a connection is accepted, a request must arrive soon, and every connection
//! has a maximum lifetime, however slowly its client reads. Each connection serves one request: keep-alive would occupy
//! slots, and a proxy that reuses a closing connection cannot know whether its post arrived. Only HTTP/1 is supported.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Maximum number of connections of a listener. Three listeners leave room for outgoing calls within 1,024 file
/// descriptors.
pub(super) const MAX_CONNECTIONS: usize = 256;
/// Timeout for the head of a request, from the first moment, which also ends silent connections.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Age at which a connection must finish its request.
const MAX_CONNECTION_AGE: Duration = Duration::from_secs(60);
/// The time that this request has, including its whole response.
const LAST_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest head in bytes, which is buffered for each connection.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// A listener with its slots, which all servers that accept from it share.
pub(super) struct LimitedListener {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl From<TcpListener> for LimitedListener {
    fn from(listener: TcpListener) -> Self {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        Self { listener, places }
    }
}

impl LimitedListener {
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Accepts the next connection once a slot is free. Returns `None` only if the semaphore is closed.
    async fn accept(&self) -> Option<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
        let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => return Some((place, stream, peer)),
                Err(error) if is_theirs(&error) => {}
                Err(error) => {
                    log_accept_error(&error);
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// Accepts connections until `handover` or `ends` is cancelled, then drops the listener and the token, and serves the
/// open connections. After `ends`, only requests under way are answered. Dropping this future drops all connections.
pub(super) async fn serve<A, F>(
    listener: Arc<LimitedListener>,
    accepting: TaskTrackerToken,
    answer: A,
    handover: CancellationToken,
    ends: CancellationToken,
) where
    A: Fn(Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            () = handover.cancelled() => break,
            () = ends.cancelled() => break,
            Some((place, stream, peer)) = listener.accept() => {
                let (answer, ends) = (answer.clone(), ends.clone());
                open.spawn(async move {
                    serve_connection(stream, peer, answer, ends).await;
                    drop(place);
                });
            }
            Some(ended) = open.join_next() => log_panic(ended),
        }
    }
    drop((listener, accepting));
    while let Some(ended) = open.join_next().await {
        log_panic(ended);
    }
}

fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        let error = &error as &dyn std::error::Error;
        tracing::error!(error, "a connection ended in the middle");
    }
}

fn log_accept_error(error: &std::io::Error) {
    let error = error as &dyn std::error::Error;
    tracing::error!(error, "cannot accept connections; retrying in 1 s");
}

/// Returns whether the client disconnected before the accept, which is no error of the server.
fn is_theirs(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

/// Serves one connection.
async fn serve_connection<A, F>(
    stream: TcpStream,
    peer: SocketAddr,
    answer: A,
    ends: CancellationToken,
) where
    A: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    let has_asked = AtomicBool::new(false);
    let service = service_fn(|request: hyper::Request<Incoming>| {
        has_asked.store(true, Ordering::Relaxed);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let answered = answer(request);
        async { Ok::<_, Infallible>(answered.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .keep_alive(false)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        // The client disconnected, was silent, or did not speak HTTP. None of these is an error of the server.
        _ = connection.as_mut() => return,
        () = ends.cancelled() => {
            if !has_asked.load(Ordering::Relaxed) {
                return;
            }
        }
        () = sleep(MAX_CONNECTION_AGE) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _late = timeout(LAST_REQUEST_TIMEOUT, connection).await;
}

#[cfg(test)]
mod tests;
