//! Tests JSON that was encoded twice, and pointers instead of payloads.

use super::*;

/// Returns a JSON string that holds the value.
fn text(value: &Value) -> Value {
    Value::String(value.to_string())
}

#[test]
fn json_that_was_encoded_once_more_is_read_in_every_envelope() {
    let finding = parsed("guardduty-finding");
    let plain = one_of(&finding);
    let base64 = |value: &Value| {
        let bytes = value.to_string();
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes)
    };
    let twice = text(&text(&finding));
    for message in [
        text(&finding),
        text(&text(&finding)),
        json!([text(&finding)]),
        json!({"findings": [text(&finding)]}),
        json!({"Type": "Notification", "TopicArn": "t", "Message": twice}),
        json!({"detail-type": "x", "source": "aws.guardduty", "detail": twice}),
        json!({"specversion": "1.0", "type": "t", "source": "s", "data": twice}),
        json!({"specversion": "1.0", "type": "t", "source": "s", "data_base64": base64(&text(&finding))}),
        json!({"subscription": "s", "message": {"data": base64(&text(&finding))}}),
    ] {
        let read = one_of(&message);
        assert_eq!(
            (&read.key, &read.content),
            (&plain.key, &plain.content),
            "{message}"
        );
        assert_eq!(read.raw, plain.raw, "{message}");
    }
}

#[test]
fn each_encoding_counts_as_an_envelope() {
    let finding = parsed("guardduty-finding");
    let four = (0..4).fold(finding, |inner, _| text(&inner));
    let error = error(&four.to_string());
    assert!(
        matches!(error, ReadError::TooNested { limit: 3, .. }),
        "{error}"
    );
}

#[test]
fn text_that_is_no_json_is_an_unknown_shape() {
    let error = error(r#""hello""#);
    assert!(matches!(error, ReadError::UnknownShape { .. }), "{error}");
}

#[test]
fn pointers_that_were_not_followed_are_one_error() {
    let pointer = json!(["software.amazon.payloadoffloading.PayloadS3Pointer",
        {"s3BucketName": "alert-payloads", "s3Key": "2026/11/a"}]);
    insta::assert_snapshot!(error(&pointer.to_string()), @"the payload s3://alert-payloads/2026/11/a was not read: the object is not there, or no SQS source may read its bucket; put it back, or name the bucket in `buckets` of the source, and retry");
    let message = json!({"Type": "Notification", "TopicArn": "t", "Message": pointer.to_string()});
    insta::assert_snapshot!(error(&message.to_string()), @"the payload s3://alert-payloads/2026/11/a at /Message was not read: the object is not there, or no SQS source may read its bucket; put it back, or name the bucket in `buckets` of the source, and retry");
}
