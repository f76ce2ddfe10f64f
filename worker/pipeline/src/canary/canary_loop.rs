//! Implements the loop that sends canaries: one process sends one in each interval. The processes agree by a lease in
//! the store, as for destinations.

use std::sync::Arc;
use std::time::Duration;

use nightshift_engine::error_chain::format_error_chain;
use tokio_util::sync::CancellationToken;

use super::{Canary, CanaryCloser};
use crate::loops::{RETRY_PAUSE, pause};
use crate::port::{Canaries, Outbox, OutgoingMessage, Publish, StoreError};

/// Time between the end of the lease and the end of its interval, so that the lease is free when the next begins.
const LEASE_MARGIN: Duration = Duration::from_secs(1);
/// Pause between attempts after the broker refused a canary.
const RESEND_PAUSE: Duration = Duration::from_secs(10);
/// Maximum number of canaries with an unnoted end that are closed at once.
const MOST_OPEN: usize = 10;

/// Sends canaries until it is stopped.
pub struct CanaryLoop {
    pub canary: Canary,
    /// Queue that receives the canaries.
    pub publisher: Arc<dyn Publish>,
    /// Store of the lease that decides which process sends.
    pub outbox: Arc<dyn Outbox>,
    pub cases: Arc<dyn Canaries>,
    /// Closes canaries that are shown.
    pub closer: CanaryCloser,
    /// Unique name of this process.
    pub holder: String,
}

impl CanaryLoop {
    /// Sends canaries until `stop` is cancelled.
    pub async fn run(&self, stop: &CancellationToken) {
        let mut is_due = false;
        while !stop.is_cancelled() {
            let sent = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                sent = self.run_interval(&mut is_due) => sent,
            };
            let wait = sent.unwrap_or_else(|error| {
                tracing::warn!(
                    error = format_error_chain(&error),
                    "cannot decide which process sends the canary; retrying"
                );
                RETRY_PAUSE
            });
            pause(wait, stop).await;
        }
        if is_due {
            self.release_lease().await;
        }
    }

    /// Releases the lease for a canary that was not sent, so that another process can send it, for example with a
    /// corrected key. After a successful send the lease stays until the interval ends, so that no second canary is
    /// sent.
    async fn release_lease(&self) {
        if let Err(error) = self
            .outbox
            .release_lease(&self.lease_name(), &self.holder)
            .await
        {
            tracing::debug!(
                error = format_error_chain(&error),
                "cannot release the canary lease; it expires by itself"
            );
        }
    }

    /// Sends the canary of this interval if this process holds the lease, and returns how long to wait for the next.
    /// `is_due` is true while this process holds the lease and has not sent.
    async fn run_interval(&self, is_due: &mut bool) -> Result<Duration, StoreError> {
        let (number, left) = self.canary.interval(self.closer.clock.now());
        let Some(lease) = left
            .checked_sub(LEASE_MARGIN)
            .filter(|lease| !lease.is_zero())
        else {
            return Ok(left);
        };
        *is_due = true;
        let name = self.lease_name();
        if self
            .outbox
            .acquire_lease(&name, &self.holder, lease)
            .await?
        {
            self.close_shown().await?;
            self.send(number).await;
        }
        *is_due = false;
        let (now, left) = self.canary.interval(self.closer.clock.now());
        Ok(if now == number { left } else { Duration::ZERO })
    }

    /// Returns the name of the sender's lease, which no destination has. The name contains the interval length, so
    /// that a shorter interval does not wait for the end of a longer one.
    fn lease_name(&self) -> String {
        format!("(canary {})", self.canary.every.as_secs())
    }

    /// Sends the canary with this number. A failed send is repeated until the interval ends.
    async fn send(&self, number: i64) {
        loop {
            let now = self.closer.clock.now();
            let (current, left) = self.canary.interval(now);
            if current != number {
                return;
            }
            let Err(why) = self.try_to_send(number).await else {
                tracing::debug!(number, source.name = self.publisher.name(), "canary sent");
                return;
            };
            tracing::warn!(number, why, "cannot send canary; retrying");
            tokio::time::sleep(RESEND_PAUSE.min(left)).await;
        }
    }

    async fn try_to_send(&self, number: i64) -> Result<(), String> {
        let bytes = self.canary.message(number, self.closer.clock.now())?;
        let id = format!("nightshift-canary-{number}");
        let sent = self.publisher.publish(&OutgoingMessage { id, bytes }).await;
        sent.map_err(|error| error.to_string())
    }

    /// Closes canaries that are shown but whose end was not noted, because a process died at that moment, possibly
    /// long ago.
    async fn close_shown(&self) -> Result<(), StoreError> {
        for (id, at) in self.cases.open_canaries(MOST_OPEN).await? {
            self.closer.close_at(&id, at).await?;
        }
        Ok(())
    }
}
