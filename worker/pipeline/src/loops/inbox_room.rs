//! How many alerts the inbox has room for: intake stops above `inbox_max`, and a flood stays in its broker.
//!
//! One task reads how many cases wait, all sources ask here. Until it was read once there is no room: a store that nobody
//! can read takes nothing either.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::{Accepted, Arrival, Inbox, StoreError};

/// The room of the inbox.
#[derive(Debug)]
pub struct InboxRoom {
    most: u64,
    waiting: watch::Sender<Option<u64>>,
    is_refused: AtomicBool,
}

impl InboxRoom {
    /// Room for so many cases that wait.
    #[must_use]
    pub fn new(most: u64) -> Self {
        Self {
            most,
            waiting: watch::Sender::new(None),
            is_refused: AtomicBool::new(false),
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

    /// Whether the last batch was not committed. A full disk or a standby may be read all the while.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
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

/// An inbox whose room hears whether it takes what it is given.
pub struct Heard {
    /// The inbox.
    pub inbox: Arc<dyn Inbox>,
    /// Its room.
    pub room: Arc<InboxRoom>,
}

#[async_trait]
impl Inbox for Heard {
    async fn accept(&self, batch: Arc<[Arrival]>) -> Result<Vec<Accepted>, StoreError> {
        let accepted = self.inbox.accept(batch).await;
        self.room
            .is_refused
            .store(accepted.is_err(), Ordering::Relaxed);
        accepted
    }
}
