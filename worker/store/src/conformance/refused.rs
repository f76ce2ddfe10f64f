//! Tests a channel that accepted a report, lost its answer and cannot be searched since, a channel that refuses until
//! its key is fixed, and the destinations that take over refused reports.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use nightshift_engine::port::NoMeter;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::loops::{DeliveryLoop, Failover};
use nightshift_pipeline::port::Destination;
use nightshift_pipeline::report::{FailoverReason, FailoverSource};
use nightshift_pipeline::route::{Route, Routes};
use tokio_util::sync::CancellationToken;

use super::outbox::refused;
use super::*;

on_both_stores! {
    f28_unverifiable_send_goes_to_the_next_and_stays_ambiguous
    f28_f33_refused_report_without_taker_waits_for_a_new_key
    f28_refused_report_goes_to_first_taker_or_stays_pending
    f28_who_refused_one_report_is_asked_to_take_the_next
}

/// A destination that takes over refused reports if it wants them.
pub(super) struct FallbackDestination {
    name: &'static str,
    wants: AtomicBool,
    refuses: AtomicBool,
}

impl FallbackDestination {
    pub(super) const fn new(name: &'static str) -> Self {
        Self {
            name,
            wants: AtomicBool::new(true),
            refuses: AtomicBool::new(false),
        }
    }

    pub(super) fn wants_nothing(&self) {
        self.wants.store(false, Ordering::Relaxed);
    }
}

#[async_trait]
impl Destination for FallbackDestination {
    fn name(&self) -> &str {
        self.name
    }

    fn wants(&self, _: &DeliveryPayload) -> bool {
        self.wants.load(Ordering::Relaxed)
    }

    async fn deliver(&self, _: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError> {
        if !self.refuses.load(Ordering::Relaxed) {
            return Ok(DeliveryReceipt::default());
        }
        let what = "the key is wrong".to_owned();
        Err(DeliveryError::Permanent { what })
    }
}

impl Fixture {
    /// Creates a failover to these destinations in order.
    pub(super) fn handing_on(&self, otherwise: &[Arc<FallbackDestination>]) -> Failover {
        let names = otherwise.iter().map(|one| one.name.to_owned());
        let all = otherwise.iter().cloned();
        Failover {
            outbox: self.store.clone(),
            cases: self.store.clone(),
            routes: Routes {
                rules: vec![Route {
                    otherwise: Some(names.collect()),
                    ..Route::default()
                }],
                ..Routes::default()
            },
            destinations: all.map(|one| one as Arc<dyn Destination>).collect(),
        }
    }
}

#[derive(Default)]
struct LostAnswerDestination {
    posts: AtomicUsize,
}

#[async_trait]
impl Destination for LostAnswerDestination {
    fn name(&self) -> &'static str {
        "soc"
    }

    async fn find(
        &self,
        _: &DeliveryPayload,
        _: Duration,
    ) -> Result<Option<String>, DeliveryError> {
        let what = "the token was revoked".to_owned();
        Err(DeliveryError::Permanent { what })
    }

    async fn deliver(&self, _: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError> {
        self.posts.fetch_add(1, Ordering::Relaxed);
        let what = "the answer was lost".to_owned();
        Err(DeliveryError::Ambiguous { what })
    }
}

async fn f28_unverifiable_send_goes_to_the_next_and_stays_ambiguous(fixture: Fixture) {
    let accepted = fixture.accept(MINER).await;
    conclude(&fixture.store, &fixture.claim().await).await;
    let id = case_of(&accepted);
    let channel = Arc::new(LostAnswerDestination::default());
    let archive = Arc::new(FallbackDestination::new("archive"));
    let delivering = delivering(&fixture, channel.clone(), &[archive]);
    let (ids, stop) = ([id.clone()], CancellationToken::new());
    for _ in 0..3 {
        let tried = delivering.deliver_cases(&ids, &stop).await.unwrap();
        assert_eq!(tried, Some(1));
        fixture
            .execute("UPDATE deliveries SET retry_at = requested_at WHERE destination = 'soc'")
            .await;
    }
    assert_eq!(channel.posts.load(Ordering::Relaxed), 1, "never again");
    let mut rows = fixture.store.view(&id.0).await.unwrap().deliveries;
    rows.sort_by(|one, other| one.destination.cmp(&other.destination));
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.destination.as_str(), row.wanted, row.in_doubt))
        .collect();
    assert_eq!(told, [("archive", 1, false), ("soc", 1, true)]);
    let due = fixture
        .store
        .due_deliveries("archive", 9)
        .await
        .unwrap()
        .remove(0);
    let why = FailoverReason::NotKnown;
    let missed = ("soc".to_owned(), FailoverSource { why, revision: 1 });
    assert_eq!(due.payload.report.instead_of, [missed].into());
}

/// A destination that refuses everything until its key is fixed.
#[derive(Default)]
struct RevokedKeyDestination {
    is_mended: AtomicBool,
}

#[async_trait]
impl Destination for RevokedKeyDestination {
    fn name(&self) -> &'static str {
        "soc"
    }

    async fn deliver(&self, _: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError> {
        if self.is_mended.load(Ordering::Relaxed) {
            return Ok(DeliveryReceipt { remote_id: None });
        }
        let what = "the token was revoked".to_owned();
        Err(DeliveryError::Permanent { what })
    }
}

