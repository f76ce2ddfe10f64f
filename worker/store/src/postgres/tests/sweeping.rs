//! What is removed while somebody has a use for it.

use nightshift_pipeline::{Kept, Upkeep};

use super::*;

/// Statements of the store that wait for another's lock.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
     WHERE datname = current_database() AND wait_event_type = 'Lock'";

#[tokio::test]
async fn a_case_that_is_just_queued_again_is_not_removed_for_its_age() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = Arc::new(
        PostgresStore::open(database.url(), options())
            .await
            .unwrap(),
    );
    accept(&store, arrivals(MINER)).await;
    let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    let (_, closing) = whole_journal(&claimed);
    store.conclude(&claimed.lease, &closing).await.unwrap();
    let intake = database.client().await;
    let again = "BEGIN; UPDATE cases SET status = 'queued', revision = 2";
    intake.batch_execute(again).await.unwrap();
    let sweeping = Arc::clone(&store);
    let removing =
        tokio::spawn(async move { sweeping.expire(Kept::Cases, at(86_400), 10).await.unwrap() });
    while !removing.is_finished() && number(&database, WAITING).await == 0 {}
    intake.batch_execute("COMMIT").await.unwrap();
    assert_eq!(removing.await.unwrap(), 0);
    let kept = database.texts("SELECT status, revision FROM cases").await;
    assert_eq!(kept, [["queued", "2"]]);
}
