//! Tests how attempts are counted, because operational alerts depend on it.

use nightshift_alert::TraceContext;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::Meter;

use super::*;
use crate::canary::CanaryCloser;
use crate::case_workflow::{CaseAction, CaseWorkflow};
use crate::feedback::{FeedbackRecord, NewPersonVerdict, PersonVerdict};
use crate::port::Feedback;

#[derive(Default)]
struct DeliveryMeter(Mutex<Vec<&'static str>>);

impl Meter for DeliveryMeter {
    fn count(&self, measure: &Measurement) {
        if let Measurement::Delivery { outcome, .. } = measure {
            self.0.lock().unwrap().push(outcome);
        }
    }
}

/// A clock at the time when samples and canaries were sent.
struct LaterClock;

impl Clock for LaterClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }
}

/// Store of the ends of canaries.
#[derive(Default)]
struct RecordedActions(Mutex<Vec<String>>);

#[async_trait]
impl Feedback for RecordedActions {
    async fn add_verdict(&self, _: &str, _: NewPersonVerdict) -> Result<PersonVerdict, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn record_action(
        &self,
        id: &str,
        _: CaseAction,
    ) -> Result<(CaseId, CaseWorkflow), StoreError> {
        self.0.lock().unwrap().push(id.to_owned());
        Ok((CaseId(id.to_owned()), CaseWorkflow::default()))
    }

    async fn trace_context(&self, _: &CaseId, _: u32) -> Result<Option<TraceContext>, StoreError> {
        Ok(None)
    }

    async fn verdicts_after(&self, _: i64, _: usize) -> Result<Vec<FeedbackRecord>, StoreError> {
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn delivered_canary_does_not_count_as_a_sent_report() {
    let outbox = Arc::new(FakeOutbox::with(&["canary", "mine"]));
    let channel = Arc::new(FakeChannel::default());
    let (counted, ends) = (
        Arc::new(DeliveryMeter::default()),
        Arc::new(RecordedActions::default()),
    );
    let mut delivering = delivering(&outbox, &channel);
    delivering.meter = counted.clone();
    delivering.canary = Some(CanaryCloser {
        feedback: ends.clone(),
        clock: Arc::new(LaterClock),
        every: Duration::from_secs(900),
    });
    until_idle(&delivering, &outbox).await;
    assert_eq!(channel.posts(), ["canary", "mine"]);
    assert_eq!(*ends.0.lock().unwrap(), ["canary"]);
    assert_eq!(*counted.0.lock().unwrap(), ["sent"], "the report alone");
}

#[tokio::test]
async fn failed_look_up_counts_as_failed_attempt_and_waiting_does_not() {
    let outbox = Arc::new(FakeOutbox::with(&["mine"]));
    let what = || "nobody answers".to_owned();
    let later = || DeliveryError::Transient {
        what: what(),
        after_secs: None,
    };
    let settling = DeliveryError::NotVisibleYet {
        what: what(),
        after_secs: 5,
    };
    let channel = Arc::new(FakeChannel {
        loses: Some("mine"),
        finds: Mutex::new(vec![settling, later(), later()]),
        ..FakeChannel::default()
    });
    let counted = Arc::new(DeliveryMeter::default());
    let mut delivering = delivering(&outbox, &channel);
    delivering.meter = counted.clone();
    until_idle(&delivering, &outbox).await;
    assert_eq!(channel.posts(), ["mine", "mine edited"]);
    let expected = ["failed", "failed", "failed", "sent"];
    assert_eq!(*counted.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn refused_edit_does_not_count_against_reports_of_destination() {
    // A button was pressed, and the issue is in a status without such a transition.
    let outbox = Arc::new(FakeOutbox::with(&["edit pressed"]));
    let channel = Arc::new(FakeChannel::default());
    *channel.refusals.lock().unwrap() = vec!["no such step".to_owned(); 2];
    let counted = Arc::new(DeliveryMeter::default());
    let mut delivering = delivering(&outbox, &channel);
    delivering.meter = counted.clone();
    until_idle(&delivering, &outbox).await;
    assert_eq!(channel.posts().len(), 3);
    assert_eq!(*counted.0.lock().unwrap(), ["sent"]);
}

#[tokio::test]
async fn a_digest_that_cannot_be_made_counts_as_a_try_that_failed() {
    let outbox = Arc::new(FakeOutbox::with(&["mine"]));
    let channel = Arc::new(FakeChannel::default());
    let counted = Arc::new(DeliveryMeter::default());
    let mut delivering = delivering(&outbox, &channel);
    delivering.meter = counted.clone();
    delivering.digest = Some(at_nine(&outbox, Arc::new(NoDigest::default())));
    until_idle(&delivering, &outbox).await;
    assert_eq!(*counted.0.lock().unwrap(), ["failed", "sent"]);
}
