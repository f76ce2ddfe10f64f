//! The calls of a subscription, over REST and JSON
//! (<https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions>).

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use nightshift_engine::causes::with_causes;
use reqwest::{Client, Response, StatusCode};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

use super::token::Tokens;
use crate::pace::Failure;

/// Longest pull without messages. Pub/Sub answers sooner.
const PULL: Duration = Duration::from_secs(100);
/// Longest attempt of any other call.
const CALL: Duration = Duration::from_secs(5);

/// Limits of a call.
#[derive(Debug, Clone, Copy)]
struct Limit {
    /// Time until the answer begins.
    begins: Duration,
    /// Time until the answer ends.
    ends: Duration,
    /// Most bytes of the answer.
    bytes: usize,
}

/// Limits of a pull that waits for messages. Pub/Sub sends at most 10 MB, which is a third more in base64.
const WAITING: Limit = Limit {
    begins: PULL,
    ends: PULL,
    bytes: 64 << 20,
};
/// Limits of a pull that returns at once with the present messages, which may be many over a slow line.
const AT_ONCE: Limit = Limit {
    begins: CALL,
    ..WAITING
};
/// Limits of any other call.
const SHORT: Limit = Limit {
    begins: CALL,
    ends: CALL,
    bytes: 64 << 10,
};

/// Error of a call.
#[derive(Debug)]
pub(super) struct Failed {
    /// Text for people.
    pub(super) what: String,
    /// Kind of the failure.
    pub(super) failure: Failure,
    /// Status of a response that is an error.
    pub(super) is_answer: Option<u16>,
}

/// A received message.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sent {
    pub(super) ack_id: String,
    pub(super) message: SentMessage,
}

/// Content of a received message.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SentMessage {
    #[serde(default)]
    data: String,
    #[serde(default)]
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) message_id: String,
    #[serde(default)]
    pub(super) publish_time: String,
    #[serde(default)]
    pub(super) ordering_key: String,
}

impl SentMessage {
    /// Returns the bytes. Data that is not base64 cannot come from Pub/Sub and is returned as it is.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let decoded = STANDARD.decode(&self.data);
        decoded.unwrap_or_else(|_| self.data.clone().into_bytes())
    }
}

/// Settings of a subscription that affect its messages.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Settings {
    message_retention_duration: Option<String>,
    #[serde(default)]
    expiration_policy: Expiration,
    dead_letter_policy: Option<Value>,
}

/// Expiry of an unused subscription; without a value it never expires.
#[derive(Debug, Default, Deserialize)]
struct Expiration {
    ttl: Option<String>,
}

impl Settings {
    /// Returns how many seconds the subscription keeps messages.
    pub(super) fn retained_secs(&self) -> Option<u64> {
        secs(self.message_retention_duration.as_deref()?)
    }

    /// Returns after how many seconds without a pull the subscription is deleted.
    pub(super) fn expires_secs(&self) -> Option<u64> {
        secs(self.expiration_policy.ttl.as_deref()?)
    }

    /// Returns whether messages with too many deliveries go to another topic.
    pub(super) const fn has_dead_letters(&self) -> bool {
        self.dead_letter_policy.is_some()
    }
}

/// Returns the whole seconds of a duration in Google's notation: `604800s`, `1.5s`.
fn secs(duration: &str) -> Option<u64> {
    duration.strip_suffix('s')?.split('.').next()?.parse().ok()
}

/// Client of one subscription.
pub(super) struct Subscription {
    client: Client,
    /// `https://…/v1/projects/…/subscriptions/…`
    base: Url,
    pub(super) tokens: Tokens,
}

impl Subscription {
    pub(super) fn new(endpoint: &Url, name: &str, tokens: Tokens) -> Result<Self, String> {
        let client = Client::builder()
            .connect_timeout(CALL)
            .redirect(reqwest::redirect::Policy::none())
            .build();
        let client =
            client.map_err(|error| format!("cannot call over https: {}", with_causes(&error)))?;
        let base = endpoint.join(&format!("/v1/{name}"));
        let base = base.map_err(|error| format!("endpoint_url: {error}"))?;
        Ok(Self {
            client,
            base,
            tokens,
        })
    }

