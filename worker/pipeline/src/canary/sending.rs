//! The loop that sends canaries: one in each interval, by one of all processes. Which one is agreed over the store, by a
//! lease such as destinations are served with.

use std::sync::Arc;
use std::time::Duration;

use nightshift_engine::with_causes;
use tokio_util::sync::CancellationToken;

use super::{Canary, CanaryEnding};
use crate::loops::{PAUSE, pause};
use crate::{CaseFilter, Cases, DeliveryRow, DeskStatus, Outbox, Outgoing, Publish, StoreError};

/// The lease ends so long before its interval does, so that it is free when the next one begins.
const MARGIN: Duration = Duration::from_secs(1);
/// Between two tries to send one that its broker did not take.
const AGAIN: Duration = Duration::from_secs(10);
/// Most canaries that are looked through for one whose end was not noted.
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
    pub cases: Arc<dyn Cases>,
    /// How they end.
    pub ending: CanaryEnding,
    /// The name of this process, unlike that of any other.
    pub holder: String,
}

impl CanarySending {
    /// Runs until it is told to stop.
    pub async fn run(&self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            let sent = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                sent = self.round() => sent,
            };
            let wait = sent.unwrap_or_else(|error| {
                tracing::warn!(error = with_causes(&error), "no canary is sent");
                PAUSE
            });
            pause(wait, stop).await;
        }
    }

    /// Sends the canary of this interval, if that is for this process to do; how long to wait until the next.
    async fn round(&self) -> Result<Duration, StoreError> {
        let (number, left) = self.canary.interval(self.ending.clock.now());
        let Some(lease) = left.checked_sub(MARGIN).filter(|lease| !lease.is_zero()) else {
            return Ok(left);
        };
        if self
            .outbox
            .serve(&self.lease(), &self.holder, lease)
            .await?
        {
            self.close_shown().await?;
            self.send(number).await;
        }
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

    /// Ends canaries that are shown and whose end was not noted, because a process died that moment.
    async fn close_shown(&self) -> Result<(), StoreError> {
        let filter = CaseFilter {
            feed: Some(nightshift_alert::CANARY_FEED.to_owned()),
            desk: Some(DeskStatus::Open),
            limit: MOST_OPEN,
            ..CaseFilter::default()
        };
        // What was not shown because it was too late has no name at its destination.
        let is_shown = |one: &DeliveryRow| one.sent > 0 && one.remote_id.is_some();
        for row in self.cases.list(&filter).await? {
            let view = self.cases.view(&row.id.0).await?;
            if view.deliveries.iter().any(is_shown) {
                self.ending.shown(&row.id, row.desk).await?;
            }
        }
        Ok(())
    }
}
