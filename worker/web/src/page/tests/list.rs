//! Tests the list of cases.

use nightshift_alert::Severity;
use nightshift_pipeline::mutes::LedgerCount;

use super::*;

#[tokio::test]
async fn the_list_shows_what_came_and_keeps_its_filter_in_the_address() {
    let mut store = FakeStore::with_views(vec![view(Some(report())), view(Some(failed()))]);
    store.views[1].row.id = CaseId("aaaa-bbbb-cccc".into());
    store.places = vec![LedgerCount {
        place: "muted".into(),
        why: "probes".into(),
        alerts: 7,
    }];
    let store = Arc::new(store);
    let page = get(
        Arc::clone(&store),
        "/?q=miner&severity=high&account=p-1&limit=1",
    )
    .await;
    has(
        &page,
        &[
            "href=\"/cases/k3f9-x2mq-7d1w\"",
            "True positive",
            "Critical",
            "sent as High",
            "seen 2 times",
            "2 more of its storm",
            "value=\"miner\"",
            "value=\"high\" selected",
            "href=\"/?severity=high&amp;account=p-1&amp;q=miner&amp;after=k3f9-x2mq-7d1w&amp;limit=1\"",
            "Without a case, in the last 24 hours",
            "7 alerts muted: probes",
        ],
    );
    let asked = store.asked.lock().unwrap().clone();
    assert_eq!(asked.text.as_deref(), Some("miner"));
    assert_eq!((asked.account.as_deref(), asked.limit), (Some("p-1"), 2));
    let next = get(store, "/?limit=1&after=k3f9-x2mq-7d1w").await;
    has(&next, &["Not triaged", "aaaa-bbbb-cccc", "Newest"]);
    assert!(!next.text.contains("Older cases"));
}

#[tokio::test]
async fn list_row_shows_subject_urgency_and_dispute() {
    let mut case = view(Some(report()));
    case.row.title = "Crypto miner".into();
    case.row.person_verdict = Some(Verdict::FalsePositive);
    let page = get(Arc::new(FakeStore::with_views(vec![case.clone()])), "/").await;
    has(
        &page,
        &[
            "<span class=\"chip urgency now\">Act now</span>",
            "<strong>people say False positive</strong> · web-server-prod-01 · scc",
        ],
    );
    // A subject that the title names is not repeated. While the case is triaged again, its last report sets no urgency.
    case.row.title = "Crypto miner on web-server-prod-01".into();
    case.row.status = CaseStatus::Running;
    let page = get(Arc::new(FakeStore::with_views(vec![case])), "/").await;
    assert_eq!(page.text.matches("web-server-prod-01").count(), 1);
    assert!(!page.text.contains("Act now"));
}

#[tokio::test]
async fn list_is_shown_even_where_caseless_work_cannot_be_counted() {
    let mut store = FakeStore::with_views(vec![view(Some(report()))]);
    store.is_uncounted = true;
    let page = get(Arc::new(store), "/").await;
    assert_eq!(page.status, 200);
    has(
        &page,
        &["k3f9-x2mq-7d1w", "The alerts could not be counted in time."],
    );
}

/// Returns true positives with distinct ids and this severity.
fn flood(many: usize, severity: Severity) -> Vec<nightshift_pipeline::case::CaseView> {
    let one = |number: usize| {
        let mut one = view(None);
        one.row.id = CaseId(format!("{severity}-{number:04}"));
        one.row.severity = severity;
        one.row.status = CaseStatus::Concluded;
        one.row.verdict = Some(Verdict::TruePositive);
        one
    };
    (0..many).map(one).collect()
}

