//! Runs the suite on SQS as implemented by moto, with FIFO queues, and with payloads in S3.

mod faults;

use std::sync::Arc;

use async_trait::async_trait;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_sqs::types::{
    MessageAttributeValue, MessageSystemAttributeNameForSends, MessageSystemAttributeValue,
    QueueAttributeName, SendMessageBatchRequestEntry,
};
use nightshift_pipeline::port::{Disposition, Publish, Source};
use object_store::aws::AmazonS3Builder;
use object_store::{ObjectStoreExt, PutPayload};

use super::broker::Broker;
use super::suite::suite;
use super::{ack, numbered, offered, receive, settled, texts};
use crate::sqs::{SqsPublisher, SqsSource};
use crate::sqs_config::SqsConfig;

suite!(SqsQueue::standard);

mod in_order {
    use super::{SqsQueue, suite};
    suite!(SqsQueue::fifo);
}

/// Largest body that moto accepts. Larger bodies go through the bucket, as with the extended client.
const MOST_INLINE: usize = 200_000;

/// A queue and a bucket of one test.
struct SqsQueue {
    endpoint: String,
    url: String,
    bucket: String,
    client: Client,
}

impl SqsQueue {
    async fn standard() -> Option<Self> {
        Some(Self::made(&offered("SQS")?, false).await)
    }

    async fn fifo() -> Option<Self> {
        Some(Self::made(&offered("SQS")?, true).await)
    }

    async fn made(endpoint: &str, is_fifo: bool) -> Self {
        let own = aws_sdk_sqs::config::Builder::from(&sdk()).endpoint_url(endpoint);
        let client = Client::from_conf(own.build());
        let id = uuid::Uuid::new_v4().simple().to_string();
        let mut making = client.create_queue();
        if is_fifo {
            making = making
                .queue_name(format!("q-{id}.fifo"))
                .attributes(QueueAttributeName::FifoQueue, "true");
        } else {
            making = making.queue_name(format!("q-{id}"));
        }
        let made = making.send().await.unwrap();
        Self {
            endpoint: endpoint.to_owned(),
            url: made.queue_url().unwrap().to_owned(),
            bucket: format!("b-{id}"),
            client,
        }
    }

    fn is_fifo(&self) -> bool {
        self.url.ends_with(".fifo")
    }

    fn source_with(&self, more: &str) -> Arc<dyn Source> {
        Arc::new(source(&self.endpoint, &self.url, more, 40))
    }

    /// Returns a source with a hold time so short that a test can wait for its end.
    fn brief(&self) -> Arc<dyn Source> {
        Arc::new(source(&self.endpoint, &self.url, "", 4))
    }

    /// Creates the bucket, puts a payload into it, and returns the message that points to it.
    async fn offload(&self, key: &str, body: Vec<u8>) -> String {
        make_bucket(&self.endpoint, &self.bucket).await;
        let bucket = AmazonS3Builder::new()
            .with_bucket_name(&self.bucket)
            .with_region("eu-west-1")
            .with_endpoint(&self.endpoint)
            .with_allow_http(true)
            .with_access_key_id("test")
            .with_secret_access_key("test")
            .build()
            .unwrap();
        let payload = PutPayload::from(body);
        bucket.put(&key.into(), payload).await.unwrap();
        pointer(&self.bucket, key)
    }

    /// Sends messages. In a FIFO queue each is in this group, or in its own.
    async fn send(&self, bodies: &[String], group: Option<&str>, attributes: &[(&str, &str)]) {
        for (batch, some) in bodies.chunks(10).enumerate() {
            let mut call = self.client.send_message_batch().queue_url(&self.url);
            for (at, body) in some.iter().enumerate() {
                let mut entry = SendMessageBatchRequestEntry::builder()
                    .id(format!("{batch}-{at}"))
                    .message_body(body);
                for (name, value) in attributes {
                    let value = MessageAttributeValue::builder()
                        .data_type("String")
                        .string_value(*value);
                    entry = entry.message_attributes(*name, value.build().unwrap());
                }
                if self.is_fifo() {
                    let unique = uuid::Uuid::new_v4().to_string();
                    entry = entry
                        .message_group_id(group.unwrap_or(&unique))
                        .message_deduplication_id(&unique);
                }
                call = call.entries(entry.build().unwrap());
            }
            let sent = call.send().await.unwrap();
            assert!(sent.failed().is_empty(), "{:?}", sent.failed());
        }
    }
}

fn pointer(bucket: &str, key: &str) -> String {
    format!(
        r#"["software.amazon.payloadoffloading.PayloadS3Pointer",{{"s3BucketName":"{bucket}","s3Key":"{key}"}}]"#
    )
}

