//! Tests connections over real sockets, with paused time that advances only when all tasks are idle.

use std::net::SocketAddr;

use axum::response::IntoResponse as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::*;

/// Longer than any timeout.
const EVER: Duration = Duration::from_secs(3_600);

/// A listener that answers with the peer address. `/wait` answers when the test permits it; `/long` answers more than
/// any socket buffers.
struct TestListener {
    address: SocketAddr,
    may: Arc<Notify>,
    asked: Arc<Notify>,
    handover: CancellationToken,
    accepting: TaskTracker,
    ends: CancellationToken,
    serving: JoinSet<()>,
}

impl TestListener {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (may, asked) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (waits, tells) = (Arc::clone(&may), Arc::clone(&asked));
        let answer = move |request: Request| {
            let (waits, tells) = (Arc::clone(&waits), Arc::clone(&tells));
            async move {
                tells.notify_one();
                match request.uri().path() {
                    "/wait" => waits.notified().await,
                    "/long" => return vec![b'x'; 64 << 20].into_response(),
                    _ => {}
                }
                let ConnectInfo(peer) = request
                    .extensions()
                    .get::<ConnectInfo<SocketAddr>>()
                    .unwrap();
                peer.to_string().into_response()
            }
        };
        let (handover, ends) = (CancellationToken::new(), CancellationToken::new());
        let accepting = TaskTracker::new();
        let (listener, token) = (Arc::new(listener.into()), accepting.token());
        accepting.close();
        let mut serving = JoinSet::new();
        serving.spawn(serve(
            listener,
            token,
            answer,
            handover.clone(),
            ends.clone(),
        ));
        Self {
            address,
            may,
            asked,
            handover,
            accepting,
            ends,
            serving,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn ended(mut self) {
        let ended = timeout(EVER, self.serving.join_next()).await;
        ended.expect("it ends").unwrap().unwrap();
    }
}

async fn ask(stream: &mut TcpStream, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
}

/// Reads a response that ends with the peer address.
async fn answered(stream: &mut TcpStream) {
    let own = stream.local_addr().unwrap().to_string();
    let mut answer = Vec::new();
    while !answer.ends_with(own.as_bytes()) {
        let read = timeout(EVER, stream.read_buf(&mut answer)).await;
        assert_ne!(read.expect("an answer").unwrap(), 0);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 OK"));
}

/// Reads until the server closes the connection.
async fn closed(mut stream: TcpStream) {
    let mut rest = Vec::new();
    let read = timeout(EVER, stream.read_to_end(&mut rest)).await;
    // The end may be a reset, since unread data may remain.
    let _ = read.expect("it is closed");
}

#[tokio::test(start_paused = true)]
async fn whoever_is_silent_slow_or_done_is_sent_away() {
    let open = TestListener::new().await;
    let began = Instant::now();
    closed(open.connect().await).await;
    assert!(began.elapsed() < MAX_CONNECTION_AGE);
    let mut slow = open.connect().await;
    slow.write_all(b"GET / HTTP/1.1\r\nX-a: ").await.unwrap();
    closed(slow).await;
    assert!(began.elapsed() < MAX_CONNECTION_AGE);
    let mut done = open.connect().await;
    ask(&mut done, "/").await;
    let asked = Instant::now();
    answered(&mut done).await;
    closed(done).await;
    assert_eq!(asked.elapsed(), Duration::ZERO);
    let mut other = open.connect().await;
    other
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .unwrap();
    closed(other).await;
}

#[tokio::test(start_paused = true)]
async fn whoever_does_not_read_an_answer_is_sent_away() {
    let open = TestListener::new().await;
    let mut reader = open.connect().await;
    ask(&mut reader, "/long").await;
    open.asked.notified().await;
    // The server closed the connection while nothing was read. Only data already sent can arrive.
    sleep(EVER).await;
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest).await;
    assert!(rest.len() < 64 << 20, "{}", rest.len());
}

#[tokio::test(start_paused = true)]
async fn silent_connections_fill_one_listener_only_and_not_for_long() {
    let (full, other) = (TestListener::new().await, TestListener::new().await);
    let mut silent = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        silent.push(full.connect().await);
    }
    let began = Instant::now();
    let mut late = full.connect().await;
    ask(&mut late, "/").await;
    let mut elsewhere = other.connect().await;
    ask(&mut elsewhere, "/").await;
    answered(&mut elsewhere).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    // No connection was accepted before another one ended.
    answered(&mut late).await;
    assert!(began.elapsed() >= HEAD_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn accepted_connections_may_still_ask_after_the_handover() {
    let open = TestListener::new().await;
    let mut silent = open.connect().await;
    let mut other = open.connect().await;
    ask(&mut other, "/").await;
    // Connections are accepted in order, so the silent one is accepted by now.
    answered(&mut other).await;
    open.handover.cancel();
    open.accepting.wait().await;
    assert!(TcpStream::connect(open.address).await.is_err());
    ask(&mut silent, "/").await;
    answered(&mut silent).await;
    open.ended().await;
}

#[tokio::test(start_paused = true)]
async fn active_requests_are_answered_at_drain_and_silent_ones_cut() {
    let open = TestListener::new().await;
    let began = Instant::now();
    let silent = open.connect().await;
    let mut idle = open.connect().await;
    ask(&mut idle, "/").await;
    answered(&mut idle).await;
    open.asked.notified().await;
    let mut waiting = open.connect().await;
    ask(&mut waiting, "/wait").await;
    open.asked.notified().await;
    open.ends.cancel();
    for one in [silent, idle] {
        closed(one).await;
    }
    open.may.notify_one();
    answered(&mut waiting).await;
    closed(waiting).await;
    assert!(TcpStream::connect(open.address).await.is_err());
    open.ended().await;
    assert_eq!(began.elapsed(), Duration::ZERO);
}
