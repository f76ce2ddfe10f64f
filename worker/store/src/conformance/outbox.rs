//! Deliveries: wished, tried, shown.

use super::*;

on_both_stores! {
    a_conclusion_wishes_deliveries_and_a_delivery_is_wished_once
}

async fn a_conclusion_wishes_deliveries_and_a_delivery_is_wished_once(fixture: Fixture) {
    fixture.accept(MINER).await;
    let claimed = fixture.claim().await;
    conclude(&fixture.store, &claimed).await;
    let due = fixture.store.due("soc", 10).await.unwrap();
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].report.case_id, claimed.lease.case_id.0);
    assert!(fixture.store.due("elsewhere", 10).await.unwrap().is_empty());
    let busy = DeliveryError::Later {
        what: "busy".into(),
        after_secs: None,
    };
    let retry = Some(at(4_000_000_000));
    fixture
        .store
        .failed("soc", &due[0], &busy, retry)
        .await
        .unwrap();
    assert!(
        fixture.store.due("soc", 10).await.unwrap().is_empty(),
        "not before its time"
    );
    fixture
        .store
        .failed("soc", &due[0], &busy, Some(at(0)))
        .await
        .unwrap();
    let due = fixture.store.due("soc", 10).await.unwrap();
    assert_eq!(due[0].attempts, 2);
    let sent = Sent {
        remote_id: Some("r1".into()),
    };
    fixture.store.sent("soc", &due[0], &sent).await.unwrap();
    assert!(fixture.store.due("soc", 10).await.unwrap().is_empty());
}
