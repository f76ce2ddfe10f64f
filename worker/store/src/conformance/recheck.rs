//! Tests rechecks of benign cases.

use chrono::{DateTime, Utc};
use nightshift_alert::Alert;
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::port::DueRecheck;

use super::admission::{arrival, happens_at};
use super::reopened::{close, is_reopened};
use super::*;

on_both_stores! {
    due_case_is_taken_by_one_worker_until_its_lease_ends
    evaluated_case_is_due_when_it_was_noted
    case_that_is_triaged_again_is_not_due
    case_that_is_not_covered_is_queued_once_with_its_reason
    case_that_people_closed_is_opened_when_it_is_not_covered
    changed_register_makes_all_benign_cases_due_once
    last_event_of_cleared_sightings_is_known
}

impl Fixture {
    /// Creates a benign case that is due at this second.
    async fn benign(&self, due: i64) -> CaseId {
        let id = case_of(&self.take(arrival(1_000, happens_at(1_000))).await);
        self.clear_until_due(due).await;
        id
    }

    async fn clear_until_due(&self, due: i64) {
        let claimed = self.claim().await;
        conclude_with(&self.store, &claimed, |closing| {
            closing.conclusion.verdict = Verdict::BenignTruePositive;
            closing.recheck_at = Some(at(due));
        })
        .await;
    }

    /// Takes the cases that are due at this second, for a thousand seconds.
    async fn rechecks(&self, second: i64) -> Vec<DueRecheck> {
        let (now, again_at) = (at(second), at(second + 1_000));
        let due = self.store.take_due_rechecks(now, again_at, 9).await;
        due.unwrap()
    }

    async fn only_recheck(&self, second: i64) -> DueRecheck {
        let mut due = self.rechecks(second).await;
        assert_eq!(due.len(), 1, "{second}");
        due.remove(0)
    }
}

fn last_event(alert: &Alert) -> Option<DateTime<Utc>> {
    alert.times.last_seen
}

async fn due_case_is_taken_by_one_worker_until_its_lease_ends(fixture: Fixture) {
    let id = fixture.benign(5_000).await;
    assert!(fixture.rechecks(4_999).await.is_empty());
    let due = fixture.only_recheck(5_000).await;
    assert_eq!((&due.case_id, due.revision), (&id, 1));
    assert_eq!(last_event(&due.alert), Some(at(1_000)));
    assert_eq!(due.report.case_id, id.0);
    assert_eq!((due.whole_until, due.events_until), (None, None));
    let other = fixture.another(options()).await;
    let taken = other.take_due_rechecks(at(5_999), at(9_999), 9).await;
    assert!(taken.unwrap().is_empty());
    fixture.only_recheck(6_000).await;
    let claimed = fixture.store.claim(Lane::Any, 9).await.unwrap();
    assert!(claimed.is_empty(), "it is not triaged");
}

async fn evaluated_case_is_due_when_it_was_noted(fixture: Fixture) {
    fixture.benign(5_000).await;
    let due = fixture.only_recheck(5_000).await;
    let store = &fixture.store;
    let noted = store.note_recheck(&due, at(4_800), Some(at(9_000))).await;
    noted.unwrap();
    assert!(fixture.rechecks(8_999).await.is_empty());
    let due = fixture.only_recheck(9_000).await;
    assert_eq!(due.whole_until, Some(at(4_800)));
    store.note_recheck(&due, at(8_800), None).await.unwrap();
    assert!(fixture.rechecks(900_000).await.is_empty());
}

async fn case_that_is_triaged_again_is_not_due(fixture: Fixture) {
    let id = fixture.benign(5_000).await;
    let due = fixture.only_recheck(5_000).await;
    let store = &fixture.store;
    store.retry(&id.0).await.unwrap();
    let queued = store
        .queue_recheck(&due, RevisionReason::RecordEnded, None)
        .await;
    assert!(!queued.unwrap(), "it waits for its triage already");
    store.note_recheck(&due, at(1), Some(at(1))).await.unwrap();
    assert!(fixture.rechecks(900_000).await.is_empty());
    conclude(store, &fixture.claim().await).await;
    assert!(
        fixture.rechecks(900_000).await.is_empty(),
        "it is not benign"
    );
    store.retry(&id.0).await.unwrap();
    fixture.clear_until_due(9_000).await;
    let due = fixture.only_recheck(9_000).await;
    assert_eq!((due.revision, due.whole_until), (3, None));
}

async fn case_that_is_not_covered_is_queued_once_with_its_reason(fixture: Fixture) {
    let id = fixture.benign(5_000).await;
    let due = fixture.only_recheck(5_000).await;
    let store = &fixture.store;
    for is_first in [true, false] {
        let queued = store
            .queue_recheck(&due, RevisionReason::NewActs, Some(at(4_000)))
            .await;
        assert_eq!(queued.unwrap(), is_first);
    }
    let claimed = fixture.claim().await;
    assert_eq!((&claimed.lease.case_id, claimed.lease.revision), (&id, 2));
    assert_eq!(claimed.alert.times.first_seen, due.alert.times.first_seen);
    assert_eq!(last_event(&claimed.alert), Some(at(4_000)));
    let again = claimed.previous_run.as_ref().unwrap();
    assert_eq!(again.why.as_deref(), Some("new_acts"));
    assert_eq!(again.verdict, Verdict::BenignTruePositive);
    conclude(store, &claimed).await;
    assert!(store.claim(Lane::Any, 9).await.unwrap().is_empty());
    assert!(fixture.rechecks(900_000).await.is_empty());
}

async fn case_that_people_closed_is_opened_when_it_is_not_covered(fixture: Fixture) {
    let id = fixture.benign(5_000).await;
    close(&fixture, &id).await;
    let due = fixture.only_recheck(5_000).await;
    let queued = fixture
        .store
        .queue_recheck(&due, RevisionReason::RecordEnded, None)
        .await;
    assert!(queued.unwrap());
    is_reopened(&fixture, &id).await;
}

async fn changed_register_makes_all_benign_cases_due_once(fixture: Fixture) {
    fixture.benign(9_000).await;
    let store = &fixture.store;
    let note = async |fingerprint: &str, second| {
        let noted = store.note_registers(fingerprint, at(second)).await;
        noted.unwrap()
    };
    assert_eq!(note("a", 5_000).await, 1);
    let due = fixture.only_recheck(5_000).await;
    store
        .note_recheck(&due, at(4_800), Some(at(9_000)))
        .await
        .unwrap();
    assert_eq!(note("a", 6_000).await, 0);
    assert!(fixture.rechecks(8_999).await.is_empty());
    assert_eq!(note("b", 7_000).await, 1);
    fixture.only_recheck(7_000).await;
}

async fn last_event_of_cleared_sightings_is_known(fixture: Fixture) {
    fixture.benign(5_000).await;
    for second in [2_000, 1_500] {
        let sighting = fixture.take(arrival(second, happens_at(second))).await;
        let admission = sighting.admission;
        assert!(
            matches!(admission, Admission::Sighting(..)),
            "{admission:?}"
        );
    }
    let due = fixture.only_recheck(5_000).await;
    assert_eq!(due.events_until, Some(at(2_000)));
    assert_eq!(last_event(&due.alert), Some(at(1_000)));
}
