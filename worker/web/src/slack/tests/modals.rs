//! Tests the contents of modals and their submits.

use nightshift_alert::Severity;
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::CaseView;
use nightshift_pipeline::case_workflow::CaseActionKind;
use nightshift_pipeline::mutes::MutePreview;

use super::*;
use crate::testing::ID;

/// Returns a case that may be muted.
pub(super) fn mutable() -> CaseView {
    let mut report = report();
    report.assessed_severity = Severity::High;
    let mut view = view(Some(report));
    view.alert.severity = Severity::High;
    view
}

pub(super) fn verdict(verdict: &str, note: &str) -> Value {
    json!({
        "verdict": { "verdict": { "type": "static_select", "selected_option": { "value": verdict } } },
        "note": { "note": { "type": "plain_text_input", "value": note } },
    })
}

pub(super) fn mute(until: &str, why: &str) -> Value {
    json!({
        "until": { "until": { "type": "datepicker", "selected_date": until } },
        "why": { "why": { "type": "plain_text_input", "value": why } },
    })
}

/// Returns the texts of all blocks.
pub(super) fn texts(view: &Value) -> Vec<String> {
    let blocks = view["blocks"].as_array().unwrap();
    let text = |block: &Value| block["text"]["text"].as_str().map(str::to_owned);
    blocks.iter().filter_map(text).collect()
}

/// Asserts the documented limits for modals.
pub(super) fn check(view: &Value) {
    for part in ["title", "submit", "close"] {
        assert_eq!(view[part]["type"], "plain_text");
        assert!(view[part]["text"].as_str().unwrap().chars().count() <= 24);
    }
    assert!(view["private_metadata"].as_str().unwrap().len() <= 3_000);
    for block in view["blocks"].as_array().unwrap() {
        let text = block["text"]["text"].as_str().unwrap_or("x");
        assert!(
            !text.is_empty() && text.chars().count() <= 3_000,
            "{}",
            text.len()
        );
        if block["type"] == "section" {
            assert_eq!(
                block["text"]["type"], "plain_text",
                "no mrkdwn around text of an alert"
            );
        }
    }
}

#[tokio::test]
async fn disagreement_asks_for_a_verdict_and_notes_it_with_its_note() {
    let room = SlackFixture::new();
    room.click("nightshift:disagree").await;
    let view = room.last_view();
    check(&view);
    assert_eq!(room.shown.views.lock().unwrap()[0].1, "12.34.ab");
    assert_eq!(
        texts(&view)[0],
        "The verdict of this case is: True positive."
    );
    let options = view["blocks"][1]["element"]["options"].as_array().unwrap();
    let values: Vec<&str> = options
        .iter()
        .map(|option| option["value"].as_str().unwrap())
        .collect();
    assert_eq!(
        values,
        ["benign_true_positive", "false_positive", "inconclusive"]
    );
    let answer = room
        .post(&submit(
            &view,
            verdict("false_positive", " our scanner\u{202e} "),
        ))
        .await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (200, ""));
    let judged = room.store.judged.lock().unwrap()[0].clone();
    assert_eq!(
        (judged.0.as_str(), judged.1.verdict),
        (ID, Some(Verdict::FalsePositive))
    );
    assert_eq!(
        (judged.1.by.as_str(), judged.1.note.as_str()),
        ("slack:U1 (ana)", "our scanner")
    );
    assert_eq!(*room.shown.counted.lock().unwrap(), [false]);
    // The report has text that addresses the analyst.
    let told = room.last_line();
    let noted = "Noted: for you case k3f9-x2mq-7d1w is a false positive. Nothing is cleared by it";
    assert!(told.starts_with(noted), "{told}");
}

#[tokio::test]
async fn a_disagreement_that_is_none_stays_open_and_says_why() {
    let room = SlackFixture::new();
    room.click("nightshift:disagree").await;
    let view = room.last_view();
    for (chosen, words) in [
        ("true_positive", "This is the verdict of the case"),
        ("", "Choose a verdict."),
        ("guilty", "Choose a verdict."),
    ] {
        let answer = room.post(&submit(&view, verdict(chosen, ""))).await;
        let wrong: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(wrong["response_action"], "errors");
        assert!(
            wrong["errors"]["verdict"]
                .as_str()
                .unwrap()
                .starts_with(words),
            "{wrong}"
        );
    }
    let mut other = view.clone();
    other["private_metadata"] = json!("{\"target\":\"k3f9-x2mq-7d1w.r9\",\"channel\":\"C1\"}");
    let answer = room
        .post(&submit(&other, verdict("false_positive", "")))
        .await;
    assert!(answer.text.contains("has moved on"), "{}", answer.text);
    let mut foreign = submit(&view, verdict("false_positive", ""));
    foreign["user"]["id"] = json!("U2");
    let answer = room.post(&foreign).await;
    assert!(
        answer.text.contains("You are not among those who may act"),
        "{}",
        answer.text
    );
    assert_eq!(room.writes(), 0);
}

