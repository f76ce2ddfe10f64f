//! Where messages are taken from: RabbitMQ, SQS, Pub/Sub, a spool directory.
//!
//! Each is a [`nightshift_pipeline::Source`]: it knows bytes, not alerts, and keeps what it handed over until that is
//! settled. A source that cannot reach its queue waits and tries again by itself, says so in `ready`, and loses nothing:
//! what was not settled comes again. `docs/sources.md` is for those who run it.

mod attributes;
mod config;
#[cfg(test)]
mod conformance;
mod connect;
mod examine;
mod health;
mod held;
mod pace;
mod publish;
mod pubsub;
mod rabbitmq;
mod sizes;
mod spool;
mod sqs;

pub use config::{ConfigError, SourceConfig};
pub use connect::{Secrets, connect};
pub use examine::{examine, examine_publishing};
pub use publish::publisher;
pub use pubsub::Config as PubsubConfig;
pub use rabbitmq::Config as RabbitmqConfig;
pub use spool::Config as SpoolConfig;
pub use sqs::{Config as SqsConfig, payload as sqs_payload};

/// Most bytes of one message that are handed over, one more than is ever kept: whoever reads it sees that it is too
/// large. Only its head is read where it lies in a file or a bucket.
const MOST_BYTES: usize = 16 * 1024 * 1024 + 1;

/// How long one call of `receive` waits for a first message.
const LONG_POLL: std::time::Duration = std::time::Duration::from_secs(20);
