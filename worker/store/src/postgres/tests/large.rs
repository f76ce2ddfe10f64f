//! Tests a batch that is too large for one transaction, or for the server.

use std::collections::BTreeSet;

use nightshift_alert::Severity;

use super::*;

/// Returns alerts of one message, each with its own key: so many of each severity.
fn of_one_message(alerts: usize, severities: &[Severity]) -> Vec<Arrival> {
    let first = arrivals(MINER).remove(0);
    let each = |severity| (0..alerts).map(move |number| (number, severity));
    let all = severities.iter().copied().flat_map(each);
    all.map(|(number, severity)| {
        let mut arrival = first.clone();
        let alert = Arc::make_mut(&mut arrival.alert);
        alert.key.id = format!("finding {number}");
        alert.severity = severity;
        alert.content = nightshift_alert::ContentHash(format!("{number} {severity}"));
        arrival
    })
    .collect()
}

const MESSAGES: &str =
    "SELECT count(*), (SELECT count(DISTINCT raw_id) FROM arrivals) FROM raw_messages";

#[tokio::test]
async fn large_batch_is_accepted_in_parts_with_one_stored_message() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    let batch = of_one_message(600, &[Severity::High]);
    let accepted = store.accept(batch.into()).await.unwrap();
    let keys: BTreeSet<_> = accepted.iter().map(|one| &one.key).collect();
    assert_eq!((accepted.len(), keys.len()), (600, 600));
    let parts = "SELECT alerts FROM batches ORDER BY accepted_at";
    assert_eq!(database.texts(parts).await, [["256"], ["256"], ["88"]]);
    assert_eq!(database.texts(MESSAGES).await, [["1", "1"]]);
    assert_eq!(
        number(&database, "SELECT count(*) FROM arrivals").await,
        600
    );
}

#[tokio::test]
async fn a_message_whose_alerts_are_decided_in_turns_is_stored_once() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    let batch = of_one_message(40, &[Severity::High, Severity::Critical]);
    let accepted = store.accept(batch.into()).await.unwrap();
    let (new, again) = accepted.split_at(40);
    assert!(new.iter().all(|one| one.admission == Admission::New));
    let is_turn = |one: &AcceptedAlert| matches!(one.admission, Admission::Replaced(..));
    assert!(again.iter().all(is_turn), "{again:?}");
    assert_eq!(database.texts(MESSAGES).await, [["1", "1"]]);
}

#[tokio::test]
async fn unanswered_batch_is_too_large_only_if_server_answers_others() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let proxy = Proxy::before(database.url()).await;
    let mut hasty = options();
    hasty.waits.pool = Duration::from_millis(500);
    hasty.waits.connect = Duration::from_millis(500);
    let store = PostgresStore::open(&proxy.url, hasty).await.unwrap();
    let silent = PostgresFailure::Silent(Duration::ZERO);
    assert!(store.is_too_much(&silent).await);
    proxy.hush();
    assert!(!store.is_too_much(&silent).await, "it may be away");
}
