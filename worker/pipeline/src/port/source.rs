//! Defines sources of messages: queues, folders, the demo.
//!
//! A source handles bytes, not alerts. It keeps a delivered message until that is settled, and redelivers it if it
//! never is: a duplicate becomes a sighting, a loss would be final. A source rebuilds its connection and paces its own
//! retries, so the caller handles an error by calling again.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

/// A message of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Id at the source, used to settle the message.
    pub id: String,
    pub bytes: Vec<u8>,
    /// The attributes. Those of a CloudEvent in binary mode are called `ce-…`, regardless of their names in the
    /// protocol.
    pub attributes: BTreeMap<String, String>,
}

/// The action of a source on a message after the commit of its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// The whole content is committed.
    Ack,
    /// The message is committed, but a part could not be read or stored unchanged and became a dead letter.
    DeadLetter,
    /// Nothing is committed: the message is nacked and redelivered to this or another process.
    Nack,
}

/// A message with its disposition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// Id of the message at the source.
    pub id: String,
    pub disposition: Disposition,
}

/// A message that the source could not settle. It is redelivered, as a sighting if it was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettleError {
    /// Id of the message at the source.
    pub id: String,
    /// Error text of the source.
    pub why: String,
}

/// A queue, folder or demo that delivers messages.
#[async_trait]
pub trait Source: Send + Sync {
    /// Returns the name in configuration and metrics.
    fn name(&self) -> &str;

    /// Returns the kind, as in OpenTelemetry's `messaging.system`.
    fn kind(&self) -> &'static str {
        "nightshift"
    }

    /// Receives at most this many messages. The call waits up to about 20 seconds for the first one; then the list is
    /// empty. `None` means that there will be no further message, which a queue never returns.
    ///
    /// The future may be dropped at any await: a message in transit is delivered by the next call or redelivered later.
    /// Calls may overlap. `most` is the room in addition to all delivered and unsettled messages.
    ///
    /// # Errors
    ///
    /// Returns an error when the source cannot be read; its messages stay there. Call again at once: the source itself
    /// waits before it retries.
    async fn receive(&self, most: usize) -> Result<Option<Vec<Message>>, SourceError>;

    /// Settles messages in the order in which they were received. Retries where that can help, and returns those that
    /// could not be settled.
    async fn settle(&self, settled: &[Settlement]) -> Vec<SettleError>;

    /// Returns how long messages are held without [`Source::extend`]; `None` means as long as the source lives.
    fn visibility_timeout(&self) -> Option<Duration> {
        None
    }

    /// Holds messages for another [`Source::visibility_timeout`], and returns those for which that failed.
    async fn extend(&self, ids: &[String]) -> Vec<SettleError> {
        let _ = ids;
        Vec::new()
    }

    /// Returns whether messages can be received.
    ///
    /// # Errors
    ///
    /// Returns the reason, for people, why messages cannot be received.
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    /// Nacks all unsettled messages and ends the source: later calls of `receive` return the end. Waits for running
    /// receivers, so drop those first.
    async fn close(&self) {}
}

/// Error of reading a source.
#[derive(Debug, thiserror::Error)]
#[error("the source {source_name} cannot be read")]
pub struct SourceError {
    pub source_name: String,
    #[source]
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}
