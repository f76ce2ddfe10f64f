//! Provides a local server with scripted answers that records its requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::chat::{
    CallArguments, ChatError, ChatMessage, ChatModel, ChatPart, ChatRequest, ChatRole, ChatTool,
    OpaquePart, OutputSchema, QuestionKind, ToolCallPart,
};
use nightshift_engine::key::KeySource;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::ModelConfig;
use crate::quirks::Quirks;
use crate::reasoning_binding::PreparedConversation;

/// The key that no output may show.
pub(crate) const KEY: &str = "test-key-that-nobody-may-see";

/// One answer, byte for byte, and the server's behaviour after it.
#[derive(Clone)]
pub(crate) struct StubReply {
    bytes: Vec<u8>,
    hangs: bool,
}

impl StubReply {
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
            hangs: false,
        }
    }

    /// Returns a stream that ends with its text.
    pub(crate) fn events(body: &str) -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";
        Self {
            bytes: format!("{head}{body}").into_bytes(),
            hangs: false,
        }
    }

    /// Returns a chunked stream without its last chunk.
    pub(crate) fn truncated_events(body: &str) -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        Self {
            bytes: format!("{head}{:x}\r\n{body}\r\n", body.len()).into_bytes(),
            hangs: false,
        }
    }

    /// Returns a chunked stream of a server that announces keep-alive and then ignores the connection.
    pub(crate) fn kept_alive_events(body: &str) -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nkeep-alive: timeout=5, max=100\r\n\r\n";
        Self {
            bytes: format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).into_bytes(),
            hangs: true,
        }
    }

    /// Removes the last bytes.
    pub(crate) fn truncate(mut self, bytes: usize) -> Self {
        self.bytes.truncate(self.bytes.len() - bytes);
        self
    }

    /// Returns an answer without any bytes.
    pub(crate) fn silence() -> Self {
        Self {
            bytes: Vec::new(),
            hangs: true,
        }
    }

    /// Leaves the connection open without further bytes.
    pub(crate) fn then_hang(self) -> Self {
        Self {
            hangs: true,
            ..self
        }
    }
}

/// Requests that the server received.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct StubServer {
    pub(crate) url: String,
    pub(crate) replied: Arc<Notify>,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
    _tasks: JoinSet<()>,
}

impl StubServer {
    /// Starts a server that gives one answer per connection, and repeats the last one.
    pub(crate) async fn start(says: Vec<StubReply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let said = Arc::new(Notify::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, says, Arc::clone(&seen), Arc::clone(&said)));
        Self {
            url,
            replied: said,
            requests: seen,
            _tasks: tasks,
        }
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(
    listener: TcpListener,
    says: Vec<StubReply>,
    seen: Arc<Mutex<Vec<RecordedRequest>>>,
    said: Arc<Notify>,
) {
    let mut open = Vec::new();
    for turn in 0.. {
        let (mut stream, _) = listener.accept().await.unwrap();
        let asked = read_request(&mut stream).await;
        seen.lock().unwrap().push(asked);
        let say = &says[turn.min(says.len() - 1)];
        let _ = stream.write_all(&say.bytes).await;
        said.notify_one();
        if say.hangs {
            open.push(stream);
        } else {
            let _ = stream.shutdown().await;
        }
    }
}

pub(crate) async fn read_request(stream: &mut TcpStream) -> RecordedRequest {
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
            return RecordedRequest {
                path: head.split(' ').nth(1).unwrap().to_owned(),
                head: head.to_owned(),
                body: serde_json::from_str(body).unwrap_or_default(),
            };
        }
    }
}

pub(crate) fn key_source() -> Option<KeySource> {
    Some(Arc::new(|| Ok(KEY.into())))
}

/// Returns the adapter of a configuration with a key.
pub(crate) fn connect(config: &ModelConfig) -> Arc<dyn ChatModel> {
    crate::connect(config, key_source()).unwrap()
}

fn base_request(messages: Vec<ChatMessage>) -> ChatRequest {
    ChatRequest {
        question: QuestionKind::Plan,
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
    let keep = ChatPart::Text {
        text: "The alert.".into(),
        keep: true,
    };
    let mut request = base_request(vec![ChatMessage {
        role: ChatRole::User,
        parts: vec![keep, ChatPart::text("Make a plan.")],
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
pub(crate) fn turn_request(model: &str, reasoning: Value, signature: Option<Value>) -> ChatRequest {
    let opaque = |provider: &str, value: Value| OpaquePart::new(provider, value);
    let call = |id: &str, arguments, own| {
        ChatPart::Call(ToolCallPart {
            id: id.to_owned(),
            name: "asset_lookup".to_owned(),
            arguments,
            opaque: own,
        })
    };
    let object = json!({"indicator": "i-1"}).as_object().unwrap().clone();
    let result = |id: &str, text: &str, is_error| ChatPart::Result {
        id: id.to_owned(),
        name: "asset_lookup".to_owned(),
        text: text.into(),
        is_error,
    };
    let mut request = base_request(vec![
        ChatMessage {
            role: ChatRole::User,
            parts: vec![ChatPart::text("Do the step.")],
        },
        ChatMessage {
            role: ChatRole::Assistant,
            parts: vec![
                ChatPart::Opaque(opaque(model, reasoning)),
                ChatPart::Opaque(opaque(
                    "other/model",
                    json!({"type": "thinking", "thinking": "not mine"}),
                )),
                ChatPart::text("I look."),
                call(
                    "call_a",
                    CallArguments::Object(object),
                    signature.map(|value| opaque(model, value)),
                ),
                call(
                    "call_b",
                    CallArguments::Unreadable("{indicator".to_owned()),
                    None,
                ),
            ],
        },
        ChatMessage {
            role: ChatRole::User,
            parts: vec![
                result("call_a", "{\"found\":0}", false),
                result("call_b", "arguments are no object", true),
                ChatPart::text("Go on."),
            ],
        },
    ]);
    request.question = QuestionKind::Turn;
    request.tools = tools();
    request.may_call = true;
    request
}

/// Returns the request with its reasoning bound to its place for this model.
pub(crate) fn bind_reasoning(mut request: ChatRequest, config: &ModelConfig) -> ChatRequest {
    for end in 0..request.messages.len() {
        let mut before = request.clone();
        before.messages.truncate(end);
        let quirks = Quirks::from_config(config);
        let here = PreparedConversation::new(&before, &quirks, config.full_name(), None, true)
            .position_hash();
        for part in &mut request.messages[end].parts {
            if let ChatPart::Opaque(own) = part {
                own.position_hash = Some(here.clone());
            }
        }
    }
    request
}

/// Returns the error of one answer.
pub(crate) async fn error_from(config: &ModelConfig, say: StubReply) -> ChatError {
    let stub = StubServer::start(vec![say]).await;
    let config = ModelConfig {
        base_url: Some(stub.url.clone() + config.base_url.as_deref().unwrap_or_default()),
        ..config.clone()
    };
    let error = connect(&config).chat(&question()).await.unwrap_err();
    assert!(!format!("{error:?} {error}").contains(KEY), "{error:?}");
    error
}

/// Returns a request in few lines: one for each field, and one for each entry of a list.
pub(crate) fn render_request(body: &Value) -> String {
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
pub(crate) async fn assert_errors(config: &ModelConfig, table: &str) {
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
        let say = StubReply::text(status.parse().unwrap(), "application/json", &headers, body);
        let error = error_from(config, say).await;
        assert_eq!(
            format!("{:?}", error.failure),
            failure.trim(),
            "{line}: {error}"
        );
    }
}
