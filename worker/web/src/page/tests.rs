//! Tests the pages and their JSON.

mod list;

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::{CaseId, CaseStatus};
use nightshift_pipeline::case_workflow::{
    CaseAction, CaseActionKind, CaseWorkflow, WorkflowStatus,
};
use nightshift_pipeline::feedback::PersonVerdict;
use nightshift_pipeline::language::Language;

use crate::WebConfig;
use crate::testing::{
    FakeStore, ID, TestResponse, ask, failed, get, inconclusive, now, report, server, view,
};

fn store() -> Arc<FakeStore> {
    Arc::new(FakeStore::with_views(vec![view(Some(report()))]))
}

fn has(answer: &TestResponse, words: &[&str]) {
    for words in words {
        assert!(
            answer.text.contains(words),
            "no {words:?} in {}",
            answer.text
        );
    }
}

#[tokio::test]
async fn a_case_page_says_all_that_the_report_says() {
    let page = get(store(), "/cases/k3f9").await;
    has(
        &page,
        &[
            "<title>▲ Act now · True positive · Critical [SAMPLE] [PLAYBOOK] [PARTIAL] — Crypto miner on web-server-prod-01 (Production) · Nightshift</title>",
            "[SAMPLE]",
            "[PLAYBOOK]",
            "[PARTIAL]",
            "mines Monero for pool.minexmr[.]com",
            "Text in the data talks to the analyst",
            "12 min ago",
            "the logs show 1 event since, the last at <time datetime=\"2026-11-20T03:05:00Z\">",
            "… and 27 log rows; the evidence has them",
            "internet-facing",
            "<pre class=\"command\"><code>gcloud compute disks snapshot d</code></pre>",
            "Suggested, not executed",
            "href=\"#E3\"",
            "id=\"E3\"",
            "href=\"#F1\"",
            "id=\"F1\"",
            "4 of 5 sources read; VPC flow: access denied",
            "<dt>Owner</dt><dd>team-web</dd>",
            "<dt>Action</dt><dd>mined</dd>",
            "<dt>Feed</dt><dd>scc</dd>",
            "<dt>Far end</dt><dd>pool.minexmr[.]com</dd>",
            "Unverified, counts for nothing",
            "On record, but not enough to clear it: A load test was approved (change CHG-1)",
            "185.220.101[.]42",
            "Reflection 1 cancelled s3 (the owner is known)",
            "T1496 Resource Hijacking",
            "0.0312 USD, 7 model calls",
            "5600 tokens in (4100 of them cached), 520 out",
            "<li class=\"step failed\">",
            "<p class=\"below\">vpc_flow (ip=185.220.101[.]42): 1 row <a class=\"cite\" href=\"#E4\">[E4]</a></p>",
            "“mining pool” at /rows/0/destination_ip",
            "quoted by <a href=\"#F1\">finding 1</a>",
            "not shown after 3 tries: channel_not_found",
            "archived at its feed",
            "Another miner",
            "href=\"/api/v1/cases/k3f9-x2mq-7d1w\"",
            "href=\"/cases/aaaa-bbbb-cccc\"",
        ],
    );
    assert!(
        !page.text.contains("href=\"/cases/no"),
        "an id that cannot be one is not linked"
    );
}

#[tokio::test]
async fn a_case_that_is_not_decided_or_not_triaged_says_so() {
    let page = get(
        Arc::new(FakeStore::with_views(vec![view(Some(inconclusive()))])),
        "/cases/k3f9",
    )
    .await;
    has(
        &page,
        &[
            "Inconclusive, leans malicious",
            "What would decide it",
            "An approved change",
        ],
    );
    let page = get(
        Arc::new(FakeStore::with_views(vec![view(Some(failed()))])),
        "/cases/k3f9",
    )
    .await;
    has(
        &page,
        &[
            "Not triaged",
            "nothing here is a verdict",
            "Everything: no source was read.",
            "Inconclusive, high confidence: the run failed",
            "Where its message in Slack has buttons, they do this",
        ],
    );
    let mut report = failed();
    (report.coverage.read, report.coverage.wanted) = (2, 2);
    let page = get(
        Arc::new(FakeStore::with_views(vec![view(Some(report))])),
        "/cases/k3f9",
    )
    .await;
    has(
        &page,
        &[
            "What was read was not judged: the run failed.",
            "2 of 2 sources read",
        ],
    );
}

