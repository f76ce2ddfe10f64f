//! Implements the delivery loop of one destination. One process at a time serves a destination, so that order and rate
//! limit hold globally.
//!
//! An attempt is noted before the report is sent. After an attempt with an unknown result, the destination is first
//! asked whether it shows the report. A report that a destination refuses permanently goes to the next destination of
//! the alert's route that wants it. A command that shows its own cases uses the same code.

mod attempt;
mod failover;
mod give_up;
mod selected_cases;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use nightshift_engine::error_chain::format_error_chain;
use nightshift_engine::port::Meter;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

pub use failover::Failover;
pub use give_up::{GiveUpOutcome, GiveUpTask};

use super::{DigestPlan, RETRY_PAUSE, pause};
use crate::canary::CanaryCloser;
use crate::port::{Destination, Outbox, PendingDelivery, StoreError, WorkNotifier};
use crate::spans;
use attempt::AttemptOutcome;

/// Duration of the lease for a destination. The lease is renewed before each send and is longer than one send takes.
const LEASE_DURATION: Duration = Duration::from_secs(45);
/// Reports of one round if the destination has no pace.
const MAX_ROUND: usize = 20;
/// Maximum number of reports that are read at once if the destination limits the rate. Sorting costs more the more
/// reports wait.
const MAX_PACED_ROUND: usize = 50;
/// Maximum time for which a busy destination is not asked. The time that it named is about one report, and the next
/// attempt shows whether it still holds.
const MAX_THROTTLE_PAUSE: Duration = Duration::from_secs(60);
/// The time for which the order of reports is kept without a notification. Retries become due without one, and another
/// process on SQLite sends none here.
const ORDER_TTL: Duration = Duration::from_secs(10);

/// Result of one round.
enum RoundOutcome {
    /// More reports may be due.
    More,
    /// Nothing is due, or another process serves the destination.
    Idle,
    /// The destination asks for a pause of this length.
    Throttled(Duration),
}

/// Shows reports at one destination until it is stopped.
pub struct DeliveryLoop {
    /// Store of due reports.
    pub outbox: Arc<dyn Outbox>,
    /// Kind of the destination as in the configuration, such as `slack`.
    pub kind: String,
    pub destination: Arc<dyn Destination>,
    /// Finds another destination for reports that this one refuses permanently.
    pub failover: Arc<Failover>,
    /// Notifies when there may be work.
    pub notifier: Arc<dyn WorkNotifier>,
    pub meter: Arc<dyn Meter>,
    /// Unique name of this process.
    pub holder: String,
    /// The daily digest, if it is posted here.
    pub digest: Option<DigestPlan>,
    /// Closes canaries that are shown here.
    pub canary: Option<CanaryCloser>,
}

impl DeliveryLoop {
    /// Runs until `stop` is cancelled. A send in progress then has a few seconds to finish.
    pub async fn run(&self, stop: &CancellationToken) {
        let span = spans::destination_span(self.destination.name());
        self.run_until(stop).instrument(span).await;
    }

    async fn run_until(&self, stop: &CancellationToken) {
        let mut heard = 0;
        let mut rests = Instant::now();
        while !stop.is_cancelled() {
            let round = match self.acquire_lease().await {
                Ok(true) if rests <= Instant::now() => self.run_round(&mut heard, stop).await,
                served => served.map(|_| RoundOutcome::Idle),
            };
            match round {
                Ok(RoundOutcome::More) => continue,
                Ok(RoundOutcome::Idle) => {}
                Ok(RoundOutcome::Throttled(time)) => {
                    rests = Instant::now() + time.min(MAX_THROTTLE_PAUSE)
                }
                Err(error) => {
                    let error = format_error_chain(&error);
                    tracing::warn!(error, "cannot read the outbox; retrying");
                    pause(RETRY_PAUSE, stop).await;
                }
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep_until(rests), if rests > Instant::now() => {}
                number = self.notifier.wait_for_work(heard) => heard = number,
            }
        }
        self.release_lease().await;
    }

    /// Shows the due reports if this process serves the destination.
    async fn run_round(
        &self,
        heard: &mut u64,
        stop: &CancellationToken,
    ) -> Result<RoundOutcome, StoreError> {
        self.post_due_digest().await;
        let is_paced = !self.destination.send_interval().is_zero();
        let most = if is_paced { MAX_PACED_ROUND } else { MAX_ROUND };
        let due = self
            .outbox
            .due_deliveries(self.destination.name(), most)
            .await?;
        let read = Instant::now();
        let round = if due.is_empty() {
            RoundOutcome::Idle
        } else {
            RoundOutcome::More
        };
        for (number, one) in due.into_iter().enumerate() {
            // A more severe report does not wait for those that were read before it.
            let is_next = is_paced && number > 0;
            if is_next && (read.elapsed() >= ORDER_TTL || self.was_notified(heard)) {
                return Ok(round);
            }
            let is_wanted = self.destination.wants(&one.payload);
            let Some(shown) = self.deliver_under_lease(one, stop).await? else {
                return Ok(RoundOutcome::Idle);
            };
            if is_wanted {
                pause(self.destination.send_interval(), stop).await;
            }
            match shown {
                AttemptOutcome::Success => {}
                // A more severe report may have arrived during the attempt.
                AttemptOutcome::Failure => return Ok(round),
                AttemptOutcome::Throttled(time) => return Ok(RoundOutcome::Throttled(time)),
            }
        }
        Ok(round)
    }

    /// Posts the digest when it is due. Reports do not wait for a digest that cannot be made.
    async fn post_due_digest(&self) {
        let Some(digest) = &self.digest else {
            return;
        };
        let (outbox, meter) = (self.outbox.as_ref(), self.meter.as_ref());
        let made = digest
            .post_if_due(outbox, self.destination.as_ref(), meter)
            .await;
        if let Err(error) = made {
            let error = format_error_chain(&error);
            tracing::warn!(error, "cannot build digest; retrying");
        }
    }

    /// Returns whether there was a notification after the last seen one, and marks it as seen.
    fn was_notified(&self, heard: &mut u64) -> bool {
        let rung = self.notifier.wait_for_work(*heard).now_or_never();
        let rung = rung.filter(|number| number > heard);
        *heard = rung.unwrap_or(*heard);
        rung.is_some()
    }

    /// Takes or renews the lease for the destination, and returns whether this process holds it.
    async fn acquire_lease(&self) -> Result<bool, StoreError> {
        let name = self.destination.name();
        self.outbox
            .acquire_lease(name, &self.holder, LEASE_DURATION)
            .await
    }

    /// Releases the lease for the destination.
    async fn release_lease(&self) {
        let left = self
            .outbox
            .release_lease(self.destination.name(), &self.holder)
            .await;
        if let Err(error) = left {
            tracing::debug!(
                error = format_error_chain(&error),
                "cannot release the lease for the destination; it expires by itself"
            );
        }
    }

    /// Shows one report. Returns `None` if this process no longer serves the destination or `stop` is cancelled.
    async fn deliver_under_lease(
        &self,
        due: PendingDelivery,
        stop: &CancellationToken,
    ) -> Result<Option<AttemptOutcome>, StoreError> {
        if stop.is_cancelled() || !self.acquire_lease().await? {
            return Ok(None);
        }
        let span = spans::delivery_span(self.destination.name(), &due);
        // The future holds large state across its waits; boxing keeps the outer futures small.
        Box::pin(self.attempt(due).instrument(span)).await.map(Some)
    }
}
