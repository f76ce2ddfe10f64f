//! Tests a claim whose answer was lost while the server still processes it.

use tokio::task::JoinSet;

use super::sweeping::WAITING;
use super::*;

#[tokio::test]
async fn claim_still_in_progress_is_awaited_before_it_is_abandoned() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    let id = accept(&store, arrivals(MINER)).await.case_id.unwrap();
    let claiming = database.client().await;
    let claim =
        "BEGIN; UPDATE cases SET status = 'running', epoch = epoch + 1, lease_holder = 'us'";
    claiming.batch_execute(claim).await.unwrap();
    let asking = database.client().await;
    let ids = vec![id.0.clone()];
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let epochs = vec![1_i64];
        let found = asking
            .query(
                crate::sql::claim::CONFIRM.postgres(),
                &[&ids, &epochs, &"us"],
            )
            .await
            .unwrap();
        found.iter().map(|row| row.get(0)).collect::<Vec<String>>()
    });
    let mut found = None;
    while found.is_none() && number(&database, WAITING).await == 0 {
        found = tasks.try_join_next();
    }
    claiming.batch_execute("COMMIT").await.unwrap();
    if found.is_none() {
        found = tasks.join_next().await;
    }
    assert_eq!(found.unwrap().unwrap(), [id.0]);
}
