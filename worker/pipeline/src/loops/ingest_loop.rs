//! Implements the intake loop of one source. It takes no more than there is room for and commits one batch after the
//! other. While one batch is committed the next is received and read: reading uses this machine, committing mostly
//! waits for the store.

use std::pin::pin;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use nightshift_engine::error_chain::format_error_chain;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{InboxCapacity, RETRY_PAUSE, pause};
use crate::intake::{Intake, IntakeError, IntakeOutcome};
use crate::port::{Message, Source, SourceError};
use crate::spans;

/// Maximum number of batches that are read or committed at once; further messages stay at their source. With three, a
/// full batch is read before an earlier commit ends, so the store never waits for it.
const MAX_IN_FLIGHT: usize = 3;

/// Takes messages from a source until it is stopped.
pub struct IngestLoop {
    /// Turns messages into cases.
    pub intake: Intake,
    pub source: Arc<dyn Source>,
    /// Room of the inbox.
    pub capacity: Arc<InboxCapacity>,
    /// Most messages of one batch.
    pub batch: usize,
}

impl IngestLoop {
    /// Runs until `stop` is cancelled or the source has ended. Messages that are not committed then are nacked and
    /// redelivered.
    pub async fn run(&self, stop: &CancellationToken) {
        let span = spans::source_span(self.source.name());
        self.run_until(stop).instrument(span).await;
    }

    async fn run_until(&self, stop: &CancellationToken) {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.ingest(stop) => {}
        }
        self.source.close().await;
    }

    /// Receives one batch while the previous one is read and committed.
    async fn ingest(&self, stop: &CancellationToken) {
        let mut under_way = FuturesUnordered::new();
        let mut receiving = pin!(self.receive());
        let mut has_ended = false;
        while !(has_ended && under_way.is_empty()) {
            tokio::select! {
                biased;
                Some(done) = under_way.next(), if !under_way.is_empty() => self.record_batch(done, stop).await,
                received = &mut receiving, if !has_ended && under_way.len() < MAX_IN_FLIGHT => {
                    match received {
                        Ok(Some(messages)) => {
                            under_way.push(self.intake.ingest(self.source.as_ref(), messages));
                        }
                        Ok(None) => has_ended = true,
                        // The source itself waits before it tries again, and logs each cause once.
                        Err(error) => tracing::debug!(
                            error = format_error_chain(&error),
                            "cannot receive messages"
                        ),
                    }
                    if !has_ended {
                        receiving.set(self.receive());
                    }
                }
            }
        }
    }

    /// Receives one batch within the room, or returns `None` when the source has ended.
    async fn receive(&self) -> Result<Option<Vec<Message>>, SourceError> {
        let room = self.capacity.wait_for_capacity().await;
        let most = usize::try_from(room).unwrap_or(usize::MAX).min(self.batch);
        self.source.receive(most).await
    }

    async fn record_batch(
        &self,
        done: Result<IntakeOutcome, IntakeError>,
        stop: &CancellationToken,
    ) {
        match done {
            Ok(received) => {
                let cases = received.accepted.iter().filter(|one| one.case_id.is_some());
                self.capacity
                    .add_waiting(u64::try_from(cases.count()).unwrap_or(0));
            }
            Err(error) => {
                tracing::warn!(
                    error = format_error_chain(&error),
                    "cannot commit batch; messages nacked"
                );
                pause(RETRY_PAUSE, stop).await;
            }
        }
    }
}
