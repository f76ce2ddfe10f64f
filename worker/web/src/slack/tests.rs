//! Tests signed clicks, from the request to the store and the calls to Slack.

mod clicks;
mod hostile;
mod logged;
mod modals;
mod refused;
mod replayed;
mod spoken;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::body::Body;
use axum::http::Request;
use hmac::{Hmac, KeyInit as _, Mac as _};
use nightshift_engine::key::KeySource;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::Meter;
use nightshift_pipeline::language::Language;
use serde_json::{Value, json};
use sha2::Sha256;
use url::form_urlencoded::Serializer;

use crate::testing::{FakeStore, TestResponse, ask, now, report, server, view};
use crate::{Server, SlackIntegration, SlackReplies, SlackWorkspace, WebConfig};

const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
/// The case and revision of the message in these tests.
const VALUE: &str = "k3f9-x2mq-7d1w.r1";

/// A fake Slack that records what it is asked to show.
#[derive(Default)]
struct FakeSlack {
    views: Mutex<Vec<(String, String, Value)>>,
    lines: Mutex<Vec<[String; 4]>>,
    counted: Mutex<Vec<bool>>,
    refused: AtomicU64,
    is_away: bool,
}

#[async_trait]
impl SlackReplies for FakeSlack {
    async fn open_view(&self, desk: &str, trigger_id: &str, view: Value) -> Result<(), String> {
        self.views
            .lock()
            .unwrap()
            .push((desk.into(), trigger_id.into(), view));
        if self.is_away {
            Err("expired_trigger_id".into())
        } else {
            Ok(())
        }
    }

    async fn post_ephemeral(
        &self,
        desk: &str,
        channel: &str,
        user: &str,
        text: &str,
    ) -> Result<(), String> {
        let line = [desk, channel, user, text].map(str::to_owned);
        self.lines.lock().unwrap().push(line);
        if self.is_away {
            std::future::pending().await
        } else {
            Ok(())
        }
    }
}

impl Meter for FakeSlack {
    fn count(&self, measure: &Measurement) {
        match measure {
            Measurement::Feedback { agreed } => self.counted.lock().unwrap().push(*agreed),
            Measurement::SlackSignatureRefused => {
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

fn secret(text: &'static str) -> KeySource {
    Arc::new(move || Ok(text.into()))
}

fn desk(name: &str, channel: &str, analyst: &str, signing_secret: KeySource) -> SlackWorkspace {
    SlackWorkspace {
        name: name.into(),
        channel: channel.into(),
        signing_secret,
        analysts: vec![analyst.into()],
        language: Language::En,
    }
}

/// A server with buttons, its store, and the fake Slack.
struct SlackFixture {
    server: Server,
    store: Arc<FakeStore>,
    shown: Arc<FakeSlack>,
}

impl SlackFixture {
    /// Creates a case with a true positive, and one workspace in which U1 may act.
    fn new() -> Self {
        Self::with_store(FakeStore::with_views(vec![view(Some(report()))]))
    }

    fn with_store(store: FakeStore) -> Self {
        Self::with(
            store,
            FakeSlack::default(),
            vec![desk("soc", "C1", "U1", secret(SECRET))],
        )
    }

    fn with(store: FakeStore, shown: FakeSlack, desks: Vec<SlackWorkspace>) -> Self {
        let (store, shown) = (Arc::new(store), Arc::new(shown));
        let slack = SlackIntegration {
            workspaces: desks,
            feedback: store.clone(),
            mutes: store.clone(),
            meter: shown.clone(),
            replies: shown.clone(),
        };
        // The pages need a token here; Slack has none.
        let config = WebConfig {
            tokens: vec!["env:TOKEN".into()],
            ..WebConfig::default()
        };
        let server = server(&config, store.clone()).with_slack(slack);
        Self {
            server,
            store,
            shown,
        }
    }

    async fn send(&self, request: Request<Body>) -> TestResponse {
        ask(&self.server, request, "127.0.0.1:9").await
    }

    /// Posts a payload with a new signature, as each click has.
    async fn post(&self, payload: &Value) -> TestResponse {
        static CLICKS: AtomicU64 = AtomicU64::new(0);
        let click = CLICKS.fetch_add(1, Ordering::Relaxed);
        let body = format!("{}&click={click}", form(payload));
        self.send(signed(&body, SECRET)).await
    }

    /// Clicks as the user U1. Returns the text that Slack shows to that user.
    async fn click(&self, action_id: &str) -> String {
        let answer = self.post(&click(action_id, VALUE, "U1")).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (200, ""));
        self.last_line()
    }

    fn last_line(&self) -> String {
        let lines = self.shown.lines.lock().unwrap();
        lines
            .last()
            .map_or_else(String::new, |[.., text]| text.clone())
    }

    fn last_view(&self) -> Value {
        self.shown.views.lock().unwrap().last().unwrap().2.clone()
    }

    /// Returns how many actions were stored.
    fn writes(&self) -> usize {
        let store = &self.store;
        store.acts.lock().unwrap().len()
            + store.judged.lock().unwrap().len()
            + store.retried.lock().unwrap().len()
            + store.muted.lock().unwrap().len()
    }
}

fn form(payload: &Value) -> String {
    Serializer::new(String::new())
        .append_pair("payload", &payload.to_string())
        .finish()
}

fn signed_at(body: &str, secret: &str, at: i64) -> Request<Body> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("v0:{at}:{body}").as_bytes());
    let code = hex::encode(mac.finalize().into_bytes());
    Request::post("/slack/interactions")
        .header("host", "localhost:8080")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("x-slack-request-timestamp", at.to_string())
        .header("x-slack-signature", format!("v0={code}"))
        .body(Body::from(body.to_owned()))
        .unwrap()
}

fn signed(body: &str, secret: &str) -> Request<Body> {
    signed_at(body, secret, now().timestamp())
}

fn click(action_id: &str, value: &str, user: &str) -> Value {
    json!({
        "type": "block_actions", "api_app_id": "A1", "trigger_id": "12.34.ab", "team": { "id": "T1" },
        "user": { "id": user, "username": "ana", "name": "ana", "team_id": "T1" },
        "container": { "type": "message", "message_ts": "1.2", "channel_id": "C1" },
        "channel": { "id": "C1", "name": "soc" }, "message": { "blocks": [] }, "response_url": "https://hooks.slack.com/x",
        "actions": [{ "type": "button", "action_id": action_id, "block_id": "b", "value": value, "action_ts": "1.2" }],
    })
}

/// Returns the payload of the opened modal, submitted by U1 with these fields.
fn submit(view: &Value, fields: Value) -> Value {
    json!({
        "type": "view_submission", "user": { "id": "U1", "name": "ana" }, "trigger_id": "1.2",
        "view": {
            "callback_id": view["callback_id"], "private_metadata": view["private_metadata"], "state": { "values": fields },
        },
    })
}
