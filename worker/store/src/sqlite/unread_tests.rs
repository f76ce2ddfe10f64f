//! A worker claims only what it can fold (F32).

use nightshift_pipeline::{CaseStatus, Cases, Charge, Lane, StoreError};

use super::tests::{Fixture, opened};

const MINER: &[u8] = include_bytes!("../../../../tests/fixtures/alerts/scc-crypto-miner.json");
const DNS: &[u8] = include_bytes!("../../../../tests/fixtures/alerts/guardduty-finding.json");

/// Opens the most urgent case, gives it back, and lets another version write into its journal.
async fn with_event(fixture: &Fixture, event: &str) -> nightshift_pipeline::CaseId {
    let id = fixture.accept(MINER).await.case_id.unwrap();
    let claimed = fixture.store.claim_one(&id).await.unwrap().unwrap();
    let first = opened(&claimed.alert, &id.0);
    fixture
        .store
        .append(&claimed.lease, &[first], Charge::default())
        .await
        .unwrap();
    fixture.store.release(&claimed.lease).await.unwrap();
    execute(
        fixture,
        "INSERT INTO journal (case_id, revision, seq, epoch, at, kind, event) \
         VALUES (?1, 1, 2, 2, '2026-03-02T02:00:00Z', 'x', ?2)",
        [id.0.clone(), event.to_owned()],
    )
    .await;
    id
}

async fn execute<const N: usize>(fixture: &Fixture, sql: &'static str, values: [String; N]) {
    let changed = fixture
        .store
        .thread
        .run("test", move |connection| {
            Ok(connection.execute(sql, rusqlite::params_from_iter(values))?)
        })
        .await;
    assert_eq!(changed.unwrap(), 1);
}

const UNKNOWN: &str = r#"{"at":"2026-03-02T02:00:00Z","event":"dreamt","of":"sheep"}"#;
const NEWER: &str = r#"{"at":"2026-03-02T02:00:00Z","event":"claimed","epoch":2,"version":7}"#;

#[tokio::test]
async fn f32_a_case_that_cannot_be_folded_waits_and_the_others_go_on() {
    for event in [UNKNOWN, NEWER, "{"] {
        let fixture = Fixture::new();
        let id = with_event(&fixture, event).await;
        fixture.accept(DNS).await;
        // It is the most urgent one, and there is room for one only.
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
        assert_eq!(lines[1].event, event, "and it is exported as it stands");
    }
}

#[tokio::test]
async fn f32_a_program_that_can_fold_it_takes_it_without_a_crash() {
    let fixture = Fixture::new();
    let id = with_event(&fixture, UNKNOWN).await;
    assert!(fixture.store.claim(Lane::Any, 1).await.unwrap().is_empty());
    execute(
        &fixture,
        "DELETE FROM journal WHERE case_id = ?1 AND seq = 2",
        [id.0.clone()],
    )
    .await;
    assert!(
        fixture.store.claim(Lane::Any, 1).await.unwrap().is_empty(),
        "this version does not try again by itself"
    );
    execute(
        &fixture,
        "UPDATE unread_journals SET version = 0 WHERE case_id = ?1",
        [id.0.clone()],
    )
    .await;
    let claimed = fixture.claim().await;
    assert_eq!((claimed.lease.case_id, claimed.crashes), (id, 0));
    assert_eq!(
        claimed.lease.epoch, 2,
        "a look that came to nothing is no claim"
    );
}
