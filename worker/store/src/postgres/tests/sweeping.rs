//! Tests the removal of data that is in use.

use nightshift_pipeline::maintenance::{Purge, RetentionClass, StoreMaintenance};
use tokio::task::JoinSet;

use super::*;

/// Counts the statements of the store that wait for a lock of another connection.
pub(super) const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
     WHERE datname = current_database() AND wait_event_type = 'Lock'";

#[tokio::test]
async fn a_case_that_is_just_queued_again_is_not_removed_for_its_age() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    accept(&store, arrivals(MINER)).await;
    let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    let (_, closing) = whole_journal(&claimed);
    store.conclude(&claimed.lease, &closing).await.unwrap();
    let intake = database.client().await;
    let again = "BEGIN; UPDATE cases SET status = 'queued', revision = 2";
    intake.batch_execute(again).await.unwrap();
    let sweeping = store;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        sweeping
            .expire(RetentionClass::Cases, at(86_400), 10)
            .await
            .unwrap()
    });
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

#[tokio::test]
async fn g2_alert_joining_a_storm_being_pruned_is_its_own_case() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let mut stormy = options();
    stormy.admission.storm_cases = 1;
    let store = SqlStore::open_postgres(database.url(), stormy)
        .await
        .unwrap();
    let low = |number| {
        let mut batch = numbered(number);
        Arc::make_mut(&mut batch[0].alert).severity = nightshift_alert::Severity::Low;
        batch
    };
    accept(&store, low(0)).await;
    let removing = database.client().await;
    let remove = "BEGIN; DELETE FROM cases";
    removing.batch_execute(remove).await.unwrap();
    let mut tasks = JoinSet::new();
    let joins = low(1);
    tasks.spawn(async move { accept(&store, joins).await });
    while number(&database, WAITING).await == 0 {
        assert!(tasks.try_join_next().is_none(), "it joins what is removed");
    }
    removing.batch_execute("COMMIT").await.unwrap();
    let accepted = tasks.join_next().await.unwrap().unwrap();
    assert!(matches!(accepted.admission, Admission::New), "{accepted:?}");
    let places = "SELECT state, case_id IS NOT NULL FROM alert_ledger";
    assert_eq!(database.texts(places).await, [["case", "t"]]);
}

#[tokio::test]
async fn what_an_old_day_cost_is_put_together_bit_by_bit() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    let much = "INSERT INTO spending (day, case_id, urgent, usd) \
             SELECT '2026-01-02', 'case-' || n, true, 0.5 FROM generate_series(1, 10100) AS n; \
         CREATE FUNCTION much() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF (SELECT count(*) FROM gone) > 10000 THEN RAISE 'too much'; END IF; RETURN NULL; END $$; \
         CREATE TRIGGER much AFTER DELETE ON spending REFERENCING OLD TABLE AS gone \
             FOR EACH STATEMENT EXECUTE FUNCTION much()";
    database.client().await.batch_execute(much).await.unwrap();
    assert_eq!(store.sweep().await.unwrap(), 0);
    let spending = "SELECT case_id, usd FROM spending";
    assert_eq!(database.texts(spending).await, [["", "5050"]]);
}

#[tokio::test]
async fn what_comes_for_a_case_as_its_account_is_purged_goes_with_it() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    accept(&store, arrivals(MINER)).await;
    let intake = database.client().await;
    let comes = "BEGIN; UPDATE cases SET sightings = sightings + 1; \
         INSERT INTO raw_messages (source, received_at, size_bytes, sha256, bytes) \
             SELECT source, received_at, size_bytes, sha256, bytes FROM raw_messages; \
         INSERT INTO indicators (type, value, case_id, role) SELECT 'ip', '198.51.100.7', id, 'actor' FROM cases; \
         INSERT INTO arrivals (raw_id, source, received_at, key, feed, type, title, account, severity, outcome, case_id) \
             SELECT (SELECT max(id) FROM raw_messages), source, received_at, key, feed, type, title, account, severity, \
                 'sighting', case_id FROM arrivals";
    let account = "SELECT account FROM arrivals";
    let account = database.texts(account).await.remove(0).remove(0);
    intake.batch_execute(comes).await.unwrap();
    let purging = store;
    let what = Purge {
        account: Some(account),
        before: None,
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { purging.purge(&what, 200).await.unwrap() });
    while number(&database, WAITING).await == 0 {
        assert!(tasks.try_join_next().is_none(), "it waits for who has it");
    }
    intake.batch_execute("COMMIT").await.unwrap();
    assert_eq!(tasks.join_next().await.unwrap().unwrap(), 2);
    let left = "SELECT (SELECT count(*) FROM cases), (SELECT count(*) FROM arrivals), \
         (SELECT count(*) FROM raw_messages), (SELECT count(*) FROM indicators)";
    assert_eq!(database.texts(left).await, [["0", "0", "0", "0"]]);
}

