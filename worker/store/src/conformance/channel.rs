//! Tests the delivery of a thousand reports to one channel. The most severe go first, no faster than the channel
//! accepts them, and only those being sent are in memory.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use chrono::NaiveDate;
use futures_util::future::join_all;
use nightshift_alert::Severity;
use nightshift_engine::port::NoMeter;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::loops::DeliveryLoop;
use nightshift_pipeline::port::{AmbiguousSend, Destination, Outbox, PendingDelivery};
use nightshift_pipeline::report::FailoverSources;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::admission::arrival;
use super::*;

const REPORTS: usize = 1_000;
/// The number of posts after which a critical alert is concluded, while hundreds still wait.
const LATE: usize = 300;
const PACE: Duration = Duration::from_secs(1);

/// A channel that accepts one message per second.
struct PacedDestination {
    store: Arc<dyn Store>,
    posts: Mutex<Vec<(Instant, Severity, CaseId)>>,
    full: CancellationToken,
}

#[async_trait]
impl Destination for PacedDestination {
    fn name(&self) -> &'static str {
        "soc"
    }

    fn send_interval(&self) -> Duration {
        PACE
    }

    async fn deliver(&self, showing: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError> {
        let report = &showing.report;
        let case = CaseId(report.case_id.clone());
        let posted = {
            let mut posts = self.posts.lock().unwrap();
            posts.push((Instant::now(), report.assessed_severity, case));
            posts.len()
        };
        if posted == LATE {
            let late = alert(REPORTS, Severity::Critical);
            self.store.accept(Arc::new([late])).await.unwrap();
            let claimed = self.store.claim(Lane::Any, 1).await.unwrap();
            conclude(&self.store, &claimed[0]).await;
        }
        if posted > REPORTS {
            self.full.cancel();
        }
        Ok(DeliveryReceipt::default())
    }
}

/// An outbox that records how many reports are read at once.
struct CountingOutbox {
    store: Arc<dyn Store>,
    most: AtomicUsize,
}

#[async_trait]
impl Outbox for CountingOutbox {
    async fn acquire_lease(
        &self,
        to: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        self.store.acquire_lease(to, holder, lease).await
    }

    async fn release_lease(&self, to: &str, holder: &str) -> Result<(), StoreError> {
        self.store.release_lease(to, holder).await
    }

    async fn due_deliveries(
        &self,
        to: &str,
        most: usize,
    ) -> Result<Vec<PendingDelivery>, StoreError> {
        let due = self.store.due_deliveries(to, most).await?;
        self.most.fetch_max(due.len(), Ordering::Relaxed);
        Ok(due)
    }

    async fn begin_attempt(&self, to: &str, due: &PendingDelivery) -> Result<bool, StoreError> {
        self.store.begin_attempt(to, due).await
    }

    async fn record_sent(
        &self,
        to: &str,
        due: &PendingDelivery,
        sent: Option<&DeliveryReceipt>,
    ) -> Result<(), StoreError> {
        self.store.record_sent(to, due, sent).await
    }

    async fn record_failed(
        &self,
        to: &str,
        due: &PendingDelivery,
        error: &DeliveryError,
        retry_in: Option<Duration>,
    ) -> Result<(), StoreError> {
        self.store.record_failed(to, due, error, retry_in).await
    }

    async fn record_ambiguous(
        &self,
        to: &str,
        due: &PendingDelivery,
        error: &DeliveryError,
        doubt: AmbiguousSend,
        retry_in: Duration,
    ) -> Result<(), StoreError> {
        self.store
            .record_ambiguous(to, due, error, doubt, retry_in)
            .await
    }

    async fn add_fallback(
        &self,
        case: &CaseId,
        to: &str,
        of: &FailoverSources,
    ) -> Result<(), StoreError> {
        self.store.add_fallback(case, to, of).await
    }

    async fn enqueue_announcement(&self, case: &CaseId, to: &[String]) -> Result<(), StoreError> {
        self.store.enqueue_announcement(case, to).await
    }

    async fn begin_digest(&self, to: &str, day: NaiveDate) -> Result<Option<bool>, StoreError> {
        self.store.begin_digest(to, day).await
    }

    async fn record_digest_posted(&self, to: &str, day: NaiveDate) -> Result<(), StoreError> {
        self.store.record_digest_posted(to, day).await
    }
}

fn alert(number: usize, severity: Severity) -> Arrival {
    arrival(0, |alert| {
        alert.key.id = format!("night-{number}");
        // Each alert has its own account, so they do not form a storm.
        alert.account = Some(format!("{number:012}"));
        alert.severity = severity;
    })
}

/// Creates a store with many reports of all severities that wait for the channel.
async fn night() -> Fixture {
    let fixture = Fixture::sqlite().await;
    let severities = Severity::ALL.iter().cycle();
    let all = (0..REPORTS).zip(severities);
    let all = all.map(|(number, severity)| alert(number, *severity));
    fixture.store.accept(all.collect()).await.unwrap();
    loop {
        let claimed = fixture.store.claim(Lane::Any, 100).await.unwrap();
        if claimed.is_empty() {
            return fixture;
        }
        join_all(claimed.iter().map(|one| conclude(&fixture.store, one))).await;
    }
}

#[tokio::test]
async fn thousand_channel_reports_go_severe_first_at_its_pace() {
    let fixture = night().await;
    let channel = Arc::new(PacedDestination {
        store: Arc::clone(&fixture.store),
        posts: Mutex::default(),
        full: CancellationToken::new(),
    });
    let outbox = Arc::new(CountingOutbox {
        store: Arc::clone(&fixture.store),
        most: AtomicUsize::new(0),
    });
    let delivering = DeliveryLoop {
        kind: String::new(),
        outbox: outbox.clone(),
        destination: channel.clone(),
        failover: Arc::new(fixture.handing_on(&[])),
        notifier: fixture.store.clone(),
        meter: Arc::new(NoMeter),
        holder: "one".to_owned(),
        digest: None,
        canary: None,
    };
    tokio::time::pause();
    delivering.run(&channel.full).await;

    let mut posts = channel.posts.lock().unwrap().clone();
    assert_eq!(posts.len(), REPORTS + 1);
    for pair in posts.windows(2) {
        assert!(pair[1].0 - pair[0].0 >= PACE, "{pair:?}");
    }
    let (_, severity, late) = posts.remove(LATE);
    assert_eq!(severity, Severity::Critical, "what came late is next");
    assert!(!posts.iter().any(|one| one.2 == late));
    assert!(
        posts.is_sorted_by(|one, next| one.1 >= next.1),
        "the most severe first"
    );
    posts.sort_by(|one, other| one.2.0.cmp(&other.2.0));
    posts.dedup_by(|one, other| one.2 == other.2);
    assert_eq!(posts.len(), REPORTS, "each once");
    let most = outbox.most.load(Ordering::Relaxed);
    assert!(
        most <= 50,
        "{most} at a time, where all would be sorted for each"
    );
}