#[tokio::test(start_paused = true)]
async fn mute_is_offered_even_where_history_is_too_long_to_search() {
    let mut store = FakeStore::with_views(vec![mutable()]);
    store.is_uncounted = true;
    let room = SlackFixture::with_store(store);
    room.click("nightshift:mute").await;
    let view = room.last_view();
    check(&view);
    let said = "What it would have hidden could not be counted in time.";
    assert_eq!(texts(&view)[1], said);
}

#[tokio::test]
async fn a_mute_shows_first_what_it_would_have_hidden() {
    let mut store = FakeStore::with_views(vec![mutable()]);
    store.preview = MutePreview {
        cases: [
            ("false_positive".to_owned(), 2),
            ("true_positive".to_owned(), 1),
        ]
        .into(),
        true_positives: vec![mutable().row],
        members: 0,
        muted: 0,
        ..MutePreview::default()
    };
    let room = SlackFixture::with_store(store);
    room.click("nightshift:mute").await;
    let view = room.last_view();
    check(&view);
    let (rule, since) = room.store.previewed.lock().unwrap()[0].clone();
    assert_eq!(since, now() - chrono::TimeDelta::days(30));
    assert_eq!(rule.when.account, ["production-project-12345"]);
    assert_eq!(
        texts(&view),
        [
            "Hides alerts of the type Execution: Cryptocurrency Mining Hash Match in production-project-12345, up to \
             High. What is more severe comes through, and nothing critical is ever muted. What is hidden is stored and \
             counted.",
            "In the last 30 days it would have hidden 3 cases: 2 false positive, 1 true positive.\n\
             \u{26a0} TRUE POSITIVES among them: 1\n\
             \u{2022} 2026-11-20 High Crypto miner on web-server-prod-01 k3f9-x2mq-7d1w",
        ]
    );
    assert_eq!(view["blocks"][2]["element"]["initial_date"], "2026-11-27");
    assert_eq!(room.writes(), 0);

    let answer = room
        .post(&submit(&view, mute("2026-11-25", "load test")))
        .await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (200, ""));
    let muted = room.store.muted.lock().unwrap()[0].clone();
    assert_eq!(
        (muted.severity, muted.when.clone()),
        (Severity::High, rule.when)
    );
    assert_eq!(
        (muted.why.as_str(), muted.by.as_str()),
        ("load test", "slack:U1 (ana)")
    );
    assert_eq!(muted.until.to_rfc3339(), "2026-11-26T00:00:00+00:00");
    let act = room.store.acts.lock().unwrap()[0].1.clone();
    assert_eq!(
        act.kind,
        CaseActionKind::Muted {
            name: "m-1".into(),
            until: muted.until
        }
    );
    assert_eq!(act.note, "load test");
    assert_eq!(
        room.last_line(),
        "Muted until 2026-11-26 00:00 UTC. `nightshift mutes remove m-1` takes it back."
    );
}

#[tokio::test]
async fn a13_mute_needs_an_end_a_reason_and_an_unchanged_case() {
    let room = SlackFixture::with_store(FakeStore::with_views(vec![mutable()]));
    room.click("nightshift:mute").await;
    let view = room.last_view();
    for (until, why, field, words) in [
        ("2026-12-21", "x", "until", "30 days at the most"),
        ("2026-11-19", "x", "until", "A day from 2026-11-20"),
        ("", "x", "until", "Choose the last day."),
        ("2026-11-25", " \u{200b} ", "why", "Say why."),
    ] {
        let answer = room.post(&submit(&view, mute(until, why))).await;
        let wrong: Value = serde_json::from_str(&answer.text).unwrap();
        assert!(
            wrong["errors"][field].as_str().unwrap().contains(words),
            "{wrong}"
        );
    }
    // After the modal was opened, the case was triaged again or became critical.
    let mut again = mutable();
    again.row.revision = 2;
    let mut worse = mutable();
    worse.row.assessed_severity = Some(Severity::Critical);
    for (now_is, words) in [(again, "has moved on"), (worse, "Nothing critical")] {
        let room = SlackFixture::with_store(FakeStore::with_views(vec![now_is]));
        let answer = room.post(&submit(&view, mute("2026-11-25", "x"))).await;
        assert!(answer.text.contains(words), "{}", answer.text);
        assert_eq!(room.writes(), 0);
    }
    assert_eq!(room.writes(), 0);
}

#[tokio::test]
async fn a_modal_of_others_or_without_its_memory_does_nothing() {
    let room = SlackFixture::new();
    room.click("nightshift:disagree").await;
    let mut view = room.last_view();
    view["private_metadata"] = json!("");
    let answer = room
        .post(&submit(&view, verdict("false_positive", "")))
        .await;
    assert!(
        answer.text.contains("belongs to no case"),
        "{}",
        answer.text
    );
    view["callback_id"] = json!("other");
    let answer = room
        .post(&submit(&view, verdict("false_positive", "")))
        .await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (200, ""));
    assert_eq!(room.writes(), 0);
}
