//! Where a message can be put so that a source hands it over: for canaries, which have to come the whole way.

use async_trait::async_trait;

/// A message that is put into a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Its name: a queue that knows doubles takes it once. Letters, digits and dashes, at most 80 of them.
    pub id: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Puts messages where a source takes them.
#[async_trait]
pub trait Publish: Send + Sync {
    /// The source's name in configuration and metrics.
    fn name(&self) -> &str;

    /// Puts a message there, and returns once it is kept as safely as any other: confirmed by its broker, synced to its
    /// disk. Ends by itself, within half a minute.
    ///
    /// # Errors
    ///
    /// When it is not known to be there.
    async fn publish(&self, message: &Outgoing) -> Result<(), PublishError>;
}

/// A message may not have been put where it should be.
#[derive(Debug, thiserror::Error)]
#[error("nothing can be put into the source {source_name}: {what}")]
pub struct PublishError {
    /// The source's name.
    pub source_name: String,
    /// Why, for people.
    pub what: String,
}
