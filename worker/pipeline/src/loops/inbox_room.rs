//! How many alerts the inbox has room for: intake stops above `inbox_max`, and a flood stays in its broker.
//!
//! One task reads how many cases wait, all sources ask here. Until it was read once there is no room: a store that nobody
//! can read takes nothing either.

use tokio::sync::watch;

/// The room of the inbox.
#[derive(Debug)]
pub struct InboxRoom {
    most: u64,
    waiting: watch::Sender<Option<u64>>,
}

impl InboxRoom {
    /// Room for so many cases that wait.
    #[must_use]
    pub fn new(most: u64) -> Self {
        Self {
            most,
            waiting: watch::Sender::new(None),
        }
    }

    /// Says how many cases wait now.
    pub fn set(&self, waiting: u64) {
        let was_full = self.is_full();
        self.waiting.send_replace(Some(waiting));
        let is_full = self.is_full();
        if is_full && !was_full {
            tracing::warn!(
                waiting,
                most = self.most,
                "the inbox is full: messages stay at their sources"
            );
        } else if was_full && !is_full {
            tracing::info!(waiting, "the inbox has room again");
        }
    }

    /// Whether it is known that there is no room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.left() == Some(0)
    }

    /// Says that so many more wait, until they are counted again.
    pub(super) fn took(&self, more: u64) {
        self.waiting.send_modify(|waiting| {
            if let Some(waiting) = waiting {
                *waiting = waiting.saturating_add(more);
            }
        });
    }

    /// Waits for room; how much there is.
    pub(super) async fn wait(&self) -> u64 {
        let mut waiting = self.waiting.subscribe();
        loop {
            if let Some(left) = self.left().filter(|left| *left > 0) {
                return left;
            }
            if waiting.changed().await.is_err() {
                // Never: the sender is ours.
                return 0;
            }
        }
    }

    fn left(&self) -> Option<u64> {
        let waiting = *self.waiting.borrow();
        waiting.map(|waiting| self.most.saturating_sub(waiting))
    }
}
