//! Reads the backlog regularly for metrics and the inbox limit. Values that cannot be read are removed after a while,
//! even if the store hangs.

use std::sync::Arc;
use std::time::Duration;

use nightshift_pipeline::budget::DayBudgetTracker;
use nightshift_pipeline::case::Backlog;
use nightshift_pipeline::loops::InboxCapacity;
use nightshift_pipeline::port::{Canaries, Cases, Source, StoreError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::models::ModelsInUse;
use super::worker::WorkerLoop;
use crate::metrics::Metrics;

/// Time between two readings of the backlog.
const READ_INTERVAL: Duration = Duration::from_secs(2);
/// The time for which the last backlog is shown while it cannot be read.
const STALE_AFTER: Duration = Duration::from_secs(15);

pub(super) struct GaugeLoop {
    pub(super) sources: Vec<Arc<dyn Source>>,
    pub(super) cases: Arc<dyn Cases>,
    pub(super) canaries: Option<Arc<dyn Canaries>>,
    pub(super) models: Option<ModelsInUse>,
    pub(super) day_budget: Option<Arc<DayBudgetTracker>>,
    pub(super) meter: Arc<Metrics>,
    pub(super) inbox_capacity: Arc<InboxCapacity>,
}

impl WorkerLoop for GaugeLoop {
    async fn run(self, stop: CancellationToken) {
        let mut looks = tokio::time::interval(READ_INTERVAL);
        let mut seen_at = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = looks.tick() => {}
            }
            if let Some(ModelsInUse { models, names }) = &self.models {
                self.meter.set_circuits(&models.open_circuits(names));
            }
            self.meter.set_store_full(self.cases.is_disk_full());
            let forget = || {
                self.meter.clear_sources();
                self.meter.clear_backlog();
            };
            let looked = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                looked = or_forget_at(self.read_backlog(), seen_at + STALE_AFTER, forget) => looked,
            };
            self.look_at_sources(looked.is_ok());
            if looked.is_ok() && !self.inbox_capacity.is_refused() {
                seen_at = Instant::now();
            }
            let is_blind = seen_at.elapsed() >= STALE_AFTER;
            if is_blind {
                self.meter.clear_backlog();
            }
            match looked {
                Ok(_) if is_blind => {}
                Ok(backlog) => self.meter.set_backlog(&backlog),
                Err(error) => {
                    let error = anyhow::Error::from(error);
                    tracing::warn!(
                        error = format!("{error:#}"),
                        "cannot count the backlog; keeping the last values for a while"
                    );
                }
            }
        }
    }
}

impl GaugeLoop {
    /// Updates the state of sources. A source shows its state by receiving, which stops while the inbox is full or
    /// the store is down.
    fn look_at_sources(&self, is_store_there: bool) {
        if !is_store_there || self.inbox_capacity.is_full() || self.inbox_capacity.is_refused() {
            return self.meter.clear_sources();
        }
        for source in &self.sources {
            self.meter
                .set_source_up(source.name(), source.ready().is_ok());
        }
    }

    async fn read_backlog(&self) -> Result<Backlog, StoreError> {
        if let Some(purse) = &self.day_budget {
            purse.refresh().await;
        }
        let backlog = self.cases.backlog().await?;
        self.inbox_capacity.update(backlog.waiting());
        if let Some(canaries) = &self.canaries {
            self.meter.set_last_canary(canaries.last_canary().await?);
        }
        Ok(backlog)
    }
}

/// Waits for a reading. If it is not there by `blind_at`, the known values are removed in the meantime.
async fn or_forget_at<T>(look: impl Future<Output = T>, blind_at: Instant, forget: impl Fn()) -> T {
    tokio::pin!(look);
    tokio::select! {
        biased;
        looked = &mut look => looked,
        () = tokio::time::sleep_until(blind_at) => {
            forget();
            look.await
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn backlog_gauge_expires_while_the_store_does_not_answer() {
        for (takes, forgotten) in [(14, None), (40, Some(15))] {
            let (begun, at) = (Instant::now(), Cell::new(None));
            let look = sleep(Duration::from_secs(takes));
            let forget = || at.set(Some(begun.elapsed().as_secs()));
            or_forget_at(look, begun + STALE_AFTER, forget).await;
            assert_eq!(at.get(), forgotten);
            assert_eq!(begun.elapsed().as_secs(), takes);
        }
    }
}
