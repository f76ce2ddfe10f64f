//! Implements sources of messages: RabbitMQ, SQS, Pub/Sub, a spool directory.
//!
//! Each is a [`nightshift_pipeline::port::Source`]: it handles bytes, not alerts, and keeps delivered messages until
//! they are settled. A source that cannot reach its queue retries by itself and reports that in `ready`. It loses
//! nothing, because unsettled messages are redelivered. `docs/sources.md` is for operators.

mod attributes;
mod backoff;
mod config;
#[cfg(test)]
mod conformance;
mod connect;
mod doctor;
mod health;
mod in_flight;
mod message_sizes;
mod publish;
mod pubsub;
mod rabbitmq;
mod spool;
#[cfg(feature = "sqs")]
mod sqs;
mod sqs_config;

pub use config::{ConfigError, SourceConfig};
pub use connect::{SecretResolver, connect};
pub use doctor::{probe_publishing, probe_source};
pub use publish::publisher;
pub use pubsub::PubsubConfig;
pub use rabbitmq::RabbitmqConfig;
pub use spool::SpoolConfig;
#[cfg(feature = "sqs")]
pub use sqs::fetch_payload as sqs_payload;
pub use sqs_config::SqsConfig;

/// Maximum number of bytes of one message that are delivered: one more than is ever kept, so that the reader sees that
/// the message is too large. Of a payload in a file or a bucket only this much is read.
const MOST_BYTES: usize = 16 * 1024 * 1024 + 1;

/// The time that one call of `receive` waits for a first message.
const LONG_POLL: std::time::Duration = std::time::Duration::from_secs(20);

/// The error of a queue of SQS in a program without the feature `sqs`.
#[cfg(not(feature = "sqs"))]
const WITHOUT_SQS: &str =
    "this program was built without SQS; build it with `cargo build --release`";

/// Returns that this program cannot read payloads of a queue of SQS.
///
/// # Errors
///
/// Returns an error always.
#[cfg(not(feature = "sqs"))]
pub async fn sqs_payload(_: &SqsConfig, _: &[u8]) -> Option<Result<Vec<u8>, String>> {
    Some(Err(WITHOUT_SQS.to_owned()))
}
