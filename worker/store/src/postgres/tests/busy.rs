//! Tests a server that is reachable but busy: the results of a running case are kept until they can be written.

use super::*;

/// The error codes that are returned once each: of a lock, a statement, and resources.
const CODES: [&str; 4] = ["55P03", "57014", "53100", "58030"];

/// Makes the next inserts into a table fail. A sequence counts them, because its numbers stay drawn after a rollback.
async fn refuse(database: &TestDatabase, table: &str, codes: &[&str]) {
    let cases = codes.iter().zip(1..);
    let cases: String = cases
        .map(|(code, number)| format!("WHEN {number} THEN RAISE 'busy' USING ERRCODE = '{code}'; "))
        .collect();
    let sql = format!(
        "DROP SEQUENCE IF EXISTS tries; CREATE SEQUENCE tries; \
         CREATE OR REPLACE FUNCTION busy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             CASE nextval('tries') {cases} ELSE RETURN NEW; END CASE; END $$; \
         CREATE TRIGGER busy BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION busy()"
    );
    database.client().await.batch_execute(&sql).await.unwrap();
}

#[tokio::test]
async fn f17_what_a_running_case_writes_waits_for_locks_and_resources() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let mut hasty = options();
    hasty.waits.patience = Duration::ZERO;
    let store = SqlStore::open_postgres(database.url(), hasty)
        .await
        .unwrap();
    let id = accept(&store, arrivals(MINER)).await.case_id.unwrap();
    let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    let (events, closing) = whole_journal(&claimed);
    let charge = Charge {
        day: at(0).date_naive(),
        urgent: true,
        usd: 0.5,
    };
    refuse(&database, "journal", &CODES).await;
    store.append(&claimed.lease, &events, charge).await.unwrap();
    refuse(&database, "conclusions", &CODES).await;
    store.conclude(&claimed.lease, &closing).await.unwrap();
    let view = store.view(&id.0).await.unwrap();
    assert_eq!(view.events.len(), 5, "each once");
    assert_eq!(view.row.status, CaseStatus::Concluded);
    let spent = database.texts("SELECT usd FROM spending").await;
    assert_eq!(spent, [["0.5"]], "and charged once");
    assert!((view.row.usd - 0.5).abs() < f64::EPSILON);
}

#[tokio::test]
async fn f17_a_busy_pool_loses_nothing_that_a_running_case_found() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let mut hasty = options();
    hasty.waits.pool = Duration::from_millis(50);
    let store = SqlStore::open_postgres(database.url(), hasty)
        .await
        .unwrap();
    accept(&store, arrivals(MINER)).await;
    let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    let (events, _) = whole_journal(&claimed);
    let all = (0..MOST_CONNECTIONS - 1).map(|_| database_of(&store).pool.get());
    let all = futures_util::future::try_join_all(all).await.unwrap();
    let writing = store.append(&claimed.lease, &events, Charge::default());
    let others = async {
        // The connections are busy for longer than the timeout of the other request.
        for _ in 0..2 {
            let refused = store.ledger_counts(at(0)).await;
            assert!(
                matches!(refused, Err(StoreError::Database { .. })),
                "{refused:?}"
            );
        }
        drop(all);
    };
    let (written, ()) = tokio::join!(writing, others);
    written.unwrap();
}

/// Simulates a failover: the server of the open connections is read-only, and a new connection finds the primary.
#[tokio::test]
async fn f17_read_only_server_after_failover_is_retried() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    refuse(&database, "arrivals", &["25006"]).await;
    let accepted = accept(&store, arrivals(MINER)).await;
    assert_eq!(accepted.admission, Admission::New);
    let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    let (events, closing) = whole_journal(&claimed);
    refuse(&database, "journal", &["25006"]).await;
    let charge = Charge::default();
    store.append(&claimed.lease, &events, charge).await.unwrap();
    refuse(&database, "conclusions", &["25006"]).await;
    store.conclude(&claimed.lease, &closing).await.unwrap();
}

#[tokio::test]
async fn worker_frozen_in_a_batch_blocks_others_only_for_a_time() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let hasty = async || {
        let mut hasty = options();
        hasty.waits.lock = Duration::from_secs(2);
        hasty.waits.patience = Duration::ZERO;
        SqlStore::open_postgres(database.url(), hasty)
            .await
            .unwrap()
    };
    let (frozen, other) = (hasty().await, hasty().await);
    let session = database_of(&frozen).session(&[]).await.unwrap();
    let all = "BEGIN; SELECT pg_advisory_xact_lock(7226003, number) FROM generate_series(0, 1023) AS number";
    session.batch_execute(all).await.unwrap();
    let accepted = accept(&other, arrivals(MINER)).await;
    assert_eq!(accepted.admission, Admission::New);
    assert!(
        session.batch_execute("COMMIT").await.is_err(),
        "it has lost its turn"
    );
}

#[tokio::test]
async fn full_disk_is_known_after_a_write_that_found_no_room() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let mut hasty = options();
    hasty.waits.patience = Duration::ZERO;
    let store = SqlStore::open_postgres(database.url(), hasty)
        .await
        .unwrap();
    for (code, is_full) in [("55P03", false), ("53100", true)] {
        refuse_again(&database, "raw_messages", code).await;
        let refused = store.accept(arrivals(MINER).into()).await;
        assert!(
            matches!(refused, Err(StoreError::Database { .. })),
            "{refused:?}"
        );
        assert_eq!(store.is_disk_full(), is_full, "{code}");
    }
}

/// Makes the next insert into a table fail, independently of earlier ones.
async fn refuse_again(database: &TestDatabase, table: &str, code: &str) {
    let sql = format!("DROP TRIGGER IF EXISTS busy ON {table}");
    database.client().await.batch_execute(&sql).await.unwrap();
    refuse(database, table, &[code]).await;
}
