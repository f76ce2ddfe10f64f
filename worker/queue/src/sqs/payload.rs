//! Reads payloads that the extended client has put into S3.
//!
//! Anyone who may write to the queue can write a pointer, so it is followed into listed buckets only, and only up to
//! the size of a message. A pointer has the form of the `ExtendedClientLibrary`: a message that is `[class,
//! {"s3BucketName", "s3Key"}]`, bare or in an SNS notification. Payloads are read, never removed: the bucket's
//! lifecycle removes them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::config::ProvideCredentials;
use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3Builder, AwsCredential};
use object_store::path::Path;
use object_store::{CredentialProvider, GetOptions, ObjectStore, RetryConfig};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::access::{ClientAccess, CurrentCredentials};
use crate::MOST_BYTES;
use crate::message_sizes::BUDGET_BYTES;
use crate::sqs_config::SqsConfig;

/// Class names of the client for Java: since 2.0, and before.
const CLASSES: [&str; 2] = [
    "software.amazon.payloadoffloading.PayloadS3Pointer",
    "com.amazon.sqs.javamessaging.MessageS3Pointer",
];

/// Location of a payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PayloadPointer {
    s3_bucket_name: String,
    s3_key: String,
}

/// Parts of an SNS notification that are needed here.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SnsNotification {
    #[serde(rename = "Type")]
    kind: String,
    message: String,
}

/// Returns the pointer in a body, or in the message of an SNS notification.
pub(super) fn parse_pointer(body: &str) -> Option<PayloadPointer> {
    // Other bodies are not parsed.
    if !CLASSES.iter().any(|class| body.contains(class)) {
        return None;
    }
    match serde_json::from_str::<SnsNotification>(body) {
        Ok(sent) if sent.kind == "Notification" => parse_bare_pointer(&sent.message),
        _ => parse_bare_pointer(body),
    }
}

fn parse_bare_pointer(text: &str) -> Option<PayloadPointer> {
    let (class, pointer): (String, PayloadPointer) = serde_json::from_str(text).ok()?;
    CLASSES.contains(&class.as_str()).then_some(pointer)
}

/// Fraction of the visibility that a payload may take, including the wait for memory. Other messages of the poll wait
/// meanwhile, and are nacked unless more than half of their time is left.
const VISIBILITY_DIVISOR: u32 = 6;

/// Returns few retries, because a message without its payload is redelivered.
fn retry_config() -> RetryConfig {
    RetryConfig {
        max_retries: 2,
        retry_timeout: Duration::from_secs(10),
        ..RetryConfig::default()
    }
}

/// The time for which a payload waits for memory. The time is short: messages that arrived with it are handed over
/// later and free their memory only then.
const MEMORY_WAIT: Duration = Duration::from_secs(2);

/// Memory reservation of a payload, held for the lifetime of this value.
pub(super) type MemoryPermit = Arc<OwnedSemaphorePermit>;

/// Result of following a pointer.
#[derive(Debug)]
pub(super) enum Payload {
    /// The payload or its beginning, with its memory reservation.
    Bytes(Vec<u8>, MemoryPermit),
    /// There is not enough memory at present.
    NoMemory,
    /// The payload can never be read. Only the pointer itself is available.
    Unreadable(String),
    /// The payload cannot be read at present.
    Unavailable(String),
}

/// Readers of the listed buckets.
pub(super) struct PayloadStore {
    buckets: BTreeMap<String, Arc<dyn ObjectStore>>,
    /// Bytes of payloads that may be held.
    memory: Arc<Semaphore>,
    /// Longest time for one payload.
    limit: Duration,
}

