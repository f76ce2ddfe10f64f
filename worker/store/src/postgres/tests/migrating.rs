//! Tests a migration beside working workers.

use tokio::task::JoinSet;

use super::sweeping::WAITING;
use super::*;

/// Returns a migration that needs an exclusive lock on a table.
fn later() -> refinery::Runner {
    let sql = "ALTER TABLE cases ADD COLUMN later text";
    let migration = refinery::Migration::unapplied("V9999__later", sql).unwrap();
    refinery::Runner::new(&[migration])
}

#[tokio::test]
async fn a_migration_that_waits_for_a_table_lets_the_workers_have_it() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    accept(&store, arrivals(MINER)).await;
    let reading = database.client().await;
    let dump = "BEGIN; SELECT count(*) FROM cases";
    reading.batch_execute(dump).await.unwrap();
    let client = database.client().await;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let patience = Duration::from_secs(600);
        migrate::migrate(&client, &later(), patience).await
    });
    while number(&database, WAITING).await == 0 {
        assert!(tasks.try_join_next().is_none());
    }
    // Behind a waiting migration, this claim would exceed its timeout.
    let claimed = store.claim(Lane::Any, 1).await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert!(tasks.try_join_next().is_none(), "it goes on trying");
    reading.batch_execute("COMMIT").await.unwrap();
    tasks.join_next().await.unwrap().unwrap().unwrap();
    let there = database.texts("SELECT later FROM cases").await;
    assert_eq!(there.len(), 1);
}

#[tokio::test]
async fn a_migration_that_gets_no_lock_at_all_says_what_is_open() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let reading = database.client().await;
    let dump = "SET application_name = 'pg_dump'; BEGIN; SELECT count(*) FROM cases";
    reading.batch_execute(dump).await.unwrap();
    let client = database.client().await;
    let error = migrate::migrate(&client, &later(), Duration::ZERO).await;
    let error = error.unwrap_err();
    assert!(
        matches!(error, PostgresOpenError::Locked { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("at pg_dump since"), "{error}");
}

#[tokio::test]
async fn a_migration_that_was_changed_after_its_use_is_refused() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let client = database.client().await;
    let changed = refinery::Migration::unapplied("V1__schema", "CREATE TABLE other ()").unwrap();
    let runner = refinery::Runner::new(&[changed]);
    let error = migrate::migrate(&client, &runner, Duration::ZERO).await;
    let error = nightshift_engine::error_chain::format_error_chain(&error.unwrap_err());
    assert!(error.contains("V1__schema differs from"), "{error}");
}
