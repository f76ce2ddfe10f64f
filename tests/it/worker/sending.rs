//! Tests that one canary is sent per interval, with any failure and any number of processes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::port::Clock;
use nightshift_pipeline::admission::AdmissionPolicy;
use nightshift_pipeline::canary::{Canary, CanaryCloser, CanaryLoop};
use nightshift_pipeline::port::{OutgoingMessage, Publish, PublishError};
use nightshift_store::{Store, StoreOptions};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(900);

/// A clock that follows tokio's paused time and starts within an interval.
struct PausedClock(Instant);

impl Clock for PausedClock {
    fn now(&self) -> DateTime<Utc> {
        let begun: DateTime<Utc> = "2026-11-20T12:05:00Z".parse().unwrap();
        begun + TimeDelta::from_std(self.0.elapsed()).unwrap()
    }
}

/// A queue that is unavailable at times and ends the test after a number of canaries.
struct FlakyQueue {
    clock: Arc<PausedClock>,
    is_away: fn(u64) -> bool,
    published: Mutex<Vec<(u64, i64)>>,
    limit: usize,
    stop: CancellationToken,
}

#[async_trait]
impl Publish for FlakyQueue {
    fn name(&self) -> &str {
        "siem"
    }

    async fn publish(&self, message: &OutgoingMessage) -> Result<(), PublishError> {
        let now = self.clock.0.elapsed().as_secs();
        if (self.is_away)(now) {
            return Err(PublishError {
                source_name: "siem".to_owned(),
                what: "nobody answers".to_owned(),
            });
        }
        let said: Value = serde_json::from_slice(&message.bytes).unwrap();
        let number = said["nightshift-canary"]["n"].as_i64().unwrap();
        assert_eq!(message.id, format!("nightshift-canary-{number}"));
        let mut taken = self.published.lock().unwrap();
        taken.push((now, number));
        if taken.len() >= self.limit {
            self.stop.cancel();
        }
        Ok(())
    }
}

async fn store(folder: &tempfile::TempDir) -> Arc<dyn Store> {
    let url = format!("sqlite:{}/cases.db", folder.path().display());
    let options = StoreOptions::new(Duration::from_secs(30), AdmissionPolicy::default());
    nightshift_store::open(&url, options).await.unwrap()
}

/// Returns the canaries that the processes send: seconds since the start, and number counted from the first interval.
async fn sent(processes: usize, enough: usize, away: fn(u64) -> bool) -> Vec<(u64, i64)> {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder).await;
    tokio::time::pause();
    let clock = Arc::new(PausedClock(Instant::now()));
    let queue = Arc::new(FlakyQueue {
        clock: Arc::clone(&clock),
        is_away: away,
        published: Mutex::default(),
        limit: enough,
        stop: CancellationToken::new(),
    });
    let first = clock.now().timestamp().div_euclid(900);
    let sendings = (0..processes).map(|number| CanaryLoop {
        canary: Canary {
            source: "siem".to_owned(),
            every: EVERY,
            keys: Arc::new(|| Ok("00112233445566778899aabbccddeeff".into())),
        },
        publisher: queue.clone(),
        outbox: store.clone(),
        cases: store.clone(),
        closer: CanaryCloser {
            feedback: store.clone(),
            clock: clock.clone(),
            every: EVERY,
        },
        holder: format!("process {number}"),
    });
    let sendings: Vec<_> = sendings.collect();
    let runs = sendings.iter().map(|one| one.run(&queue.stop));
    futures_util::future::join_all(runs).await;
    let taken = queue.published.lock().unwrap().clone();
    let numbered = taken.into_iter().map(|(at, number)| (at, number - first));
    numbered.collect()
}

#[tokio::test]
async fn one_is_sent_at_once_and_one_with_each_interval() {
    let sent = sent(1, 4, |_| false).await;
    assert_eq!(sent, [(0, 0), (600, 1), (1_500, 2), (2_400, 3)]);
}

#[tokio::test]
async fn of_three_processes_no_two_send_in_an_interval() {
    // Paused time may jump while the store works, but it never goes back.
    let sent = sent(3, 6, |_| false).await;
    assert_eq!(sent.len(), 6);
    let once = sent.windows(2).all(|pair| pair[0].1 < pair[1].1);
    assert!(once, "{sent:?}");
}

#[tokio::test]
async fn what_fails_is_tried_again_until_its_interval_is_over() {
    // The queue is unavailable for the first 35 seconds and for the whole third interval.
    let sent = sent(1, 4, |now| now < 35 || (1_500..2_400).contains(&now)).await;
    assert_eq!(sent, [(40, 0), (600, 1), (2_400, 3), (3_300, 4)]);
}
