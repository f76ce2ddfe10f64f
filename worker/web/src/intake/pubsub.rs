//! Implements `/v1/alerts/pubsub`: messages of a push subscription of Google Cloud Pub/Sub, authenticated by a token.
//!
//! The token is a JWT that Google signed for the configured audience and the subscription's own service account
//! (<https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions>). The token proves the sender, not the
//! contents: only TLS protects the body.

mod push_keys;

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::Value;

use super::fetch::HttpFetcher;
use super::response::IntakeError;
use super::source::HttpSource;
use push_keys::KeySet;
pub(super) use push_keys::PushKeyCache;

/// Issuers of such tokens.
const ISSUERS: [&str; 2] = ["https://accounts.google.com", "accounts.google.com"];
/// Maximum difference between Google's clock and this machine's clock, in seconds.
const LEEWAY_SECS: i64 = 60;
/// Longest token that is parsed, in bytes.
const MAX_TOKEN_BYTES: usize = 8 << 10;

#[derive(Debug, Deserialize)]
struct PushTokenClaims {
    iss: String,
    aud: String,
    exp: i64,
    iat: i64,
    #[serde(default)]
    email: String,
    #[serde(default)]
    email_verified: bool,
}

/// The sources with a push subscription.
pub(super) struct PubsubPush {
    subscriptions: Vec<PushSubscription>,
    fetch: Arc<HttpFetcher>,
}

struct PushSubscription {
    audience: String,
    accounts: Vec<String>,
    keys: Arc<KeySet>,
    source: Arc<HttpSource>,
}

impl PubsubPush {
    pub(super) fn new(
        sources: &[Arc<HttpSource>],
        fetch: &Arc<HttpFetcher>,
        keys: &PushKeyCache,
    ) -> Self {
        let mut pushers = Vec::new();
        for source in sources {
            let (Some(push), Some(url)) = (&source.config.pubsub, source.config.jwks_url()) else {
                continue;
            };
            pushers.push(PushSubscription {
                audience: push.audience.clone(),
                accounts: push.service_accounts.clone(),
                keys: keys.keys_at(url),
                source: Arc::clone(source),
            });
        }
        Self {
            subscriptions: pushers,
            fetch: Arc::clone(fetch),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.subscriptions.is_empty()
    }

    /// Returns the source that a token is for.
    pub(super) async fn authenticate(
        &self,
        token: Option<&[u8]>,
        now: DateTime<Utc>,
    ) -> Result<&Arc<HttpSource>, IntakeError> {
        let found = self.find(token, now).await;
        found.map_err(|why| match self.subscriptions.as_slice() {
            [only] => only.source.record_rejection(why),
            _ => why,
        })
    }

    async fn find(
        &self,
        token: Option<&[u8]>,
        now: DateTime<Utc>,
    ) -> Result<&Arc<HttpSource>, IntakeError> {
        let token = token.ok_or(IntakeError::NotByPubsub(
            "there is none; switch on authentication for the subscription",
        ))?;
        if token.len() > MAX_TOKEN_BYTES {
            return Err(IntakeError::NotByPubsub("it is too long"));
        }
        let mut why = IntakeError::NotByPubsub("no source takes it");
        for pusher in &self.subscriptions {
            match pusher.check(&self.fetch, token, now).await {
                Ok(()) => return Ok(&pusher.source),
                Err(refused) => why = refused,
            }
        }
        Err(why)
    }
}

impl PushSubscription {
    async fn check(
        &self,
        fetch: &Arc<HttpFetcher>,
        token: &[u8],
        now: DateTime<Utc>,
    ) -> Result<(), IntakeError> {
        let header = decode_header(token).map_err(|_| IntakeError::NotByPubsub("it is no JWT"))?;
        if header.alg != Algorithm::RS256 {
            return Err(IntakeError::NotByPubsub("it is not signed with RS256"));
        }
        let id = header.kid.unwrap_or_default();
        let key = self.keys.get(fetch, &id).await?;
        let claims = verify_token(token, &key)?;
        let refuse = |why| Err(IntakeError::NotByPubsub(why));
        let now = now.timestamp();
        if !ISSUERS.contains(&claims.iss.as_str()) {
            return refuse("Google did not issue it");
        }
        if claims.aud != self.audience {
            return refuse("it is for another audience");
        }
        if claims.exp.saturating_add(LEEWAY_SECS) < now {
            return refuse("its time is over");
        }
        if claims.iat.saturating_sub(LEEWAY_SECS) > now {
            return refuse("it is from the future");
        }
        if !claims.email_verified || !self.accounts.contains(&claims.email) {
            return refuse("it is of another service account");
        }
        Ok(())
    }
}

/// Returns the claims of a token if this key signed it. The caller checks times and audience by this machine's clock.
fn verify_token(token: &[u8], key: &DecodingKey) -> Result<PushTokenClaims, IntakeError> {
    let mut validation = Validation::new(Algorithm::RS256);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    match decode::<PushTokenClaims>(token, key, &validation) {
        Ok(decoded) => Ok(decoded.claims),
        Err(_) => Err(IntakeError::NotByPubsub(
            "its signature or its claims are wrong",
        )),
    }
}

/// Returns the attributes of the message in a push, which can make the message a CloudEvent in binary mode.
pub(super) fn attributes(body: &[u8]) -> BTreeMap<String, String> {
    #[derive(Deserialize)]
    struct PushBody {
        message: PushMessage,
    }
    #[derive(Deserialize)]
    struct PushMessage {
        #[serde(default)]
        attributes: BTreeMap<String, Value>,
    }
    let push: Option<PushBody> = serde_json::from_slice(body).ok();
    let all = push.map(|push| push.message.attributes).unwrap_or_default();
    let is_trace = |name: &str| name.ends_with("traceparent") || name.ends_with("tracestate");
    let is_wanted =
        |name: &str| name.starts_with("ce-") || name == "content-type" || is_trace(name);
    all.into_iter()
        .filter(|(name, _)| is_wanted(name))
        .filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))
        .take(64)
        .collect()
}
