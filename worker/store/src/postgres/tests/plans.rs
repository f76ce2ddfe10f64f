//! Tests that frequent queries over a ledger of years use indexes.

use super::*;
use crate::sql::digest;

/// Returns the plan of the server without sequential scans.
async fn plan(database: &TestDatabase, sql: &str) -> String {
    let sql = format!("SET enable_seqscan = off; EXPLAIN {sql}");
    format!("{:?}", database.texts(&sql).await)
}

#[tokio::test]
async fn what_waits_and_runs_is_counted_without_what_is_over() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let plan = plan(&database, crate::sql::backlog::WAITING.postgres()).await;
    assert!(
        plan.contains("BitmapOr") && plan.contains("cases_running"),
        "{plan}"
    );
}

#[tokio::test]
async fn outcomes_of_an_account_are_found_by_index_in_the_ledger() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let sql = crate::sql::purge::OF_ACCOUNT
        .postgres()
        .replace("$1", "'123456789012'")
        .replace("$2", "NULL")
        .replace("$3", "200");
    let plan = plan(&database, &sql).await;
    assert!(plan.contains("arrivals_account"), "{plan}");
}

#[tokio::test]
async fn frequent_value_reads_only_its_newest_cases() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let sql = crate::sql::past_cases::SIMILAR
        .postgres()
        .replace("$1", "'key'")
        .replace("$2", "'id'")
        .replace("$3", "20")
        .replace("$4", "'{ip,domain}'")
        .replace("$5", "'{198.51.100.1,mine.example}'")
        .replace("$6", "50")
        .replace("$7", "NULL");
    let many = "INSERT INTO indicators (type, value, case_id, role) \
        SELECT type, value, number::text, 'actor' FROM generate_series(1, 5000) AS number CROSS JOIN LATERAL ( \
            VALUES ('ip', '198.51.100.1'), ('domain', number || '.example'), ('url', 'u'), ('principal', 'p'), ('file', 'f'), \
                ('instance', 'i'), ('wallet', 'w'), ('email', 'e')) AS named (type, value)";
    let sql = format!("{many}; ANALYZE indicators; EXPLAIN {sql}");
    let plan = format!("{:?}", database.texts(&sql).await);
    assert!(
        plan.contains("Index Scan Backward using indicators_newest"),
        "{plan}"
    );
    assert!(!plan.contains("i.noted_at DESC"), "{plan}");
}

#[tokio::test]
async fn decisions_about_the_same_are_read_newest_first() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let sql = crate::sql::feedback::DECISION
        .postgres()
        .replace("$1", "'123456789012'")
        .replace("$2", "'Recon:EC2/Portscan'")
        .replace("$3", "500")
        .replace(
            "$4",
            r#"'[{"type": "ip", "value": "198.51.100.1", "role": "actor"}]'"#,
        );
    let plan = plan(&database, &sql).await;
    assert!(plan.contains("person_verdicts_similar"), "{plan}");
    assert!(!plan.contains("decided_at DESC"), "not sorted: {plan}");
}

#[tokio::test]
async fn what_is_due_is_found_without_the_cases_that_are_shown() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let many = "INSERT INTO cases (id, key, feed, type, title, severity, content, status, opened_at, revised_at) \
            SELECT n::text, n::text, 'scc', 't', 't', 'low', 'c', 'concluded', now(), now() FROM generate_series(1, 5000) AS n; \
        INSERT INTO deliveries (case_id, destination, wanted_version, major_version, sent_version, requested_at) \
            SELECT n::text, 'soc', 1, 1, 1, now() FROM generate_series(1, 5000) AS n; \
        UPDATE deliveries SET wanted_version = 2 WHERE case_id = '7'; ANALYZE cases; ANALYZE deliveries";
    let sql = crate::sql::outbox::DUE.postgres();
    let sql = sql.replace("$1", "'soc'").replace("$2", "8");
    let plan = database.texts(&format!("{many}; EXPLAIN {sql}")).await;
    let plan = format!("{plan:?}");
    assert!(!plan.contains("Seq Scan"), "{plan}");
    assert!(!plan.contains("Hash Join"), "{plan}");
}

#[tokio::test]
async fn tables_whose_rows_change_at_every_turn_are_cleaned_early() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let sql = "SELECT relname FROM pg_class WHERE reloptions @> \
        '{autovacuum_vacuum_scale_factor=0.005,autovacuum_vacuum_threshold=50000,vacuum_index_cleanup=on}' ORDER BY 1";
    let found = database.texts(sql).await;
    assert_eq!(found, [["cases"], ["deliveries"]]);
}

