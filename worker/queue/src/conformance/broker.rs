//! What the suite needs of a queue beside the source under test: to put messages in, and to see what is left.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_pipeline::{Publish, Source};

/// A queue of a test's own.
#[async_trait]
pub(super) trait Broker: Send + Sync {
    /// Puts messages in, in order; done when the queue has them.
    async fn publish(&self, bodies: Vec<Vec<u8>>, attributes: &[(&str, &str)]);

    /// A source that takes from it, as another process would have one.
    async fn source(&self) -> Arc<dyn Source>;

    /// The same, of a process that will die: what it leaves behind comes again soon.
    async fn dying(&self) -> Arc<dyn Source> {
        self.source().await
    }

    /// Where our own messages are put; none where nothing of ours can be.
    async fn publisher(&self) -> Option<Arc<dyn Publish>> {
        None
    }

    /// How many messages are in it that nobody holds; and, where the queue counts them, those that somebody holds.
    async fn left(&self) -> usize;

    /// Whether bodies may be any bytes, or must be text.
    fn is_binary(&self) -> bool {
        true
    }

    /// Whether attributes of a publisher travel with a message.
    fn has_attributes(&self) -> bool {
        true
    }
}
