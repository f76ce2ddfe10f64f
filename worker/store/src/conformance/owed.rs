//! Tests pending reports by destination, and the removal of a destination.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use nightshift_pipeline::case::DeliveryRow;
use nightshift_pipeline::case_workflow::CaseActionKind;
use nightshift_pipeline::loops::{GiveUpOutcome, GiveUpTask};
use nightshift_pipeline::port::{DestinationBacklog, PendingDelivery};
use nightshift_pipeline::report::{FailoverReason, FailoverSource};

use super::admission::arrival;
use super::outbox::refused;
use super::refused::FallbackDestination;
use super::workflow::does;
use super::*;

on_both_stores! {
    what_is_owed_is_told_by_destination_as_the_backlog_counts_it
    what_is_given_up_goes_to_the_otherwise_of_its_route
    what_is_given_up_goes_to_the_first_that_wants_it
    who_serves_a_destination_keeps_it
    f26_abandoned_ambiguous_send_returns_by_its_route_alone
    case_shown_at_a_removed_destination_owes_it_no_later_end
    more_than_one_round_is_given_up
}

impl Fixture {
    async fn owed(&self) -> Vec<(String, u64)> {
        let owed = self.store.backlogs().await.unwrap().into_iter();
        owed.map(|one| (one.destination, one.reports)).collect()
    }

    fn giving_up(&self, otherwise: &[&'static str]) -> GiveUpTask {
        let all = otherwise
            .iter()
            .map(|&name| Arc::new(FallbackDestination::new(name)));
        self.giving_up_to(&all.collect::<Vec<_>>())
    }

    fn giving_up_to(&self, otherwise: &[Arc<FallbackDestination>]) -> GiveUpTask {
        GiveUpTask {
            outbox: self.store.clone(),
            outbox_admin: self.store.clone(),
            failover: self.handing_on(otherwise),
            holder: "by hand".into(),
        }
    }

    async fn ended(&self, bytes: &[u8]) -> CaseId {
        let accepted = self.accept(bytes).await;
        conclude(&self.store, &self.claim().await).await;
        case_of(&accepted)
    }

    /// Triages the same alert again.
    pub(super) async fn ends_again(&self) {
        let mut again = arrivals(MINER).remove(0);
        again.on_demand = true;
        self.take(again).await;
        conclude(&self.store, &self.claim().await).await;
    }

    async fn first_due(&self) -> PendingDelivery {
        self.store
            .due_deliveries("soc", 10)
            .await
            .unwrap()
            .remove(0)
    }

    pub(super) async fn delivery(&self, id: &CaseId, to: &str) -> DeliveryRow {
        let rows = self.store.view(&id.0).await.unwrap().deliveries;
        rows.into_iter().find(|row| row.destination == to).unwrap()
    }
}

fn given_up(reports: u64, handed_on: &[(&str, u64)]) -> GiveUpOutcome {
    let handed_on = handed_on.iter();
    let handed_on: BTreeMap<_, _> = handed_on.map(|&(to, count)| (to.into(), count)).collect();
    GiveUpOutcome {
        reports,
        failed_over: handed_on,
        is_served: false,
    }
}

async fn what_is_owed_is_told_by_destination_as_the_backlog_counts_it(fixture: Fixture) {
    let store = &fixture.store;
    assert_eq!(fixture.owed().await, []);
    let id = fixture.ended(MINER).await;
    store.add_fallback(&id, "mail", &refused(1)).await.unwrap();
    let since = "2026-01-02T03:04:05.000000Z";
    let sql = format!("UPDATE deliveries SET requested_at = '{since}' WHERE destination = 'soc'");
    fixture.execute(&sql).await;
    fixture.ended(THEFT).await;
    let of = |mail, soc| vec![("mail".to_owned(), mail), ("soc".to_owned(), soc)];
    let owed = fixture.owed().await;
    assert_eq!(owed, of(1, 2));
    let backlog = fixture.backlog().await;
    assert_eq!(backlog.outbox, 3);
    let soc: DestinationBacklog = store.backlogs().await.unwrap().remove(1);
    assert_eq!(soc.since, since.parse::<DateTime<Utc>>().unwrap());
    assert_eq!(
        store.undelivered_cases("soc", 1).await.unwrap(),
        std::slice::from_ref(&id)
    );
    // Updates of counts and shown reports are not pending.
    let due = store.due_deliveries("mail", 1).await.unwrap().remove(0);
    store
        .record_sent("mail", &due, Some(&DeliveryReceipt::default()))
        .await
        .unwrap();
    store
        .record_action(&id.0, does(CaseActionKind::Closed, 5))
        .await
        .unwrap();
    assert_eq!(fixture.owed().await, [("soc".to_owned(), 2)]);
    assert_eq!(fixture.backlog().await.outbox, 2);
}

async fn what_is_given_up_goes_to_the_otherwise_of_its_route(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.ended(MINER).await;
    let giving_up = fixture.giving_up(&["mail"]);
    let done = giving_up.give_up("soc").await.unwrap();
    assert_eq!(done, given_up(1, &[("mail", 1)]));
    assert_eq!(fixture.owed().await, [("mail".to_owned(), 1)]);
    let due = store.due_deliveries("mail", 9).await.unwrap();
    assert_eq!(due.len(), 1);
    let why = FailoverReason::Removed;
    let missed = ("soc".to_owned(), FailoverSource { why, revision: 1 });
    assert_eq!(due[0].payload.report.instead_of, [missed].into());
    let row = fixture.delivery(&id, "soc").await;
    assert_eq!((row.given_up, row.sent), (true, 0));
    assert!(row.error.unwrap().contains("given up by hand"));
    // No process serves the destination, and no report is left.
    let lease = Duration::from_secs(30);
    assert!(store.acquire_lease("soc", "somebody", lease).await.unwrap());
    store.release_lease("soc", "somebody").await.unwrap();
    assert_eq!(
        giving_up.give_up("soc").await.unwrap(),
        GiveUpOutcome::default(),
        "once"
    );
    // The chain continues after a name that is already in it, and ends.
    let to_mail = giving_up.give_up("mail").await.unwrap();
    assert_eq!(to_mail, given_up(1, &[]));
    assert_eq!(fixture.backlog().await.outbox, 0);
    // A route that names the destination again makes a report pending there.
    fixture.ends_again().await;
    assert_eq!(fixture.owed().await, [("soc".to_owned(), 1)]);
}

async fn what_is_given_up_goes_to_the_first_that_wants_it(fixture: Fixture) {
    let id = fixture.ended(MINER).await;
    let chain = ["pager", "mail"].map(|name| Arc::new(FallbackDestination::new(name)));
    chain[0].wants_nothing();
    let done = fixture.giving_up_to(&chain).give_up("soc").await.unwrap();
    assert_eq!(done, given_up(1, &[("mail", 1)]));
    assert_eq!(fixture.delivery(&id, "mail").await.wanted, 1);
    assert_eq!(fixture.owed().await, [("mail".to_owned(), 1)]);
}

async fn who_serves_a_destination_keeps_it(fixture: Fixture) {
    fixture.ended(MINER).await;
    let worker = fixture.another(options()).await;
    let lease = Duration::from_secs(30);
    assert!(
        worker
            .acquire_lease("soc", "a worker", lease)
            .await
            .unwrap()
    );
    let giving_up = fixture.giving_up(&[]);
    let done = giving_up.give_up("soc").await.unwrap();
    assert_eq!((done.reports, done.is_served), (0, true));
    assert_eq!(fixture.owed().await, [("soc".to_owned(), 1)]);
    assert!(
        worker
            .acquire_lease("soc", "a worker", lease)
            .await
            .unwrap()
    );
    worker.release_lease("soc", "a worker").await.unwrap();
    assert_eq!(giving_up.give_up("soc").await.unwrap(), given_up(1, &[]));
}

async fn f26_abandoned_ambiguous_send_returns_by_its_route_alone(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(MINER).await);
    let names = ["soc".to_owned(), "early".to_owned()];
    store.enqueue_announcement(&id, &names).await.unwrap();
    for name in ["soc", "early"] {
        let due = store.due_deliveries(name, 1).await.unwrap().remove(0);
        assert!(store.begin_attempt(name, &due).await.unwrap());
        let done = fixture.giving_up(&[]).give_up(name).await.unwrap();
        assert_eq!(done, given_up(1, &[]));
    }
    // The route of the conclusion names only "soc".
    conclude(store, &fixture.claim().await).await;
    assert_eq!(fixture.owed().await, [("soc".to_owned(), 1)]);
    let due = fixture.first_due().await;
    assert!(due.in_doubt, "it is looked up before it is sent");
    let row = fixture.delivery(&id, "early").await;
    assert_eq!((row.given_up, row.in_doubt), (true, true));
}