#[tokio::test]
async fn a_case_that_was_triaged_again_says_what_changed_and_why() {
    let mut report = report();
    let words = "Changed since revision 1: severity High → Critical; triaged again because: severity rose as sent, new actor 203.0.113[.]99";
    report.again = serde_json::from_value(serde_json::json!({
        "revision": 1, "failed": false, "verdict": report.verdict, "leaning": "none", "severity": "high",
        "urgency": report.urgency, "why": "severity",
        "new": [{ "type": "ip", "value": "203.0.113.99", "role": "actor" }],
    }))
    .unwrap();
    let page = get(
        Arc::new(FakeStore::with_views(vec![view(Some(report))])),
        "/cases/k3f9",
    )
    .await;
    has(&page, &[words]);
}

#[tokio::test]
async fn a_case_that_rules_took_over_says_from_where_on_and_why() {
    let mut report = inconclusive();
    report.degraded = true;
    report.models = vec!["openai/gpt-x".into()];
    report.prompts = "1a2b3c4d5e6f7081".into();
    report.takeover = serde_json::from_value(serde_json::json!({
        "at": "turn:s1:1", "why": "no answer: HTTP 500", "concluded": true,
    }))
    .unwrap();
    let page = get(
        Arc::new(FakeStore::with_views(vec![view(Some(report))])),
        "/cases/k3f9",
    )
    .await;
    has(
        &page,
        &[
            "[PLAYBOOK]",
            "The model stopped answering at step s1 (no answer: HTTP 500); the playbook did the rest, verdict included.",
            "model openai/gpt-x until step s1, then the playbook",
            "prompts 1a2b3c4d",
        ],
    );
}

#[tokio::test]
async fn other_cases_say_what_they_are_and_what_they_share() {
    let mut report = report();
    let other = serde_json::json!({
        "case_id": "aaaa-bbbb-cccc", "same_key": false, "type": "Recon:EC2/Portscan", "opened_at": report.opened_at,
        "verdict": "true_positive", "shared": { "ip": ["203.0.113.9", "203.0.113.10"] },
    });
    report.reach.others =
        serde_json::from_value(serde_json::Value::Array(vec![other; 20])).unwrap();
    report.reach.other_cases = vec!["aaaa-bbbb-cccc".to_owned(); 20];
    report.reach.others_cut = true;
    let page = get(
        Arc::new(FakeStore::with_views(vec![view(Some(report))])),
        "/cases/k3f9",
    )
    .await;
    assert_eq!(page.text.matches("/cases/aaaa-bbbb-cccc").count(), 5);
    has(
        &page,
        &[
            "and at least 15 more",
            "True positive, Recon:EC2/Portscan, 0 s before, shares 203.0.113[.]10 and 1 more (<a href=\"/cases/aaaa-bbbb-cccc\">aaaa-bbbb-cccc</a>)",
        ],
    );
}

#[tokio::test]
async fn a_case_without_a_report_shows_where_it_stands() {
    let mut queued = view(None);
    let page = get(
        Arc::new(FakeStore::with_views(vec![queued.clone()])),
        "/cases/k3f9",
    )
    .await;
    has(
        &page,
        &["Queued", "It waits for a worker.", "on web-server-prod-01"],
    );
    queued.row.status = CaseStatus::Running;
    let page = get(
        Arc::new(FakeStore::with_views(vec![queued.clone()])),
        "/cases/k3f9",
    )
    .await;
    let reload = "<meta http-equiv=\"refresh\" content=\"10\">";
    has(
        &page,
        &["Running", "makes a plan", "again every 10 seconds", reload],
    );
    queued.row.status = CaseStatus::Cancelled;
    queued.cancelled_by = Some("ana".into());
    let page = get(Arc::new(FakeStore::with_views(vec![queued])), "/cases/k3f9").await;
    has(&page, &["called off", "ana called the latest triage off"]);
    for wrong in [reload, "Look again", "Nobody has done anything"] {
        assert!(!page.text.contains(wrong), "{wrong}");
    }
    let mut again = view(Some(report()));
    again.row.status = CaseStatus::Running;
    again.row.revision = 2;
    let page = get(Arc::new(FakeStore::with_views(vec![again])), "/cases/k3f9").await;
    has(
        &page,
        &[
            "Revision 2: Running",
            "the report of revision 1",
            "href=\"/cases/k3f9-x2mq-7d1w?revision=2\"",
        ],
    );
}