impl PayloadStore {
    /// Creates readers of the listed buckets with the credentials of the queue.
    ///
    /// # Errors
    ///
    /// Returns an error when a client cannot be created.
    pub(super) fn new(config: &SqsConfig, access: &ClientAccess) -> Result<Self, String> {
        let mut buckets = BTreeMap::new();
        for name in &config.buckets {
            let mut builder = AmazonS3Builder::new()
                .with_bucket_name(name)
                .with_retry(retry_config());
            if let Some(region) = access.region() {
                builder = builder.with_region(region);
            }
            if let Some(endpoint) = &config.endpoint_url {
                builder = builder
                    .with_endpoint(endpoint)
                    .with_allow_http(endpoint.starts_with("http:"));
            }
            if let Some(credentials) = access.credentials() {
                builder = builder.with_credentials(Arc::new(SdkCredentialChain(credentials)));
            }
            let store = builder
                .build()
                .map_err(|error| format!("buckets: {name}: {error}"))?;
            buckets.insert(name.clone(), Arc::new(store) as Arc<dyn ObjectStore>);
        }
        Ok(Self {
            buckets,
            memory: Arc::new(Semaphore::new(BUDGET_BYTES)),
            limit: Duration::from_secs(u64::from(config.visibility_secs)) / VISIBILITY_DIVISOR,
        })
    }

    /// Returns whether there can be payloads.
    pub(super) fn has_buckets(&self) -> bool {
        !self.buckets.is_empty()
    }

    /// Follows a pointer into a listed bucket. A bucket that accepts the call and does not answer counts as
    /// unavailable.
    pub(super) async fn get(&self, pointer: &PayloadPointer) -> Payload {
        let Some(bucket) = self.buckets.get(&pointer.s3_bucket_name) else {
            return Payload::Unreadable("its bucket is not listed in `buckets`".to_owned());
        };
        let Ok(key) = Path::parse(&pointer.s3_key) else {
            return Payload::Unreadable("the key is not valid".to_owned());
        };
        let name = &pointer.s3_bucket_name;
        let Ok(found) = timeout(self.limit, read_object(&**bucket, &key, &self.memory)).await
        else {
            return Payload::Unavailable(format!(
                "s3://{name}: no payload within {:?}",
                self.limit
            ));
        };
        match found {
            Ok(Some((bytes, room))) => Payload::Bytes(bytes, room),
            Ok(None) => Payload::NoMemory,
            Err(error) if is_gone(&error) => {
                Payload::Unreadable("its payload is not there (any more)".to_owned())
            }
            Err(error) => Payload::Unavailable(format!("s3://{name}: {error}")),
        }
    }
}

/// Returns whether the bucket itself reports that the object does not exist. Any other 404 comes from a missing
/// bucket or an intermediary, and the object may come back with it.
fn is_gone(error: &object_store::Error) -> bool {
    match error {
        object_store::Error::NotFound { source, .. } => {
            source.to_string().contains("<Code>NoSuchKey</Code>")
        }
        _ => false,
    }
}

/// Returns the bytes of an object or their beginning, or `None` if there is no memory. No range is requested, because
/// S3 refuses one for an empty object.
async fn read_object(
    bucket: &dyn ObjectStore,
    key: &Path,
    memory: &Arc<Semaphore>,
) -> object_store::Result<Option<(Vec<u8>, MemoryPermit)>> {
    let found = bucket.get_opts(key, GetOptions::default()).await?;
    let size = usize::try_from(found.meta.size).unwrap_or(MOST_BYTES);
    let size = size.min(MOST_BYTES);
    let room = Arc::clone(memory).acquire_many_owned(u32::try_from(size).unwrap_or(u32::MAX));
    let Ok(Ok(room)) = timeout(MEMORY_WAIT, room).await else {
        return Ok(None);
    };
    let mut stream = found.into_stream();
    let mut bytes = Vec::with_capacity(size);
    while let Some(some) = stream.try_next().await? {
        let room = size.saturating_sub(bytes.len());
        bytes.extend(some.iter().take(room));
        if bytes.len() == size {
            break;
        }
    }
    Ok(Some((bytes, Arc::new(room))))
}

/// Adapter from the default credential chain of the AWS SDK to the object store.
#[derive(Debug)]
struct SdkCredentialChain(Arc<CurrentCredentials>);

