//! Runs a strict fake of a vendor on this machine: it answers only the request that the vendor documents, and refuses
//! every other one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

/// The key that the fake accepts.
pub(super) const KEY: &str = "test-key-0123456789";

/// A request as the vendor documents it, without the key.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedRequest {
    method: String,
    path: String,
    #[serde(default)]
    query: BTreeMap<String, String>,
    #[serde(default)]
    form: BTreeMap<String, String>,
    #[serde(default)]
    json: Option<Value>,
    /// Headers that the vendor wants.
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// Place in a request where the vendor wants its key.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeyPlace {
    #[default]
    Nowhere,
    Header(String),
    Query(String),
    Bearer,
    Basic(String),
}

/// An answer.
#[derive(Debug, Clone, Default)]
pub(super) struct FakeReply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    /// True if the connection stays open without an answer.
    pub(super) hangs: bool,
}

impl FakeReply {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: body.to_string().into_bytes(),
            hangs: false,
        }
    }

    pub(super) fn html(status: u16) -> Self {
        Self {
            status,
            headers: vec![("content-type", "text/html; charset=utf-8".to_owned())],
            body: b"<html><body>Please log in</body></html>".to_vec(),
            hangs: false,
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

struct FakeVendorState {
    place: KeyPlace,
    expected: Vec<ExpectedRequest>,
    replies: VecDeque<FakeReply>,
    requests: usize,
    refused: Vec<String>,
}

pub(super) struct FakeVendor {
    pub(super) url: String,
    state: Arc<Mutex<FakeVendorState>>,
    _tasks: JoinSet<()>,
}

impl FakeVendor {
    /// Starts a vendor that answers these requests with these replies in order; the last one stays.
    pub(super) async fn start(
        place: KeyPlace,
        expected: Vec<ExpectedRequest>,
        replies: impl IntoIterator<Item = FakeReply>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(FakeVendorState {
            place,
            expected,
            replies: replies.into_iter().collect(),
            requests: 0,
            refused: Vec::new(),
        }));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, Arc::clone(&state)));
        Self {
            url,
            state,
            _tasks: tasks,
        }
    }

    /// Returns the number of requests, and fails if one was refused.
    pub(super) fn requests(&self) -> usize {
        let state = self.state.lock().unwrap();
        assert_eq!(state.refused, Vec::<String>::new());
        state.requests
    }
}

impl FakeVendorState {
    fn answer(&mut self, received: &ReceivedRequest) -> FakeReply {
        self.requests += 1;
        if let Err(problem) = received.check(&self.place, &self.expected) {
            self.refused.push(format!("{problem}: {received:?}"));
            return FakeReply::html(400);
        }
        match self.replies.len() {
            0 => FakeReply::html(500),
            1 => self.replies[0].clone(),
            _ => self.replies.pop_front().unwrap(),
        }
    }
}

#[derive(Debug)]
struct ReceivedRequest {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl ReceivedRequest {
    fn header(&self, name: &str) -> Option<&str> {
        let mut found = self
            .headers
            .iter()
            .filter(|(own, _)| own.eq_ignore_ascii_case(name));
        let first = found.next()?;
        assert!(found.next().is_none(), "{name} twice");
        Some(&first.1)
    }

    /// Compares the request with those that the vendor knows.
    fn check(&self, place: &KeyPlace, expected: &[ExpectedRequest]) -> Result<(), String> {
        let mut query = self.query.clone();
        let key = match place {
            KeyPlace::Nowhere => Some(KEY.to_owned()),
            KeyPlace::Header(name) => self.header(name).map(str::to_owned),
            KeyPlace::Query(name) => query.remove(name),
            KeyPlace::Bearer => {
                let value = self.header("authorization");
                value
                    .and_then(|it| it.strip_prefix("Bearer "))
                    .map(str::to_owned)
            }
            KeyPlace::Basic(encoded) => {
                let value = self.header("authorization");
                (value == Some(&format!("Basic {encoded}"))).then(|| KEY.to_owned())
            }
        };
        if key.as_deref() != Some(KEY) {
            return Err(format!("no key at {place:?}"));
        }
        let form: BTreeMap<String, String> = url::form_urlencoded::parse(&self.body)
            .into_owned()
            .collect();
        let json: Option<Value> = serde_json::from_slice(&self.body).ok();
        let content = self.header("content-type").unwrap_or_default();
        let fits = |one: &&ExpectedRequest| {
            let has_body = match (&one.json, one.form.is_empty()) {
                (Some(wanted), _) => json.as_ref() == Some(wanted) && content == "application/json",
                (None, false) => form == one.form && content == "application/x-www-form-urlencoded",
                (None, true) => self.body.is_empty(),
            };
            let mut headers = one.headers.iter();
            one.method == self.method
                && one.path == self.path
                && one.query == query
                && has_body
                && headers.all(|(name, value)| self.header(name) == Some(value))
        };
        match expected.iter().find(fits) {
            Some(_) => Ok(()),
            None => Err("no such request is documented".to_owned()),
        }
    }
}

async fn serve(listener: TcpListener, state: Arc<Mutex<FakeVendorState>>) {
    let mut open = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        open.spawn(serve_one(stream, Arc::clone(&state)));
    }
}

async fn serve_one(mut stream: TcpStream, state: Arc<Mutex<FakeVendorState>>) {
    let Some(received) = read(&mut stream).await else {
        return;
    };
    let reply = state.lock().unwrap().answer(&received);
    if reply.hangs {
        // The caller gives up and closes.
        let _ = stream.read(&mut [0; 1]).await;
        return;
    }
    let headers: String = reply
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let head = format!(
        "HTTP/1.1 {} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        reply.status,
        reply.body.len()
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&reply.body).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let line: Vec<&str> = lines.next().unwrap().split(' ').collect();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let length = headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map_or(0, |(_, value)| value.parse().unwrap());
        let body = &bytes[end + 4..];
        if body.len() < length {
            continue;
        }
        let url = Url::parse(&format!("http://fake{}", line[1])).unwrap();
        return Some(ReceivedRequest {
            method: line[0].to_owned(),
            // As it was written on the wire, with its encoding.
            path: line[1].split('?').next().unwrap().to_owned(),
            query: url.query_pairs().into_owned().collect(),
            headers,
            body: body.to_vec(),
        });
    }
}
