//! Provides a stateful fake of Google Cloud Pub/Sub, its token exchange and the metadata server, as strict as the
//! originals.
//!
//! The fake refuses what Google would: calls without its own token, unknown fields, values out of bounds, and
//! assertions that the account did not sign for it. Deadlines are real: unsettled messages are redelivered.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{StreamExt as _, stream};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Validation, decode, decode_header};
use rcgen::{KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

pub(super) const SUBSCRIPTION: &str = "projects/security-tools/subscriptions/alerts";
pub(super) const ACCOUNT: &str = "nightshift@security-tools.iam.gserviceaccount.com";
const KEY_ID: &str = "k1";
/// The time that an idle pull waits here; Google waits longer.
const IDLE: Duration = Duration::from_secs(2);
/// Deadline of the subscription itself.
const OWN_DEADLINE: Duration = Duration::from_secs(10);

struct StoredMessage {
    message: Value,
    ack_id: String,
    /// Time until which the message is held.
    until: Option<Instant>,
}

#[derive(Default)]
struct FakePubsubState {
    stored: Vec<StoredMessage>,
    last: u64,
    /// Accepted tokens. A new one does not revoke earlier ones.
    tokens: Vec<String>,
    calls: Vec<(String, Value)>,
    troubles: VecDeque<(String, u16, Value)>,
    /// Action that is not answered at present.
    silent: Option<String>,
    /// Delay within the answer to a pull.
    slow: Duration,
}

/// The whole fake.
pub(super) struct FakePubsub {
    pub(super) url: String,
    inside: Mutex<FakePubsubState>,
    came: Notify,
    /// True if the account may take messages.
    pub(super) may_consume: std::sync::atomic::AtomicBool,
    /// Settings of the subscription in Google's format.
    pub(super) settings: Mutex<Value>,
    account: KeyPair,
    tasks: Mutex<JoinSet<()>>,
}

type SharedFake = State<Arc<FakePubsub>>;

impl FakePubsub {
    pub(super) async fn start() -> Arc<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Arc::new(Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            inside: Mutex::default(),
            came: Notify::new(),
            may_consume: true.into(),
            settings: Mutex::new(json!({
                "name": SUBSCRIPTION, "topic": "projects/security-tools/topics/alerts", "pushConfig": {},
                "ackDeadlineSeconds": OWN_DEADLINE.as_secs(), "messageRetentionDuration": "604800s",
                "expirationPolicy": {}, "state": "ACTIVE",
                "deadLetterPolicy": {
                    "deadLetterTopic": "projects/security-tools/topics/dead", "maxDeliveryAttempts": 100,
                },
            })),
            account: KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap(),
            tasks: Mutex::default(),
        });
        let router = Router::new()
            .route(
                "/v1/projects/{project}/subscriptions/{call}",
                post(called).get(shown),
            )
            .route("/token", post(exchanged))
            .route(
                "/computeMetadata/v1/instance/service-accounts/default/token",
                get(metadata),
            )
            .with_state(Arc::clone(&fake));
        // With paused time, writes must not wait for the kernel's own delay.
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let serving = async move { axum::serve(listener, router).await.unwrap() };
        fake.tasks.lock().unwrap().spawn(serving);
        fake
    }

    /// Returns the key of the account in Google's format.
    pub(super) fn key(&self) -> Value {
        json!({
            "type": "service_account", "project_id": "security-tools", "private_key_id": KEY_ID,
            "private_key": self.account.serialize_pem(), "client_email": ACCOUNT, "client_id": "1",
            "token_uri": format!("{}/token", self.url),
        })
    }

    pub(super) fn publish(&self, bodies: Vec<Vec<u8>>, attributes: &[(&str, &str)]) {
        let mut inside = self.inside();
        for body in bodies {
            inside.last += 1;
            let mut message = json!({
                "messageId": inside.last.to_string(), "publishTime": "2026-11-20T03:14:00.123Z",
            });
            if !body.is_empty() {
                message["data"] = STANDARD.encode(body).into();
            }
            for (name, value) in attributes {
                message["attributes"][*name] = (*value).into();
            }
            inside.stored.push(StoredMessage {
                message,
                ack_id: String::new(),
                until: None,
            });
        }
        drop(inside);
        self.came.notify_waiters();
    }

    /// Returns how many messages are not acknowledged.
    pub(super) fn left(&self) -> usize {
        self.inside().stored.len()
    }

    /// Sets the error for the next call of this action.
    pub(super) fn trouble(&self, action: &str, status: u16, word: &str) {
        let told = json!({"error": {"code": status, "status": word, "message": "so it is"}});
        let one = (action.to_owned(), status, told);
        self.inside().troubles.push_back(one);
    }

    /// Stops answering calls of this action; `None` answers all again.
    pub(super) fn silence(&self, action: Option<&str>) {
        self.inside().silent = action.map(str::to_owned);
    }

    /// Delays the end of answers to pulls; they begin at once.
    pub(super) fn slow(&self, slow: Duration) {
        self.inside().slow = slow;
    }

    /// Revokes all tokens.
    pub(super) fn revoke(&self) {
        self.inside().tokens.clear();
    }

    /// Returns the bodies of all calls of an action.
    pub(super) fn asked(&self, action: &str) -> Vec<Value> {
        let inside = self.inside();
        let of_action = inside.calls.iter().filter(|(name, _)| name == action);
        of_action.map(|(_, asked)| asked.clone()).collect()
    }

    fn inside(&self) -> MutexGuard<'_, FakePubsubState> {
        self.inside.lock().unwrap()
    }

    fn give_token(&self, action: &str) -> Response {
        let mut inside = self.inside();
        inside.calls.push((action.to_owned(), Value::Null));
        inside.last += 1;
        let token = format!("ya29.{}", inside.last);
        inside.tokens.push(token.clone());
        let given = json!({"access_token": token, "expires_in": 3_599, "token_type": "Bearer"});
        Json(given).into_response()
    }

    /// Takes messages that are not held, for the subscription's own deadline.
    fn take(&self, most: usize) -> Vec<Value> {
        let mut inside = self.inside();
        let mut taken = Vec::new();
        let FakePubsubState { stored, last, .. } = &mut *inside;
        for one in stored.iter_mut() {
            if taken.len() >= most || one.until.is_some_and(|until| Instant::now() < until) {
                continue;
            }
            *last += 1;
            one.ack_id = format!("ack-{last}");
            one.until = Some(Instant::now() + OWN_DEADLINE);
            taken.push(json!({"ackId": one.ack_id, "message": one.message}));
        }
        taken
    }

    /// Records a call. Returns the error for one that is not authorised, concerns another subscription, or was set to
    /// fail.
    fn refusal(
        &self,
        name: &str,
        action: &str,
        asked: &Value,
        headers: &HeaderMap,
    ) -> Option<Response> {
        let mut inside = self.inside();
        inside.calls.push((action.to_owned(), asked.clone()));
        let shown = headers
            .get("authorization")
            .and_then(|one| one.to_str().ok())
            .and_then(|one| one.strip_prefix("Bearer "));
        if !inside.tokens.iter().any(|token| shown == Some(token)) {
            return Some(refused(401, "UNAUTHENTICATED"));
        }
        if name != SUBSCRIPTION {
            return Some(refused(404, "NOT_FOUND"));
        }
        let due = inside.troubles.front().is_some_and(|(of, ..)| of == action);
        let (_, status, told) = due.then(|| inside.troubles.pop_front()).flatten()?;
        Some((StatusCode::from_u16(status).unwrap(), Json(told)).into_response())
    }

    async fn pull(&self, asked: &Value) -> Response {
        let most = usize::try_from(asked["maxMessages"].as_u64().unwrap_or(0)).unwrap();
        if !(1..=1_000).contains(&most) {
            return refused(400, "INVALID_ARGUMENT");
        }
        let until = Instant::now() + IDLE;
        loop {
            let taken = self.take(most);
            if !taken.is_empty() {
                let slow = self.inside().slow;
                return slowly(json!({"receivedMessages": taken}), slow);
            }
            if asked["returnImmediately"] == true || Instant::now() >= until {
                return Json(json!({})).into_response();
            }
            // A held message may become free soon.
            let _ = timeout(Duration::from_millis(50), self.came.notified()).await;
        }
    }

    fn settle(&self, action: &str, asked: &Value) -> Response {
        let ids: Vec<&str> = asked["ackIds"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if ids.is_empty() || ids.len() > 2_500 {
            return refused(400, "INVALID_ARGUMENT");
        }
        let mut inside = self.inside();
        // A message whose deadline has passed cannot be settled; Google does not report that.
        let is_held = |one: &StoredMessage| {
            ids.contains(&one.ack_id.as_str())
                && one.until.is_some_and(|until| Instant::now() < until)
        };
        if action == "acknowledge" {
            inside.stored.retain(|one| !is_held(one));
            return Json(json!({})).into_response();
        }
        let secs = asked["ackDeadlineSeconds"].as_u64();
        let Some(secs @ 0..=600) = secs else {
            return refused(400, "INVALID_ARGUMENT");
        };
        for one in inside.stored.iter_mut().filter(|one| is_held(one)) {
            one.until = (secs > 0).then(|| Instant::now() + Duration::from_secs(secs));
        }
        drop(inside);
        self.came.notify_waiters();
        Json(json!({})).into_response()
    }
}

