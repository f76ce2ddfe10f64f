//! Defines the functions that the suite needs of a queue beside the source under test: publishing messages, and
//! counting the rest.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_pipeline::port::{Publish, Source};

/// A queue of one test.
#[async_trait]
pub(super) trait Broker: Send + Sync {
    /// Publishes messages in order, and returns when the queue has them.
    async fn publish(&self, bodies: Vec<Vec<u8>>, attributes: &[(&str, &str)]);

    /// Returns a source that takes from the queue, as in another process.
    async fn source(&self) -> Arc<dyn Source>;

    /// Returns a source of a process that will die: its unsettled messages are redelivered soon.
    async fn dying(&self) -> Arc<dyn Source> {
        self.source().await
    }

    /// Returns the publisher of canaries, or `None` if the source has none.
    async fn publisher(&self) -> Option<Arc<dyn Publish>> {
        None
    }

    /// Returns the number of messages that are not held, plus held messages if the queue counts them.
    async fn left(&self) -> usize;

    /// Returns whether bodies may be any bytes, or must be text.
    fn is_binary(&self) -> bool {
        true
    }

    /// Returns whether attributes of a publisher travel with a message.
    fn has_attributes(&self) -> bool {
        true
    }
}
