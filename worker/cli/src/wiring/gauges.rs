//! Reads the backlog regularly for metrics and the inbox limit. Values that cannot be read are removed after a while,
//! even if the store hangs.

use std::sync::Arc;
use std::time::Duration;

use nightshift_pipeline::budget::Purse;
use nightshift_pipeline::case::Backlog;
use nightshift_pipeline::loops::InboxRoom;
use nightshift_pipeline::port::{Canaries, Cases, Source, StoreError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::models::AskedModels;
use super::worker::Loop;
use crate::metrics::Metrics;

/// Time between two readings of the backlog.
const LOOK: Duration = Duration::from_secs(2);
/// How long the last backlog is shown while it cannot be read.
const BLIND: Duration = Duration::from_secs(15);

pub(super) struct Gauges {
    pub(super) sources: Vec<Arc<dyn Source>>,
    pub(super) cases: Arc<dyn Cases>,
    pub(super) canaries: Option<Arc<dyn Canaries>>,
    pub(super) models: Option<AskedModels>,
    pub(super) purse: Option<Arc<Purse>>,
    pub(super) meter: Arc<Metrics>,
    pub(super) room: Arc<InboxRoom>,
}

impl Loop for Gauges {
    async fn run(self, stop: CancellationToken) {
        let mut looks = tokio::time::interval(LOOK);
        let mut seen_at = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = looks.tick() => {}
            }
            if let Some(AskedModels { models, names }) = &self.models {
                self.meter.circuits(&models.open_circuits(names));
            }
            let forget = || {
                self.meter.forget_sources();
                self.meter.forget_backlog();
            };
            let looked = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                looked = or_blind(self.look(), seen_at + BLIND, forget) => looked,
            };
            self.look_at_sources(looked.is_ok());
            if looked.is_ok() && !self.room.is_refused() {
                seen_at = Instant::now();
            }
            let is_blind = seen_at.elapsed() >= BLIND;
            if is_blind {
                self.meter.forget_backlog();
            }
            match looked {
                Ok(_) if is_blind => {}
                Ok(backlog) => self.meter.backlog(&backlog),
                Err(error) => {
                    let error = anyhow::Error::from(error);
                    tracing::warn!(
                        error = format!("{error:#}"),
                        "what waits could not be counted"
                    );
                }
            }
        }
    }
}

impl Gauges {
    /// Updates the state of sources. A source shows its state by receiving, which stops while the inbox is full or
    /// the store is down.
    fn look_at_sources(&self, is_store_there: bool) {
        if !is_store_there || self.room.is_full() || self.room.is_refused() {
            return self.meter.forget_sources();
        }
        for source in &self.sources {
            self.meter.source(source.name(), source.ready().is_ok());
        }
    }

    async fn look(&self) -> Result<Backlog, StoreError> {
        if let Some(purse) = &self.purse {
            purse.look().await;
        }
        let backlog = self.cases.backlog().await?;
        self.room.set(backlog.waiting());
        if let Some(canaries) = &self.canaries {
            self.meter.canary(canaries.last_canary().await?);
        }
        Ok(backlog)
    }
}

/// Waits for a reading. If it is not there by `blind_at`, the known values are removed in the meantime.
async fn or_blind<T>(look: impl Future<Output = T>, blind_at: Instant, forget: impl Fn()) -> T {
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
    async fn what_waits_is_forgotten_in_time_also_while_the_store_does_not_answer() {
        for (takes, forgotten) in [(14, None), (40, Some(15))] {
            let (begun, at) = (Instant::now(), Cell::new(None));
            let look = sleep(Duration::from_secs(takes));
            let forget = || at.set(Some(begun.elapsed().as_secs()));
            or_blind(look, begun + BLIND, forget).await;
            assert_eq!(at.get(), forgotten);
            assert_eq!(begun.elapsed().as_secs(), takes);
        }
    }
}
