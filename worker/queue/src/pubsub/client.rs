//! Makes the calls of a subscription, over REST and JSON
//! (<https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions>).

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use nightshift_engine::error_chain::format_error_chain;
use reqwest::{Client, Response, StatusCode};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

use super::token::TokenCache;
use crate::backoff::FailureKind;

/// Longest pull without messages. Pub/Sub answers sooner.
const PULL_TIMEOUT: Duration = Duration::from_secs(100);
/// Longest attempt of any other call.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy)]
struct CallLimit {
    /// Time until the answer begins.
    begins: Duration,
    /// Time until the answer ends.
    ends: Duration,
    /// Maximum number of bytes of the answer.
    bytes: usize,
}

/// Limits of a pull that waits for messages. Pub/Sub sends at most 10 MB, which is a third more in base64.
const LONG_PULL: CallLimit = CallLimit {
    begins: PULL_TIMEOUT,
    ends: PULL_TIMEOUT,
    bytes: 64 << 20,
};
/// Limits of a pull that returns at once with the present messages, which may be many over a slow line.
const IMMEDIATE_PULL: CallLimit = CallLimit {
    begins: CALL_TIMEOUT,
    ..LONG_PULL
};
/// Limits of any other call.
const SHORT_CALL: CallLimit = CallLimit {
    begins: CALL_TIMEOUT,
    ends: CALL_TIMEOUT,
    bytes: 64 << 10,
};

/// Error of a call.
#[derive(Debug)]
pub(super) struct PubsubError {
    /// Text for people.
    pub(super) what: String,
    /// Kind of the failure.
    pub(super) failure: FailureKind,
    /// Status of a response that is an error.
    pub(super) status: Option<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReceivedMessage {
    pub(super) ack_id: String,
    pub(super) message: PubsubMessage,
}

/// Content of a received message.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PubsubMessage {
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

impl PubsubMessage {
    /// Returns the bytes. Data that is not base64 cannot come from Pub/Sub and is returned unchanged.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let decoded = STANDARD.decode(&self.data);
        decoded.unwrap_or_else(|_| self.data.clone().into_bytes())
    }
}

/// Settings of a subscription that affect its messages.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SubscriptionSettings {
    message_retention_duration: Option<String>,
    #[serde(default)]
    expiration_policy: ExpirationPolicy,
    dead_letter_policy: Option<Value>,
}

/// Expiry of an unused subscription; without a value it never expires.
#[derive(Debug, Default, Deserialize)]
struct ExpirationPolicy {
    ttl: Option<String>,
}

impl SubscriptionSettings {
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

pub(super) struct SubscriptionClient {
    client: Client,
    /// `https://…/v1/projects/…/subscriptions/…`
    base: Url,
    pub(super) tokens: TokenCache,
}

impl SubscriptionClient {
    pub(super) fn new(endpoint: &Url, name: &str, tokens: TokenCache) -> Result<Self, String> {
        let client = Client::builder()
            .connect_timeout(CALL_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build();
        let client = client
            .map_err(|error| format!("cannot call over https: {}", format_error_chain(&error)))?;
        let base = endpoint.join(&format!("/v1/{name}"));
        let base = base.map_err(|error| format!("endpoint_url: {error}"))?;
        Ok(Self {
            client,
            base,
            tokens,
        })
    }

    /// Pulls up to this many messages, and waits for a first one if `waits` is set.
    pub(super) async fn pull(
        &self,
        most: usize,
        waits: bool,
    ) -> Result<Vec<ReceivedMessage>, PubsubError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct PullResponse {
            #[serde(default)]
            received_messages: Vec<ReceivedMessage>,
        }
        let asked = if waits {
            json!({"maxMessages": most})
        } else {
            json!({"maxMessages": most, "returnImmediately": true})
        };
        let limit = if waits { LONG_PULL } else { IMMEDIATE_PULL };
        let bytes = self.call("pull", Some(&asked), limit).await?;
        let pulled: Result<PullResponse, _> = serde_json::from_slice(&bytes);
        let pulled = pulled.map_err(|error| PubsubError {
            what: format!("pull: cannot parse response: {error}"),
            failure: FailureKind::Refused,
            status: None,
        })?;
        Ok(pulled.received_messages)
    }

