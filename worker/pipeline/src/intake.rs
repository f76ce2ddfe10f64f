//! Implements intake: unwrap, parse, admit, commit, and only then settle.
//!
//! A message that cannot be read becomes a dead letter with its bytes, and opens one case per source and hour. The same
//! applies to an alert of a feed that its source may not carry. While the store is away, messages are held: nacking
//! them repeatedly would use up a broker's delivery count, and some brokers then drop them.

mod batch_reader;
mod severities;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, CANARY_FEED, ReadOptions, TraceContext};
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::{Clock, Meter};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use batch_reader::{ArrivalCount, BatchReader, dispositions};
pub use batch_reader::{read_message, unreadable_alert};
pub use severities::UnknownSeverities;

use crate::admission::Admission;
use crate::canary::Canary;
use crate::port::{AcceptedAlert, Disposition, Inbox, Message, Settlement, Source, StoreError};
use crate::spans;

/// Maximum size of messages that are committed together, in bytes, unless a single message is larger. Their size in
/// memory and on the wire is several times as much.
const BATCH_BYTES: usize = 8 << 20;

/// One alert, or one unreadable part, of a message.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// Name of the source.
    pub source: String,
    /// Time of arrival.
    pub at: DateTime<Utc>,
    /// The alert of a feed, or Nightshift's own alert about a message that could not be read.
    pub alert: Arc<Alert>,
    /// Bytes of the message, or of its unreadable part.
    pub raw: Arc<[u8]>,
    /// Reason why the message could not be read, if so.
    pub unreadable: Option<String>,
    /// True if a person asks for a triage regardless of earlier arrivals.
    pub on_demand: bool,
    /// Trace of a message with several alerts. Each case then has its own trace, linked to this one.
    pub link: Option<TraceContext>,
}

/// Result of one round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IntakeOutcome {
    /// Messages received.
    pub messages: usize,
    /// Outcomes of their alerts.
    pub accepted: Vec<AcceptedAlert>,
    /// Committed messages that the source could not settle. They are redelivered and become sightings.
    pub unsettled: usize,
    /// True if the source has ended.
    pub ended: bool,
}

/// Moves messages from one source into the inbox.
pub struct Intake {
    pub inbox: Arc<dyn Inbox>,
    pub clock: Arc<dyn Clock>,
    pub meter: Arc<dyn Meter>,
    /// Generic feeds, and the feeds that the source may carry.
    pub options: ReadOptions,
    /// Keeps batches in the order in which they came.
    pub order: BatchOrder,
    /// The time for which a batch is held while the store is away before it is nacked. A worker waits as long as it
    /// runs.
    pub commit_timeout: Duration,
    /// Recognises canaries; `None` if none are sent.
    pub canary: Option<Arc<Canary>>,
    /// Unknown severities that were already logged.
    pub severities: Arc<UnknownSeverities>,
}

/// Keeps batches in order: while one is committed, the next ones are read one after the other, and none overtakes
/// another.
#[derive(Debug, Default)]
pub struct BatchOrder {
    reading: Mutex<()>,
    committing: Mutex<()>,
}

