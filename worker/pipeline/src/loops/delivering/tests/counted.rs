//! Tests how attempts are counted, because operational alerts depend on it.

use nightshift_alert::TraceContext;
use nightshift_engine::measure::Measure;
use nightshift_engine::port::Meter;

use super::*;
use crate::canary::CanaryEnding;
use crate::desk::{Act, Desk};
use crate::feedback::{Decided, NewPersonVerdict, PersonVerdict};
use crate::port::Feedback;

#[derive(Default)]
struct Counted(Mutex<Vec<&'static str>>);

impl Meter for Counted {
    fn count(&self, measure: &Measure) {
        if let Measure::Delivery { outcome, .. } = measure {
            self.0.lock().unwrap().push(outcome);
        }
    }
}

/// A clock at the time when samples and canaries were sent.
struct Then;

impl Clock for Then {
    fn now(&self) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }
}

/// Store of the ends of canaries.
#[derive(Default)]
struct Ends(Mutex<Vec<String>>);

#[async_trait]
impl Feedback for Ends {
    async fn add_verdict(&self, _: &str, _: NewPersonVerdict) -> Result<PersonVerdict, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn act(&self, id: &str, _: Act) -> Result<(CaseId, Desk), StoreError> {
        self.0.lock().unwrap().push(id.to_owned());
        Ok((CaseId(id.to_owned()), Desk::default()))
    }

    async fn came_with(&self, _: &CaseId, _: u32) -> Result<Option<TraceContext>, StoreError> {
        Ok(None)
    }

    async fn verdicts_after(&self, _: i64, _: usize) -> Result<Vec<Decided>, StoreError> {
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn a_canary_that_is_taken_does_not_count_as_a_report_that_is_sent() {
    let outbox = Arc::new(FakeOutbox::with(&["canary", "mine"]));
    let channel = Arc::new(Channel::default());
    let (counted, ends) = (Arc::new(Counted::default()), Arc::new(Ends::default()));
    let mut delivering = delivering(&outbox, &channel);
    delivering.meter = counted.clone();
    delivering.canary = Some(CanaryEnding {
        desk: ends.clone(),
        clock: Arc::new(Then),
        every: Duration::from_secs(900),
    });
    until_idle(&delivering, &outbox).await;
    assert_eq!(channel.posts(), ["canary", "mine"]);
    assert_eq!(*ends.0.lock().unwrap(), ["canary"]);
    assert_eq!(*counted.0.lock().unwrap(), ["sent"], "the report alone");
}

#[tokio::test]
async fn a_look_up_that_fails_counts_as_a_try_that_failed_and_one_that_waits_does_not() {
    let outbox = Arc::new(FakeOutbox::with(&["mine"]));
    let what = || "nobody answers".to_owned();
    let later = || DeliveryError::Later {
        what: what(),
        after_secs: None,
    };
    let settling = DeliveryError::Settling {
        what: what(),
        after_secs: 5,
    };
    let channel = Arc::new(Channel {
        loses: Some("mine"),
        finds: Mutex::new(vec![settling, later(), later()]),
        ..Channel::default()
    });
    let counted = Arc::new(Counted::default());
    let mut delivering = delivering(&outbox, &channel);
    delivering.meter = counted.clone();
    until_idle(&delivering, &outbox).await;
    assert_eq!(channel.posts(), ["mine", "mine edited"]);
    let expected = ["failed", "failed", "failed", "sent"];
    assert_eq!(*counted.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn an_edit_that_is_refused_for_good_says_nothing_of_the_reports_of_its_destination() {
    // A button was pressed, and the issue is in a status without such a transition.
    let outbox = Arc::new(FakeOutbox::with(&["edit pressed"]));
    let channel = Arc::new(Channel::default());
    *channel.refusals.lock().unwrap() = vec!["no such step".to_owned(); 2];
    let counted = Arc::new(Counted::default());
    let mut delivering = delivering(&outbox, &channel);
    delivering.meter = counted.clone();
    until_idle(&delivering, &outbox).await;
    assert_eq!(channel.posts().len(), 3);
    assert_eq!(*counted.0.lock().unwrap(), ["sent"]);
}

#[tokio::test]
async fn a_digest_that_cannot_be_made_counts_as_a_try_that_failed() {
    let outbox = Arc::new(FakeOutbox::with(&["mine"]));
    let channel = Arc::new(Channel::default());
    let counted = Arc::new(Counted::default());
    let mut delivering = delivering(&outbox, &channel);
    delivering.meter = counted.clone();
    delivering.digest = Some(at_nine(&outbox, Arc::new(NoDigest::default())));
    until_idle(&delivering, &outbox).await;
    assert_eq!(*counted.0.lock().unwrap(), ["failed", "sent"]);
}
