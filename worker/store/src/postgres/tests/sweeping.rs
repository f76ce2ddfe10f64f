//! What is removed while somebody has a use for it.

use nightshift_pipeline::{Kept, Upkeep};
use tokio::task::JoinSet;

use super::*;

/// Statements of the store that wait for another's lock.
pub(super) const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
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
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { sweeping.expire(Kept::Cases, at(86_400), 10).await.unwrap() });
    let mut removed = None;
    while removed.is_none() && number(&database, WAITING).await == 0 {
        removed = tasks.try_join_next();
    }
    intake.batch_execute("COMMIT").await.unwrap();
    if removed.is_none() {
        removed = tasks.join_next().await;
    }
    assert_eq!(removed.unwrap().unwrap(), 0);
    let kept = database.texts("SELECT status, revision FROM cases").await;
    assert_eq!(kept, [["queued", "2"]]);
}