/// Creates a bucket with a plain request: S3 accepts `PUT /name`.
async fn make_bucket(endpoint: &str, name: &str) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let address = endpoint.trim_start_matches("http://");
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let body = "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
        <LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>";
    let request = format!(
        "PUT /{name} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\nConnection: close\r\n\
        Authorization: AWS4-HMAC-SHA256 Credential=test/20261120/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=0\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

fn sdk() -> SdkConfig {
    let credentials = Credentials::new("test", "test", None, None, "tests");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("eu-west-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build()
}

fn source(endpoint: &str, queue_url: &str, more: &str, visibility_secs: u32) -> SqsSource {
    let mut config = config(endpoint, queue_url, more);
    config.visibility_secs = visibility_secs;
    SqsSource::with_sdk_config(config, &sdk()).unwrap()
}

fn config(endpoint: &str, queue_url: &str, more: &str) -> SqsConfig {
    let text =
        format!("name = 'sqs'\nqueue_url = '{queue_url}'\nendpoint_url = '{endpoint}'\n{more}");
    let config: SqsConfig = toml::from_str(&text).unwrap();
    config.check().unwrap();
    config
}

#[async_trait]
impl Broker for SqsQueue {
    async fn publish(&self, bodies: Vec<Vec<u8>>, attributes: &[(&str, &str)]) {
        let mut texts = Vec::new();
        for body in bodies {
            if body.len() > MOST_INLINE {
                texts.push(self.offload("payload", body).await);
            } else {
                texts.push(String::from_utf8(body).unwrap());
            }
        }
        // Each message has its own group: of a group that is not settled, moto redelivers only the last message.
        self.send(&texts, None, attributes).await;
    }

    async fn source(&self) -> Arc<dyn Source> {
        self.source_with(&format!("buckets = ['{}']", self.bucket))
    }

    async fn publisher(&self) -> Option<Arc<dyn Publish>> {
        let config = config(&self.endpoint, &self.url, "");
        Some(Arc::new(
            SqsPublisher::with_sdk_config(config, &sdk()).unwrap(),
        ))
    }

    async fn dying(&self) -> Arc<dyn Source> {
        self.brief()
    }

    async fn left(&self) -> usize {
        let asked = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        ];
        let call = self.client.get_queue_attributes().queue_url(&self.url);
        let told = call
            .set_attribute_names(Some(asked.to_vec()))
            .send()
            .await
            .unwrap();
        let counts = told.attributes().into_iter().flatten();
        counts
            .map(|(_, count)| count.parse::<usize>().unwrap())
            .sum()
    }

    fn is_binary(&self) -> bool {
        false
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trace_that_aws_notes_comes_along() {
    let Some(queue) = SqsQueue::standard().await else {
        return;
    };
    let header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
    let value = MessageSystemAttributeValue::builder()
        .data_type("String")
        .string_value(header)
        .build()
        .unwrap();
    let send = queue
        .client
        .send_message()
        .queue_url(&queue.url)
        .message_body("0");
    let name = MessageSystemAttributeNameForSends::AwsTraceHeader;
    let sent = send.message_system_attributes(name, value).send().await;
    sent.unwrap();
    let source = queue.source().await;
    let came = receive(&*source, 1).await;
    assert_eq!(
        came[0].attributes.get("AWSTraceHeader").map(String::as_str),
        Some(header)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_comes_again_in_its_order_behind_what_is_given_back() {
    let Some(queue) = SqsQueue::fifo().await else {
        return;
    };
    let bodies: Vec<String> = (0..4).map(|number| format!("a{number}")).collect();
    queue.send(&bodies, Some("a"), &[]).await;
    let source = queue.source().await;
    let came = receive(&*source, 4).await;
    let mut settlement = settled(&came, Disposition::Ack);
    settlement[1].disposition = Disposition::Nack;
    assert_eq!(source.settle(&settlement).await, []);
    let mut order = Vec::new();
    while order.len() < 3 {
        let messages = receive(&*source, 1).await;
        ack(&*source, &messages).await;
        order.extend(texts(&messages));
    }
    assert_eq!(order, ["a1", "a2", "a3"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a07_pointers_are_followed_into_listed_buckets_only() {
    let Some(queue) = SqsQueue::standard().await else {
        return;
    };
    let pointing = queue.offload("deep/er key", b"the payload".to_vec()).await;
    queue.send(std::slice::from_ref(&pointing), None, &[]).await;
    let strict = queue.source_with("");
    let came = receive(&*strict, 1).await;
    assert_eq!(texts(&came), [pointing], "as it stands: a dead letter");
    strict.close().await;

    let listing = queue.source().await;
    let came = receive(&*listing, 1).await;
    assert_eq!(texts(&came), ["the payload"]);
    ack(&*listing, &came).await;

    let gone = pointer(&queue.bucket, "nothing here");
    queue.send(std::slice::from_ref(&gone), None, &[]).await;
    let came = receive(&*listing, 1).await;
    assert_eq!(texts(&came), [gone]);
    ack(&*listing, &came).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payload_above_the_cap_comes_as_its_head() {
    let Some(queue) = SqsQueue::standard().await else {
        return;
    };
    let huge = queue.offload("huge", vec![b'x'; 17 * 1024 * 1024]).await;
    queue.send(&[huge], None, &[]).await;
    let source = queue.source().await;
    let came = receive(&*source, 1).await;
    assert_eq!(came[0].bytes.len(), 16 * 1024 * 1024 + 1);
    ack(&*source, &came).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extended_message_stays_ours() {
    let Some(queue) = SqsQueue::standard().await else {
        return;
    };
    queue.publish(numbered(0..2), &[]).await;
    let source = queue.brief();
    let other = queue.source().await;
    let came = receive(&*source, 2).await;
    assert_eq!(
        source.visibility_timeout(),
        Some(std::time::Duration::from_secs(4))
    );
    // One message is extended repeatedly until the other, which is not, is delivered to another source.
    let (kept, lost) = (came[0].id.clone(), texts(&came[1..]));
    let keeping = async {
        loop {
            assert_eq!(source.extend(std::slice::from_ref(&kept)).await, []);
        }
    };
    let elsewhere = tokio::select! {
        () = keeping => unreachable!("it never ends"),
        messages = receive(&*other, 1) => messages,
    };
    assert_eq!(texts(&elsewhere), lost);
    ack(&*other, &elsewhere).await;
    ack(&*source, &came[..1]).await;
    assert_eq!(queue.left().await, 0);
}
