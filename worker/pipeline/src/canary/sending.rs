//! The loop that sends canaries: one in each interval, by one of all processes. Which one is agreed over the store, by a
//! lease such as destinations are served with.

use std::sync::Arc;
use std::time::Duration;

use nightshift_engine::with_causes;
use tokio_util::sync::CancellationToken;

use super::{Canary, CanaryEnding};
use crate::loops::{PAUSE, pause};
use crate::{Canaries, Outbox, Outgoing, Publish, StoreError};

/// The lease ends so long before its interval does, so that it is free when the next one begins.
const MARGIN: Duration = Duration::from_secs(1);
/// Between two tries to send one that its broker did not take.
const AGAIN: Duration = Duration::from_secs(10);
/// Most canaries whose end was not noted that are ended at once.
const MOST_OPEN: usize = 10;

/// Sends canaries until it is told to stop.
pub struct CanarySending {
    /// What is sent.
    pub canary: Canary,
    /// Where it is put.
    pub to: Arc<dyn Publish>,
    /// Which process sends.
    pub outbox: Arc<dyn Outbox>,
    /// The cases of canaries.
    pub cases: Arc<dyn Canaries>,
    /// How they end.
    pub ending: CanaryEnding,
    /// The name of this process, unlike that of any other.
    pub holder: String,
}

impl CanarySending {
    /// Runs until it is told to stop.
    pub async fn run(&self, stop: &CancellationToken) {
        let mut owes = false;
        while !stop.is_cancelled() {
            let sent = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                sent = self.round(&mut owes) => sent,
            };
            let wait = sent.unwrap_or_else(|error| {
                tracing::warn!(error = with_causes(&error), "no canary is sent");
                PAUSE
            });
            pause(wait, stop).await;
        }
        if owes {
            self.leave().await;
        }
    }

    /// Leaves the canary of this interval, which is not sent, to whoever asks next: a configuration whose key was mended, say.
    /// Once it is sent the lease stays until the interval ends, or there would be two.
    async fn leave(&self) {
        if let Err(error) = self.outbox.leave(&self.lease(), &self.holder).await {
            tracing::debug!(
                error = with_causes(&error),
                "canaries could not be left to others; the lease ends by itself"
            );
        }
    }

    /// Sends the canary of this interval, if that is for this process to do; how long to wait until the next. `owes` says at
    /// any time whether it may be for this process alone, and is not sent.
    async fn round(&self, owes: &mut bool) -> Result<Duration, StoreError> {
        let (number, left) = self.canary.interval(self.ending.clock.now());
        let Some(lease) = left.checked_sub(MARGIN).filter(|lease| !lease.is_zero()) else {
            return Ok(left);
        };
        *owes = true;
        let name = self.lease();
        if self.outbox.serve(&name, &self.holder, lease).await? {
            self.close_shown().await?;
            self.send(number).await;
        }
        *owes = false;
        let (now, left) = self.canary.interval(self.ending.clock.now());
        Ok(if now == number { left } else { Duration::ZERO })
    }

    /// Who sends has the lease of this name, which no destination has. It is kept until its interval ends, so each length has
    /// its own: where a shorter one is taken up, nobody waits for the end of a longer one.
    fn lease(&self) -> String {
        format!("(canary {})", self.canary.every.as_secs())
    }

    /// Sends it; again and again while that fails, as long as its interval lasts.
    async fn send(&self, number: i64) {
        loop {
            let now = self.ending.clock.now();
            let (current, left) = self.canary.interval(now);
            if current != number {
                return;
            }
            let Err(why) = self.try_to_send(number).await else {
                tracing::debug!(number, source.name = self.to.name(), "a canary is sent");
                return;
            };
            tracing::warn!(number, why, "a canary could not be sent; it is tried again");
            tokio::time::sleep(AGAIN.min(left)).await;
        }
    }

    async fn try_to_send(&self, number: i64) -> Result<(), String> {
        let bytes = self.canary.message(number, self.ending.clock.now())?;
        let id = format!("nightshift-canary-{number}");
        let sent = self.to.publish(&Outgoing { id, bytes }).await;
        sent.map_err(|error| error.to_string())
    }

    /// Ends canaries that are shown and whose end was not noted, because a process died that moment. It may be long ago.
    async fn close_shown(&self) -> Result<(), StoreError> {
        for (id, at) in self.cases.open_canaries(MOST_OPEN).await? {
            self.ending.shown_at(&id, at).await?;
        }
        Ok(())
    }
}
