//! Converts a delivery to a message. Properties and headers become attributes.

use std::collections::BTreeMap;

use lapin::BasicProperties;
use lapin::message::Delivery;
use lapin::types::AMQPValue;
use nightshift_pipeline::port::Message;

use super::unacked::DeliveryId;
use crate::{MOST_BYTES, attributes};

/// Returns the message of a delivery over this connection.
pub(super) fn message_from_delivery(connection: u64, delivery: Delivery) -> Message {
    let name = DeliveryId {
        connection,
        tag: delivery.delivery_tag,
    };
    Message {
        id: name.to_string(),
        attributes: attributes_from_properties(&delivery.properties),
        bytes: truncate_body(delivery.data),
    }
}

/// Returns whether the message comes from a stream, as far as its broker shows:
/// <https://www.rabbitmq.com/docs/streams#consuming>. AMQP has no other sign of that, and refuses nothing.
pub(super) fn is_of_stream(properties: &BasicProperties) -> bool {
    let mut headers = properties
        .headers()
        .iter()
        .flat_map(|headers| headers.inner());
    headers.any(|(name, _)| name.as_str() == "x-stream-offset")
}

/// Truncates a message that is too large. It was transferred, but need not be kept.
fn truncate_body(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() > MOST_BYTES {
        bytes.truncate(MOST_BYTES);
        bytes.shrink_to_fit();
    }
    bytes
}

/// Returns scalar values only. Tables and lists are the broker's own notes about the path of a message.
fn attributes_from_properties(properties: &BasicProperties) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let known = [
        ("content-type", properties.content_type()),
        ("content-encoding", properties.content_encoding()),
        ("message-id", properties.message_id()),
        ("correlation-id", properties.correlation_id()),
        ("type", properties.kind()),
        ("app-id", properties.app_id()),
    ];
    for (name, value) in known {
        if let Some(value) = value {
            found.insert(name.to_owned(), value.as_str().to_owned());
        }
    }
    for (name, value) in properties
        .headers()
        .iter()
        .flat_map(|headers| headers.inner())
    {
        if let Some(value) = scalar(value) {
            found.insert(attributes::canonical_name(name.as_str()), value);
        }
    }
    found
}

fn scalar(value: &AMQPValue) -> Option<String> {
    Some(match value {
        AMQPValue::Boolean(value) => value.to_string(),
        AMQPValue::ShortShortInt(value) => value.to_string(),
        AMQPValue::ShortShortUInt(value) => value.to_string(),
        AMQPValue::ShortInt(value) => value.to_string(),
        AMQPValue::ShortUInt(value) => value.to_string(),
        AMQPValue::LongInt(value) => value.to_string(),
        AMQPValue::LongUInt(value) => value.to_string(),
        AMQPValue::LongLongInt(value) => value.to_string(),
        AMQPValue::Float(value) => value.to_string(),
        AMQPValue::Double(value) => value.to_string(),
        AMQPValue::Timestamp(value) => value.to_string(),
        AMQPValue::ShortString(value) => value.as_str().to_owned(),
        AMQPValue::LongString(value) => String::from_utf8_lossy(value.as_bytes()).into_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use lapin::types::{FieldTable, LongString, ShortString};

    use super::*;

    #[test]
    fn a17_of_a_huge_message_the_head_is_kept() {
        let huge = truncate_body(vec![b'x'; MOST_BYTES + 5]);
        assert_eq!((huge.len(), huge.capacity()), (MOST_BYTES, MOST_BYTES));
        assert_eq!(truncate_body(b"whole".to_vec()), b"whole");
    }

    #[test]
    fn a_stream_is_known_by_what_its_broker_adds() {
        let mut headers = FieldTable::default();
        let properties = BasicProperties::default().with_headers(headers.clone());
        assert!(!is_of_stream(&properties));
        headers.insert("x-stream-offset".into(), AMQPValue::LongLongInt(7));
        assert!(is_of_stream(&properties.with_headers(headers)));
    }

    #[test]
    fn headers_and_properties_become_attributes_in_one_spelling() {
        let mut headers = FieldTable::default();
        let text = |text: &str| AMQPValue::LongString(LongString::from(text));
        headers.insert("cloudEvents:specversion".into(), text("1.0"));
        headers.insert("cloudEvents_type".into(), text("finding"));
        headers.insert("cloudEvents:sequence".into(), AMQPValue::LongLongInt(-7));
        headers.insert("urgent".into(), AMQPValue::Boolean(true));
        headers.insert(
            "broken".into(),
            AMQPValue::LongString(vec![0xff_u8, 0x61].into()),
        );
        headers.insert(
            "x-death".into(),
            AMQPValue::FieldTable(FieldTable::default()),
        );
        let properties = BasicProperties::default()
            .with_headers(headers)
            .with_content_type(ShortString::from("application/json"))
            .with_message_id(ShortString::from("m-1"));
        let found: Vec<(String, String)> = attributes_from_properties(&properties)
            .into_iter()
            .collect();
        let wanted = [
            ("broken", "\u{fffd}a"),
            ("ce-sequence", "-7"),
            ("ce-specversion", "1.0"),
            ("ce-type", "finding"),
            ("content-type", "application/json"),
            ("message-id", "m-1"),
            ("urgent", "true"),
        ];
        let wanted = wanted.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, wanted);
    }
}
