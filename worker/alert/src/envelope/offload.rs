//! Recognises pointers of the extended client for SQS and SNS, whose payload is in S3. Sources follow pointers into
//! listed buckets. A pointer that arrives here was not followed, and is an error.
//!
//! <https://github.com/awslabs/payload-offloading-java-common-lib-for-aws>

use serde_json::Value;

use crate::ReadError;
use crate::text::{strip_hidden, truncate};

/// Class names of the client since 2.0 and of the earlier SQS client.
const CLASSES: [&str; 2] = [
    "software.amazon.payloadoffloading.PayloadS3Pointer",
    "com.amazon.sqs.javamessaging.MessageS3Pointer",
];

/// Returns the error for a pointer that was not followed, if the value is one.
pub(super) fn unresolved_pointer(value: &Value) -> Option<ReadError> {
    let [Value::String(class), place] = value.as_array()?.as_slice() else {
        return None;
    };
    let text = |key: &str| {
        let text = strip_hidden(place.get(key)?.as_str()?).0;
        Some(truncate(&text, 200).into_owned())
    };
    CLASSES
        .contains(&class.as_str())
        .then_some(ReadError::Offloaded {
            path: String::new(),
            bucket: text("s3BucketName")?,
            key: text("s3Key")?,
        })
}