#[async_trait]
impl CredentialProvider for SdkCredentialChain {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let found = self.0.current().provide_credentials().await;
        let found = found.map_err(|error| object_store::Error::Generic {
            store: "S3",
            source: Box::new(error),
        })?;
        Ok(Arc::new(AwsCredential {
            key_id: found.access_key_id().to_owned(),
            secret_key: found.secret_access_key().to_owned(),
            token: found.session_token().map(str::to_owned),
        }))
    }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt as _;

    use super::*;

    #[test]
    fn only_the_extended_client_s_shape_is_a_pointer() {
        let body = |class: &str| {
            format!(r#" ["{class}", {{"s3BucketName": "payloads", "s3Key": "a/b"}}]"#)
        };
        for class in CLASSES {
            let found = parse_pointer(&body(class)).unwrap();
            assert_eq!(
                (found.s3_bucket_name.as_str(), found.s3_key.as_str()),
                ("payloads", "a/b")
            );
        }
        let sent = |kind: &str| {
            let message = body(CLASSES[0]);
            serde_json::json!({"Type": kind, "TopicArn": "t", "Message": message}).to_string()
        };
        assert!(parse_pointer(&sent("Notification")).is_some());
        for other in [
            body("java.lang.Runtime").as_str(),
            sent("SubscriptionConfirmation").as_str(),
            "[]",
            r#"[{"s3BucketName": "payloads", "s3Key": "a"}]"#,
            r#"{"s3BucketName": "payloads", "s3Key": "a"}"#,
            r#"["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": "payloads"}]"#,
        ] {
            assert_eq!(parse_pointer(other), None, "{other}");
        }
    }

    fn payloads(bucket: Option<Arc<dyn ObjectStore>>, memory: usize) -> PayloadStore {
        PayloadStore {
            buckets: bucket
                .map(|bucket| ("payloads".to_owned(), bucket))
                .into_iter()
                .collect(),
            memory: Arc::new(Semaphore::new(memory)),
            limit: Duration::from_secs(10),
        }
    }

    fn pointing(bucket: &str) -> PayloadPointer {
        PayloadPointer {
            s3_bucket_name: bucket.into(),
            s3_key: "a".into(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn f13_a_bucket_that_takes_the_call_and_does_not_answer_is_away() {
        use object_store::throttle::{ThrottleConfig, ThrottledStore};
        let slow = ThrottleConfig {
            wait_get_per_call: Duration::from_secs(60 * 60),
            ..ThrottleConfig::default()
        };
        let bucket = ThrottledStore::new(object_store::memory::InMemory::new(), slow);
        let payloads = payloads(Some(Arc::new(bucket)), BUDGET_BYTES);
        let before = tokio::time::Instant::now();
        let found = payloads.get(&pointing("payloads")).await;
        let why = "s3://payloads: no payload within 10s";
        assert!(
            matches!(&found, Payload::Unavailable(told) if told == why),
            "{found:?}"
        );
        assert_eq!(before.elapsed().as_secs(), 10);
    }

    /// Tests attack A7. No bucket is listed, so no client exists that could reach one.
    #[tokio::test]
    async fn a07_pointer_into_an_unlisted_bucket_is_not_followed() {
        let payloads = payloads(None, BUDGET_BYTES);
        let found = payloads.get(&pointing("elsewhere")).await;
        assert!(matches!(found, Payload::Unreadable(why) if why.contains("buckets")));
    }

    #[tokio::test(start_paused = true)]
    async fn a17_payloads_take_no_more_memory_than_there_is_for_them() {
        let bucket = object_store::memory::InMemory::new();
        let key = Path::from("a");
        let put = bucket.put(&key, vec![b'x'; 8].into());
        put.await.unwrap();
        let payloads = payloads(Some(Arc::new(bucket)), 20);
        let pointer = pointing("payloads");
        let first = payloads.get(&pointer).await;
        let second = payloads.get(&pointer).await;
        assert!(matches!(&second, Payload::Bytes(bytes, _) if *bytes == b"xxxxxxxx"));
        assert!(matches!(payloads.get(&pointer).await, Payload::NoMemory));
        drop(first);
        assert!(matches!(payloads.get(&pointer).await, Payload::Bytes(..)));
    }
}
