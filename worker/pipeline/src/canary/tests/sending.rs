//! Tests which process sends, and what is noted of a shown canary whose end was not noted.

use std::sync::Mutex;

use async_trait::async_trait;
use chrono::NaiveDate;
use nightshift_alert::TraceContext;
use nightshift_engine::port::Clock;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::case::CaseId;
use crate::case_workflow::{CaseAction, CaseWorkflow};
use crate::feedback::{FeedbackRecord, NewPersonVerdict, PersonVerdict};
use crate::port::{
    AmbiguousSend, Canaries, DeliveryError, DeliveryReceipt, Feedback, Outbox, OutgoingMessage,
    PendingDelivery, Publish, PublishError, StoreError,
};
use crate::report::FailoverSources;

/// A clock two minutes after the beginning of an interval.
struct EarlyClock;

impl Clock for EarlyClock {
    fn now(&self) -> DateTime<Utc> {
        after(120)
    }
}

/// A store with one canary that was shown hours ago, and the sender's lease.
#[derive(Default)]
struct FakeCanaryStore {
    holder: Mutex<Option<String>>,
    acts: Mutex<Vec<CaseAction>>,
}

#[async_trait]
impl Canaries for FakeCanaryStore {
    async fn last_canary(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        Ok(None)
    }

    async fn open_canaries(&self, _: usize) -> Result<Vec<(CaseId, DateTime<Utc>)>, StoreError> {
        Ok(vec![(CaseId("c1".to_owned()), after(-20_000))])
    }
}

#[async_trait]
impl Feedback for FakeCanaryStore {
    async fn add_verdict(&self, _: &str, _: NewPersonVerdict) -> Result<PersonVerdict, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn record_action(
        &self,
        id: &str,
        act: CaseAction,
    ) -> Result<(CaseId, CaseWorkflow), StoreError> {
        self.acts.lock().unwrap().push(act);
        Ok((CaseId(id.to_owned()), CaseWorkflow::default()))
    }

    async fn trace_context(&self, _: &CaseId, _: u32) -> Result<Option<TraceContext>, StoreError> {
        Ok(None)
    }

    async fn verdicts_after(&self, _: i64, _: usize) -> Result<Vec<FeedbackRecord>, StoreError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl Outbox for FakeCanaryStore {
    async fn acquire_lease(&self, _: &str, holder: &str, _: Duration) -> Result<bool, StoreError> {
        let mut held = self.holder.lock().unwrap();
        Ok(held.get_or_insert_with(|| holder.to_owned()) == holder)
    }

    async fn release_lease(&self, _: &str, holder: &str) -> Result<(), StoreError> {
        let mut held = self.holder.lock().unwrap();
        held.take_if(|held| held == holder);
        Ok(())
    }

    async fn due_deliveries(&self, _: &str, _: usize) -> Result<Vec<PendingDelivery>, StoreError> {
        Ok(Vec::new())
    }

    async fn begin_attempt(&self, _: &str, _: &PendingDelivery) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn record_sent(
        &self,
        _: &str,
        _: &PendingDelivery,
        _: Option<&DeliveryReceipt>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn record_failed(
        &self,
        _: &str,
        _: &PendingDelivery,
        _: &DeliveryError,
        _: Option<Duration>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn record_ambiguous(
        &self,
        _: &str,
        _: &PendingDelivery,
        _: &DeliveryError,
        _: AmbiguousSend,
        _: Duration,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn add_fallback(
        &self,
        _: &CaseId,
        _: &str,
        _: &FailoverSources,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn enqueue_announcement(&self, _: &CaseId, _: &[String]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn begin_digest(&self, _: &str, _: NaiveDate) -> Result<Option<bool>, StoreError> {
        Ok(None)
    }

    async fn record_digest_posted(&self, _: &str, _: NaiveDate) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A queue that accepts canaries, or refuses the password of the publisher.
#[derive(Default)]
struct FakeQueue {
    refuses: bool,
    tried: Notify,
}

#[async_trait]
impl Publish for FakeQueue {
    fn name(&self) -> &'static str {
        "siem"
    }

    async fn publish(&self, _: &OutgoingMessage) -> Result<(), PublishError> {
        self.tried.notify_one();
        match self.refuses {
            true => Err(PublishError {
                source_name: "siem".to_owned(),
                what: "ACCESS_REFUSED".to_owned(),
            }),
            false => Ok(()),
        }
    }
}

/// Sends to this queue until one attempt was made, then stops.
async fn try_one(store: &Arc<FakeCanaryStore>, queue: FakeQueue, holder: &str) {
    let queue = Arc::new(queue);
    let sending = CanaryLoop {
        canary: signed_with(KEY),
        publisher: queue.clone(),
        outbox: store.clone(),
        cases: store.clone(),
        closer: CanaryCloser {
            feedback: store.clone(),
            clock: Arc::new(EarlyClock),
            every: EVERY,
        },
        holder: holder.to_owned(),
    };
    let stop = CancellationToken::new();
    let told = async {
        queue.tried.notified().await;
        // By then the sender has the result and waits.
        tokio::time::sleep(Duration::from_secs(1)).await;
        stop.cancel();
    };
    tokio::join!(sending.run(&stop), told);
}

#[tokio::test(start_paused = true)]
async fn a_canary_that_could_not_be_sent_is_left_to_whoever_follows() {
    let store = Arc::new(FakeCanaryStore::default());
    let refuses = FakeQueue {
        refuses: true,
        ..FakeQueue::default()
    };
    try_one(&store, refuses, "before").await;
    assert_eq!(*store.holder.lock().unwrap(), None);
    // The password was corrected, and the same interval gets its canary.
    try_one(&store, FakeQueue::default(), "after").await;
    let holder = store.holder.lock().unwrap().clone();
    assert_eq!(holder.as_deref(), Some("after"), "no other one is sent");
}

#[tokio::test(start_paused = true)]
async fn a_canary_whose_end_is_noted_late_is_dated_as_it_was_shown() {
    let store = Arc::new(FakeCanaryStore::default());
    try_one(&store, FakeQueue::default(), "mine").await;
    let acts = store.acts.lock().unwrap();
    let told: Vec<_> = acts.iter().map(|act| (act.at, act.by.as_str())).collect();
    assert_eq!(told, [(after(-20_000), CANARY_CLOSER)]);
}