async fn case_shown_at_a_removed_destination_owes_it_no_later_end(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.ended(MINER).await;
    store.add_fallback(&id, "gone", &refused(1)).await.unwrap();
    let due = store.due_deliveries("gone", 1).await.unwrap().remove(0);
    let sent = DeliveryReceipt {
        remote_id: Some("SEC-1".into()),
    };
    store.record_sent("gone", &due, Some(&sent)).await.unwrap();
    fixture.ends_again().await;
    let owed = |to: &str| (to.to_owned(), 1);
    assert_eq!(fixture.owed().await, [owed("gone"), owed("soc")]);
    let done = fixture.giving_up(&[]).give_up("gone").await.unwrap();
    assert_eq!(done, given_up(1, &[]));
    fixture.ends_again().await;
    assert_eq!(fixture.owed().await, [owed("soc")]);
    let row = fixture.delivery(&id, "gone").await;
    assert_eq!(row.remote_id.as_deref(), Some("SEC-1"), "it stays known");
}

async fn more_than_one_round_is_given_up(fixture: Fixture) {
    const MANY: u64 = 120;
    let all = (0..MANY).map(|number| {
        arrival(0, |alert| {
            alert.key.id = format!("owed-{number}");
            // Each alert has its own account, so they do not form a storm.
            alert.account = Some(format!("{number:012}"));
        })
    });
    let accepted = fixture.store.accept(all.collect()).await.unwrap();
    let names = ["gone".to_owned()];
    for one in &accepted {
        let id = case_of(one);
        fixture
            .store
            .enqueue_announcement(&id, &names)
            .await
            .unwrap();
    }
    assert_eq!(fixture.owed().await, [("gone".to_owned(), MANY)]);
    let done = fixture.giving_up(&["mail"]).give_up("gone").await.unwrap();
    assert_eq!(done, given_up(MANY, &[("mail", MANY)]));
    assert_eq!(fixture.owed().await, [("mail".to_owned(), MANY)]);
}
