//! Unwraps Google Cloud Pub/Sub push: the finding is base64 in `message.data`.
//!
//! <https://cloud.google.com/pubsub/docs/push#receive_push>

use serde_json::Value;

use super::{Envelope, EnvelopeContent};
use crate::ReadError;
use crate::error::describe;

pub(super) fn recognise(value: &Value) -> Result<Option<Envelope<'_>>, ReadError> {
    let Some(message) = value.get("message").filter(|message| message.is_object()) else {
        return Ok(None);
    };
    let is_push = value.get("subscription").is_some()
        || ["data", "messageId", "message_id", "publishTime"]
            .iter()
            .any(|key| message.get(key).is_some());
    if !is_push {
        return Ok(None);
    }
    match message.get("data") {
        Some(Value::String(data)) => Ok(Some(Envelope {
            name: "pubsub",
            content: EnvelopeContent::Base64("/message/data", data),
            fields: &["message", "subscription", "deliveryAttempt"],
        })),
        other => Err(ReadError::Envelope {
            envelope: "pubsub",
            path: "/message/data".to_owned(),
            expected: "JSON in base64",
            found: describe(other),
        }),
    }
}
