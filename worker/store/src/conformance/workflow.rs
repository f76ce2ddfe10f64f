//! Tests actions of people on cases, the updates of posts, and digests.

mod digest;

use chrono::NaiveDate;
use nightshift_pipeline::case::CaseFilter;
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, WorkflowStatus};
use nightshift_pipeline::feedback::NewPersonVerdict;
use nightshift_pipeline::port::PendingDelivery;

use super::*;

on_both_stores! {
    what_people_did_stands_beside_the_case_and_is_shown
    a_verdict_of_a_person_is_an_act_and_is_exported
    f26_counts_are_an_edit_of_what_is_shown_a_minute_later
    what_is_only_counted_does_not_hold_up_a_report
    a_case_that_is_looked_into_is_told_and_so_is_its_end
    reader_of_a_case_gets_its_end_whatever_its_route_is_then
    f26_what_was_found_is_known_though_nothing_was_sent
    f26_where_an_early_post_may_stand_its_end_is_told
    a_digest_is_posted_once_and_a_lost_answer_is_known
    what_cannot_be_read_holds_up_nothing_else
}

pub(super) fn does(kind: CaseActionKind, second: i64) -> CaseAction {
    CaseAction {
        at: at(second),
        by: "ana".into(),
        kind,
        note: "on it".into(),
    }
}

async fn due(fixture: &Fixture) -> PendingDelivery {
    let mut due = fixture.store.due_deliveries("soc", 10).await.unwrap();
    assert_eq!(due.len(), 1);
    due.remove(0)
}

async fn show(fixture: &Fixture) -> PendingDelivery {
    let due = due(fixture).await;
    assert!(fixture.store.begin_attempt("soc", &due).await.unwrap());
    let sent = DeliveryReceipt {
        remote_id: Some("C1/1.0".into()),
    };
    fixture
        .store
        .record_sent("soc", &due, Some(&sent))
        .await
        .unwrap();
    due
}

async fn what_people_did_stands_beside_the_case_and_is_shown(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(MINER).await);
    conclude(store, &fixture.claim().await).await;
    let first = show(&fixture).await;
    assert!(first.payload.delivered.is_none() && !first.payload.is_minor);
    let (found, workflow) = store
        .record_action(
            id.0.get(..6).unwrap(),
            does(CaseActionKind::Acknowledged, 5),
        )
        .await
        .unwrap();
    assert_eq!((&found, workflow.owner.as_deref()), (&id, Some("ana")));
    // The action is repeated because its answer was lost. It is stored once.
    let again = store
        .record_action(&id.0, does(CaseActionKind::Acknowledged, 5))
        .await
        .unwrap();
    assert_eq!(again.1.acts.len(), 1);
    let edit = due(&fixture).await;
    assert!(edit.payload.is_minor, "nothing new is said");
    assert_eq!(edit.payload.remote_id.as_deref(), Some("C1/1.0"));
    assert_eq!(edit.payload.workflow, again.1);
    let shown = edit.payload.delivered.as_ref().unwrap();
    assert_eq!(shown.verdict, edit.payload.report.verdict);
    assert!(shown.is_report());
    let to = CaseActionKind::Assigned { to: "bo".into() };
    store.record_action(&id.0, does(to, 6)).await.unwrap();
    store
        .record_action(&id.0, does(CaseActionKind::Closed, 7))
        .await
        .unwrap();
    // An older action that arrives again reverts nothing.
    let shown = due(&fixture).await.payload.version;
    let late = store
        .record_action(&id.0, does(CaseActionKind::Acknowledged, 5))
        .await;
    assert_eq!(late.unwrap().1.status, WorkflowStatus::Closed);
    assert_eq!(due(&fixture).await.payload.version, shown);
    let view = store.view(&id.0).await.unwrap();
    assert_eq!(view.workflow.status, WorkflowStatus::Closed);
    assert_eq!(
        (view.row.desk, view.row.owner.as_deref()),
        (WorkflowStatus::Closed, Some("bo"))
    );
    assert_eq!(view.workflow.acts.len(), 3);
    assert_eq!(view.deliveries[0].remote_id.as_deref(), Some("C1/1.0"));
    let open = CaseFilter {
        workflow_status: Some(WorkflowStatus::Open),
        limit: 10,
        ..CaseFilter::default()
    };
    assert!(store.list(&open).await.unwrap().is_empty());
    let none = store
        .record_action("nonesuch", does(CaseActionKind::Closed, 8))
        .await;
    assert!(matches!(none, Err(StoreError::NoSuchCase(_))), "{none:?}");
}

