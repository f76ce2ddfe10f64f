//! Tests that a worker claims only cases that it can fold (F32).

use super::*;

on_both_stores! {
    f32_a_case_that_cannot_be_folded_waits_and_the_others_go_on
    f32_a_program_that_can_fold_it_takes_it_without_a_crash
}

/// Returns an alert with its own account for each event.
fn arrival_for_account(event: &str, message: &[u8]) -> Arrival {
    let mut arrival = arrivals(message).remove(0);
    Arc::make_mut(&mut arrival.alert).key.account = event.into();
    arrival
}

/// Starts the most urgent case, releases it, and writes an event of another version to its journal.
async fn with_event(fixture: &Fixture, event: &str) -> nightshift_pipeline::case::CaseId {
    let id = case_of(&fixture.take(arrival_for_account(event, MINER)).await);
    let claimed = fixture.store.claim_one(&id).await.unwrap().unwrap();
    let first = opened(&claimed.alert, &id.0);
    fixture
        .store
        .append(&claimed.lease, &[first], Charge::default())
        .await
        .unwrap();
    fixture.store.release(&claimed.lease).await.unwrap();
    let sql = format!(
        "INSERT INTO journal (case_id, revision, seq, epoch, at, kind, event) \
         VALUES ('{id}', 1, 2, 2, '2026-03-02T02:00:00Z', 'x', '{event}')"
    );
    fixture.execute(&sql).await;
    id
}

const UNKNOWN: &str = r#"{"at":"2026-03-02T02:00:00Z","event":"dreamt","of":"sheep"}"#;
const NEWER: &str = r#"{"at":"2026-03-02T02:00:00Z","event":"claimed","epoch":2,"version":7}"#;

async fn f32_a_case_that_cannot_be_folded_waits_and_the_others_go_on(fixture: Fixture) {
    for event in [UNKNOWN, NEWER, "[]"] {
        let id = with_event(&fixture, event).await;
        fixture.take(arrival_for_account(event, DNS)).await;
        // The unreadable case is the most urgent one, and the claim takes only one case.
        let claimed = fixture.claim().await;
        assert_ne!(claimed.lease.case_id, id, "{event}");
        for _ in 0..3 {
            assert!(fixture.store.claim(Lane::Any, 10).await.unwrap().is_empty());
        }
        let view = fixture.store.view(&id.0).await.unwrap();
        assert_eq!(view.row.status, CaseStatus::Queued);
        assert_eq!(view.events.len(), 1, "what can be read is shown");
        let why = view.unreadable.unwrap();
        assert!(why.starts_with("event 2: "), "{why}");
        let error = fixture.store.claim_one(&id).await.unwrap_err();
        assert!(matches!(error, StoreError::Unreadable(..)), "{error}");
        let lines = fixture.store.journal(&id, None).await.unwrap();
        let exported: serde_json::Value = serde_json::from_str(&lines[1].event).unwrap();
        let written: serde_json::Value = serde_json::from_str(event).unwrap();
        assert_eq!(exported, written, "and it is exported as it stands");
    }
}

async fn f32_a_program_that_can_fold_it_takes_it_without_a_crash(fixture: Fixture) {
    let id = with_event(&fixture, UNKNOWN).await;
    assert!(fixture.store.claim(Lane::Any, 1).await.unwrap().is_empty());
    fixture
        .execute(&format!(
            "DELETE FROM journal WHERE case_id = '{id}' AND seq = 2"
        ))
        .await;
    assert!(
        fixture.store.claim(Lane::Any, 1).await.unwrap().is_empty(),
        "this version does not try again by itself"
    );
    fixture
        .execute(&format!(
            "UPDATE unreadable_journals SET version = 0 WHERE case_id = '{id}'"
        ))
        .await;
    let claimed = fixture.claim().await;
    assert_eq!((claimed.lease.case_id, claimed.crashes), (id, 0));
    assert_eq!(
        claimed.lease.epoch, 2,
        "a look that came to nothing is no claim"
    );
}
