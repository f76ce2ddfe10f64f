//! Provides an endpoint that answers SQS calls as a test says, including answers that moto never gives.
//!
//! The protocol is AWS JSON 1.0 over HTTP/1.1 with `X-Amz-Target: AmazonSQS.Action`, a JSON body and a JSON answer.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A status and a body; `None` hangs up without an answer, [`SILENCE`] never answers.
pub(super) type FakeAnswer = Option<(u16, Value)>;

/// The status of an answer that is never sent.
pub(super) const SILENCE: u16 = 0;

/// Function of the action, its input, and the number of earlier calls.
type Script = Arc<dyn Fn(&str, &Value, usize) -> FakeAnswer + Send + Sync>;

/// The endpoint with the calls that it received.
pub(super) struct FakeSqs {
    pub(super) url: String,
    calls: Calls,
    only_key: OnlyKey,
    _tasks: JoinSet<()>,
}

type Calls = Arc<Mutex<Vec<(String, Value)>>>;
/// The only accepted access key, if not every key is accepted.
type OnlyKey = Arc<Mutex<Option<String>>>;

impl FakeSqs {
    pub(super) async fn answering(
        script: impl Fn(&str, &Value, usize) -> FakeAnswer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let calls = Calls::default();
        let (noted, script): (Calls, Script) = (Arc::clone(&calls), Arc::new(script));
        let only_key = OnlyKey::default();
        let taken = Arc::clone(&only_key);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (noted, taken) = (Arc::clone(&noted), Arc::clone(&taken));
                connections.spawn(serve(stream, noted, taken, Arc::clone(&script)));
            }
        });
        Self {
            url,
            calls,
            only_key,
            _tasks: tasks,
        }
    }

    /// Refuses every other access key from now on.
    pub(super) fn take_only(&self, key: &str) {
        *self.only_key.lock().unwrap() = Some(key.to_owned());
    }

    /// Returns the inputs of all calls of an action.
    pub(super) fn asked(&self, action: &str) -> Vec<Value> {
        let calls = self.calls.lock().unwrap();
        let of_action = calls.iter().filter(|(name, _)| name == action);
        of_action.map(|(_, input)| input.clone()).collect()
    }
}

/// Returns a message as SQS sends it.
pub(super) fn message(id: &str, handle: &str) -> Value {
    json!({"MessageId": id, "ReceiptHandle": handle, "Body": format!("body of {id}")})
}

async fn serve(stream: TcpStream, calls: Calls, only_key: OnlyKey, script: Script) {
    let mut stream = BufStream::new(stream);
    while let Some((action, key, input)) = request(&mut stream).await {
        let before = {
            let mut calls = calls.lock().unwrap();
            calls.push((action.clone(), input.clone()));
            calls.iter().filter(|(name, _)| *name == action).count() - 1
        };
        let is_taken = only_key
            .lock()
            .unwrap()
            .as_ref()
            .is_none_or(|only| *only == key);
        let answer = if is_taken {
            script(&action, &input, before)
        } else {
            let kind = "com.amazon.coral.service#UnrecognizedClientException";
            let told = "The security token included in the request is invalid.";
            Some((403, json!({"__type": kind, "message": told})))
        };
        let Some((status, body)) = answer else {
            return;
        };
        if status == SILENCE {
            std::future::pending::<()>().await;
        }
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status} Told\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let answer = [head.as_bytes(), body.as_bytes()].concat();
        if stream.write_all(&answer).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

/// Reads a request: the action, the access key that signed it, and its input.
async fn request(stream: &mut BufStream<TcpStream>) -> Option<(String, String, Value)> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    // Other calls, such as those of S3, are named by method and path.
    let mut action = line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let (mut length, mut key) = (0, String::new());
    loop {
        line.clear();
        stream
            .read_line(&mut line)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            if line.trim_end().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "x-amz-target" => action = value.trim().trim_start_matches("AmazonSQS.").to_owned(),
            "authorization" => {
                let signed = value.split_once("Credential=").map(|(_, signed)| signed);
                let found = signed.and_then(|signed| signed.split('/').next());
                key = found.unwrap_or_default().to_owned();
            }
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let input = serde_json::from_slice(&body).unwrap_or_default();
    Some((action, key, input))
}
