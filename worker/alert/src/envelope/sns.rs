//! Unwraps Amazon SNS over HTTP or SQS without raw delivery: the message is a string in `Message`.
//!
//! <https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html>. A request to confirm a subscription
//! is an error here. Its `SubscribeURL` is never followed.

use serde_json::Value;

use super::{Envelope, EnvelopeContent};
use crate::ReadError;
use crate::error::describe;
use crate::text::{strip_hidden, truncate};

const FIELDS: [&str; 12] = [
    "Type",
    "MessageId",
    "TopicArn",
    "Subject",
    "Message",
    "MessageAttributes",
    "Timestamp",
    "SequenceNumber",
    "Signature",
    "SignatureVersion",
    "SigningCertURL",
    "UnsubscribeURL",
];

pub(super) fn recognise(value: &Value) -> Result<Option<Envelope<'_>>, ReadError> {
    let kind = value.get("Type").and_then(Value::as_str);
    let topic = value.get("TopicArn").and_then(Value::as_str);
    match kind {
        Some("Notification") if topic.is_some() || value.get("MessageId").is_some() => {}
        Some(kind @ ("SubscriptionConfirmation" | "UnsubscribeConfirmation")) => {
            let topic = strip_hidden(topic.unwrap_or("without a name"))
                .0
                .into_owned();
            return Err(ReadError::Subscription {
                kind: kind.to_owned(),
                topic: truncate(&topic, 120).into_owned(),
            });
        }
        _ => return Ok(None),
    }
    match value.get("Message") {
        Some(Value::String(text)) => Ok(Some(Envelope {
            name: "sns",
            content: EnvelopeContent::Text("/Message", text),
            fields: &FIELDS,
        })),
        Some(Value::Object(_)) => Ok(Some(Envelope {
            name: "sns",
            content: EnvelopeContent::Inline("Message"),
            fields: &FIELDS,
        })),
        other => Err(ReadError::Envelope {
            envelope: "sns",
            path: "/Message".to_owned(),
            expected: "JSON in a string",
            found: describe(other),
        }),
    }
}