async fn a_verdict_of_a_person_is_an_act_and_is_exported(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(MINER).await);
    conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
    let says = |verdict, second| NewPersonVerdict {
        verdict,
        by: "ana".into(),
        at: at(second),
        note: "known scanner".into(),
    };
    store.add_verdict(&id.0, says(None, 2)).await.unwrap();
    let false_positive = Some(Verdict::FalsePositive);
    store
        .add_verdict(&id.0, says(false_positive, 3))
        .await
        .unwrap();
    let workflow = store.view(&id.0).await.unwrap().workflow;
    assert_eq!(workflow.verdict, false_positive);
    assert!(workflow.is_settled());
    assert_eq!(disputed(store).await, std::slice::from_ref(&id));
    let kinds: Vec<_> = workflow.acts.into_iter().map(|act| act.kind).collect();
    let disagreed = CaseActionKind::Disagreed {
        verdict: Verdict::FalsePositive,
    };
    assert_eq!(kinds, [CaseActionKind::Agreed, disagreed]);
    let all = store.verdicts_after(0, 10).await.unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(all[1].case_verdict, Some(Verdict::TruePositive));
    assert_eq!(
        (all[1].person.verdict, all[1].person.agreed),
        (Verdict::FalsePositive, false)
    );
    let rest = store.verdicts_after(all[0].id, 10).await.unwrap();
    assert_eq!(rest, all[1..]);
    store.add_verdict(&id.0, says(None, 4)).await.unwrap();
    assert!(disputed(store).await.is_empty(), "they think otherwise now");
    let same = Some(Verdict::TruePositive);
    store.add_verdict(&id.0, says(same, 5)).await.unwrap();
    assert!(disputed(store).await.is_empty(), "it is the case's own");
}

/// Returns the cases with a disputed verdict.
async fn disputed(store: &Arc<dyn Store>) -> Vec<CaseId> {
    let filter = CaseFilter {
        disagreed: true,
        limit: 10,
        ..CaseFilter::default()
    };
    let rows = store.list(&filter).await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

async fn f26_counts_are_an_edit_of_what_is_shown_a_minute_later(fixture: Fixture) {
    let store = &fixture.store;
    fixture.accept(MINER).await;
    conclude(store, &fixture.claim().await).await;
    show(&fixture).await;
    fixture.accept(MINER).await;
    fixture.accept(MINER).await;
    assert!(
        store.due_deliveries("soc", 10).await.unwrap().is_empty(),
        "not within the minute"
    );
    fixture
        .execute("UPDATE deliveries SET retry_at = requested_at")
        .await;
    let edit = due(&fixture).await;
    assert!(edit.payload.is_minor);
    assert_eq!(edit.payload.report.alert.sightings, 2, "both in one edit");
    // A sighting during the send is left for the next edit, which does not revert this one.
    fixture.accept(MINER).await;
    assert!(store.begin_attempt("soc", &edit).await.unwrap());
    store
        .record_sent("soc", &edit, Some(&DeliveryReceipt::default()))
        .await
        .unwrap();
    assert!(
        store.due_deliveries("soc", 10).await.unwrap().is_empty(),
        "not within the minute"
    );
    let delivery = store
        .view(&edit.case_id.0)
        .await
        .unwrap()
        .deliveries
        .remove(0);
    assert!(delivery.sent < delivery.wanted, "but then");
}

async fn what_is_only_counted_does_not_hold_up_a_report(fixture: Fixture) {
    let store = &fixture.store;
    fixture.accept(MINER).await;
    conclude(store, &fixture.claim().await).await;
    show(&fixture).await;
    fixture.accept(MINER).await;
    fixture
        .execute("UPDATE deliveries SET retry_at = requested_at")
        .await;
    fixture.accept(DNS).await;
    conclude(store, &fixture.claim().await).await;
    let due = store.due_deliveries("soc", 10).await.unwrap();
    let minor: Vec<bool> = due.iter().map(|one| one.payload.is_minor).collect();
    assert_eq!(minor, [false, true]);
    let busy = DeliveryError::Transient {
        what: "busy".into(),
        after_secs: None,
    };
    assert!(store.begin_attempt("soc", &due[0]).await.unwrap());
    let hour = Some(Duration::from_secs(3_600));
    store
        .record_failed("soc", &due[0], &busy, hour)
        .await
        .unwrap();
    fixture.accept(DNS).await;
    let left = store.due_deliveries("soc", 10).await.unwrap();
    assert_eq!(
        left.len(),
        1,
        "a sighting does not make a busy destination be tried at once"
    );
}

async fn a_case_that_is_looked_into_is_told_and_so_is_its_end(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(MINER).await);
    let names = ["soc".to_owned()];
    store.enqueue_announcement(&id, &names).await.unwrap();
    let early = show(&fixture).await;
    assert!(early.payload.is_early() && !early.payload.is_minor);
    assert_eq!(early.payload.report.status, CaseStatus::Queued);
    assert!(!early.payload.report.title.is_empty());
    store.enqueue_announcement(&id, &names).await.unwrap();
    assert!(
        store.due_deliveries("soc", 10).await.unwrap().is_empty(),
        "once"
    );
    store.cancel(&id.0, "ana", at(9)).await.unwrap();
    let end = due(&fixture).await;
    assert!(end.payload.is_early() && !end.payload.is_minor);
    assert_eq!(
        end.payload.report.failed.as_deref(),
        Some("called off by ana")
    );
    store.retry(&id.0).await.unwrap();
    conclude(store, &fixture.claim().await).await;
    let report = due(&fixture).await;
    assert!(!report.payload.is_early());
    assert_eq!(report.payload.remote_id.as_deref(), Some("C1/1.0"));
    assert!(
        report.payload.delivered_report().is_none(),
        "what is shown was no report"
    );
    // An edit that a destination skips changes nothing of what it shows.
    assert!(store.begin_attempt("soc", &report).await.unwrap());
    store.record_sent("soc", &report, None).await.unwrap();
    store
        .record_action(&id.0, does(CaseActionKind::Closed, 10))
        .await
        .unwrap();
    let edit = due(&fixture).await;
    assert!(edit.payload.delivered_report().is_none());
}

