//! The connections of a door: how many there may be, and how long each may keep its place.
//!
//! Whoever reaches an address can connect, say nothing, and stay, and each connection takes one of the files that a
//! process may have open. So a place is taken before a connection is, a request has to come soon, and nobody stays for
//! ever, however slowly it reads. A connection is for one request: one that is kept for the next takes a place meanwhile,
//! and a proxy that sends a post just as it is closed does not know whether that came. Only HTTP/1 is spoken.

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

/// Most connections of a door at once. Three doors leave room for calls of ours within 1,024 open files.
pub(super) const MOST: usize = 256;
/// How long the head of a request may take, from the first moment: whoever is silent goes, too.
const HEAD: Duration = Duration::from_secs(10);
/// After how long a connection is told to end with the request that is under way.
const LIFE: Duration = Duration::from_secs(60);
/// How long that request then has, with all of its answer.
const LAST: Duration = Duration::from_secs(30);
/// Most bytes of a head, which are kept for each connection.
const HEAD_BYTES: usize = 64 << 10;
/// How long nothing is accepted after this process could not.
const PAUSE: Duration = Duration::from_secs(1);

/// Answers whoever connects until `ends`, and then what is under way. Whoever drops this lets go of all of them.
pub(super) async fn serve<A, F>(listener: TcpListener, answer: A, ends: CancellationToken)
where
    A: Fn(Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(MOST));
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            () = ends.cancelled() => break,
            Some((place, stream, peer)) = next(&listener, &places) => {
                let (answer, ends) = (answer.clone(), ends.clone());
                open.spawn(async move {
                    converse(stream, peer, answer, ends).await;
                    drop(place);
                });
            }
            Some(ended) = open.join_next() => told(ended),
        }
    }
    drop(listener);
    while let Some(ended) = open.join_next().await {
        told(ended);
    }
}

fn told(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        let error = &error as &dyn std::error::Error;
        tracing::error!(error, "a connection ended in the middle");
    }
}

/// The next connection, once there is a place for it. None would mean that there are no places any more.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return Some((place, stream, peer)),
            Err(error) if is_theirs(&error) => {}
            Err(error) => {
                refused(&error);
                sleep(PAUSE).await;
            }
        }
    }
}

fn refused(error: &std::io::Error) {
    let error = error as &dyn std::error::Error;
    tracing::error!(error, "nobody can connect at the moment");
}

/// Whether whoever connected has gone already, and nothing is wrong here.
fn is_theirs(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

/// Answers what comes over a connection.
async fn converse<A, F>(stream: TcpStream, peer: SocketAddr, answer: A, ends: CancellationToken)
where
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
        .header_read_timeout(HEAD)
        .keep_alive(false)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        // How it ended is the other side's affair: it went, it was silent, or it did not speak HTTP.
        _ = connection.as_mut() => return,
        () = ends.cancelled() => {
            if !has_asked.load(Ordering::Relaxed) {
                return;
            }
        }
        () = sleep(LIFE) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _late = timeout(LAST, connection).await;
}

#[cfg(test)]
mod tests;