#[tokio::test]
async fn a_case_without_a_report_says_what_its_alert_says() {
    for status in [
        CaseStatus::Queued,
        CaseStatus::Running,
        CaseStatus::Cancelled,
    ] {
        let mut early = view(None);
        early.row.status = status;
        let page = get(Arc::new(FakeStore::with_views(vec![early])), "/cases/k3f9").await;
        has(
            &page,
            &[
                "<dt>Resource</dt><dd>web-server-prod-01",
                "<dt>Account</dt><dd>production-project-12345",
                "<dt>Type</dt><dd>Execution: Cryptocurrency Mining Hash Match",
                "<dt>Seen</dt><dd><time datetime=\"2025-11-08T05:23:47Z\">2025-11-08 05:23 UTC</time>, 1 time</dd>",
                "remote domain: pool.minexmr[.]com",
                "<dt>Source IP</dt><dd>185.220.101[.]42",
                "<dt>Principal</dt><dd>attacker@external-domain[.]com",
                "?project=production-project-12345\" rel=\"noreferrer\">Open the alert in its own console</a>",
                "id=\"E0\"",
                "E0 alert: as it was read",
            ],
        );
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_to_be_not_there() {
    for (path, words) in [
        ("/cases/none", "No such case"),
        ("/cases/k3f9?revision=9", "No such revision"),
        ("/cases/..%2f..%2fetc%2fpasswd", "No such case"),
        ("/assets/x.js", "Nothing here"),
    ] {
        let answer = get(store(), path).await;
        assert_eq!(answer.status, 404, "{path}");
        has(&answer, &[words]);
    }
    let answer = get(store(), "/api/v1/cases/none").await;
    assert_eq!(answer.text, "{\"error\":\"there is no such case\"}\n");
    let answer = get(store(), "/api/v1/cases/k3f9?revision=9").await;
    assert_eq!(answer.status, 404);
    has(&answer, &["the case has no report of that revision"]);
    for path in ["/cases/k3f9?revision=x", "/api/v1/cases/k3f9?revision=x"] {
        assert_eq!(get(store(), path).await.status, 400, "{path}");
    }
    assert_eq!(get(store(), "/?q=a&q=b").await.status, 400);
}

#[tokio::test]
async fn the_json_holds_the_report_as_it_stands() {
    let answer = get(store(), "/api/v1/cases/k3f9").await;
    assert_eq!(answer.headers["content-type"], "application/json");
    let value: serde_json::Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(value["report"], serde_json::to_value(report()).unwrap());
    assert_eq!(value["case"]["id"], ID);
    let list: serde_json::Value =
        serde_json::from_str(&get(store(), "/api/v1/cases").await.text).unwrap();
    assert_eq!(list["cases"][0]["id"], ID);
    assert!(list["next"].is_null());
}

#[tokio::test]
async fn a_case_says_what_people_did_and_who_has_it() {
    let act = |by: &str, kind: CaseActionKind, note: &str| CaseAction {
        at: now(),
        by: by.into(),
        kind,
        note: note.into(),
    };
    let theirs = Verdict::FalsePositive;
    let mut case = view(Some(report()));
    case.row.revision = 2;
    case.person_verdicts = vec![PersonVerdict {
        at: now(),
        by: "bob".into(),
        revision: 1,
        verdict: theirs,
        agreed: false,
        note: String::new(),
    }];
    case.workflow = CaseWorkflow::from_actions(vec![
        act("slack:U1 (ana)", CaseActionKind::Acknowledged, ""),
        act(
            "bob",
            CaseActionKind::Disagreed { verdict: theirs },
            "our scanner",
        ),
    ]);
    (case.row.desk, case.row.owner) = (case.workflow.status, case.workflow.owner.clone());
    let store = Arc::new(FakeStore::with_views(vec![case]));
    let page = get(Arc::clone(&store), "/cases/k3f9").await;
    has(
        &page,
        &[
            "<a href=\"#people\">ana has it</a> · people say False positive",
            "<strong>bob</strong> disagrees: False positive (revision 1)<br><q>our scanner</q>",
            "<strong>slack:U1 (ana)</strong> has it",
            "slack:U1 (ana) has it. People say: <strong>False positive</strong>.",
        ],
    );
    let (bob, ana) = (
        page.text.find("<strong>bob"),
        page.text.find("<strong>slack:U1"),
    );
    assert!(bob < ana, "the latest on top");
    let list = get(Arc::clone(&store), "/?desk=acknowledged").await;
    has(
        &list,
        &[
            "<strong>ana has it</strong>",
            "value=\"acknowledged\" selected",
        ],
    );
    let asked = store.asked.lock().unwrap().workflow_status;
    assert_eq!(asked, Some(WorkflowStatus::Acknowledged));
    let json = get(store, "/api/v1/cases/k3f9").await;
    has(
        &json,
        &[
            "\"desk\":{\"status\":\"acknowledged\"",
            "\"person_verdicts\":[{",
        ],
    );
}

#[tokio::test]
async fn a_case_that_nobody_touched_says_that() {
    let page = get(store(), "/cases/k3f9").await;
    has(
        &page,
        &[
            "<a href=\"#people\">Open</a>",
            "Nobody has done anything",
            "<code>nightshift cases ack k3f9-x2mq-7d1w</code>",
            "<code>nightshift cases disagree k3f9-x2mq-7d1w --verdict false_positive --note &#x27;why&#x27;</code>",
            "<code>nightshift cases close k3f9-x2mq-7d1w --note &#x27;what was done&#x27;</code>",
        ],
    );
    let page = get(
        Arc::new(FakeStore::with_views(vec![view(None)])),
        "/cases/k3f9",
    )
    .await;
    has(
        &page,
        &["<code>nightshift cases cancel k3f9-x2mq-7d1w</code>"],
    );
    assert!(
        !page.text.contains("cases disagree"),
        "with no verdict there is"
    );
}

#[tokio::test]
async fn deliveries_say_what_became_of_them() {
    let shown = async |change: fn(&mut nightshift_pipeline::case::DeliveryRow)| {
        let mut case = view(Some(report()));
        change(&mut case.deliveries[0]);
        get(Arc::new(FakeStore::with_views(vec![case])), "/cases/k3f9").await
    };
    let page = shown(|row| row.given_up = true).await;
    has(
        &page,
        &["given up after 3 tries: channel_not_found; version 1 stands there"],
    );
    let page = shown(|row| row.in_doubt = true).await;
    has(
        &page,
        &["not shown after 3 tries: channel_not_found; it may have arrived"],
    );
    let page = shown(|row| (row.sent, row.error) = (0, None)).await;
    has(&page, &["not shown yet"]);
    let page = shown(|row| row.sent = 2).await;
    has(&page, &["shown, version 2"]);
    let page = shown(|row| (row.sent, row.shown) = (2, None)).await;
    has(
        &page,
        &["nothing was sent: the destination does not want this report yet"],
    );
    let page = shown(|row| row.remote_id = Some("C1/1.0".into())).await;
    has(
        &page,
        &["version 1 stands there</strong>, there C1&#x2f;1.0</li>"],
    );
    let page = shown(|row| {
        row.destination = "tickets".into();
        row.remote_id = Some("SEC-7".into());
    })
    .await;
    let link = "<a href=\"https:&#x2f;&#x2f;tickets.example.com&#x2f;browse&#x2f;SEC-7\" rel=\"noreferrer\">SEC-7</a>";
    has(&page, &[link]);
}

#[tokio::test(start_paused = true)]
async fn page_explains_that_the_database_is_unavailable_in_time() {
    for (path, words) in [
        ("/", "<h1>The database is unavailable</h1>"),
        ("/cases/k3f9", "<h1>The database is unavailable</h1>"),
        ("/api/v1/cases", "the database is unavailable"),
        ("/api/v1/cases/k3f9", "the database is unavailable"),
    ] {
        let store = FakeStore {
            is_silent: true,
            ..FakeStore::default()
        };
        let page = get(Arc::new(store), path).await;
        assert_eq!(page.status, 503, "{path}");
        has(&page, &[words]);
    }
}

#[tokio::test]
async fn pages_speak_the_configured_language() {
    let config = WebConfig {
        language: Language::Ja,
        ..WebConfig::default()
    };
    let mut case = view(Some(report()));
    case.workflow = CaseWorkflow::from_actions(vec![CaseAction {
        at: now(),
        by: "ana".into(),
        kind: CaseActionKind::Acknowledged,
        note: String::new(),
    }]);
    let mut early = view(None);
    early.row.id = CaseId("aaaa-bbbb-cccc".into());
    let store = Arc::new(FakeStore::with_views(vec![case, early]));
    let server = server(&config, store);
    for (path, words) in [
        (
            "/cases/k3f9",
            [
                "<html lang=\"ja\">",
                "<h2 id=\"why\">根拠</h2>",
                "<strong>ana</strong> が対応中",
                "未表示、試行 3 回: channel_not_found（表示中の版: 1）",
            ],
        ),
        (
            "/cases/aaaa",
            [
                "<strong>高</strong> <span>（送信時）</span>",
                "ワーカーを待っています。 このページは 10 秒ごとに再読み込みします。",
                "<h2 id=\"facts\">概要</h2>",
                "まだ誰も対応していません。",
            ],
        ),
        (
            "/",
            [
                "<h1>ケース</h1>",
                ">真陽性</span>",
                ">待機中</option>",
                " 件の同時多発アラート",
            ],
        ),
        (
            "/cases/none",
            [
                "<h1>ケースがありません</h1>",
                "<title>ケースがありません · Nightshift</title>",
                "すべてのケース",
                "機械が作成しました。",
            ],
        ),
    ] {
        let request = Request::get(path)
            .header("host", "localhost:8080")
            .body(Body::empty());
        let page = ask(&server, request.unwrap(), "127.0.0.1:9").await;
        has(&page, &words);
    }
}