async fn f28_f33_refused_report_without_taker_waits_for_a_new_key(fixture: Fixture) {
    let accepted = fixture.accept(MINER).await;
    conclude(&fixture.store, &fixture.claim().await).await;
    let id = case_of(&accepted);
    let channel = Arc::new(RevokedKeyDestination::default());
    let delivering = delivering(&fixture, channel.clone(), &[]);
    let (ids, stop) = ([id.clone()], CancellationToken::new());
    assert_eq!(
        delivering.deliver_cases(&ids, &stop).await.unwrap(),
        Some(1)
    );
    assert_eq!(fixture.store.backlog().await.unwrap().outbox, 1);
    let at_once = delivering.deliver_cases(&ids, &stop).await.unwrap();
    assert_eq!(at_once, Some(0), "it waits a minute");
    channel.is_mended.store(true, Ordering::Relaxed);
    fixture
        .execute("UPDATE deliveries SET retry_at = requested_at")
        .await;
    assert_eq!(
        delivering.deliver_cases(&ids, &stop).await.unwrap(),
        Some(1)
    );
    let rows = fixture.store.view(&id.0).await.unwrap().deliveries;
    let soc = rows.iter().find(|row| row.destination == "soc").unwrap();
    assert_eq!((soc.sent, soc.given_up, &soc.error), (1, false, &None));
}

async fn f28_refused_report_goes_to_first_taker_or_stays_pending(fixture: Fixture) {
    let accepted = fixture.accept(MINER).await;
    conclude(&fixture.store, &fixture.claim().await).await;
    let id = case_of(&accepted);
    let chain = ["pager", "archive"].map(|name| Arc::new(FallbackDestination::new(name)));
    let delivering = delivering(&fixture, Arc::new(RevokedKeyDestination::default()), &chain);
    let (ids, stop) = ([id.clone()], CancellationToken::new());
    for other in &chain {
        other.wants_nothing();
    }
    assert_eq!(
        delivering.deliver_cases(&ids, &stop).await.unwrap(),
        Some(1)
    );
    let rows = fixture.store.view(&id.0).await.unwrap().deliveries;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((rows[0].sent, rows[0].given_up), (0, false));
    assert_eq!(fixture.store.backlog().await.unwrap().outbox, 1);
    // At the next attempt, one of them wants the report.
    chain[1].wants.store(true, Ordering::Relaxed);
    fixture
        .execute("UPDATE deliveries SET retry_at = requested_at")
        .await;
    assert_eq!(
        delivering.deliver_cases(&ids, &stop).await.unwrap(),
        Some(1)
    );
    assert!(fixture.delivery(&id, "soc").await.given_up);
    let due = fixture.store.due_deliveries("archive", 9).await.unwrap();
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].payload.report.instead_of, refused(1));
    assert!(
        fixture
            .store
            .due_deliveries("pager", 9)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn f28_who_refused_one_report_is_asked_to_take_the_next(fixture: Fixture) {
    let accepted = fixture.accept(MINER).await;
    conclude(&fixture.store, &fixture.claim().await).await;
    let id = case_of(&accepted);
    let chain = ["tickets", "pager"].map(|name| Arc::new(FallbackDestination::new(name)));
    chain[0].refuses.store(true, Ordering::Relaxed);
    let (ids, stop) = ([id.clone()], CancellationToken::new());
    let locked: Arc<dyn Destination> = Arc::new(RevokedKeyDestination::default());
    let others = chain
        .iter()
        .map(|one| Arc::clone(one) as Arc<dyn Destination>);
    let all = std::iter::once(locked).chain(others);
    let all: Vec<_> = all.map(|one| delivering(&fixture, one, &chain)).collect();
    for one in &all[..2] {
        assert_eq!(one.deliver_cases(&ids, &stop).await.unwrap(), Some(1));
    }
    let due = fixture
        .store
        .due_deliveries("pager", 9)
        .await
        .unwrap()
        .remove(0);
    let names: Vec<_> = due.payload.report.instead_of.keys().collect();
    assert_eq!(names, ["soc", "tickets"], "all who never got it");
    assert_eq!(all[2].deliver_cases(&ids, &stop).await.unwrap(), Some(1));
    assert!(fixture.delivery(&id, "tickets").await.given_up);
    assert_eq!(fixture.delivery(&id, "pager").await.sent, 1);
    // The pager gets this report and no later one.
    chain[0].refuses.store(false, Ordering::Relaxed);
    chain[1].wants_nothing();
    // These deliveries were requested before the next conclusion.
    let before = "2026-01-02T03:04:05.000000Z";
    fixture
        .execute(&format!("UPDATE deliveries SET requested_at = '{before}'"))
        .await;
    fixture.ends_again().await;
    for one in &all {
        assert_eq!(one.deliver_cases(&ids, &stop).await.unwrap(), Some(1));
    }
    let tickets = fixture.delivery(&id, "tickets").await;
    assert_eq!((tickets.given_up, tickets.sent), (false, 2));
    assert_eq!(fixture.store.backlog().await.unwrap().outbox, 0);
}

fn delivering(
    fixture: &Fixture,
    destination: Arc<dyn Destination>,
    otherwise: &[Arc<FallbackDestination>],
) -> DeliveryLoop {
    DeliveryLoop {
        kind: String::new(),
        outbox: fixture.store.clone(),
        destination,
        failover: Arc::new(fixture.handing_on(otherwise)),
        notifier: fixture.store.clone(),
        meter: Arc::new(NoMeter),
        holder: "one".to_owned(),
        digest: None,
        canary: None,
    }
}
