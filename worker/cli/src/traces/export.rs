//! Takes spans out of the queue and posts them, in batches. What the collector does not take is tried for a minute, and
//! then lost and counted: traces are of use, and never in the way.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::collector::{Collector, Problem};
use super::queue::{Held, count};

/// Most spans of a post.
const BATCH: usize = 512;
/// How long a post waits for more spans.
const GATHER: Duration = Duration::from_secs(1);
/// How long one batch is tried.
const PATIENCE: Duration = Duration::from_secs(60);
/// Shortest time between two lines about the same trouble.
const QUIET: Duration = Duration::from_secs(60);

/// Posts what is in the queue.
pub(super) struct Exporter {
    collector: Collector,
    spans: Receiver<Span>,
    held: Arc<Held>,
    stop: CancellationToken,
    /// When trouble was told last; none where all is well.
    told: Option<Instant>,
}

impl Exporter {
    pub(super) fn new(
        collector: Collector,
        spans: Receiver<Span>,
        held: Arc<Held>,
        stop: CancellationToken,
    ) -> Self {
        Self {
            collector,
            spans,
            held,
            stop,
            told: None,
        }
    }

    /// Runs until it is told to stop and the queue is empty.
    pub(super) async fn run(mut self) {
        loop {
            let batch = self.gather().await;
            if batch.is_empty() {
                return;
            }
            self.send(&batch).await;
            self.held.done(&batch);
        }
    }

    /// The next batch; an empty one is the end.
    async fn gather(&mut self) -> Vec<Span> {
        let mut batch = Vec::new();
        tokio::select! {
            biased;
            _ = self.spans.recv_many(&mut batch, BATCH) => {}
            () = self.stop.cancelled() => return batch,
        }
        let deadline = Instant::now() + GATHER;
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            tokio::select! {
                biased;
                more = self.spans.recv_many(&mut batch, room) => if more == 0 { break },
                () = self.stop.cancelled() => break,
                () = tokio::time::sleep_until(deadline) => break,
            }
        }
        batch
    }

    async fn send(&mut self, batch: &[Span]) {
        let mut pauses = ExponentialBuilder::new()
            .with_min_delay(Duration::from_secs(1))
            .with_max_delay(Duration::from_secs(15))
            .with_jitter()
            .without_max_times()
            .with_total_delay(Some(PATIENCE))
            .build();
        loop {
            let problem = match self.collector.post(batch.to_vec()).await {
                Ok(rejected) => return self.taken(rejected),
                Err(problem) => problem,
            };
            let pause = pauses
                .next()
                .filter(|_| problem.may_pass && !self.stop.is_cancelled());
            if pause.is_none() {
                self.held.lose(count(batch));
            }
            self.tell(&problem);
            let Some(pause) = pause else { return };
            // Told to stop, it tries once more.
            drop(tokio::time::timeout(pause, self.stop.cancelled()).await);
        }
    }

    fn taken(&mut self, rejected: u64) {
        if rejected > 0 {
            self.held.lose(rejected);
            return self.tell(&Problem {
                what: "it did not want some of the spans".to_owned(),
                may_pass: false,
            });
        }
        let lost = self.held.take_lost();
        if lost > 0 || self.told.is_some() {
            self.told = None;
            tracing::warn!(spans = lost, "the collector takes spans; these were lost");
        }
    }

    /// Says what is wrong and how much was lost, once in a while.
    fn tell(&mut self, problem: &Problem) {
        let is_due = |told: Instant| told.elapsed() >= QUIET;
        if self.told.is_none_or(is_due) {
            self.told = Some(Instant::now());
            let spans = self.held.take_lost();
            let why = &problem.what;
            tracing::warn!(why, spans, "spans cannot be exported; these were lost");
        }
    }
}
