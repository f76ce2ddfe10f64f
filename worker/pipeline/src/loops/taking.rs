//! The intake loop of one source. It takes no more than there is room for and commits one batch after the other.
//! While one batch is committed the next is received and read: reading uses this machine, committing mostly waits for
//! the store.

use std::pin::pin;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use nightshift_engine::causes::with_causes;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{InboxRoom, PAUSE, pause};
use crate::intake::{Intake, IntakeError, Received};
use crate::port::{Message, Source, SourceError};
use crate::spans;

/// Most batches that are read or committed at once; further messages stay at their source. With three, a full batch
/// is read before an earlier commit ends, so the store never waits for it.
const UNDER_WAY: usize = 3;

/// Takes messages from a source until it is stopped.
pub struct Taking {
    /// Turns messages into cases.
    pub intake: Intake,
    pub source: Arc<dyn Source>,
    /// Room of the inbox.
    pub room: Arc<InboxRoom>,
    /// Most messages of one batch.
    pub batch: usize,
}

impl Taking {
    /// Runs until `stop` is cancelled or the source has ended. Messages that are not committed then are nacked and
    /// redelivered.
    pub async fn run(&self, stop: &CancellationToken) {
        let span = spans::of_source(self.source.name());
        self.run_until(stop).instrument(span).await;
    }

    async fn run_until(&self, stop: &CancellationToken) {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.take(stop) => {}
        }
        self.source.close().await;
    }

    /// Receives one batch while the previous one is read and committed.
    async fn take(&self, stop: &CancellationToken) {
        let mut under_way = FuturesUnordered::new();
        let mut receiving = pin!(self.receive());
        let mut has_ended = false;
        while !(has_ended && under_way.is_empty()) {
            tokio::select! {
                biased;
                Some(done) = under_way.next(), if !under_way.is_empty() => self.note(done, stop).await,
                received = &mut receiving, if !has_ended && under_way.len() < UNDER_WAY => {
                    match received {
                        Ok(Some(messages)) => {
                            under_way.push(self.intake.take(self.source.as_ref(), messages));
                        }
                        Ok(None) => has_ended = true,
                        // The source itself waits before it tries again.
                        Err(error) => tracing::warn!(error = with_causes(&error), "no messages come"),
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
        let room = self.room.wait().await;
        let most = usize::try_from(room).unwrap_or(usize::MAX).min(self.batch);
        self.source.receive(most).await
    }

    async fn note(&self, done: Result<Received, IntakeError>, stop: &CancellationToken) {
        match done {
            Ok(received) => {
                let cases = received.accepted.iter().filter(|one| one.case_id.is_some());
                self.room.took(u64::try_from(cases.count()).unwrap_or(0));
            }
            Err(error) => {
                tracing::warn!(error = with_causes(&error), "a batch was given back");
                pause(PAUSE, stop).await;
            }
        }
    }
}
