//! A local server with scripted answers that records its requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::chat::{
    Arguments, Asked, CallPart, ChatError, ChatMessage, ChatModel, ChatRequest, ChatTool, Opaque,
    OutputSchema, Part, Role,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::bound::Told;
use crate::quirks::Quirks;
use crate::{KeySource, ModelConfig};

/// The key that no output may show.
pub(crate) const KEY: &str = "test-key-that-nobody-may-see";

/// One answer, byte for byte, and the server's behaviour after it.
#[derive(Clone)]
pub(crate) struct Say {
    bytes: Vec<u8>,
    hang: bool,
}

impl Say {
    pub(crate) fn json(status: u16, headers: &[(&str, &str)], body: &Value) -> Self {
        Self::text(status, "application/json", headers, &body.to_string())
    }

    pub(crate) fn text(status: u16, kind: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let mut head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Self {
            bytes: format!("{head}\r\n{body}").into_bytes(),
            hang: false,
        }
    }

    /// Returns a stream that ends with its text.
    pub(crate) fn events(body: &str) -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";
        Self {
            bytes: format!("{head}{body}").into_bytes(),
            hang: false,
        }
    }

    /// Returns a chunked stream without its last chunk.
    pub(crate) fn cut_events(body: &str) -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        Self {
            bytes: format!("{head}{:x}\r\n{body}\r\n", body.len()).into_bytes(),
            hang: false,
        }
    }

    /// Returns a chunked stream of a server that announces keep-alive and then ignores the connection.
    pub(crate) fn kept_events(body: &str) -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nkeep-alive: timeout=5, max=100\r\n\r\n";
        Self {
            bytes: format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).into_bytes(),
            hang: true,
        }
    }

    /// Removes the last bytes.
    pub(crate) fn cut(mut self, bytes: usize) -> Self {
        self.bytes.truncate(self.bytes.len() - bytes);
        self
    }

    /// Returns an answer without any bytes.
    pub(crate) fn nothing() -> Self {
        Self {
            bytes: Vec::new(),
            hang: true,
        }
    }

    /// Leaves the connection open without further bytes.
    pub(crate) fn then_hang(self) -> Self {
        Self { hang: true, ..self }
    }
}

/// Requests that the server received.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Stub {
    pub(crate) url: String,
    pub(crate) said: Arc<Notify>,
    seen: Arc<Mutex<Vec<Seen>>>,
    _tasks: JoinSet<()>,
}

impl Stub {
    /// Starts a server that gives one answer per connection, and repeats the last one.
    pub(crate) async fn start(says: Vec<Say>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let said = Arc::new(Notify::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, says, Arc::clone(&seen), Arc::clone(&said)));
        Self {
            url,
            said,
            seen,
            _tasks: tasks,
        }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    listener: TcpListener,
    says: Vec<Say>,
    seen: Arc<Mutex<Vec<Seen>>>,
    said: Arc<Notify>,
) {
    let mut open = Vec::new();
    for turn in 0.. {
        let (mut stream, _) = listener.accept().await.unwrap();
        let asked = read(&mut stream).await;
        seen.lock().unwrap().push(asked);
        let say = &says[turn.min(says.len() - 1)];
        let _ = stream.write_all(&say.bytes).await;
        said.notify_one();
        if say.hang {
            open.push(stream);
        } else {
            let _ = stream.shutdown().await;
        }
    }
}

pub(crate) async fn read(stream: &mut TcpStream) -> Seen {
    let mut bytes = Vec::new();
    loop {
        let mut piece = vec![0; 65_536];
        let count = stream.read(&mut piece).await.unwrap();
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .to_lowercase()
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() >= length.unwrap_or(0) {
            return Seen {
                path: head.split(' ').nth(1).unwrap().to_owned(),
                head: head.to_owned(),
                body: serde_json::from_str(body).unwrap_or_default(),
            };
        }
    }
}

/// Returns a source of the key.
pub(crate) fn key() -> Option<KeySource> {
    Some(Arc::new(|| Ok(KEY.into())))
}

/// Returns the adapter of a configuration with a key.
pub(crate) fn connect(config: &ModelConfig) -> Arc<dyn ChatModel> {
    crate::connect(config, key()).unwrap()
}

fn base(messages: Vec<ChatMessage>) -> ChatRequest {
    ChatRequest {
        asked: Asked::Plan,
        urgent: false,
        system: "You triage alerts.".into(),
        messages,
        tools: Arc::new([]),
        may_call: false,
        output: None,
        max_output_tokens: 2000,
        deadline: Instant::now() + Duration::from_secs(30),
    }
}

fn schema() -> OutputSchema {
    OutputSchema {
        name: "plan".to_owned(),
        schema: Arc::new(json!({
            "type": "object", "additionalProperties": false, "required": ["mode"],
            "properties": {"mode": {"type": "string", "enum": ["direct", "planned"]}},
        })),
    }
}