    /// Acknowledges messages.
    pub(super) async fn acknowledge(&self, ack_ids: &[&str]) -> Result<(), PubsubError> {
        let asked = json!({"ackIds": ack_ids});
        self.call("acknowledge", Some(&asked), SHORT_CALL)
            .await
            .map(drop)
    }

    /// Holds messages for this many seconds; 0 nacks them.
    pub(super) async fn modify_ack_deadline(
        &self,
        ack_ids: &[&str],
        secs: u32,
    ) -> Result<(), PubsubError> {
        let asked = json!({"ackIds": ack_ids, "ackDeadlineSeconds": secs});
        self.call("modifyAckDeadline", Some(&asked), SHORT_CALL)
            .await
            .map(drop)
    }

    /// Returns whether the account has this permission on the subscription. Every account may ask.
    pub(super) async fn has_permission(&self, permission: &str) -> Result<bool, PubsubError> {
        let asked = json!({"permissions": [permission]});
        let bytes = self
            .call("testIamPermissions", Some(&asked), SHORT_CALL)
            .await?;
        let told: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let granted = told.get("permissions").and_then(Value::as_array);
        Ok(granted.is_some_and(|all| all.iter().any(|one| one == permission)))
    }

    /// Returns the settings, which need a separate permission to read.
    pub(super) async fn settings(&self) -> Result<SubscriptionSettings, PubsubError> {
        let bytes = self.call("get", None, SHORT_CALL).await?;
        serde_json::from_slice(&bytes).map_err(|error| PubsubError {
            what: format!("get: cannot parse response: {error}"),
            failure: FailureKind::Refused,
            status: None,
        })
    }

    /// Makes one call with this body, or a read without one, and repeats it with a new token if the old one was
    /// refused.
    async fn call(
        &self,
        action: &str,
        asked: Option<&Value>,
        limit: CallLimit,
    ) -> Result<Vec<u8>, PubsubError> {
        let first = self.call_once(action, asked, limit).await?;
        let (status, bytes) = if first.0 == StatusCode::UNAUTHORIZED {
            self.tokens.forget().await;
            self.call_once(action, asked, limit).await?
        } else {
            first
        };
        if status.is_success() {
            return Ok(bytes);
        }
        Err(error_from_response(action, status, &bytes))
    }

    async fn call_once(
        &self,
        action: &str,
        asked: Option<&Value>,
        limit: CallLimit,
    ) -> Result<(StatusCode, Vec<u8>), PubsubError> {
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
            Ok(answer) => answer.map_err(|error| format_error_chain(&error.without_url())),
            Err(_) => Err(format!("no answer within {:?}", limit.begins)),
        };
        let answer = answer.map_err(|why| PubsubError {
            what: format!("{action}: {why}"),
            failure: FailureKind::Unavailable,
            status: None,
        })?;
        let status = answer.status();
        Ok((status, read_body(answer, limit.bytes).await?))
    }
}

/// Reads an answer of at most this many bytes.
pub(super) async fn read_body(answer: Response, most_bytes: usize) -> Result<Vec<u8>, PubsubError> {
    let away = |what| PubsubError {
        what,
        failure: FailureKind::Unavailable,
        status: None,
    };
    let mut bytes = Vec::new();
    let mut chunks = answer.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| away(format_error_chain(&error.without_url())))?;
        if bytes.len() + chunk.len() > most_bytes {
            return Err(away(format!("an answer has more than {most_bytes} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Returns the error in a response: Google's status and message.
pub(super) fn error_from_response(action: &str, status: StatusCode, bytes: &[u8]) -> PubsubError {
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
    PubsubError {
        what: format!("{action}: {} {word} {message}", status.as_u16())
            .trim_end()
            .to_owned(),
        failure: if is_refused {
            FailureKind::Refused
        } else {
            FailureKind::Unavailable
        },
        status: Some(status.as_u16()),
    }
}