    /// Pulls up to this many messages, and waits for a first one if `waits` is set.
    pub(super) async fn pull(&self, most: usize, waits: bool) -> Result<Vec<Sent>, Failed> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Pulled {
            #[serde(default)]
            received_messages: Vec<Sent>,
        }
        let asked = if waits {
            json!({"maxMessages": most})
        } else {
            json!({"maxMessages": most, "returnImmediately": true})
        };
        let limit = if waits { WAITING } else { AT_ONCE };
        let bytes = self.call("pull", Some(&asked), limit).await?;
        let pulled: Result<Pulled, _> = serde_json::from_slice(&bytes);
        let pulled = pulled.map_err(|error| Failed {
            what: format!("pull: what came cannot be read: {error}"),
            failure: Failure::Refused,
            is_answer: None,
        })?;
        Ok(pulled.received_messages)
    }

    /// Acknowledges messages.
    pub(super) async fn acknowledge(&self, ack_ids: &[&str]) -> Result<(), Failed> {
        let asked = json!({"ackIds": ack_ids});
        self.call("acknowledge", Some(&asked), SHORT)
            .await
            .map(drop)
    }

    /// Holds messages for this many seconds; 0 nacks them.
    pub(super) async fn hold(&self, ack_ids: &[&str], secs: u32) -> Result<(), Failed> {
        let asked = json!({"ackIds": ack_ids, "ackDeadlineSeconds": secs});
        self.call("modifyAckDeadline", Some(&asked), SHORT)
            .await
            .map(drop)
    }

    /// Returns whether we have this permission on the subscription. Every account may ask.
    pub(super) async fn may(&self, permission: &str) -> Result<bool, Failed> {
        let asked = json!({"permissions": [permission]});
        let bytes = self.call("testIamPermissions", Some(&asked), SHORT).await?;
        let told: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let granted = told.get("permissions").and_then(Value::as_array);
        Ok(granted.is_some_and(|all| all.iter().any(|one| one == permission)))
    }

    /// Returns the settings, which need a separate permission to read.
    pub(super) async fn settings(&self) -> Result<Settings, Failed> {
        let bytes = self.call("get", None, SHORT).await?;
        serde_json::from_slice(&bytes).map_err(|error| Failed {
            what: format!("get: what came cannot be read: {error}"),
            failure: Failure::Refused,
            is_answer: None,
        })
    }

    /// Makes one call with this body, or a read without one, and repeats it with a new token if the old one was
    /// refused.
    async fn call(
        &self,
        action: &str,
        asked: Option<&Value>,
        limit: Limit,
    ) -> Result<Vec<u8>, Failed> {
        let first = self.once(action, asked, limit).await?;
        let (status, bytes) = if first.0 == StatusCode::UNAUTHORIZED {
            self.tokens.forget().await;
            self.once(action, asked, limit).await?
        } else {
            first
        };
        if status.is_success() {
            return Ok(bytes);
        }
        Err(failed(action, status, &bytes))
    }

    async fn once(
        &self,
        action: &str,
        asked: Option<&Value>,
        limit: Limit,
    ) -> Result<(StatusCode, Vec<u8>), Failed> {
        let mut url = self.base.clone();
        let call = match asked {
            Some(asked) => {
                url.set_path(&format!("{}:{action}", self.base.path()));
                self.client.post(url).json(asked)
            }
            None => self.client.get(url),
        };
        let mut call = call.timeout(limit.ends);
        if let Some(token) = self.tokens.get(&self.client).await? {
            call = call.bearer_auth(token.expose_secret());
        }
        let answer = match timeout(limit.begins, call.send()).await {
            Ok(answer) => answer.map_err(|error| with_causes(&error.without_url())),
            Err(_) => Err(format!("no answer within {:?}", limit.begins)),
        };
        let answer = answer.map_err(|why| Failed {
            what: format!("{action}: {why}"),
            failure: Failure::Away,
            is_answer: None,
        })?;
        let status = answer.status();
        Ok((status, body(answer, limit.bytes).await?))
    }
}

/// Reads an answer of at most this many bytes.
pub(super) async fn body(answer: Response, most_bytes: usize) -> Result<Vec<u8>, Failed> {
    let away = |what| Failed {
        what,
        failure: Failure::Away,
        is_answer: None,
    };
    let mut bytes = Vec::new();
    let mut chunks = answer.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| away(with_causes(&error.without_url())))?;
        if bytes.len() + chunk.len() > most_bytes {
            return Err(away(format!("an answer has more than {most_bytes} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Returns the error in a response: Google's status and message.
pub(super) fn failed(action: &str, status: StatusCode, bytes: &[u8]) -> Failed {
    let told: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let at = |pointer: &str| told.pointer(pointer).and_then(Value::as_str);
    let word = at("/error/status")
        .or_else(|| at("/error"))
        .unwrap_or_default();
    let message = at("/error/message").or_else(|| at("/error_description"));
    let message: String = message.unwrap_or_default().chars().take(300).collect();
    let is_refused = status.is_client_error()
        && !matches!(
            status,
            StatusCode::NOT_FOUND | StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
        );
    Failed {
        what: format!("{action}: {} {word} {message}", status.as_u16())
            .trim_end()
            .to_owned(),
        failure: if is_refused {
            Failure::Refused
        } else {
            Failure::Away
        },
        is_answer: Some(status.as_u16()),
    }
}
