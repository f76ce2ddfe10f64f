//! Tests claims, journals and conclusions.

use std::collections::{BTreeMap, BTreeSet};

use nightshift_alert::Severity;

use super::*;

on_both_stores! {
    the_most_urgent_case_is_claimed_first_and_only_once
    many_cases_are_claimed_with_their_own_alerts_and_journals
    the_evidence_view_counts_as_the_engine_does
    a_failed_request_spoils_no_other_of_its_transaction
    nothing_in_an_event_stops_a_journal
    f05_permanent_refusal_differs_from_a_temporary_one
}

async fn the_most_urgent_case_is_claimed_first_and_only_once(fixture: Fixture) {
    for bytes in [DNS, MINER, THEFT] {
        fixture.accept(bytes).await;
    }
    let first = fixture.claim().await;
    assert_eq!(first.alert.severity, nightshift_alert::Severity::Critical);
    let rest = fixture.store.claim(Lane::Any, 10).await.unwrap();
    assert_eq!(rest.len(), 2);
    assert!(fixture.store.claim(Lane::Any, 10).await.unwrap().is_empty());
    assert!(
        fixture
            .store
            .claim_one(&first.lease.case_id)
            .await
            .unwrap()
            .is_none()
    );
    fixture.store.release(&first.lease).await.unwrap();
    let again = fixture.claim().await;
    assert_eq!(again.lease.epoch, first.lease.epoch + 1);
    assert_eq!(
        again.crashes, 0,
        "a case that was given back has not crashed"
    );
}

async fn many_cases_are_claimed_with_their_own_alerts_and_journals(fixture: Fixture) {
    let numbered = |number: usize| {
        super::admission::arrival(0, |alert| {
            alert.key.id = format!("finding-{number}");
            alert.severity = Severity::High;
        })
    };
    let sent: Arc<[Arrival]> = (0..70).map(numbered).collect();
    fixture.store.accept(sent.clone()).await.unwrap();
    let first = fixture.store.claim(Lane::Any, 70).await.unwrap();
    let mut written = BTreeMap::new();
    for (number, one) in first.iter().enumerate() {
        let events: Vec<_> = (0..number)
            .map(|_| opened(&one.alert, &one.lease.case_id.0))
            .collect();
        let (store, charge) = (&fixture.store, Charge::default());
        store.append(&one.lease, &events, charge).await.unwrap();
        store.release(&one.lease).await.unwrap();
        let id = one.lease.case_id.0.clone();
        written.insert(id, (one.alert.key.id.clone(), number));
    }
    let ids: BTreeSet<_> = first.iter().map(|one| &one.alert.key.id).collect();
    assert_eq!(ids.len(), sent.len());
    let again = fixture.store.claim(Lane::Any, 70).await.unwrap();
    assert!(again.iter().all(|one| one.lease.epoch == 2));
    let read = again.into_iter().map(|one| {
        let content = (one.alert.key.id.clone(), one.events.len());
        (one.lease.case_id.0, content)
    });
    assert_eq!(read.collect::<BTreeMap<_, _>>(), written);
}

async fn the_evidence_view_counts_as_the_engine_does(fixture: Fixture) {
    fixture.accept(MINER).await;
    let claimed = fixture.claim().await;
    conclude(&fixture.store, &claimed).await;
    let rows = fixture.texts("SELECT evidence, body FROM evidence").await;
    let body: serde_json::Value = serde_json::from_str(&rows[0][1]).unwrap();
    assert_eq!((rows.len(), rows[0][0].as_str()), (1, "E1"));
    assert_eq!(body, serde_json::json!({"cases": [], "found": 0}));
}

async fn a_failed_request_spoils_no_other_of_its_transaction(fixture: Fixture) {
    fixture.accept(MINER).await;
    let claimed = fixture.claim().await;
    let mut foreign = claimed.lease.clone();
    foreign.epoch += 7;
    let event = opened(&claimed.alert, "x");
    let (bad, good) = tokio::join!(
        fixture
            .store
            .append(&foreign, std::slice::from_ref(&event), Charge::default()),
        fixture.store.append(
            &claimed.lease,
            std::slice::from_ref(&event),
            Charge::default()
        ),
    );
    assert!(bad.is_err() && good.is_ok());
    let view = fixture.store.view(&claimed.lease.case_id.0).await.unwrap();
    assert_eq!(view.events, [event]);
}

async fn nothing_in_an_event_stops_a_journal(fixture: Fixture) {
    fixture.accept(MINER).await;
    let claimed = fixture.claim().await;
    let mut alert = Alert::clone(&claimed.alert);
    alert.title = "nul \0, a surrogate \u{fffd}, \\u0000, \u{1f980}, 1e400".into();
    alert.raw = serde_json::json!({"\0": 1e300, "deep": [[[0.1, -7, u64::MAX]]], "": null}).into();
    let event = opened(&alert, &claimed.lease.case_id.0);
    fixture
        .store
        .append(
            &claimed.lease,
            std::slice::from_ref(&event),
            Charge::default(),
        )
        .await
        .unwrap();
    let view = fixture.store.view(&claimed.lease.case_id.0).await.unwrap();
    let stored = serde_json::to_value(&view.events[0]).unwrap();
    let written = serde_json::to_string(&event).unwrap();
    let without_nul = written
        .replace("nul \\u0000", "nul \u{fffd}")
        .replace("\"\\u0000\"", "\"\u{fffd}\"");
    let same = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap() == stored;
    assert!(same(&written) || same(&without_nul), "{stored}");
}

async fn f05_permanent_refusal_differs_from_a_temporary_one(fixture: Fixture) {
    fixture.accept(MINER).await;
    let claimed = fixture.claim().await;
    let (events, closing) = whole_journal(&claimed);
    let (store, lease) = (&fixture.store, &claimed.lease);
    let refuses = if fixture.is_sqlite() {
        "CREATE TRIGGER never BEFORE INSERT ON conclusions BEGIN SELECT RAISE(ABORT, 'never'); END"
    } else {
        "CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'never'; END $$; \
         CREATE TRIGGER never BEFORE INSERT ON conclusions FOR EACH ROW EXECUTE FUNCTION never()"
    };
    fixture.execute(refuses).await;
    let charge = Charge::default();
    store.append(lease, &events, charge).await.unwrap();
    let error = store.conclude(lease, &closing).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    assert_eq!(error.to_string(), "the store failed to conclude a case");
}
