//! Tests the loop with an outbox in memory that keeps the guarantees of a store.

mod metrics;
mod outbox;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, NaiveTime, Utc};
use nightshift_engine::port::{Clock, NoMeter};
use tokio_util::sync::CancellationToken;

use super::attempt::REFUSED_RETRY_DELAY;
use super::{DeliveryLoop, Failover, MAX_PACED_ROUND, ORDER_TTL};
use crate::case::CaseId;
use crate::delivery_payload::DeliveryPayload;
use crate::digest::Digest;
use crate::loops::DigestPlan;
use crate::port::{DeliveryError, DeliveryReceipt, Destination, StoreError};
use crate::route::Routes;
use outbox::{FakeOutbox, Stage};

const PACE: Duration = Duration::from_secs(1);

/// Callback for each post, with the number of posts so far.
type SendHook = Box<dyn FnMut(usize) + Send>;

/// A channel that records what it is shown and looks up posts.
#[derive(Default)]
struct FakeChannel {
    pace: Duration,
    posts: Mutex<Vec<String>>,
    /// Cases that the channel shows already and that a look-up finds.
    shown: Mutex<Vec<String>>,
    /// Case whose post succeeds but whose answer is lost.
    loses: Option<&'static str>,
    /// Final refusals of the next posts.
    refusals: Mutex<Vec<String>>,
    /// Seconds of pause that the channel asks for at the next post.
    busy: Mutex<Option<u64>>,
    /// Errors of the next look-ups.
    finds: Mutex<Vec<DeliveryError>>,
    /// Callback before a post is answered.
    meanwhile: Mutex<Option<SendHook>>,
}

impl FakeChannel {
    fn paced() -> Self {
        Self {
            pace: PACE,
            ..Self::default()
        }
    }

    fn posts(&self) -> Vec<String> {
        self.posts.lock().unwrap().clone()
    }
}

#[async_trait]
impl Destination for FakeChannel {
    fn name(&self) -> &'static str {
        "soc"
    }

    fn send_interval(&self) -> Duration {
        self.pace
    }

    fn wants(&self, showing: &DeliveryPayload) -> bool {
        !showing.is_early() || showing.is_spent_canary()
    }

    async fn find(
        &self,
        showing: &DeliveryPayload,
        _begun_ago: Duration,
    ) -> Result<Option<String>, DeliveryError> {
        if let Some(error) = self.finds.lock().unwrap().pop() {
            return Err(error);
        }
        let id = &showing.report.case_id;
        let shown = self.shown.lock().unwrap();
        Ok(shown.contains(id).then(|| format!("ts-{id}")))
    }

    async fn deliver(&self, showing: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError> {
        let id = showing.report.case_id.clone();
        let posts = {
            let mut posts = self.posts.lock().unwrap();
            let way = showing.remote_id.as_ref().map_or("", |_| " edited");
            posts.push(format!("{id}{way}"));
            posts.len()
        };
        if let Some(meanwhile) = self.meanwhile.lock().unwrap().as_mut() {
            meanwhile(posts);
        }
        if let Some(what) = self.refusals.lock().unwrap().pop() {
            return Err(DeliveryError::Permanent { what });
        }
        if let Some(secs) = self.busy.lock().unwrap().take() {
            return Err(DeliveryError::Transient {
                what: "429".into(),
                after_secs: Some(secs),
            });
        }
        if self.loses == Some(id.as_str()) && showing.remote_id.is_none() {
            self.shown.lock().unwrap().push(id);
            return Err(DeliveryError::Ambiguous {
                what: "the answer was lost".into(),
            });
        }
        Ok(DeliveryReceipt {
            remote_id: Some(format!("ts-{id}")),
        })
    }
}

fn delivering(outbox: &Arc<FakeOutbox>, channel: &Arc<FakeChannel>) -> DeliveryLoop {
    DeliveryLoop {
        outbox: outbox.clone(),
        kind: "slack".into(),
        destination: channel.clone(),
        failover: Arc::new(Failover {
            outbox: outbox.clone(),
            cases: outbox.clone(),
            routes: Routes::default(),
            destinations: vec![channel.clone()],
        }),
        notifier: outbox.clone(),
        meter: Arc::new(NoMeter),
        holder: "ours".into(),
        digest: None,
        canary: None,
    }
}

fn ids(names: &[&str]) -> Vec<CaseId> {
    names.iter().map(|name| CaseId((*name).into())).collect()
}

/// Runs the loop until it waits for work.
async fn until_idle(delivering: &DeliveryLoop, outbox: &FakeOutbox) {
    let stop = CancellationToken::new();
    outbox.when_idle(stop.clone());
    delivering.run(&stop).await;
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> DateTime<Utc> {
        "2026-11-20T12:00:00Z".parse().unwrap()
    }
}

