//! Runs a local Slack that is as strict as the documentation. It keeps what it receives and can break off at any
//! moment.
//!
//! The stub uses the clock of the test. The end-to-end tests use the stub too.

// The path is explicit because the end-to-end tests include this file as well.
#[path = "stub/limits.rs"]
pub(crate) mod limits;
#[path = "stub/phone.rs"]
pub(crate) mod phone;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::port::Clock;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use url::Url;

use super::super::webhook::{Post, read, say};

/// The only channel.
pub(crate) const CHANNEL: &str = "C0123ABCD";
/// The only valid token.
pub(crate) const TOKEN: &str = "xoxb-hush";

/// A fault of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlackFault {
    /// The call is done and its answer is lost.
    LostAfter,
    /// The call is not done and its answer is lost.
    LostBefore,
    /// HTTP 429 with so many seconds to wait.
    TooMany(u64),
    /// `ok: false` with this error.
    Says(&'static str),
}

/// A stored message.
#[derive(Debug, Clone)]
pub(crate) struct PostedMessage {
    pub(crate) ts: String,
    pub(crate) thread_ts: Option<String>,
    pub(crate) is_broadcast: bool,
    pub(crate) edits: usize,
    pub(crate) body: Value,
}

impl PostedMessage {
    /// Returns a value of the metadata.
    pub(crate) fn key(&self, name: &str) -> String {
        let payload = &self.body["metadata"]["event_payload"];
        payload[name].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the text of notifications.
    pub(crate) fn text(&self) -> &str {
        self.body["text"].as_str().unwrap_or_default()
    }
}

type Faults = Box<dyn FnMut(&str, usize) -> Option<SlackFault> + Send>;

struct State {
    clock: Arc<dyn Clock>,
    kept: Vec<PostedMessage>,
    calls: Vec<String>,
    faults: Faults,
    posted: Option<DateTime<Utc>>,
    number: u32,
}

pub(crate) struct Slack {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
    _tasks: JoinSet<()>,
}

impl Slack {
    pub(crate) async fn start(clock: Arc<dyn Clock>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            clock,
            kept: Vec::new(),
            calls: Vec::new(),
            faults: Box::new(|_, _| None),
            posted: None,
            number: 0,
        }));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, Arc::clone(&state)));
        Self {
            url,
            state,
            _tasks: tasks,
        }
    }

    /// Sets the function that returns the fault of a call, by its method and number.
    pub(crate) fn breaks(
        &self,
        faults: impl FnMut(&str, usize) -> Option<SlackFault> + Send + 'static,
    ) {
        self.state.lock().unwrap().faults = Box::new(faults);
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.state.lock().unwrap().calls.clone()
    }

    /// Returns the messages of the channel without those of threads.
    pub(crate) fn channel(&self) -> Vec<PostedMessage> {
        let kept = self.all().into_iter();
        kept.filter(|one| one.thread_ts.is_none()).collect()
    }

    /// Returns the messages of threads.
    pub(crate) fn below(&self) -> Vec<PostedMessage> {
        let kept = self.all().into_iter();
        kept.filter(|one| one.thread_ts.is_some()).collect()
    }

    fn all(&self) -> Vec<PostedMessage> {
        self.state.lock().unwrap().kept.clone()
    }

    /// Repeats the last message so many times.
    pub(crate) fn repeat_the_last(&self, times: usize) {
        let kept = &mut self.state.lock().unwrap().kept;
        let last = kept.last().unwrap().clone();
        kept.extend(std::iter::repeat_n(last, times));
    }

    /// Removes a message as a person would.
    pub(crate) fn remove(&self, ts: &str) {
        self.state.lock().unwrap().kept.retain(|one| one.ts != ts);
    }
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let post = read(&mut stream).await;
        let answer = state.lock().unwrap().answer(&post);
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
    }
}

impl State {
    fn answer(&mut self, post: &Post) -> String {
        let target = post.line.split(' ').nth(1).unwrap().to_owned();
        let url = Url::parse("http://slack").unwrap().join(&target).unwrap();
        let method = url.path().trim_start_matches("/api/").to_owned();
        self.calls.push(method.clone());
        let number = self.calls.len();
        let fault = (self.faults)(&method, number);
        match fault {
            Some(SlackFault::LostBefore) => return String::new(),
            Some(SlackFault::TooMany(secs)) => {
                return say(429, &format!("retry-after: {secs}\r\n"), "");
            }
            Some(SlackFault::Says(error)) => return no(error, ""),
            Some(SlackFault::LostAfter) | None => {}
        }
        let done = if post.header("authorization") == format!("Bearer {TOKEN}") {
            self.do_it(&method, post, &url)
        } else {
            Err("invalid_auth".to_owned())
        };
        match (fault, done) {
            (Some(SlackFault::LostAfter), _) => String::new(),
            (_, Ok(said)) => say(200, "", &ascii(&said.to_string())),
            (_, Err(error)) if error == "429" => say(429, "retry-after: 1\r\n", ""),
            (_, Err(error)) => {
                let (error, why) = error.split_once(": ").unwrap_or((&error, ""));
                no(error, why)
            }
        }
    }

