//! Limits the inbox: intake stops above `inbox_max`, and a flood stays in its broker.
//!
//! One task counts the waiting cases, and all sources ask here. There is no room until the first count, because a
//! store that cannot be read does not accept alerts either.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::intake::Arrival;
use crate::port::{AcceptedAlert, Inbox, StoreError};

/// Remaining room of the inbox.
#[derive(Debug)]
pub struct InboxCapacity {
    most: u64,
    waiting: watch::Sender<Option<u64>>,
    is_refused: AtomicBool,
}

impl InboxCapacity {
    /// Creates room for this many waiting cases.
    #[must_use]
    pub fn new(most: u64) -> Self {
        Self {
            most,
            waiting: watch::Sender::new(None),
            is_refused: AtomicBool::new(false),
        }
    }

    /// Sets the number of waiting cases.
    pub fn update(&self, waiting: u64) {
        let was_full = self.is_full();
        self.waiting.send_replace(Some(waiting));
        let is_full = self.is_full();
        if is_full && !was_full {
            tracing::warn!(waiting, most = self.most, "inbox full; pausing intake");
        } else if was_full && !is_full {
            tracing::info!(waiting, "the inbox has room again");
        }
    }

    /// Returns whether the inbox is known to be full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.remaining() == Some(0)
    }

    /// Returns whether the last batch was not committed. A store with a full disk, or a standby, may still be
    /// readable.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Counts this many more waiting cases until the next count.
    pub(super) fn add_waiting(&self, more: u64) {
        self.waiting.send_modify(|waiting| {
            if let Some(waiting) = waiting {
                *waiting = waiting.saturating_add(more);
            }
        });
    }

    /// Waits until there is room, and returns how much.
    pub(super) async fn wait_for_capacity(&self) -> u64 {
        let mut waiting = self.waiting.subscribe();
        loop {
            if let Some(left) = self.remaining().filter(|left| *left > 0) {
                return left;
            }
            if waiting.changed().await.is_err() {
                // The sender is owned by `self`, so this does not happen.
                return 0;
            }
        }
    }

    fn remaining(&self) -> Option<u64> {
        let waiting = *self.waiting.borrow();
        waiting.map(|waiting| self.most.saturating_sub(waiting))
    }
}

/// An inbox that records in its room whether batches are committed.
pub struct MonitoredInbox {
    pub inbox: Arc<dyn Inbox>,
    pub capacity: Arc<InboxCapacity>,
}

#[async_trait]
impl Inbox for MonitoredInbox {
    async fn accept(&self, batch: Arc<[Arrival]>) -> Result<Vec<AcceptedAlert>, StoreError> {
        let accepted = self.inbox.accept(batch).await;
        self.capacity
            .is_refused
            .store(accepted.is_err(), Ordering::Relaxed);
        accepted
    }
}