/// A store that cannot return the numbers of a day.
#[derive(Default)]
struct NoDigest {
    asked: AtomicI64,
}

#[async_trait]
impl crate::port::Digests for NoDigest {
    async fn collect_digest(
        &self,
        _: DateTime<Utc>,
        _: DateTime<Utc>,
    ) -> Result<Digest, StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Err(StoreError::LeaseLost)
    }
}

/// Returns a digest plan that is due.
fn at_nine(outbox: &Arc<FakeOutbox>, digests: Arc<NoDigest>) -> DigestPlan {
    DigestPlan {
        at: NaiveTime::from_hms_opt(9, 0, 0).unwrap(),
        zone: chrono_tz::UTC,
        digests,
        mutes: outbox.clone(),
        clock: Arc::new(FixedClock),
        next: AtomicI64::new(0),
    }
}

#[tokio::test]
async fn failing_digest_delays_no_report_and_waits_for_its_retry() {
    let outbox = Arc::new(FakeOutbox::with(&["a", "b"]));
    let channel = Arc::new(FakeChannel::default());
    let digests = Arc::new(NoDigest::default());
    let mut delivering = delivering(&outbox, &channel);
    delivering.digest = Some(at_nine(&outbox, digests.clone()));
    until_idle(&delivering, &outbox).await;
    assert_eq!(channel.posts(), ["a", "b"]);
    assert_eq!(digests.asked.load(Ordering::Relaxed), 1);
    let again = delivering.digest.unwrap().next.load(Ordering::Relaxed);
    assert_eq!(again, FixedClock.now().timestamp() + 120);
}