#[tokio::test]
async fn unassigned_critical_case_is_visible_behind_a_flood() {
    let mut views = flood(60, Severity::Low);
    views.extend(flood(1, Severity::Critical));
    let mut failed = flood(1, Severity::High).remove(0);
    failed.row.status = CaseStatus::Failed;
    failed.row.verdict = None;
    let mut cleared = flood(1, Severity::High).remove(0);
    cleared.row.verdict = Some(Verdict::BenignTruePositive);
    views.extend([failed, cleared]);
    let words = "Open, high or critical: <a href=\"/?verdict=true_positive&amp;severity=high&amp;desk=open&amp;samples=no\">\
        1 true positive</a> · <a href=\"/?status=failed&amp;severity=high&amp;desk=open&amp;samples=no\">1 not triaged</a></p>";
    let page = get(Arc::new(FakeStore::with_views(views.clone())), "/").await;
    assert!(!page.text.contains("critical-0000"));
    has(&page, &[words]);
    let behind = format!("/?after={}", views[49].row.id.0);
    has(
        &get(Arc::new(FakeStore::with_views(views.clone())), &behind).await,
        &[words],
    );
    let there = get(
        Arc::new(FakeStore::with_views(views.clone())),
        "/?severity=high&desk=open",
    )
    .await;
    has(&there, &["critical-0000"]);
    assert!(!there.text.contains("low-0001") && !there.text.contains("Open, high"));
    // The case is assigned.
    views[60].row.desk = WorkflowStatus::Acknowledged;
    views.truncate(61);
    let page = get(Arc::new(FakeStore::with_views(views)), "/").await;
    assert!(!page.text.contains("Open, high"));
    let many = get(
        Arc::new(FakeStore::with_views(flood(51, Severity::High))),
        "/",
    )
    .await;
    has(&many, &[">50 or more true positive<"]);
    let page = get(
        Arc::new(FakeStore::with_views(flood(50, Severity::High))),
        "/",
    )
    .await;
    has(&page, &[">50 true positive<"]);
}

#[tokio::test]
async fn what_is_grave_is_what_the_rows_show_and_what_waits() {
    let mut raised = flood(1, Severity::Medium);
    raised[0].row.assessed_severity = Some(Severity::High);
    let mut sample = flood(1, Severity::High).remove(0);
    sample.row.id = CaseId("a sample".into());
    sample.alert.state.sample = true;
    let mut queued = flood(12, Severity::Critical);
    for one in &mut queued {
        (one.row.status, one.row.verdict) = (CaseStatus::Queued, None);
    }
    queued[0].row.status = CaseStatus::Running;
    // The case is triaged again because its severity rose. The assessment of the milder alert does not count.
    queued[1].row.assessed_severity = Some(Severity::Low);
    let mut views = raised;
    views.push(sample);
    views.extend(queued);
    let page = get(Arc::new(FakeStore::with_views(views.clone())), "/").await;
    has(
        &page,
        &[
            "samples=no\">1 true positive</a> · ",
            "\"/?status=running&amp;severity=high&amp;desk=open&amp;samples=no\">1 running</a> · ",
            "\"/?status=queued&amp;severity=high&amp;desk=open&amp;samples=no\">11 waiting</a></p>",
        ],
    );
    let store = Arc::new(FakeStore::with_views(views));
    let page = get(store, "/?severity=high&samples=no").await;
    has(&page, &["medium-0000", "value=\"no\" selected"]);
    assert!(!page.text.contains("a sample"));
}

#[tokio::test]
async fn verdict_stands_while_its_case_reruns_or_rerun_was_cancelled() {
    let mut views = flood(3, Severity::High);
    views[0].row.status = CaseStatus::Queued;
    views[1].row.status = CaseStatus::Cancelled;
    views[2].row.status = CaseStatus::Cancelled;
    views[2].row.verdict = Some(Verdict::Inconclusive);
    let page = get(Arc::new(FakeStore::with_views(views)), "/").await;
    has(
        &page,
        &[
            "\"/?verdict=true_positive&amp;severity=high&amp;desk=open&amp;samples=no\">2 true positive</a> · ",
            ">1 inconclusive, run again called off</a> · ",
            ">1 waiting</a></p>",
            "True positive (rerun cancelled)",
            "Inconclusive (run again called off)",
        ],
    );
}

#[tokio::test]
async fn an_empty_list_says_what_to_do() {
    let none = || Arc::new(FakeStore::default());
    has(
        &get(none(), "/").await,
        &["No cases yet", "nightshift demo --once"],
    );
    has(&get(none(), "/?q=x").await, &["No case fits this filter"]);
    has(
        &get(none(), "/?after=k3f9-x2mq-7d1w").await,
        &["no older cases"],
    );
}
