//! The delivery loop of one destination: one process at a time serves it, so that order and rate are global.
//!
//! Before a report is sent that is noted; where a try began and nobody heard how it ended, the destination is asked first
//! whether it shows the report. What a destination refuses for good goes to the next one of the alert's route that wants it.
//! A command that shows its own cases alone does it in the same way.

mod giving_up;
mod handing_on;
mod of_cases;
#[cfg(test)]
mod tests;
mod trying;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use nightshift_engine::{Meter, with_causes};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

pub use giving_up::{GivenUp, GivingUp};
pub use handing_on::HandingOn;

use super::{DigestPlan, PAUSE, pause};
use crate::spans;
use crate::{CanaryEnding, Destination, Due, Outbox, StoreError, Wake};
use trying::Went;

/// How long a process serves a destination without renewal, which comes before each send: longer than one takes.
const LEASE: Duration = Duration::from_secs(45);
/// Reports of one round where none has to wait for another.
const MOST: usize = 20;
/// Reports that are read at once where each waits for the one before it: to put them in order costs the more the more
/// of them wait.
const MOST_PACED: usize = 50;
/// Longest time for which nobody asks a destination that wants to be left alone: what it said is of one report, and the next
/// try tells whether it still holds.
const LONGEST_REST: Duration = Duration::from_secs(60);
/// How long their order is believed without a ring: what is tried again becomes due without one, and another process on
/// SQLite rings none here.
const IN_ORDER: Duration = Duration::from_secs(10);

/// How a round ended.
enum Round {
    /// There may be more that is due.
    More,
    /// Nothing is due, or not for us.
    Over,
    /// The destination wants to be left alone for so long.
    LeftAlone(Duration),
}

/// Shows reports at one destination until it is told to stop.
pub struct Delivering {
    /// What is due.
    pub outbox: Arc<dyn Outbox>,
    /// What the destination is, e.g. `slack`, as the configuration calls it.
    pub kind: String,
    /// Where it goes.
    pub destination: Arc<dyn Destination>,
    /// Who takes what it refuses for good.
    pub handing_on: Arc<HandingOn>,
    /// Rings when there may be work.
    pub wake: Arc<dyn Wake>,
    /// Where measurements go.
    pub meter: Arc<dyn Meter>,
    /// The name of this process, unlike that of any other.
    pub holder: String,
    /// The daily digest, where it is posted here.
    pub digest: Option<DigestPlan>,
    /// How canaries end that are shown here.
    pub canary: Option<CanaryEnding>,
}

impl Delivering {
    /// Runs until it is told to stop; a send that is under way then has a few seconds to end.
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

    /// What is due now, of a destination that this process serves.
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
            // What is more severe does not wait for those that were read before it.
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
                // Something more severe may have come while it was tried.
                Went::Badly => return Ok(round),
                Went::LeftAlone(time) => return Ok(Round::LeftAlone(time)),
            }
        }
        Ok(round)
    }

    /// Posts the digest where it is due. Reports do not wait for one that cannot be made.
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

    /// Whether the bell rang after the ring that was heard last; it is heard now.
    fn has_rung(&self, heard: &mut u64) -> bool {
        let rung = self.wake.wait_for_work(*heard).now_or_never();
        let rung = rung.filter(|number| number > heard);
        *heard = rung.unwrap_or(*heard);
        rung.is_some()
    }

    /// Whether this process serves the destination, for another while.
    async fn serves(&self) -> Result<bool, StoreError> {
        let name = self.destination.name();
        self.outbox.serve(name, &self.holder, LEASE).await
    }

    /// Serves it no more.
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

    /// Shows one report. None: it is not for us any more, or we are told to stop.
    async fn in_turn(
        &self,
        due: Due,
        stop: &CancellationToken,
    ) -> Result<Option<Went>, StoreError> {
        if stop.is_cancelled() || !self.serves().await? {
            return Ok(None);
        }
        let span = spans::of_delivery(self.destination.name(), &due);
        // What it holds across its waits is large, and would be in all around it.
        Box::pin(self.show(due).instrument(span)).await.map(Some)
    }
}
