//! Defines the queue of a source as a destination of messages, for canaries, which have to travel the whole path.

use async_trait::async_trait;

/// A message for a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// Id of the message, by which some queues deduplicate: letters, digits and dashes, at most 80.
    pub id: String,
    pub bytes: Vec<u8>,
}

/// Puts messages into the queue of a source.
#[async_trait]
pub trait Publish: Send + Sync {
    /// Returns the name of the source in configuration and metrics.
    fn name(&self) -> &str;

    /// Publishes a message, and returns once the message is as safe as any other: confirmed by the broker or synced
    /// to disk. Returns within half a minute.
    async fn publish(&self, message: &OutgoingMessage) -> Result<(), PublishError>;
}

/// Error of a publication. The message may or may not be in the queue.
#[derive(Debug, thiserror::Error)]
#[error("cannot publish to source {source_name}: {what}")]
pub struct PublishError {
    pub source_name: String,
    /// Reason, for people.
    pub what: String,
}
