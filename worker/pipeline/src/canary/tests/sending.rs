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
use crate::desk::{Act, Desk};
use crate::feedback::{Decided, NewPersonVerdict, PersonVerdict};
use crate::port::{
    Canaries, DeliveryError, Doubt, Due, Feedback, Outbox, Outgoing, Publish, PublishError, Sent,
    StoreError,
};
use crate::report::InsteadOf;

/// A clock two minutes after the beginning of an interval.
struct Early;

impl Clock for Early {
    fn now(&self) -> DateTime<Utc> {
        after(120)
    }
}

/// A store with one canary that was shown hours ago, and the sender's lease.
#[derive(Default)]
struct Shown {
    holder: Mutex<Option<String>>,
    acts: Mutex<Vec<Act>>,
}

#[async_trait]
impl Canaries for Shown {
    async fn last_canary(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        Ok(None)
    }

    async fn open_canaries(&self, _: usize) -> Result<Vec<(CaseId, DateTime<Utc>)>, StoreError> {
        Ok(vec![(CaseId("c1".to_owned()), after(-20_000))])
    }
}

#[async_trait]
impl Feedback for Shown {
    async fn add_verdict(&self, _: &str, _: NewPersonVerdict) -> Result<PersonVerdict, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn act(&self, id: &str, act: Act) -> Result<(CaseId, Desk), StoreError> {
        self.acts.lock().unwrap().push(act);
        Ok((CaseId(id.to_owned()), Desk::default()))
    }

    async fn came_with(&self, _: &CaseId, _: u32) -> Result<Option<TraceContext>, StoreError> {
        Ok(None)
    }

    async fn verdicts_after(&self, _: i64, _: usize) -> Result<Vec<Decided>, StoreError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl Outbox for Shown {
    async fn serve(&self, _: &str, holder: &str, _: Duration) -> Result<bool, StoreError> {
        let mut held = self.holder.lock().unwrap();
        Ok(held.get_or_insert_with(|| holder.to_owned()) == holder)
    }

    async fn leave(&self, _: &str, holder: &str) -> Result<(), StoreError> {
        let mut held = self.holder.lock().unwrap();
        held.take_if(|held| held == holder);
        Ok(())
    }

    async fn due(&self, _: &str, _: usize) -> Result<Vec<Due>, StoreError> {
        Ok(Vec::new())
    }

    async fn begin(&self, _: &str, _: &Due) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn sent(&self, _: &str, _: &Due, _: Option<&Sent>) -> Result<(), StoreError> {
        Ok(())
    }

    async fn failed(
        &self,
        _: &str,
        _: &Due,
        _: &DeliveryError,
        _: Option<Duration>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn unclear(
        &self,
        _: &str,
        _: &Due,
        _: &DeliveryError,
        _: Doubt,
        _: Duration,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn also(&self, _: &CaseId, _: &str, _: &InsteadOf) -> Result<(), StoreError> {
        Ok(())
    }

    async fn announce(&self, _: &CaseId, _: &[String]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn begin_digest(&self, _: &str, _: NaiveDate) -> Result<Option<bool>, StoreError> {
        Ok(None)
    }

    async fn digest_posted(&self, _: &str, _: NaiveDate) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A queue that accepts canaries, or refuses the password of the publisher.
#[derive(Default)]
struct Queue {
    refuses: bool,
    tried: Notify,
}

#[async_trait]
impl Publish for Queue {
    fn name(&self) -> &'static str {
        "siem"
    }

    async fn publish(&self, _: &Outgoing) -> Result<(), PublishError> {
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
async fn try_one(store: &Arc<Shown>, queue: Queue, holder: &str) {
    let queue = Arc::new(queue);
    let sending = CanarySending {
        canary: signed_with(KEY),
        to: queue.clone(),
        outbox: store.clone(),
        cases: store.clone(),
        ending: CanaryEnding {
            desk: store.clone(),
            clock: Arc::new(Early),
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
    let store = Arc::new(Shown::default());
    let refuses = Queue {
        refuses: true,
        ..Queue::default()
    };
    try_one(&store, refuses, "before").await;
    assert_eq!(*store.holder.lock().unwrap(), None);
    // The password was corrected, and the same interval gets its canary.
    try_one(&store, Queue::default(), "after").await;
    let holder = store.holder.lock().unwrap().clone();
    assert_eq!(holder.as_deref(), Some("after"), "no other one is sent");
}

#[tokio::test(start_paused = true)]
async fn a_canary_whose_end_is_noted_late_is_dated_as_it_was_shown() {
    let store = Arc::new(Shown::default());
    try_one(&store, Queue::default(), "mine").await;
    let acts = store.acts.lock().unwrap();
    let told: Vec<_> = acts.iter().map(|act| (act.at, act.by.as_str())).collect();
    assert_eq!(told, [(after(-20_000), CANARY_CLOSER)]);
}