fn tools() -> Arc<[ChatTool]> {
    Arc::new([ChatTool {
        name: "asset_lookup".to_owned(),
        description: "Looks an asset up.".into(),
        schema: Arc::new(json!({
            "type": "object", "additionalProperties": false, "required": ["indicator"],
            "properties": {"indicator": {"type": "string"}},
        })),
    }])
}

/// Returns a question with a schema and one cached part.
pub(crate) fn question() -> ChatRequest {
    let keep = Part::Text {
        text: "The alert.".into(),
        keep: true,
    };
    let mut request = base(vec![ChatMessage {
        role: Role::User,
        parts: vec![keep, Part::text("Make a plan.")],
    }]);
    request.output = Some(schema());
    request
}

/// Returns the question with tools that may not be called.
pub(crate) fn question_with_tools() -> ChatRequest {
    ChatRequest {
        tools: tools(),
        ..question()
    }
}

/// Returns a turn with two calls, one failed and one with unreadable arguments, reasoning and a signature of `model`,
/// and reasoning of another model.
pub(crate) fn turn(model: &str, reasoning: Value, signature: Option<Value>) -> ChatRequest {
    let opaque = |provider: &str, value: Value| Opaque::new(provider, value);
    let call = |id: &str, arguments, own| {
        Part::Call(CallPart {
            id: id.to_owned(),
            name: "asset_lookup".to_owned(),
            arguments,
            opaque: own,
        })
    };
    let object = json!({"indicator": "i-1"}).as_object().unwrap().clone();
    let result = |id: &str, text: &str, is_error| Part::Result {
        id: id.to_owned(),
        name: "asset_lookup".to_owned(),
        text: text.into(),
        is_error,
    };
    let mut request = base(vec![
        ChatMessage {
            role: Role::User,
            parts: vec![Part::text("Do the step.")],
        },
        ChatMessage {
            role: Role::Assistant,
            parts: vec![
                Part::Opaque(opaque(model, reasoning)),
                Part::Opaque(opaque(
                    "other/model",
                    json!({"type": "thinking", "thinking": "not mine"}),
                )),
                Part::text("I look."),
                call(
                    "call_a",
                    Arguments::Object(object),
                    signature.map(|value| opaque(model, value)),
                ),
                call(
                    "call_b",
                    Arguments::Unreadable("{indicator".to_owned()),
                    None,
                ),
            ],
        },
        ChatMessage {
            role: Role::User,
            parts: vec![
                result("call_a", "{\"found\":0}", false),
                result("call_b", "arguments are no object", true),
                Part::text("Go on."),
            ],
        },
    ]);
    request.asked = Asked::Turn;
    request.tools = tools();
    request.may_call = true;
    request
}

/// Returns the request with its reasoning bound to its place for this model.
pub(crate) fn in_place(mut request: ChatRequest, config: &ModelConfig) -> ChatRequest {
    for end in 0..request.messages.len() {
        let mut before = request.clone();
        before.messages.truncate(end);
        let quirks = Quirks::of(config);
        let here = Told::new(&before, &quirks, config.full_name(), None, true).here();
        for part in &mut request.messages[end].parts {
            if let Part::Opaque(own) = part {
                own.place = Some(here.clone());
            }
        }
    }
    request
}

/// Returns the error of one answer.
pub(crate) async fn error_of(config: &ModelConfig, say: Say) -> ChatError {
    let stub = Stub::start(vec![say]).await;
    let config = ModelConfig {
        base_url: Some(stub.url.clone() + config.base_url.as_deref().unwrap_or_default()),
        ..config.clone()
    };
    let error = connect(&config).chat(&question()).await.unwrap_err();
    assert!(!format!("{error:?} {error}").contains(KEY), "{error:?}");
    error
}

/// Returns a request in few lines: one for each field, and one for each entry of a list.
pub(crate) fn told(body: &Value) -> String {
    let mut lines = Vec::new();
    let mut tell = |name: &str, value: &Value| match value {
        Value::Array(list) => {
            for (index, entry) in list.iter().enumerate() {
                lines.push(format!("{name}[{index}] {entry}"));
            }
        }
        other => lines.push(format!("{name} {other}")),
    };
    match body {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| tell(name, value)),
        other => tell("", other),
    }
    lines.join("\n")
}

/// Asserts that errors are classified as in a table: `status | header | body | failure`.
pub(crate) async fn errors_hold(config: &ModelConfig, table: &str) {
    for line in table.trim().lines() {
        let [status, header, body, failure] = line
            .split(" | ")
            .collect::<Vec<_>>()
            .try_into()
            .expect(line);
        let headers: Vec<(&str, &str)> = header
            .split("; ")
            .filter_map(|header| header.split_once(": "))
            .collect();
        let say = Say::text(status.parse().unwrap(), "application/json", &headers, body);
        let error = error_of(config, say).await;
        assert_eq!(
            format!("{:?}", error.failure),
            failure.trim(),
            "{line}: {error}"
        );
    }
}
