//! Calls JSON APIs over HTTP with a user or token, as Jira, ServiceNow and GitHub share it. The module of each vendor
//! interprets answers beyond their status.

use std::sync::OnceLock;

use chrono::{DateTime, Utc};
use nightshift_engine::key::KeySource;
use nightshift_pipeline::port::DeliveryError;
use reqwest::Method;
use reqwest::header::ACCEPT;
use secrecy::ExposeSecret as _;
use serde_json::Value;
use url::Url;

use super::http::{Answer, Caller, Repeat};

/// The longest answer that is read, in bytes, such as a page of comments.
pub(super) const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The way in which a caller authenticates.
pub(super) enum Identity {
    /// User and secret (RFC 7617).
    Basic(String),
    /// The secret alone (RFC 6750).
    Bearer,
}

/// The properties of one vendor's API.
pub(super) struct Vendor {
    /// Headers of every call.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// The key of the configuration that holds the secret.
    pub(super) secret: &'static str,
    /// Returns what an operator can do about a status.
    pub(super) hint: fn(u16) -> &'static str,
    /// Extracts the vendor's message from the body of a refusal.
    pub(super) words: fn(&Value) -> Option<String>,
    /// Returns the seconds to wait, from the vendor's own rate limit headers.
    pub(super) limited: fn(&Answer, DateTime<Utc>) -> Option<u64>,
    /// Returns the seconds to wait, from the body of a refusal.
    pub(super) limited_by: fn(&Value) -> Option<u64>,
}

/// The client of one vendor's API.
pub(super) struct RestClient {
    pub(super) caller: Caller,
    pub(super) base: Url,
    pub(super) identity: Identity,
    pub(super) secret: KeySource,
    pub(super) vendor: &'static Vendor,
}

pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) path: &'a [&'a str],
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) body: Option<&'a Value>,
    pub(super) repeat: Repeat,
}

impl<'a> Call<'a> {
    /// Makes a call that only reads.
    pub(super) const fn get(path: &'a [&'a str], query: &'a [(&'a str, &'a str)]) -> Self {
        Self {
            method: Method::GET,
            path,
            query,
            body: None,
            repeat: Repeat::Harmless,
        }
    }

    /// Makes a call whose repetition would be visible.
    pub(super) const fn add(path: &'a [&'a str], body: &'a Value) -> Self {
        Self {
            method: Method::POST,
            path,
            query: &[],
            body: Some(body),
            repeat: Repeat::Doubles,
        }
    }

    /// Makes a call that may be repeated.
    pub(super) const fn set(method: Method, path: &'a [&'a str], body: &'a Value) -> Self {
        Self {
            method,
            path,
            query: &[],
            body: Some(body),
            repeat: Repeat::Harmless,
        }
    }
}

impl RestClient {
    /// Calls the API and returns the body of the answer, or null without one.
    ///
    /// # Errors
    ///
    /// Returns what the answer, or its loss, means for the delivery.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<Value, DeliveryError> {
        let answer = self.send(&call).await?;
        let status = answer.status();
        if status.as_u16() == 204 {
            return Ok(Value::Null);
        }
        if status.is_success() {
            return answer.json(MOST_BYTES).await;
        }
        Err(self.refusal(answer).await)
    }

    /// Converts a refusal into an error.
    pub(super) async fn refusal(&self, answer: Answer) -> DeliveryError {
        let limited = (self.vendor.limited)(&answer, self.caller.now());
        let hint = (self.vendor.hint)(answer.status().as_u16());
        let (words, limited_by) = (self.vendor.words, self.vendor.limited_by);
        let said = OnceLock::new();
        let refused = answer
            .refused(hint, |bytes| {
                let body = serde_json::from_slice(bytes).ok()?;
                if let Some(secs) = limited_by(&body) {
                    let _ = said.set(secs);
                }
                words(&body)
            })
            .await;
        match (limited.or_else(|| said.get().copied()), refused) {
            (
                Some(secs),
                DeliveryError::Permanent { what } | DeliveryError::Transient { what, .. },
            ) => DeliveryError::Transient {
                what,
                after_secs: Some(secs),
            },
            (_, refused) => refused,
        }
    }

    /// Calls the API and returns the answer unread.
    pub(super) async fn send(&self, call: &Call<'_>) -> Result<Answer, DeliveryError> {
        let secret = self.caller.secret(self.vendor.secret, &self.secret)?;
        let mut request = self
            .caller
            .client()
            .request(call.method.clone(), self.at(call))
            .header(ACCEPT, "application/json");
        for (name, value) in self.vendor.headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = call.body {
            request = request.json(body);
        }
        let request = match &self.identity {
            Identity::Basic(user) => request.basic_auth(user, Some(secret.expose_secret())),
            Identity::Bearer => request.bearer_auth(secret.expose_secret()),
        };
        self.caller.send(request, call.repeat).await
    }

    fn at(&self, call: &Call<'_>) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.pop_if_empty().extend(call.path);
        }
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(call.query);
        }
        url
    }
}

/// Returns a text of an answer.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Returns the items of a list in an answer, or an empty slice if there is no such list.
pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns the seconds until a limit ends, at most an hour. `x-ratelimit-reset` is in seconds since 1970.
pub(super) fn reset(answer: &Answer, now: DateTime<Utc>) -> Option<u64> {
    let at: i64 = answer.header("x-ratelimit-reset")?.parse().ok()?;
    let left = u64::try_from(at.saturating_sub(now.timestamp())).unwrap_or(0);
    Some(left.clamp(1, 3_600))
}