#[tokio::test(start_paused = true)]
async fn paced_destination_sorts_its_outbox_once_for_many() {
    let names: Vec<String> = (0..120).map(|number| format!("c{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let outbox = Arc::new(FakeOutbox::with(&names));
    let channel = Arc::new(FakeChannel {
        pace: Duration::from_millis(50),
        ..FakeChannel::default()
    });
    until_idle(&delivering(&outbox, &channel), &outbox).await;
    assert_eq!(channel.posts(), names);
    let asked = outbox.asked();
    assert!(
        asked.iter().all(|most| *most == MAX_PACED_ROUND),
        "{asked:?}"
    );
    // 50, 50, 20, and one query that finds nothing.
    assert_eq!(asked.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_ring_puts_what_came_late_before_those_that_were_read() {
    let outbox = Arc::new(FakeOutbox::with(&["a", "b", "c"]));
    let channel = Arc::new(FakeChannel::paced());
    let late = outbox.clone();
    *channel.meanwhile.lock().unwrap() = Some(Box::new(move |posts| {
        if posts == 1 {
            late.add_first("critical");
        }
    }));
    until_idle(&delivering(&outbox, &channel), &outbox).await;
    assert_eq!(channel.posts(), ["a", "critical", "b", "c"]);
    assert_eq!(outbox.asked().len(), 3, "the ring is heard once");
}

#[tokio::test(start_paused = true)]
async fn without_a_ring_the_order_is_believed_for_some_seconds() {
    let outbox = Arc::new(FakeOutbox::with(&["a", "b", "c", "d"]));
    let channel = Arc::new(FakeChannel {
        pace: ORDER_TTL / 2,
        ..FakeChannel::default()
    });
    let late = outbox.clone();
    *channel.meanwhile.lock().unwrap() = Some(Box::new(move |posts| {
        if posts == 1 {
            late.add_first_without_a_ring("critical");
        }
    }));
    until_idle(&delivering(&outbox, &channel), &outbox).await;
    assert_eq!(channel.posts(), ["a", "b", "critical", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn destination_with_retry_after_gets_nothing_meanwhile() {
    for (says, waits) in [(7, 7), (600, 60)] {
        let outbox = Arc::new(FakeOutbox::with(&["a", "b"]));
        let channel = Arc::new(FakeChannel::default());
        *channel.busy.lock().unwrap() = Some(says);
        let begun = tokio::time::Instant::now();
        until_idle(&delivering(&outbox, &channel), &outbox).await;
        assert_eq!(channel.posts(), ["a", "a", "b"]);
        assert_eq!(begun.elapsed().as_secs(), waits);
    }
}

#[tokio::test]
async fn f26_an_edit_whose_answer_was_lost_is_given_time_to_end() {
    let outbox = Arc::new(FakeOutbox::with(&["edit"]));
    outbox.doubts("edit");
    let channel = Arc::new(FakeChannel::default());
    let (edit, stop) = (ids(&["edit"]), CancellationToken::new());
    let delivering = delivering(&outbox, &channel);
    delivering.deliver_cases(&edit, &stop).await.unwrap();
    assert_eq!(channel.posts(), Vec::<String>::new());
    let put_off = outbox.put_off().pop();
    assert_eq!(put_off, Some(("edit".to_owned(), Duration::from_secs(16))));
}

#[tokio::test(start_paused = true)]
async fn g05_a_command_shows_its_own_cases_and_no_other() {
    let outbox = Arc::new(FakeOutbox::with(&["old", "mine", "older"]));
    let channel = Arc::new(FakeChannel::paced());
    let delivering = delivering(&outbox, &channel);
    let stop = CancellationToken::new();
    let tried = delivering
        .deliver_cases(&ids(&["mine"]), &stop)
        .await
        .unwrap();
    assert_eq!((tried, channel.posts()), (Some(1), vec!["mine".to_owned()]));
    assert_eq!(outbox.stage("mine"), Stage::Shown("ts-mine".into()));
    assert_eq!(outbox.stage("old"), Stage::Due);
    assert_eq!(outbox.holder(), None, "it is served no more");
    let tried = delivering
        .deliver_cases(&ids(&["mine"]), &stop)
        .await
        .unwrap();
    assert_eq!((tried, channel.posts().len()), (Some(0), 1));
}

#[tokio::test]
async fn g05_a_destination_that_another_process_serves_is_left_to_it() {
    let outbox = Arc::new(FakeOutbox::with(&["mine", "other"]));
    outbox.served_by("the worker");
    let channel = Arc::new(FakeChannel::default());
    let delivering = delivering(&outbox, &channel);
    let stop = CancellationToken::new();
    let tried = delivering
        .deliver_cases(&ids(&["mine"]), &stop)
        .await
        .unwrap();
    assert_eq!((tried, channel.posts().len()), (None, 0));
    assert_eq!(outbox.stage("mine"), Stage::Due);
    assert_eq!(outbox.holder().as_deref(), Some("the worker"));
    let none = delivering
        .deliver_cases(&ids(&["new"]), &stop)
        .await
        .unwrap();
    assert_eq!(none, Some(0), "nothing of it is due");
}

#[tokio::test]
async fn g05_f26_ambiguous_send_of_a_command_is_looked_up_not_resent() {
    let outbox = Arc::new(FakeOutbox::with(&["mine"]));
    let channel = Arc::new(FakeChannel {
        loses: Some("mine"),
        ..FakeChannel::default()
    });
    let delivering = delivering(&outbox, &channel);
    let (mine, stop) = (ids(&["mine"]), CancellationToken::new());
    assert_eq!(
        delivering.deliver_cases(&mine, &stop).await.unwrap(),
        Some(1)
    );
    assert_eq!(outbox.stage("mine"), Stage::InDoubt);
    // Any other process takes over.
    assert_eq!(
        delivering.deliver_cases(&mine, &stop).await.unwrap(),
        Some(1)
    );
    assert_eq!(channel.posts(), ["mine", "mine edited"]);
    assert_eq!(outbox.stage("mine"), Stage::Shown("ts-mine".into()));
}

#[tokio::test]
async fn ambiguous_send_without_look_up_waits_despite_broken_case() {
    let outbox = Arc::new(FakeOutbox::with(&["mine"]));
    let channel = Arc::new(FakeChannel {
        loses: Some("mine"),
        ..FakeChannel::default()
    });
    let delivering = delivering(&outbox, &channel);
    let (mine, stop) = (ids(&["mine"]), CancellationToken::new());
    assert_eq!(
        delivering.deliver_cases(&mine, &stop).await.unwrap(),
        Some(1)
    );
    let refused = DeliveryError::Permanent {
        what: "missing_scope".into(),
    };
    channel.finds.lock().unwrap().push(refused);
    // The destination that should take the report is unknown.
    delivering.deliver_cases(&mine, &stop).await.unwrap_err();
    let last = outbox.put_off().pop();
    assert_eq!(last, Some(("mine".to_owned(), REFUSED_RETRY_DELAY)));
}

#[tokio::test]
async fn g05_a_command_notes_a_try_before_it_sends() {
    let outbox = Arc::new(FakeOutbox::with(&["mine"]));
    let channel = Arc::new(FakeChannel::default());
    let seen = Arc::new(Mutex::new(None));
    let (noted, looking) = (Arc::clone(&seen), outbox.clone());
    *channel.meanwhile.lock().unwrap() = Some(Box::new(move |_| {
        *noted.lock().unwrap() = Some((looking.stage("mine"), looking.holder()));
    }));
    let stop = CancellationToken::new();
    let delivering = delivering(&outbox, &channel);
    delivering
        .deliver_cases(&ids(&["mine"]), &stop)
        .await
        .unwrap();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen, Some((Stage::InDoubt, Some("ours".to_owned()))));
}