/// Returns an answer whose end is delayed.
fn slowly(told: Value, slow: Duration) -> Response {
    let mut head = told.to_string();
    let end = head.split_off(head.len() / 2);
    let halves = [(head, Duration::ZERO), (end, slow)];
    let body = stream::iter(halves).then(|(half, pause)| async move {
        sleep(pause).await;
        Ok::<_, Infallible>(half)
    });
    let json = [("content-type", "application/json")];
    (json, Body::from_stream(body)).into_response()
}

fn refused(status: u16, word: &str) -> Response {
    let told = json!({"error": {"code": status, "status": word, "message": "the fake refuses it"}});
    (StatusCode::from_u16(status).unwrap(), Json(told)).into_response()
}

async fn called(
    State(fake): SharedFake,
    Path((project, call)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some((name, action)) = call.split_once(':') else {
        return refused(404, "NOT_FOUND");
    };
    let known: &[&str] = match action {
        "pull" => &["maxMessages", "returnImmediately"],
        "acknowledge" => &["ackIds"],
        "modifyAckDeadline" => &["ackIds", "ackDeadlineSeconds"],
        "testIamPermissions" => &["permissions"],
        _ => return refused(404, "NOT_FOUND"),
    };
    let Ok(Value::Object(asked)) = serde_json::from_slice(&body) else {
        return refused(400, "INVALID_ARGUMENT");
    };
    let is_json = headers
        .get("content-type")
        .is_some_and(|kind| kind == "application/json");
    if !is_json || asked.keys().any(|key| !known.contains(&key.as_str())) {
        return refused(400, "INVALID_ARGUMENT");
    }
    let asked = Value::Object(asked);
    let name = format!("projects/{project}/subscriptions/{name}");
    if let Some(no) = fake.refusal(&name, action, &asked, &headers) {
        return no;
    }
    let is_silent = fake.inside().silent.as_deref() == Some(action);
    if is_silent {
        std::future::pending::<()>().await;
    }
    if action == "pull" {
        return fake.pull(&asked).await;
    }
    if action == "testIamPermissions" {
        let may_consume = fake.may_consume.load(std::sync::atomic::Ordering::Relaxed);
        let granted = if may_consume { asked } else { json!({}) };
        return Json(granted).into_response();
    }
    fake.settle(action, &asked)
}

/// Answers `projects.subscriptions.get`.
async fn shown(
    State(fake): SharedFake,
    Path((project, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let name = format!("projects/{project}/subscriptions/{name}");
    let settings = fake.settings.lock().unwrap().clone();
    let no = fake.refusal(&name, "get", &Value::Null, &headers);
    no.unwrap_or_else(|| Json(settings).into_response())
}

async fn metadata(State(fake): SharedFake, headers: HeaderMap) -> Response {
    if headers
        .get("metadata-flavor")
        .is_none_or(|flavour| flavour != "Google")
    {
        return refused(403, "FORBIDDEN");
    }
    fake.give_token("metadata")
}

/// Returns a token for an assertion that the account signed, for this exchange, for Pub/Sub, for an hour.
async fn exchanged(State(fake): SharedFake, body: Bytes) -> Response {
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(&body).into_owned().collect();
    let wrong = || {
        (
            StatusCode::BAD_REQUEST,
            Json(json!({"error": "invalid_grant"})),
        )
            .into_response()
    };
    let [(grant, kind), (name, assertion)] = pairs.as_slice() else {
        return wrong();
    };
    let is_grant = grant == "grant_type" && kind == "urn:ietf:params:oauth:grant-type:jwt-bearer";
    let key = EncodingKey::from_rsa_pem(fake.account.serialize_pem().as_bytes()).unwrap();
    let public = Jwk::from_encoding_key(&key, Algorithm::RS256).unwrap();
    let mut validation = Validation::new(Algorithm::RS256);
    validation.set_audience(&[format!("{}/token", fake.url)]);
    validation.set_issuer(&[ACCOUNT]);
    let public = DecodingKey::from_jwk(&public).unwrap();
    let Ok(decoded) = decode::<Value>(assertion, &public, &validation) else {
        return wrong();
    };
    let (claims, header) = (decoded.claims, decode_header(assertion).unwrap());
    let lives = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
    let is_right = claims["scope"] == "https://www.googleapis.com/auth/pubsub" && lives <= 3_600;
    if !is_grant || name != "assertion" || !is_right || header.kid.as_deref() != Some(KEY_ID) {
        return wrong();
    }
    fake.give_token("token")
}
