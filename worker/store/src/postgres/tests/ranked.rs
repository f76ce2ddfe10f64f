//! Tests that cases are ranked by the clock of the database, not by that of the worker that accepted an alert.

use nightshift_alert::{ContentHash, Severity};

use super::*;

#[tokio::test]
async fn f29_intake_with_a_clock_a_day_behind_overtakes_nothing() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    let taken_in = async |number, severity, second| {
        let mut batch = numbered(number);
        batch[0].at = at(second);
        let alert = Arc::make_mut(&mut batch[0].alert);
        alert.severity = severity;
        alert.content = ContentHash(severity.to_string());
        accept(&store, batch).await.case_id.unwrap()
    };
    let low = taken_in(1, Severity::Low, 0).await;
    let high = taken_in(2, Severity::High, 86_400).await;
    let claim = async || store.claim(Lane::Any, 1).await.unwrap().remove(0).lease;
    let first = claim().await;
    assert_eq!(first.case_id, high);
    // This also holds for another triage, both at once and after the current one.
    let sql = "SELECT count(*) FROM cases WHERE revised_at < clock_timestamp() - interval '1 hour'";
    let lease = claim().await;
    assert_eq!(lease.case_id, low);
    taken_in(1, Severity::Medium, 60).await;
    store.cancel(&low.0, "ana", at(90)).await.unwrap();
    assert_eq!(claim().await.revision, 2);
    store.cancel(&low.0, "ana", at(90)).await.unwrap();
    taken_in(1, Severity::High, 120).await;
    assert_eq!(claim().await.revision, 3);
    assert_eq!(number(&database, sql).await, 0);
    let sql =
        "SELECT count(*) FROM alerts WHERE received_at < clock_timestamp() - interval '1 hour'";
    assert_eq!(number(&database, sql).await, 4, "it came when it came");
}
