//! What the pages and their JSON say.

use std::sync::Arc;

use nightshift_alert::Severity;
use nightshift_engine::Verdict;
use nightshift_pipeline::{
    Act, ActKind, CaseId, CaseStatus, Desk, DeskStatus, PersonVerdict, PlaceCount,
};

use crate::testing::{Answer, ID, Store, failed, get, inconclusive, now, report, view};

fn store() -> Arc<Store> {
    Arc::new(Store::of(vec![view(Some(report()))]))
}

fn has(answer: &Answer, words: &[&str]) {
    for words in words {
        assert!(
            answer.text.contains(words),
            "no {words:?} in {}",
            answer.text
        );
    }
}

#[tokio::test]
async fn the_list_shows_what_came_and_keeps_its_filter_in_the_address() {
    let mut store = Store::of(vec![view(Some(report())), view(Some(failed()))]);
    store.views[1].row.id = CaseId("aaaa-bbbb-cccc".into());
    store.places = vec![PlaceCount {
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
async fn a_row_tells_what_it_is_about_how_urgent_it_is_and_that_it_is_disputed() {
    let mut case = view(Some(report()));
    case.row.title = "Crypto miner".into();
    case.row.person_verdict = Some(Verdict::FalsePositive);
    let page = get(Arc::new(Store::of(vec![case.clone()])), "/").await;
    has(
        &page,
        &[
            "<span class=\"chip urgency now\">Act now</span>",
            "<strong>people say False positive</strong> · web-server-prod-01 · scc",
        ],
    );
    // A title that names it says it once; while it is triaged again, its last report tells nobody when to act.
    case.row.title = "Crypto miner on web-server-prod-01".into();
    case.row.status = CaseStatus::Running;
    let page = get(Arc::new(Store::of(vec![case])), "/").await;
    assert_eq!(page.text.matches("web-server-prod-01").count(), 1);
    assert!(!page.text.contains("Act now"));
}

/// True positives with ids of their own, of this severity.
fn flood(many: usize, severity: Severity) -> Vec<nightshift_pipeline::CaseView> {
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
async fn a_critical_case_that_nobody_took_is_seen_behind_a_flood_of_lesser_ones() {
    let mut views = flood(60, Severity::Low);
    views.extend(flood(1, Severity::Critical));
    let mut failed = flood(1, Severity::High).remove(0);
    failed.row.status = CaseStatus::Failed;
    failed.row.verdict = None;
    let mut cleared = flood(1, Severity::High).remove(0);
    cleared.row.verdict = Some(Verdict::BenignTruePositive);
    views.extend([failed, cleared]);
    let words = "Open, high or critical: <a href=\"/?status=concluded&amp;verdict=true_positive&amp;severity=high&amp;desk=open&amp;samples=no\">\
        1 true positive</a> · <a href=\"/?status=failed&amp;severity=high&amp;desk=open&amp;samples=no\">1 not triaged</a></p>";
    let page = get(Arc::new(Store::of(views.clone())), "/").await;
    assert!(!page.text.contains("critical-0000"));
    has(&page, &[words]);
    let behind = format!("/?after={}", views[49].row.id.0);
    has(
        &get(Arc::new(Store::of(views.clone())), &behind).await,
        &[words],
    );
    let there = get(
        Arc::new(Store::of(views.clone())),
        "/?severity=high&desk=open",
    )
    .await;
    has(&there, &["critical-0000"]);
    assert!(!there.text.contains("low-0001") && !there.text.contains("Open, high"));
    // Somebody has it.
    views[60].row.desk = DeskStatus::Acknowledged;
    views.truncate(61);
    let page = get(Arc::new(Store::of(views)), "/").await;
    assert!(!page.text.contains("Open, high"));
    let many = get(Arc::new(Store::of(flood(51, Severity::High))), "/").await;
    has(&many, &[">50 or more true positive<"]);
    let page = get(Arc::new(Store::of(flood(50, Severity::High))), "/").await;
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
    // Triaged again because it got worse: what the triage of the milder one assessed counts for nothing.
    queued[1].row.assessed_severity = Some(Severity::Low);
    let mut views = raised;
    views.push(sample);
    views.extend(queued);
    let page = get(Arc::new(Store::of(views.clone())), "/").await;
    has(
        &page,
        &[
            "samples=no\">1 true positive</a> · ",
            "\"/?status=running&amp;severity=high&amp;desk=open&amp;samples=no\">1 running</a> · ",
            "\"/?status=queued&amp;severity=high&amp;desk=open&amp;samples=no\">11 waiting</a></p>",
        ],
    );
    let store = Arc::new(Store::of(views));
    let page = get(store, "/?severity=high&samples=no").await;
    has(&page, &["medium-0000", "value=\"no\" selected"]);
    assert!(!page.text.contains("a sample"));
}

#[tokio::test]
async fn an_empty_list_says_what_to_do() {
    let none = || Arc::new(Store::default());
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

#[tokio::test]
async fn a_case_page_says_all_that_the_report_says() {
    let page = get(store(), "/cases/k3f9").await;
    has(
        &page,
        &[
            "<title>Act now · True positive · Critical — Crypto miner on web-server-prod-01 · Nightshift</title>",
            "[SAMPLE]",
            "[PLAYBOOK]",
            "[PARTIAL]",
            "mines Monero for pool.minexmr[.]com",
            "Text in the data talks to the analyst",
            "12 min ago",
            "the logs show 1 event since",
            "internet-facing",
            "<pre class=\"command\"><code>gcloud compute disks snapshot d</code></pre>",
            "Suggested, not executed",
            "href=\"#E3\"",
            "id=\"E3\"",
            "href=\"#F1\"",
            "id=\"F1\"",
            "4 of 5 sources read; VPC flow: access denied",
            "Unverified, counts for nothing",
            "On record, but not enough to clear it: A load test was approved.",
            "185.220.101[.]42",
            "Reflection 1: cancel s3 (the owner is known)",
            "T1496 Resource Hijacking",
            "0.0312 USD, 7 model calls",
            "not shown after 3 tries: channel_not_found",
            "at feed: archived",
            "Another miner",
            "href=\"/api/v1/cases/k3f9-x2mq-7d1w\"",
            "href=\"/cases/aaaa-bbbb-cccc\"",
        ],
    );
    assert!(
        !page.text.contains("no case id"),
        "an id that cannot be one is not linked"
    );
}

#[tokio::test]
async fn a_case_that_is_not_decided_or_not_triaged_says_so() {
    let page = get(
        Arc::new(Store::of(vec![view(Some(inconclusive()))])),
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
        Arc::new(Store::of(vec![view(Some(failed()))])),
        "/cases/k3f9",
    )
    .await;
    has(
        &page,
        &[
            "Not triaged",
            "nothing here is a verdict",
            "Everything: no source was read.",
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
    let page = get(Arc::new(Store::of(vec![view(Some(report))])), "/cases/k3f9").await;
    has(&page, &[words]);
}

#[tokio::test]
async fn a_case_that_rules_took_over_says_from_where_on_and_why() {
    let mut report = inconclusive();
    report.degraded = true;
    report.models = vec!["openai/gpt-x".into()];
    report.takeover = serde_json::from_value(serde_json::json!({
        "at": "turn:s1:1", "why": "no answer: HTTP 500", "concluded": true,
    }))
    .unwrap();
    let page = get(Arc::new(Store::of(vec![view(Some(report))])), "/cases/k3f9").await;
    has(
        &page,
        &[
            "[PLAYBOOK]",
            "The model stopped answering at step s1 (no answer: HTTP 500); the playbook did the rest, verdict included.",
            "model openai&#x2f;gpt-x until step s1, then the playbook",
        ],
    );
}

#[tokio::test]
async fn other_cases_say_what_they_are_and_what_they_share() {
    let mut report = report();
    let others = serde_json::json!([{
        "case_id": "aaaa-bbbb-cccc", "same_key": false, "type": "Recon:EC2/Portscan", "opened_at": report.opened_at,
        "verdict": "true_positive", "shared": { "ip": ["203.0.113.9", "203.0.113.10"] },
    }]);
    report.reach.others = serde_json::from_value(others).unwrap();
    let page = get(Arc::new(Store::of(vec![view(Some(report))])), "/cases/k3f9").await;
    has(
        &page,
        &[
            "href=\"/cases/aaaa-bbbb-cccc\">aaaa-bbbb-cccc</a> (True positive, Recon:EC2&#x2f;Portscan, 0 s before, shares 203.0.113[.]10 and 1 more)",
        ],
    );
}

#[tokio::test]
async fn a_case_without_a_report_shows_where_it_stands() {
    let mut queued = view(None);
    let page = get(Arc::new(Store::of(vec![queued.clone()])), "/cases/k3f9").await;
    has(
        &page,
        &["Queued", "It waits for a worker.", "on web-server-prod-01"],
    );
    queued.row.status = CaseStatus::Running;
    let page = get(Arc::new(Store::of(vec![queued.clone()])), "/cases/k3f9").await;
    let reload = "<meta http-equiv=\"refresh\" content=\"10\">";
    has(
        &page,
        &["Running", "makes a plan", "again every 10 seconds", reload],
    );
    queued.row.status = CaseStatus::Cancelled;
    queued.cancelled_by = Some("ana".into());
    let page = get(Arc::new(Store::of(vec![queued])), "/cases/k3f9").await;
    has(&page, &["called off", "ana called the latest triage off"]);
    for wrong in [reload, "Look again", "Nobody has done anything"] {
        assert!(!page.text.contains(wrong), "{wrong}");
    }
    let mut again = view(Some(report()));
    again.row.status = CaseStatus::Running;
    again.row.revision = 2;
    let page = get(Arc::new(Store::of(vec![again])), "/cases/k3f9").await;
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
        let page = get(Arc::new(Store::of(vec![early])), "/cases/k3f9").await;
        has(
            &page,
            &[
                "<dt>Resource</dt><dd>web-server-prod-01",
                "<dt>Account</dt><dd>production-project-12345",
                "<dt>Type</dt><dd>Execution: Cryptocurrency Mining Hash Match",
                "<dt>Last seen</dt>",
                "remote domain</span> <code>pool.minexmr[.]com</code>",
                "id=\"E0\"",
                "The alert, as it was read",
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
    assert_eq!(get(store(), "/cases/k3f9?revision=x").await.status, 400);
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
    let act = |by: &str, kind: ActKind, note: &str| Act {
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
    case.desk = Desk::of(vec![
        act("slack:U1 (ana)", ActKind::Acknowledged, ""),
        act("bob", ActKind::Disagreed { verdict: theirs }, "our scanner"),
    ]);
    (case.row.desk, case.row.owner) = (case.desk.status, case.desk.owner.clone());
    let store = Arc::new(Store::of(vec![case]));
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
    let asked = store.asked.lock().unwrap().desk;
    assert_eq!(asked, Some(DeskStatus::Acknowledged));
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
    let page = get(Arc::new(Store::of(vec![view(None)])), "/cases/k3f9").await;
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
    let shown = async |change: fn(&mut nightshift_pipeline::DeliveryRow)| {
        let mut case = view(Some(report()));
        change(&mut case.deliveries[0]);
        get(Arc::new(Store::of(vec![case])), "/cases/k3f9").await
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