/// Reason why a round of intake failed.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    #[error(transparent)]
    Source(#[from] crate::port::SourceError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Intake {
    /// Runs one round: receive, commit, settle. Large messages are committed in several batches. If the store does not
    /// commit within [`Intake::commit_timeout`], the remaining messages are nacked.
    ///
    /// The future may be dropped at any await: unsettled messages are redelivered.
    ///
    /// # Errors
    ///
    /// Returns an error when the source or the store fails. Messages that were not settled before are not committed
    /// then.
    pub async fn round(
        &self,
        source: &dyn Source,
        most: usize,
    ) -> Result<IntakeOutcome, IntakeError> {
        let Some(messages) = source.receive(most).await? else {
            return Ok(IntakeOutcome {
                ended: true,
                ..IntakeOutcome::default()
            });
        };
        self.ingest(source, messages).await
    }

    /// Commits and settles messages that were received. Several calls may be in progress; they keep the order in which
    /// they are first polled.
    ///
    /// # Errors
    ///
    /// Returns an error when the store fails.
    pub async fn ingest(
        &self,
        source: &dyn Source,
        mut messages: Vec<Message>,
    ) -> Result<IntakeOutcome, IntakeError> {
        let mut received = IntakeOutcome::default();
        let mut extending = ExtensionSchedule::from_source(source);
        while !messages.is_empty() {
            let others = messages.split_off(batch_len(&messages));
            let done = self
                .ingest_batch(source, messages, &others, &mut extending)
                .await?;
            received.messages += done.messages;
            received.accepted.extend(done.accepted);
            received.unsettled += done.unsettled;
            messages = others;
        }
        Ok(received)
    }

    /// Commits and settles these messages, and extends the others meanwhile. If that fails, all are nacked.
    async fn ingest_batch(
        &self,
        source: &dyn Source,
        messages: Vec<Message>,
        others: &[Message],
        extending: &mut Option<ExtensionSchedule>,
    ) -> Result<IntakeOutcome, IntakeError> {
        let span = spans::batch_span(source.kind(), source.name(), messages.len());
        let work = self.ingest_in_span(&span, source, messages, others, extending);
        let taken = work.instrument(span.clone()).await;
        spans::record_batch_outcome(&span, &taken);
        taken
    }

    async fn ingest_in_span(
        &self,
        span: &Span,
        source: &dyn Source,
        messages: Vec<Message>,
        others: &[Message],
        extending: &mut Option<ExtensionSchedule>,
    ) -> Result<IntakeOutcome, IntakeError> {
        let taken = messages.len();
        let ids = |messages: &[Message]| -> Vec<String> {
            messages.iter().map(|message| message.id.clone()).collect()
        };
        let held = [ids(&messages), ids(others)].concat();
        let work = async {
            let reading = self.order.reading.lock().await;
            let (batch, shares) = self.read_batch(source.name(), messages).await;
            spans::record_batch_links(span, &batch);
            // Joins the queue for the commit before the next batch may be read.
            let (_committing, ()) = tokio::join!(
                biased;
                self.order.committing.lock(),
                async { drop(reading) },
            );
            let committed = self.commit(Arc::clone(&batch)).await;
            if let Ok(accepted) = &committed {
                spans::record_accepted(source.kind(), source.name(), &batch, accepted);
            }
            (batch, committed, shares)
        };
        let (batch, committed, shares) = extend_while(source, &held, extending, work).await;
        let done = committed
            .as_deref()
            .map(|accepted| dispositions(&shares, accepted));
        let all = match &done {
            Ok(done) => done.iter().map(|(fate, _)| *fate).collect(),
            Err(_) => vec![Disposition::Nack; held.len()],
        };
        let settled = held.into_iter().zip(all);
        let settled: Vec<Settlement> = settled
            .map(|(id, fate)| Settlement {
                id,
                disposition: fate,
            })
            .collect();
        let unsettled = source.settle(&settled).await;
        if let Some(one) = unsettled.first() {
            tracing::warn!(
                source.name = source.name(),
                messages = unsettled.len(),
                why = one.why,
                "cannot settle messages; the source redelivers them"
            );
        }
        self.count(source.name(), &done.unwrap_or_default());
        let accepted = committed?;
        log_batch(source.name(), taken, &batch, &accepted);
        self.count_unsettled(source.name(), unsettled.len());
        Ok(IntakeOutcome {
            messages: taken,
            accepted,
            unsettled: unsettled.len(),
            ended: false,
        })
    }

    /// Reads the content of the messages on a separate thread, because a batch takes a tenth of a second.
    async fn read_batch(
        &self,
        source: &str,
        messages: Vec<Message>,
    ) -> (Arc<[Arrival]>, Vec<ArrivalCount>) {
        let reading = BatchReader {
            source: source.to_owned(),
            options: self.options.clone(),
            canary: self.canary.clone(),
            severities: Arc::clone(&self.severities),
            now: self.clock.now(),
        };
        let count = messages.len();
        let read = tokio::task::spawn_blocking(move || reading.read_all(&messages)).await;
        // Panics are caught per message, so this happens only when the runtime shuts down.
        read.unwrap_or_else(|_| (Arc::default(), vec![ArrivalCount::Unread; count]))
    }

    /// Commits a batch, and retries while the store is away or cannot read what is stored. The messages are not at
    /// fault, and some brokers drop messages that are nacked repeatedly.
    async fn commit(&self, batch: Arc<[Arrival]>) -> Result<Vec<AcceptedAlert>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let mut pauses = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(200))
            .with_max_delay(Duration::from_secs(5))
            .with_jitter()
            .without_max_times()
            .with_total_delay(Some(self.commit_timeout))
            .build();
        loop {
            match self.inbox.accept(Arc::clone(&batch)).await {
                Err(error) => match pauses.next() {
                    Some(pause) if !self.commit_timeout.is_zero() => {
                        tracing::warn!(%error, cause = cause(&error), "cannot commit batch; retrying");
                        tokio::time::sleep(pause).await;
                    }
                    _ => return Err(error),
                },
                Ok(accepted) => return Ok(accepted),
            }
        }
    }

    /// Counts the outcomes of messages and of their alerts.
    fn count(&self, source: &str, done: &[(Disposition, &[AcceptedAlert])]) {
        for (fate, own) in done {
            // A canary has a message of its own and is no sign that the feed works.
            let is_canary = matches!(own, [only] if only.feed == CANARY_FEED);
            let outcome = match fate {
                Disposition::DeadLetter => "dead_letter",
                Disposition::Ack if is_canary => "canary",
                Disposition::Ack => "accepted",
                Disposition::Nack => continue,
            };
            self.meter.count(&Measurement::Message {
                source: source.to_owned(),
                outcome,
            });
        }
        for one in done.iter().flat_map(|(_, own)| *own) {
            self.meter.count(&Measurement::Alert {
                feed: one.feed.clone(),
                outcome: one.admission.as_str(),
            });
        }
    }

    /// Counts messages that are committed but redelivered, which is the only place where a lost permission to delete
    /// shows.
    fn count_unsettled(&self, source: &str, messages: usize) {
        for _ in 0..messages {
            self.meter.count(&Measurement::Message {
                source: source.to_owned(),
                outcome: "unsettled",
            });
        }
    }
}

