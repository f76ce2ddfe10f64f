//! Why a message, or one finding in it, cannot be read.
//!
//! Each error says where (feed, JSON pointer), what was expected, what was found, and how to mend it. Nothing that came
//! from outside is quoted at length here: an error is logged and shown, so it names shapes and keys, not contents.

use thiserror::Error;

/// Largest message that is read, in bytes: 1 MiB.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// Most envelopes around a finding.
pub const MAX_ENVELOPES: usize = 3;

/// Why a message, or one finding in it, cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// No bytes, or nothing but white space.
    #[error(
        "the message is empty: send one JSON alert, a JSON array of alerts, or one alert per line"
    )]
    Empty,

    /// More bytes than are read.
    #[error(
        "the message has {bytes} bytes, at most {limit} are read: send fewer alerts in one message"
    )]
    TooLarge {
        /// Size of the message.
        bytes: usize,
        /// Largest size that is read.
        limit: usize,
    },

    /// The bytes are no JSON, however leniently read.
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
        /// What would have been right there.
        expected: &'static str,
        /// What is there.
        found: String,
    },

    /// The JSON is none of the shapes we know.
    #[error(
        "unknown shape{}: found {found}, expected a finding of {known}, bare, in a list, or inside an SNS, EventBridge, Pub/Sub or CloudEvents message; other products are read by a [[feed]] in the configuration",
        at(path)
    )]
    UnknownShape {
        /// JSON pointer in the message.
        path: String,
        /// What the JSON looks like.
        found: String,
        /// The feeds that are known, generic ones by name.
        known: String,
    },

    /// A field without which a finding cannot be told from others is missing or has a wrong type.
    #[error(
        "{feed}{}: expected {expected}, found {found}; a finding without it cannot be told from others",
        at(path)
    )]
    Field {
        /// The feed that the finding was recognised as.
        feed: String,
        /// JSON pointer of the field.
        path: String,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },

    /// An envelope is recognised, but holds nothing that can be unwrapped.
    #[error("{envelope} message{}: expected {expected}, found {found}", at(path))]
    Envelope {
        /// Which envelope.
        envelope: &'static str,
        /// JSON pointer of its content.
        path: String,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },

    /// More envelopes around a finding than are unwrapped.
    #[error(
        "more than {limit} envelopes or lists around a finding{}: send the finding with fewer of them",
        at(path)
    )]
    TooNested {
        /// JSON pointer of the innermost one that was looked at.
        path: String,
        /// How many are unwrapped.
        limit: usize,
    },

    /// A pointer to a payload in S3 stands where the payload should.
    #[error(
        "the payload s3://{bucket}/{key}{} was not read: the object is not there, or no SQS source may read its bucket; put it back, or name the bucket in `buckets` of the source, and retry",
        at(path)
    )]
    Offloaded {
        /// JSON pointer of the pointer in the message.
        path: String,
        /// The bucket that it names.
        bucket: String,
        /// The object that it names.
        key: String,
    },

    /// SNS asks to confirm a subscription.
    #[error(
        "an SNS {kind} for topic {topic} is no alert: a listed topic is confirmed by our own call of the SNS API, and the address in the message is never followed"
    )]
    Subscription {
        /// The message's type.
        kind: String,
        /// The topic that it names.
        topic: String,
    },

    /// The source may not carry this feed.
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

/// ` at /a/b`, or nothing for the root.
fn at(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!(" at {}", crate::text::cut(path, 200))
    }
}

impl ReadError {
    /// The same error, its JSON pointer put under `prefix`.
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
