//! Runs a fake vendor on localhost for the tests. It parses HTTP requests, lets the rules of the vendor answer, and
//! breaks connections on request, before or after the work is done.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct FakeRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl FakeRequest {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found: Vec<_> = self.headers.iter().filter(|(own, _)| own == name).collect();
        assert!(found.len() < 2, "{name} in {:?}", self.headers);
        found.first().map_or("", |(_, value)| value)
    }

    pub(crate) fn q(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    pub(crate) fn is_write(&self) -> bool {
        self.method != "GET"
    }

    /// Returns the parts of the path.
    pub(crate) fn parts(&self) -> Vec<&str> {
        self.path
            .split('/')
            .filter(|part| !part.is_empty())
            .collect()
    }
}

/// An answer of the fake vendor.
pub(crate) struct FakeResponse(
    pub(crate) u16,
    pub(crate) Value,
    pub(crate) Vec<(&'static str, String)>,
);

impl FakeResponse {
    pub(crate) fn new(status: u16, body: Value) -> Self {
        Self(status, body, Vec::new())
    }
}

/// The rules and the state of one vendor.
pub(crate) trait World: Send + 'static {
    /// Does what the request asks, or refuses it as the vendor does. `now` is the time of the test.
    fn answer(&mut self, ask: &FakeRequest, now: u64) -> FakeResponse;
}

/// A fault of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No fault.
    None,
    /// The connection closes and the write was not done.
    NotDone,
    /// The write is done, then the connection closes.
    Done,
    /// The write is done, then a gateway answers 502.
    Gateway,
    /// The vendor answers that there were too many requests.
    Busy,
    /// The vendor is down.
    Down,
}

struct FakeState<W> {
    world: W,
    now: u64,
    faults: VecDeque<Fault>,
    asks: Vec<FakeRequest>,
}

pub(crate) struct Fake<W> {
    pub(crate) url: String,
    inside: Arc<Mutex<FakeState<W>>>,
    _tasks: JoinSet<()>,
}

impl<W: World> Fake<W> {
    pub(crate) async fn start(world: W) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inside = Arc::new(Mutex::new(FakeState {
            world,
            now: 1_000_000,
            faults: VecDeque::new(),
            asks: Vec::new(),
        }));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, Arc::clone(&inside)));
        Self {
            url,
            inside,
            _tasks: tasks,
        }
    }

    /// Reads the state of the vendor.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut W) -> T) -> T {
        look(&mut self.inside().world)
    }

    /// Sets the faults of the next writes, in order.
    pub(crate) fn breaks(&self, faults: impl IntoIterator<Item = Fault>) {
        self.inside().faults.extend(faults);
    }

    /// Clears all faults.
    pub(crate) fn mends(&self) {
        self.inside().faults.clear();
    }

    pub(crate) fn now(&self) -> u64 {
        self.inside().now
    }

    pub(crate) fn pass(&self, secs: u64) {
        self.inside().now += secs;
    }

    /// Returns the requests since the last call of this function.
    pub(crate) fn asks(&self) -> Vec<FakeRequest> {
        std::mem::take(&mut self.inside().asks)
    }

    fn inside(&self) -> MutexGuard<'_, FakeState<W>> {
        self.inside.lock().unwrap()
    }
}

impl<W: World> FakeState<W> {
    /// Answers a request. `None` closes the connection without an answer.
    fn answer(&mut self, ask: FakeRequest) -> Option<FakeResponse> {
        let fault = if ask.is_write() {
            self.faults.pop_front().unwrap_or(Fault::None)
        } else {
            Fault::None
        };
        let does = matches!(fault, Fault::None | Fault::Done | Fault::Gateway);
        let now = self.now;
        let says = does.then(|| self.world.answer(&ask, now));
        self.asks.push(ask);
        match fault {
            Fault::None => says,
            Fault::NotDone | Fault::Done => None,
            Fault::Gateway => Some(FakeResponse::new(502, json!("bad gateway"))),
            Fault::Busy => Some(FakeResponse(
                429,
                json!({}),
                vec![("retry-after", "7".into())],
            )),
            Fault::Down => Some(FakeResponse::new(503, json!("down"))),
        }
    }
}

async fn serve<W: World>(listener: TcpListener, inside: Arc<Mutex<FakeState<W>>>) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let ask = read(&mut stream).await;
        let says = inside.lock().unwrap().answer(ask);
        if let Some(FakeResponse(status, body, headers)) = says {
            let body = if status == 204 {
                String::new()
            } else {
                body.to_string()
            };
            let headers: String = headers
                .iter()
                .map(|(name, value)| format!("{name}: {value}\r\n"))
                .collect();
            let head = format!(
                "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.write_all(body.as_bytes()).await;
        }
        let _ = stream.shutdown().await;
    }
}

async fn read(stream: &mut TcpStream) -> FakeRequest {
    let mut bytes = Vec::new();
    loop {
        let count = stream.read_buf(&mut bytes).await.unwrap();
        assert!(count > 0, "the request ended too early");
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let line: Vec<&str> = lines.next().unwrap().split(' ').collect();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(0, |(_, value)| value.parse().unwrap());
        let body = &bytes[end + 4..];
        if body.len() < length {
            continue;
        }
        let url = Url::parse(&format!("http://fake{}", line[1])).unwrap();
        return FakeRequest {
            method: line[0].to_owned(),
            path: url.path().to_owned(),
            query: url.query_pairs().into_owned().collect(),
            headers,
            body: serde_json::from_slice(body).unwrap_or(Value::Null),
        };
    }
}