async fn reader_of_a_case_gets_its_end_whatever_its_route_is_then(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(MINER).await);
    let names = ["early".to_owned(), "never".to_owned()];
    store.enqueue_announcement(&id, &names).await.unwrap();
    let shown = store.due_deliveries("early", 10).await.unwrap().remove(0);
    assert!(store.begin_attempt("early", &shown).await.unwrap());
    let sent = DeliveryReceipt::default();
    store
        .record_sent("early", &shown, Some(&sent))
        .await
        .unwrap();
    let unwanted = store.due_deliveries("never", 10).await.unwrap().remove(0);
    store.record_sent("never", &unwanted, None).await.unwrap();
    // The route of the conclusion names only "soc".
    conclude(store, &fixture.claim().await).await;
    let told = store.due_deliveries("early", 10).await.unwrap();
    assert_eq!(
        told.len(),
        1,
        "it does not stand there as looked into for ever"
    );
    assert!(!told[0].payload.is_early() && !told[0].payload.is_minor);
    assert!(
        store.due_deliveries("never", 10).await.unwrap().is_empty(),
        "nobody read of it there"
    );
    assert_eq!(store.due_deliveries("soc", 10).await.unwrap().len(), 1);
}

async fn f26_what_was_found_is_known_though_nothing_was_sent(fixture: Fixture) {
    let store = &fixture.store;
    fixture.accept(MINER).await;
    conclude(store, &fixture.claim().await).await;
    let mut doubtful = due(&fixture).await;
    doubtful.payload.remote_id = Some("SEC-1".into());
    store.record_sent("soc", &doubtful, None).await.unwrap();
    let id = doubtful.case_id.0.clone();
    store
        .record_action(&id, does(CaseActionKind::Closed, 5))
        .await
        .unwrap();
    assert_eq!(
        due(&fixture).await.payload.remote_id.as_deref(),
        Some("SEC-1")
    );
}

async fn f26_where_an_early_post_may_stand_its_end_is_told(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(MINER).await);
    store
        .enqueue_announcement(&id, &["early".to_owned()])
        .await
        .unwrap();
    let early = store.due_deliveries("early", 10).await.unwrap().remove(0);
    assert!(store.begin_attempt("early", &early).await.unwrap());
    // The result of the attempt is unknown when the case is cancelled.
    store.cancel(&id.0, "ana", at(9)).await.unwrap();
    let told = store.due_deliveries("early", 10).await.unwrap().remove(0);
    assert_eq!((told.in_doubt, told.attempts), (true, 0));
    assert_eq!(told.payload.report.status, CaseStatus::Cancelled);
    assert!(!told.payload.is_minor);
    assert!(store.begin_attempt("early", &told).await.unwrap());
    // It is still unknown when the case is triaged after all. The route of the conclusion names only "soc".
    store.retry(&id.0).await.unwrap();
    conclude(store, &fixture.claim().await).await;
    let told = store.due_deliveries("early", 10).await.unwrap().remove(0);
    assert!(told.in_doubt && !told.payload.is_early() && !told.payload.is_minor);
}

async fn a_digest_is_posted_once_and_a_lost_answer_is_known(fixture: Fixture) {
    let store = &fixture.store;
    let day = NaiveDate::from_ymd_opt(2026, 11, 20).unwrap();
    assert_eq!(store.begin_digest("soc", day).await.unwrap(), Some(false));
    assert_eq!(store.begin_digest("soc", day).await.unwrap(), Some(true));
    store.record_digest_posted("soc", day).await.unwrap();
    assert_eq!(store.begin_digest("soc", day).await.unwrap(), None);
    let next = day.succ_opt().unwrap();
    assert_eq!(store.begin_digest("soc", next).await.unwrap(), Some(false));
}

async fn what_cannot_be_read_holds_up_nothing_else(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(MINER).await);
    conclude(store, &fixture.claim().await).await;
    fixture
        .execute("UPDATE conclusions SET report = '{\"schema\": \"of a later version\"}'")
        .await;
    fixture.accept(DNS).await;
    conclude(store, &fixture.claim().await).await;
    let due = due(&fixture).await;
    assert_ne!(due.case_id, id);
    assert!(
        fixture.store.view(&id.0).await.is_err(),
        "it still says why"
    );
}