    fn do_it(&mut self, method: &str, post: &Post, url: &Url) -> Result<Value, String> {
        let query: HashMap<String, String> = url.query_pairs().into_owned().collect();
        let body = || -> Result<Value, String> {
            let kind = post.header("content-type");
            if kind != "application/json; charset=utf-8" {
                return Err(format!("invalid_post_type: {kind}"));
            }
            serde_json::from_str(&post.body).map_err(|error| format!("invalid_json: {error}"))
        };
        match method {
            "chat.postMessage" => self.post(body()?),
            "chat.update" => self.update(body()?),
            "chat.delete" => self.delete(&body()?),
            "conversations.history" => self.page(&query, None),
            "conversations.replies" => {
                let ts = query.get("ts").ok_or("invalid_arguments: ts")?;
                self.page(&query, Some(ts))
            }
            other => Err(format!("unknown_method: {other}")),
        }
    }

    fn post(&mut self, body: Value) -> Result<Value, String> {
        limits::check(&body)?;
        if body["channel"] != CHANNEL {
            return Err("channel_not_found".to_owned());
        }
        let now = self.clock.now();
        if self
            .posted
            .is_some_and(|last| now - last < TimeDelta::seconds(1))
        {
            return Err("429".to_owned());
        }
        let thread_ts = body["thread_ts"].as_str().map(str::to_owned);
        if let Some(ts) = &thread_ts
            && !self
                .kept
                .iter()
                .any(|one| one.ts == *ts && one.thread_ts.is_none())
        {
            return Err("thread_not_found".to_owned());
        }
        self.posted = Some(now);
        self.number += 1;
        let ts = format!("{}.{:06}", now.timestamp(), self.number);
        self.kept.push(PostedMessage {
            ts: ts.clone(),
            thread_ts,
            is_broadcast: body["reply_broadcast"] == true,
            edits: 0,
            body,
        });
        Ok(json!({ "ok": true, "channel": CHANNEL, "ts": ts }))
    }

    fn update(&mut self, body: Value) -> Result<Value, String> {
        limits::check(&body)?;
        let ts = body["ts"]
            .as_str()
            .ok_or("invalid_arguments: ts")?
            .to_owned();
        let kept = self.kept.iter_mut().find(|one| one.ts == ts);
        let kept = kept.ok_or("message_not_found")?;
        kept.body = body;
        kept.edits += 1;
        Ok(json!({ "ok": true, "channel": CHANNEL, "ts": ts }))
    }

    fn delete(&mut self, body: &Value) -> Result<Value, String> {
        if body["channel"] != CHANNEL {
            return Err("channel_not_found".to_owned());
        }
        let ts = body["ts"].as_str().ok_or("invalid_arguments: ts")?;
        let at = self.kept.iter().position(|one| one.ts == ts);
        self.kept.remove(at.ok_or("message_not_found")?);
        Ok(json!({ "ok": true, "channel": CHANNEL, "ts": ts }))
    }

    /// Returns messages of the channel, newest first, or of a thread, oldest first.
    fn page(
        &self,
        query: &HashMap<String, String>,
        thread: Option<&String>,
    ) -> Result<Value, String> {
        let text = |name: &str| query.get(name).map(String::as_str);
        if text("channel") != Some(CHANNEL) {
            return Err("channel_not_found".to_owned());
        }
        let limit: usize = text("limit").unwrap_or("100").parse().unwrap();
        if !(1..=999).contains(&limit) {
            return Err("invalid_limit".to_owned());
        }
        let has_metadata = text("include_all_metadata") == Some("true");
        let within = |ts: &str| {
            text("oldest").is_none_or(|oldest| ts >= oldest)
                && text("latest").is_none_or(|latest| ts <= latest)
        };
        let mut all: Vec<&PostedMessage> = self
            .kept
            .iter()
            .filter(|one| match thread {
                Some(parent) => one.ts == *parent || one.thread_ts.as_ref() == Some(parent),
                None => (one.thread_ts.is_none() || one.is_broadcast) && within(&one.ts),
            })
            .collect();
        match thread {
            Some(_) if all.is_empty() => return Err("thread_not_found".to_owned()),
            Some(_) => {}
            None => all.reverse(),
        }
        let from: usize = text("cursor").map_or(0, |cursor| cursor.parse().unwrap());
        let messages: Vec<Value> = all
            .iter()
            .skip(from)
            .take(limit)
            .map(|one| {
                let mut message = json!({ "type": "message", "ts": one.ts, "text": one.body["text"], "blocks": one.body["blocks"] });
                if has_metadata {
                    message["metadata"] = one.body["metadata"].clone();
                }
                message
            })
            .collect();
        let next = from + limit;
        let cursor = if next < all.len() {
            next.to_string()
        } else {
            String::new()
        };
        Ok(
            json!({ "ok": true, "messages": messages, "has_more": !cursor.is_empty(), "response_metadata": { "next_cursor": cursor } }),
        )
    }
}

/// Serialises JSON as Slack does: everything beyond ASCII is escaped, six bytes for each UTF-16 unit.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}

fn no(error: &str, why: &str) -> String {
    let body = json!({ "ok": false, "error": error, "needed": "chat:write", "response_metadata": { "messages": [why] } });
    say(200, "", &body.to_string())
}
