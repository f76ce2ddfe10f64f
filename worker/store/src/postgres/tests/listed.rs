//! Tests that lists of cases are read by index, whatever the history, also with the generic plan of a frequent
//! statement.

use nightshift_alert::Severity;
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::{CaseFilter, CaseStatus};
use nightshift_pipeline::case_workflow::WorkflowStatus;

use crate::conformance::server::{TestDatabase, texts};
use crate::sql::case_list::list_statement;

/// A month of cases, of which every hundredth has high priority.
const HISTORY: &str = "INSERT INTO cases (id, key, feed, type, title, severity, content, status, opened_at, revised_at, \
         verdict, assessed_severity) \
     SELECT 'case-' || n, 'key ' || n, 'scc', 'type', 'title ' || n, 'medium', '', 'concluded', now() - n * interval '1 minute', \
         now(), CASE n % 100 WHEN 0 THEN 'true_positive' ELSE 'benign_true_positive' END, 'high' \
     FROM generate_series(1, 5000) AS n; \
     ANALYZE cases";
const TYPES: &str =
    "text, text, text, text, bigint, text, text, text, text, boolean, boolean, text, text";
const VALUES: &str = "'concluded', 'true_positive', 'high', NULL, 51, NULL, NULL, NULL, 'open', false, true, NULL, NULL";

fn grave() -> CaseFilter {
    CaseFilter {
        status: Some(CaseStatus::Concluded),
        verdict: Some(Verdict::TruePositive),
        severity_at_least: Some(Severity::High),
        workflow_status: Some(WorkflowStatus::Open),
        ..CaseFilter::default()
    }
}

#[tokio::test]
async fn what_is_grave_is_read_without_the_rest() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let client = database.client().await;
    client.batch_execute(HISTORY).await.unwrap();
    for mode in ["force_generic_plan", "force_custom_plan"] {
        let sql = format!(
            "SET plan_cache_mode = {mode}; PREPARE listed ({TYPES}) AS {}; EXPLAIN EXECUTE listed ({VALUES})",
            list_statement(&grave()).postgres()
        );
        let plan = texts(&client, &sql).await.concat().join("\n");
        assert!(
            plan.contains("Index Scan using cases_high_priority"),
            "{plan}"
        );
        let found = texts(&client, &format!("EXECUTE listed ({VALUES})")).await;
        assert_eq!(found.len(), 50);
        client.batch_execute("DEALLOCATE listed").await.unwrap();
    }
}

#[tokio::test]
async fn a_value_of_an_alert_is_looked_up_once() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let client = database.client().await;
    client.batch_execute(HISTORY).await.unwrap();
    let indicators = "INSERT INTO indicators (type, value, case_id, role) \
         SELECT 'ip', '203.0.113.' || n, 'case-' || n, 'actor' FROM generate_series(1, 5000) AS n; ANALYZE indicators";
    client.batch_execute(indicators).await.unwrap();
    let asked = "NULL, NULL, NULL, NULL, 51, NULL, '203.0.113.42', NULL, NULL, false, false, '203.0.113.42', '203.0.113.42'";
    let sql = format!(
        "SET plan_cache_mode = force_generic_plan; PREPARE listed ({TYPES}) AS {}; EXPLAIN EXECUTE listed ({asked})",
        list_statement(&CaseFilter::default()).postgres()
    );
    let plan = texts(&client, &sql).await.concat().join("\n");
    assert!(plan.contains("indicators_newest"), "{plan}");
    assert!(plan.contains("hashed SubPlan"), "once: {plan}");
    let found = texts(&client, &format!("EXECUTE listed ({asked})")).await;
    assert_eq!((found.len(), found[0][0].as_str()), (1, "case-42"));
}

#[tokio::test]
async fn rare_rows_are_found_by_index_even_where_there_are_none() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let client = database.client().await;
    client.batch_execute(HISTORY).await.unwrap();
    let failed = CaseFilter {
        status: Some(CaseStatus::Failed),
        ..CaseFilter::default()
    };
    let canaries = CaseFilter {
        feed: Some("canary".into()),
        ..CaseFilter::default()
    };
    let disagreed = CaseFilter {
        disagreed: true,
        ..CaseFilter::default()
    };
    let rest = "51, NULL, NULL, NULL, NULL, false, false, NULL, NULL";
    let asked = [
        (
            failed,
            format!("'failed', NULL, NULL, NULL, {rest}"),
            "cases_failed",
        ),
        (
            canaries,
            format!("NULL, NULL, NULL, 'canary', {rest}"),
            "cases_storm",
        ),
        (
            disagreed,
            format!(
                "NULL, NULL, NULL, NULL, {}",
                rest.replacen("false", "true", 1)
            ),
            "cases_pkey",
        ),
    ];
    for (filter, values, index) in asked {
        for mode in ["force_generic_plan", "force_custom_plan"] {
            let sql = format!(
                "SET plan_cache_mode = {mode}; PREPARE listed ({TYPES}) AS {}; EXPLAIN EXECUTE listed ({values})",
                list_statement(&filter).postgres()
            );
            let plan = texts(&client, &sql).await.concat().join("\n");
            assert!(plan.contains(index), "{plan}");
            let reads_all = ["Seq Scan on cases", "cases_opened"];
            assert!(reads_all.iter().all(|all| !plan.contains(all)), "{plan}");
            let found = texts(&client, &format!("EXECUTE listed ({values})")).await;
            assert!(found.is_empty());
            client.batch_execute("DEALLOCATE listed").await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_list_of_an_account_or_without_samples_reads_what_it_shows() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let client = database.client().await;
    client.batch_execute(HISTORY).await.unwrap();
    let alerts = "UPDATE cases SET account = CASE WHEN opened_at < now() - interval '3 days' THEN 'old' ELSE 'new' END; \
        INSERT INTO alerts (case_id, revision, source, received_at, alert) SELECT id, 1, 's', now(), '{}' FROM cases; \
        ANALYZE cases; ANALYZE alerts";
    client.batch_execute(alerts).await.unwrap();
    for (account, without, index) in [
        ("'old'", "false", "cases_account_opened"),
        ("NULL", "true", "alerts_pkey"),
    ] {
        let values = format!(
            "NULL, NULL, NULL, NULL, 51, {account}, NULL, NULL, NULL, false, {without}, NULL, NULL"
        );
        let sql = format!(
            "SET plan_cache_mode = force_custom_plan; PREPARE listed ({TYPES}) AS {}; EXPLAIN EXECUTE listed ({values})",
            list_statement(&CaseFilter::default()).postgres()
        );
        let plan = texts(&client, &sql).await.concat().join("\n");
        assert!(plan.contains(index), "{plan}");
        assert!(!plan.contains("Seq Scan on alerts"), "{plan}");
        let found = texts(&client, &format!("EXECUTE listed ({values})")).await;
        assert_eq!(found.len(), 51);
        client.batch_execute("DEALLOCATE listed").await.unwrap();
    }
}
