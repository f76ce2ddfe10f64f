//! Defines errors of reading a message, or one finding in it.
//!
//! Each error has a location (feed, JSON pointer), the expected and the found shape, and a remedy. Errors are logged
//! and shown, so they name shapes and keys and never quote outside content at length.

use serde_json::Value;
use thiserror::Error;

use crate::text;

/// Maximum size of a message, in bytes: 1 MiB.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// Maximum number of envelopes around a finding.
pub const MAX_ENVELOPES: usize = 3;

/// Error of reading a message, or one finding in it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The message has no bytes, or only white space.
    #[error(
        "the message is empty: send one JSON alert, a JSON array of alerts, or one alert per line"
    )]
    Empty,

    /// The message is too large.
    #[error(
        "the message has {bytes} bytes, at most {limit} are read: send fewer alerts in one message"
    )]
    TooLarge {
        /// Size of the message.
        bytes: usize,
        /// Maximum size.
        limit: usize,
    },

    /// The bytes are not JSON, even when read leniently.
    #[error(
        "no JSON at line {line}, column {column}{}: expected {expected}, found {found}",
        at(path)
    )]
    NotJson {
        /// JSON pointer of the string that should hold JSON; empty for the message itself.
        path: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The expected content of the place.
        expected: &'static str,
        /// The content that was found.
        found: String,
    },

    /// The JSON matches no known shape.
    #[error(
        "unknown shape{}: found {found}, expected a finding of {known}, bare, in a list, or inside an SNS, EventBridge, Pub/Sub or CloudEvents message; other products are read by a [[feed]] in the configuration",
        at(path)
    )]
    UnknownShape {
        /// JSON pointer in the message.
        path: String,
        /// Description of the JSON.
        found: String,
        /// Names of the known feeds, with generic ones.
        known: String,
    },

    /// A field that identifies the finding is missing or has a wrong type.
    #[error(
        "{feed}{}: expected {expected}, found {found}; a finding without it cannot be told from others",
        at(path)
    )]
    Field {
        /// The feed that the finding was recognised as.
        feed: String,
        /// JSON pointer of the field.
        path: String,
        /// The expected content of the place.
        expected: String,
        /// The content that was found.
        found: String,
    },

    /// The envelope is recognised, but its content cannot be unwrapped.
    #[error("{envelope} message{}: expected {expected}, found {found}", at(path))]
    Envelope {
        /// Name of the envelope.
        envelope: &'static str,
        /// JSON pointer of its content.
        path: String,
        /// The expected content of the place.
        expected: &'static str,
        /// The content that was found.
        found: String,
    },

    /// The finding has too many envelopes.
    #[error(
        "more than {limit} envelopes or lists around a finding{}: send the finding with fewer of them",
        at(path)
    )]
    TooNested {
        /// JSON pointer of the innermost envelope that was opened.
        path: String,
        /// Maximum number of envelopes.
        limit: usize,
    },

    /// The message holds a pointer to a payload in S3 that was not followed.
    #[error(
        "the payload s3://{bucket}/{key}{} was not read: the object is not there, or no SQS source may read its bucket; put it back, or name the bucket in `buckets` of the source, and retry",
        at(path)
    )]
    Offloaded {
        /// JSON pointer of the pointer in the message.
        path: String,
        /// The bucket of the payload.
        bucket: String,
        /// The object of the payload.
        key: String,
    },

    /// The message is a request of SNS to confirm a subscription.
    #[error(
        "an SNS {kind} for topic {topic} is no alert: a listed topic is confirmed by our own call of the SNS API, and the address in the message is never followed"
    )]
    Subscription {
        /// The message's type.
        kind: String,
        /// The topic of the message.
        topic: String,
    },

    /// The source is not configured to carry this feed.
    #[error(
        "{feed}{}: this source carries only {allowed}; add the feed to the source's `feeds`",
        at(path)
    )]
    FeedNotAllowed {
        /// The feed that the finding was recognised as.
        feed: String,
        /// JSON pointer of the finding.
        path: String,
        /// The feeds that the source may carry.
        allowed: String,
    },
}

/// Returns ` at /a/b`, or an empty text for the root.
fn at(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!(" at {}", text::truncate(path, 200))
    }
}

impl ReadError {
    /// Returns the error with its JSON pointer moved under `prefix`.
    #[must_use]
    pub(crate) fn under(mut self, prefix: &str) -> Self {
        match &mut self {
            Self::NotJson { path, .. }
            | Self::UnknownShape { path, .. }
            | Self::Field { path, .. }
            | Self::Envelope { path, .. }
            | Self::TooNested { path, .. }
            | Self::Offloaded { path, .. }
            | Self::FeedNotAllowed { path, .. } => path.insert_str(0, prefix),
            Self::Empty | Self::TooLarge { .. } | Self::Subscription { .. } => {}
        }
        self
    }
}

/// Returns a short description of a JSON value for errors.
pub(crate) fn describe(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::Null) => "null".to_owned(),
        Some(Value::Bool(_)) => "a boolean".to_owned(),
        Some(Value::Number(_)) => "a number".to_owned(),
        Some(Value::String(text)) if text.is_empty() => "an empty string".to_owned(),
        Some(Value::String(_)) => "a string".to_owned(),
        Some(Value::Array(items)) => format!("a list of {}", items.len()),
        Some(Value::Object(map)) if map.is_empty() => "an empty object".to_owned(),
        Some(Value::Object(map)) => {
            let keys: Vec<String> = map
                .keys()
                .take(5)
                .map(|key| text::truncate(&text::strip_hidden(key).0, 30).into_owned())
                .collect();
            let more = if map.len() > 5 { ", …" } else { "" };
            format!("an object with {}{more}", keys.join(", "))
        }
    }
}