/// Opens a store with this timeout for statements.
async fn hasty(database: &TestDatabase, statement: Duration) -> SqlStore {
    let mut hasty = options();
    hasty.waits.statement = statement;
    SqlStore::open_postgres(database.url(), hasty)
        .await
        .unwrap()
}

/// Creates cases that are over.
async fn over(store: &SqlStore, cases: usize) {
    for case in 0..cases {
        accept(store, numbered(case)).await;
        let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
        let (_, closing) = whole_journal(&claimed);
        store.conclude(&claimed.lease, &closing).await.unwrap();
    }
}

#[tokio::test]
async fn oversized_prune_statement_is_split_into_smaller_batches() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    over(&store(&database).await, 9).await;
    // The trigger slows each deletion, as if each case had many rows.
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             PERFORM pg_sleep(0.5); RETURN OLD; END $$; \
         CREATE TRIGGER slow BEFORE DELETE ON cases FOR EACH ROW EXECUTE FUNCTION slow()";
    database.client().await.batch_execute(slow).await.unwrap();
    let hasty = hasty(&database, Duration::from_secs(2)).await;
    let removed = hasty
        .expire(RetentionClass::Cases, at(86_400), 8)
        .await
        .unwrap();
    assert_eq!(removed, 8, "in fours or twos");
    assert_eq!(number(&database, "SELECT count(*) FROM cases").await, 1);
}

#[tokio::test]
async fn oversized_case_is_pruned_piece_by_piece() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    heavy(&database).await;
    let hasty = hasty(&database, Duration::from_secs(2)).await;
    let removed = hasty
        .expire(RetentionClass::Cases, at(86_400), 2)
        .await
        .unwrap();
    assert_eq!(removed, 1);
    assert_eq!(number(&database, LEFT).await, 0);
}

#[tokio::test]
async fn account_purge_does_not_wait_for_pruning_of_a_heavy_case() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    heavy(&database).await;
    let account = database
        .texts("SELECT DISTINCT account FROM arrivals")
        .await
        .remove(0)
        .remove(0);
    let what = Purge {
        account: Some(account),
        before: None,
    };
    let hasty = hasty(&database, Duration::from_secs(5)).await;
    assert_eq!(hasty.purge(&what, 200).await.unwrap(), 6001);
    assert_eq!(number(&database, LEFT).await, 0);
    assert_eq!(hasty.purge(&what, 200).await.unwrap(), 0);
}

/// Counts the cases and their arrivals.
const LEFT: &str = "SELECT (SELECT count(*) FROM cases) + (SELECT count(*) FROM arrivals) + (SELECT count(*) FROM sightings)";

/// Creates a case with many arrivals. No statement deletes more than a slice of them, however fast the machine is.
async fn heavy(database: &TestDatabase) {
    over(&store(database).await, 1).await;
    let much = "INSERT INTO arrivals (source, received_at, key, feed, type, title, account, severity, outcome, case_id) \
             SELECT source, received_at, key, feed, type, title, account, severity, 'sighting', case_id \
             FROM arrivals CROSS JOIN generate_series(1, 6000); \
         INSERT INTO sightings (case_id, source, received_at, count, content) \
             SELECT id, 'test', opened_at, 1, '' FROM cases CROSS JOIN generate_series(1, 6000); \
         CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF (SELECT count(*) FROM gone) > 5000 THEN PERFORM pg_sleep(60); END IF; RETURN NULL; END $$; \
         CREATE TRIGGER slow AFTER DELETE ON arrivals REFERENCING OLD TABLE AS gone \
             FOR EACH STATEMENT EXECUTE FUNCTION slow(); \
         CREATE TRIGGER slow AFTER DELETE ON sightings REFERENCING OLD TABLE AS gone \
             FOR EACH STATEMENT EXECUTE FUNCTION slow()";
    database.client().await.batch_execute(much).await.unwrap();
}
