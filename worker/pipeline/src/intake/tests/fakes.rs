//! Provides a scripted source and store.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

use super::super::*;
use crate::port::{SettleError, SourceError};

pub(super) const HOLD: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct FakeSource {
    pub(super) messages: Mutex<VecDeque<Message>>,
    pub(super) settled: Mutex<Vec<Settlement>>,
    pub(super) extended: Mutex<Vec<(Duration, usize)>>,
    pub(super) refuses: bool,
    pub(super) began: Mutex<Option<Instant>>,
}

impl FakeSource {
    pub(super) fn with(bodies: &[&str]) -> Self {
        let messages = bodies
            .iter()
            .enumerate()
            .map(|(number, body)| Message {
                id: number.to_string(),
                bytes: body.as_bytes().to_vec(),
                attributes: BTreeMap::new(),
            })
            .collect();
        Self {
            messages: Mutex::new(messages),
            ..Self::default()
        }
    }

    pub(super) fn fates(&self) -> Vec<Disposition> {
        let settled = self.settled.lock().unwrap();
        settled.iter().map(|one| one.disposition).collect()
    }
}

#[async_trait]
impl Source for FakeSource {
    fn name(&self) -> &'static str {
        "fake"
    }

    async fn receive(&self, most: usize) -> Result<Option<Vec<Message>>, SourceError> {
        *self.began.lock().unwrap() = Some(Instant::now());
        let mut messages = self.messages.lock().unwrap();
        let most = most.min(messages.len());
        let batch: Vec<Message> = messages.drain(..most).collect();
        Ok((!batch.is_empty()).then_some(batch))
    }

    async fn settle(&self, settled: &[Settlement]) -> Vec<SettleError> {
        self.settled.lock().unwrap().extend_from_slice(settled);
        let refused = settled.iter().filter(|_| self.refuses);
        refused
            .map(|one| SettleError {
                id: one.id.clone(),
                why: "the handle has expired".to_owned(),
            })
            .collect()
    }

    fn visibility_timeout(&self) -> Option<Duration> {
        Some(HOLD)
    }

    async fn extend(&self, ids: &[String]) -> Vec<SettleError> {
        let began = self.began.lock().unwrap().unwrap();
        let mut extended = self.extended.lock().unwrap();
        extended.push((began.elapsed(), ids.len()));
        Vec::new()
    }
}

/// Fails until the test lets it take batches. A commit may take a while.
#[derive(Default)]
pub(super) struct FakeInbox {
    pub(super) failures: Mutex<u32>,
    /// Number of a further attempt that fails.
    pub(super) fails_at: Option<u32>,
    /// Position in a batch of an alert that becomes a dead letter.
    pub(super) will_not_have: Option<usize>,
    /// True if the store fails because its data cannot be read.
    pub(super) is_unread: bool,
    pub(super) tries: Mutex<u32>,
    pub(super) takes: Duration,
    pub(super) gate: Option<Notify>,
    pub(super) batches: Mutex<Vec<usize>>,
}

#[async_trait]
impl Inbox for FakeInbox {
    async fn accept(&self, batch: Arc<[Arrival]>) -> Result<Vec<AcceptedAlert>, StoreError> {
        let number = {
            let mut tries = self.tries.lock().unwrap();
            *tries += 1;
            *tries
        };
        tokio::time::sleep(self.takes).await;
        if let Some(gate) = &self.gate {
            gate.notified().await;
        }
        let mut failures = self.failures.lock().unwrap();
        if *failures > 0 || self.fails_at == Some(number) {
            *failures = failures.saturating_sub(1);
            if self.is_unread {
                return Err(StoreError::Unreadable(
                    "m1".to_owned(),
                    "of the moon".into(),
                ));
            }
            return Err(StoreError::Database {
                doing: "accept a batch",
                cause: "connection refused".into(),
            });
        }
        self.batches.lock().unwrap().push(batch.len());
        let accepted = batch.iter().enumerate().map(|(at, arrival)| AcceptedAlert {
            case_id: None,
            key: arrival.alert.key.to_string(),
            title: arrival.alert.title.clone(),
            feed: arrival.alert.feed.clone(),
            admission: Admission::New,
            dead_letter: (self.will_not_have == Some(at) || arrival.unreadable.is_some())
                .then_some(1),
        });
        Ok(accepted.collect())
    }
}

pub(super) struct NoonClock;

impl Clock for NoonClock {
    fn now(&self) -> DateTime<Utc> {
        "2026-11-20T12:00:00Z".parse().unwrap()
    }
}

/// Clock that counts its calls: one for each batch that is read.
#[derive(Default)]
pub(super) struct CountingClock(pub(super) AtomicUsize);

impl Clock for CountingClock {
    fn now(&self) -> DateTime<Utc> {
        self.0.fetch_add(1, Ordering::Relaxed);
        NoonClock.now()
    }
}

/// Outcomes under which messages were counted.
#[derive(Default)]
pub(super) struct IntakeMeter(pub(super) Mutex<Vec<&'static str>>);

impl Meter for IntakeMeter {
    fn count(&self, measure: &Measurement) {
        if let Measurement::Message { outcome, .. } = measure {
            self.0.lock().unwrap().push(outcome);
        }
    }
}
