//! The delivery loop of one destination. One process at a time serves a destination, so that order and rate limit
//! hold globally.
//!
//! An attempt is noted before the report is sent. After an attempt with an unknown result, the destination is first
//! asked whether it shows the report. A report that a destination refuses for good goes to the next destination of
//! the alert's route that wants it. A command that shows its own cases uses the same code.

mod giving_up;
mod handing_on;
mod of_cases;
#[cfg(test)]
mod tests;
mod trying;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use nightshift_engine::causes::with_causes;
use nightshift_engine::port::Meter;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

pub use giving_up::{GivenUp, GivingUp};
pub use handing_on::HandingOn;

use super::{DigestPlan, PAUSE, pause};
use crate::canary::CanaryEnding;
use crate::port::{Destination, Due, Outbox, StoreError, Wake};
use crate::spans;
use trying::Went;

/// Duration of the lease for a destination. The lease is renewed before each send and is longer than one send takes.
const LEASE: Duration = Duration::from_secs(45);
/// Reports of one round if the destination has no pace.
const MOST: usize = 20;
/// Reports that are read at once if the destination has a pace. Sorting costs more the more reports wait.
const MOST_PACED: usize = 50;
/// Longest time for which a busy destination is not asked. The time that it named is about one report, and the next
/// attempt shows whether it still holds.
const LONGEST_REST: Duration = Duration::from_secs(60);
/// How long the order of reports is kept without a notification. Retries become due without one, and another process
/// on SQLite sends none here.
const IN_ORDER: Duration = Duration::from_secs(10);

/// Result of one round.
enum Round {
    /// More reports may be due.
    More,
    /// Nothing is due, or another process serves the destination.
    Over,
    /// The destination asks for a pause of this length.
    LeftAlone(Duration),
}

/// Shows reports at one destination until it is stopped.
pub struct Delivering {
    /// Store of due reports.
    pub outbox: Arc<dyn Outbox>,
    /// Kind of the destination as in the configuration, such as `slack`.
    pub kind: String,
    pub destination: Arc<dyn Destination>,
    /// Finds another destination for reports that this one refuses for good.
    pub handing_on: Arc<HandingOn>,
    /// Notifies when there may be work.
    pub wake: Arc<dyn Wake>,
    pub meter: Arc<dyn Meter>,
    /// Unique name of this process.
    pub holder: String,
    /// The daily digest, if it is posted here.
    pub digest: Option<DigestPlan>,
    /// Closes canaries that are shown here.
    pub canary: Option<CanaryEnding>,
}

impl Delivering {
    /// Runs until `stop` is cancelled. A send in progress then has a few seconds to finish.
    pub async fn run(&self, stop: &CancellationToken) {
        let span = spans::of_destination(self.destination.name());
        self.show_until(stop).instrument(span).await;
    }

    async fn show_until(&self, stop: &CancellationToken) {
        let mut heard = 0;
        let mut rests = Instant::now();
        while !stop.is_cancelled() {
            let round = match self.serves().await {
                Ok(true) if rests <= Instant::now() => self.round(&mut heard, stop).await,
                served => served.map(|_| Round::Over),
            };
            match round {
                Ok(Round::More) => continue,
                Ok(Round::Over) => {}
                Ok(Round::LeftAlone(time)) => rests = Instant::now() + time.min(LONGEST_REST),
                Err(error) => {
                    let error = with_causes(&error);
                    tracing::warn!(error, "nothing is delivered");
                    pause(PAUSE, stop).await;
                }
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep_until(rests), if rests > Instant::now() => {}
                number = self.wake.wait_for_work(heard) => heard = number,
            }
        }
        self.leave().await;
    }

    /// Shows the due reports if this process serves the destination.
    async fn round(&self, heard: &mut u64, stop: &CancellationToken) -> Result<Round, StoreError> {
        self.see_to_digest().await;
        let is_paced = !self.destination.pace().is_zero();
        let most = if is_paced { MOST_PACED } else { MOST };
        let due = self.outbox.due(self.destination.name(), most).await?;
        let read = Instant::now();
        let round = if due.is_empty() {
            Round::Over
        } else {
            Round::More
        };
        for (number, one) in due.into_iter().enumerate() {
            // A more severe report does not wait for those that were read before it.
            let is_next = is_paced && number > 0;
            if is_next && (read.elapsed() >= IN_ORDER || self.has_rung(heard)) {
                return Ok(round);
            }
            let is_wanted = self.destination.wants(&one.showing);
            let Some(shown) = self.in_turn(one, stop).await? else {
                return Ok(Round::Over);
            };
            if is_wanted {
                pause(self.destination.pace(), stop).await;
            }
            match shown {
                Went::Well => {}
                // A more severe report may have arrived during the attempt.
                Went::Badly => return Ok(round),
                Went::LeftAlone(time) => return Ok(Round::LeftAlone(time)),
            }
        }
        Ok(round)
    }

    /// Posts the digest when it is due. Reports do not wait for a digest that cannot be made.
    async fn see_to_digest(&self) {
        let Some(digest) = &self.digest else {
            return;
        };
        let (outbox, meter) = (self.outbox.as_ref(), self.meter.as_ref());
        let made = digest.round(outbox, self.destination.as_ref(), meter).await;
        if let Err(error) = made {
            let error = with_causes(&error);
            tracing::warn!(error, "the digest could not be made; it is tried again");
        }
    }

    /// Returns whether there was a notification after the last seen one, and marks it as seen.
    fn has_rung(&self, heard: &mut u64) -> bool {
        let rung = self.wake.wait_for_work(*heard).now_or_never();
        let rung = rung.filter(|number| number > heard);
        *heard = rung.unwrap_or(*heard);
        rung.is_some()
    }

    /// Takes or renews the lease for the destination, and returns whether this process holds it.
    async fn serves(&self) -> Result<bool, StoreError> {
        let name = self.destination.name();
        self.outbox.serve(name, &self.holder, LEASE).await
    }

    /// Releases the lease for the destination.
    async fn leave(&self) {
        let left = self
            .outbox
            .leave(self.destination.name(), &self.holder)
            .await;
        if let Err(error) = left {
            tracing::debug!(
                error = with_causes(&error),
                "a destination could not be left; its lease ends by itself"
            );
        }
    }

    /// Shows one report. Returns `None` if this process no longer serves the destination or `stop` is cancelled.
    async fn in_turn(
        &self,
        due: Due,
        stop: &CancellationToken,
    ) -> Result<Option<Went>, StoreError> {
        if stop.is_cancelled() || !self.serves().await? {
            return Ok(None);
        }
        let span = spans::of_delivery(self.destination.name(), &due);
        // The future holds large state across its waits; boxing keeps the outer futures small.
        Box::pin(self.show(due).instrument(span)).await.map(Some)
    }
}