/// Returns how many of these messages are committed together: as many as fit, at least one.
fn batch_len(messages: &[Message]) -> usize {
    let mut bytes = 0usize;
    let fits = messages.iter().take_while(|message| {
        bytes = bytes.saturating_add(message.bytes.len());
        bytes <= BATCH_BYTES
    });
    fits.count().max(1)
}

/// Time of the next extension of the messages of a round, across its batches.
struct ExtensionSchedule {
    /// Duration of one extension.
    visibility_timeout: Duration,
    next: Instant,
}

impl ExtensionSchedule {
    /// Creates the schedule for messages that were just handed over. They may have used two fifths of their time by
    /// then, so the first extension follows at half of it.
    fn from_source(source: &dyn Source) -> Option<Self> {
        let hold = source.visibility_timeout()?;
        let next = Instant::now() + hold / 10;
        Some(Self {
            visibility_timeout: hold,
            next,
        })
    }
}

/// Runs `work` and extends the messages at half of their hold time meanwhile.
async fn extend_while<T>(
    source: &dyn Source,
    ids: &[String],
    extending: &mut Option<ExtensionSchedule>,
    work: impl Future<Output = T>,
) -> T {
    let Some(extending) = extending else {
        return work.await;
    };
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep_until(extending.next) => {}
        }
        // The work continues beside the extension, so that a hanging extension does not delay a commit.
        let extended = tokio::select! {
            biased;
            done = &mut work => return done,
            extended = source.extend(ids) => extended,
        };
        extending.next = Instant::now() + extending.visibility_timeout / 2;
        if let Some(one) = extended.first() {
            tracing::warn!(
                source.name = source.name(),
                messages = extended.len(),
                why = one.why,
                "cannot extend messages; the source may redeliver them"
            );
        }
    }
}

/// Logs one line for a batch with the number of alerts per outcome, one for each alert that opens no case, and one
/// for each message that could not be read.
fn log_batch(source: &str, messages: usize, batch: &[Arrival], accepted: &[AcceptedAlert]) {
    let many = |fits: fn(&Admission) -> bool| {
        let fitting = accepted.iter().filter(|one| fits(&one.admission));
        fitting.count()
    };
    let is_canary = |one: &AcceptedAlert| one.feed == CANARY_FEED;
    let are_canaries = messages == accepted.len() && accepted.iter().all(is_canary);
    spans::line_at!(
        spans::success_level(are_canaries),
        source.name = source,
        messages,
        alerts = accepted.len(),
        cases = accepted.iter().filter(|one| one.opens_triage()).count(),
        sightings = many(|one| matches!(one, Admission::Sighting(..) | Admission::Replaced(..))),
        members = many(|one| matches!(one, Admission::Member(_))),
        muted = many(|one| matches!(one, Admission::Muted(_))),
        set_aside = many(|one| matches!(one, Admission::SetAside(_))),
        "messages accepted"
    );
    for (arrival, one) in batch.iter().zip(accepted) {
        let case_id = one.case_id.as_ref().map(|id| id.0.as_str());
        let (revision, trace_id) = spans::arrival_ids(arrival, one);
        if one.dead_letter.is_some() {
            tracing::warn!(
                source.name = source,
                dead_letter.id = one.dead_letter,
                case.id = case_id,
                case.revision = revision,
                trace.id = trace_id,
                "cannot read message; stored as dead letter"
            );
        } else if !one.opens_triage() {
            tracing::info!(
                source.name = source,
                alert.feed = one.feed,
                alert.key = one.key,
                outcome = one.admission.as_str(),
                why = one.admission.reason(),
                case.id = case_id,
                trace.id = trace_id,
                "alert admitted without a new case"
            );
        }
    }
}

fn cause(error: &dyn std::error::Error) -> String {
    error.source().map(ToString::to_string).unwrap_or_default()
}