#[tokio::test]
async fn silent_sources_are_found_without_the_days_that_they_brought() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let sql = digest::SILENT
        .postgres()
        .replace("$1", "'2026-03-02'")
        .replace("$2", "'2026-03-03'")
        .replace("$3", "'2026-02-23'");
    let plan = plan(&database, &sql).await;
    assert!(
        plan.matches("arrivals_source").count() >= 2 && !plan.contains("Seq Scan"),
        "{plan}"
    );
}

#[tokio::test]
async fn digest_finds_failures_dead_letters_and_runs_by_time_index() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let wanted = [
        (&*digest::UNDELIVERED, "deliveries_given_up"),
        (&digest::DEAD_LETTERS, "dead_letters_received"),
        (&digest::ENDED, "conclusions_concluded"),
    ];
    for (sql, index) in wanted {
        let sql = sql
            .postgres()
            .replace("$1", "'2026-03-02'")
            .replace("$2", "'2026-03-03'");
        let plan = plan(&database, &sql).await;
        assert!(plan.contains(index), "{plan}");
    }
}

#[tokio::test]
async fn dead_letters_that_grew_old_are_found_without_the_rest() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let sql = crate::sql::expire::DELETE_DEAD_LETTERS
        .postgres()
        .replace("$1", "'2026-03-02'")
        .replace("$2", "500");
    let plan = plan(&database, &sql).await;
    assert!(plan.contains("dead_letters_received"), "{plan}");
}

#[tokio::test]
async fn pending_work_is_read_in_order_and_counted_by_index() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    for sql in [&*digest::OPEN_CASES, &digest::OPEN_TOTAL] {
        // Without this, the planner would sort the few rows that it assumes in an empty table.
        let sql = format!(
            "SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN {}",
            sql.postgres().replace("$1", "10")
        );
        let plan = format!("{:?}", database.texts(&sql).await);
        assert!(plan.contains("cases_waiting_for_people"), "{plan}");
        assert!(!plan.contains("Sort"), "{plan}");
    }
}

#[tokio::test]
async fn what_mutes_hid_is_counted_by_its_index_alone() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let sql = crate::sql::mutes::HITS
        .postgres()
        .replace("$1", "'{m1,m2}'")
        .replace("$2", "10001");
    let plan = plan(&database, &sql).await;
    assert_eq!(plan.matches("arrivals_muted").count(), 2, "{plan}");
    assert!(!plan.contains("Sort"), "{plan}");
}

#[tokio::test]
async fn benign_cases_that_are_due_are_found_by_their_index() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let sql = crate::sql::rechecks::TAKE
        .postgres()
        .replace("$1", "'2026-03-02'")
        .replace("$2", "'2026-03-03'")
        .replace("$3", "8");
    let plan = plan(&database, &sql).await;
    assert!(plan.contains("cases_recheck"), "{plan}");
    assert!(!plan.contains("Sort"), "{plan}");
}

#[tokio::test]
async fn claim_finds_waiting_cases_by_index_and_locks_them() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let sql = crate::sql::claim::NEXT
        .postgres()
        .replace("$1", "'informational'")
        .replace("$2", "4")
        .replace("$3", "1")
        .replace("$4", "'holder'")
        .replace("$5", "NULL::double precision")
        .replace("$6", "NULL::double precision")
        .replace("$7", "true");
    let plan = plan(&database, &sql).await;
    for node in ["cases_queued", "cases_suspects", "LockRows"] {
        assert!(plan.contains(node), "{node}: {plan}");
    }
    assert!(!plan.contains("Seq Scan on cases"), "{plan}");
}

#[tokio::test]
async fn claim_does_not_wait_for_a_case_that_is_locked() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let mut hasty = options();
    hasty.waits.lock = Duration::from_millis(100);
    hasty.waits.patience = Duration::ZERO;
    let store = SqlStore::open_postgres(database.url(), hasty)
        .await
        .unwrap();
    let locked = accept(&store, numbered(0)).await.case_id.unwrap();
    let free = accept(&store, numbered(1)).await.case_id.unwrap();
    let other = database.client().await;
    let lock = format!("BEGIN; SELECT FROM cases WHERE id = '{locked}' FOR UPDATE");
    other.batch_execute(&lock).await.unwrap();
    let claimed = store.claim(Lane::Any, 2).await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].lease.case_id, free);
    other.batch_execute("COMMIT").await.unwrap();
    let claimed = store.claim(Lane::Any, 2).await.unwrap();
    assert_eq!(claimed[0].lease.case_id, locked);
}
