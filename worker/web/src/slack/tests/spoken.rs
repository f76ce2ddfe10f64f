//! Tests a workspace whose language is Japanese.

use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole, Severity};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::feedback::PersonVerdict;
use nightshift_pipeline::mutes::MutePreview;
use nightshift_pipeline::port::StoreError;

use super::super::messages;
use super::super::payload::ButtonTarget;
use super::modals::{check, mutable, mute, texts, verdict};
use super::*;

fn japanese(store: FakeStore) -> SlackFixture {
    let mut desk = desk("soc", "C1", "U1", secret(SECRET));
    desk.language = Language::Ja;
    SlackFixture::with(store, FakeSlack::default(), vec![desk])
}

/// Returns all texts of a modal.
fn read(view: &Value) -> String {
    check(view);
    let mut lines = Vec::new();
    for part in ["title", "submit", "close"] {
        lines.push(view[part]["text"].as_str().unwrap().to_owned());
    }
    for block in view["blocks"].as_array().unwrap() {
        let label = &block["label"]["text"];
        lines.extend(label.as_str().map(str::to_owned));
        let options = block["element"]["options"].as_array();
        let options = options.into_iter().flatten();
        lines.extend(options.map(|one| format!("- {}", one["text"]["text"].as_str().unwrap())));
    }
    lines.extend(texts(view));
    lines.join("\n")
}

/// Returns both modals of a case that hid something, as sent to Slack.
async fn modals(language: Language) -> [Value; 2] {
    let mut store = FakeStore::with_views(vec![mutable()]);
    store.preview = MutePreview {
        cases: [
            ("false_positive".to_owned(), 2),
            ("failed".to_owned(), 1),
            ("true_positive".to_owned(), 11),
        ]
        .into(),
        true_positives: vec![mutable().row; 11],
        members: 3,
        muted: 4,
        ..MutePreview::default()
    };
    let mut desk = desk("soc", "C1", "U1", secret(SECRET));
    desk.language = language;
    let room = SlackFixture::with(store, FakeSlack::default(), vec![desk]);
    room.click("nightshift:disagree").await;
    let disagree = room.last_view();
    room.click("nightshift:mute").await;
    [disagree, room.last_view()]
}

#[tokio::test]
async fn modals_are_japanese_where_the_desk_is() {
    let modals = modals(Language::Ja).await;
    insta::assert_snapshot!(modals.map(|modal| read(&modal)).join("\n\n"));
}

/// Stores the modals as snapshots, which the integration tests check against Slack's own types.
#[tokio::test]
async fn views() {
    let mut all = Vec::new();
    for language in Language::ALL {
        all.extend(modals(language).await);
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&all).unwrap());
}

#[tokio::test]
async fn clicks_are_answered_in_japanese_where_the_desk_is() {
    let mut said = Vec::new();
    let room = japanese(FakeStore::with_views(vec![mutable()]));
    for button in ["ack", "close", "rerun", "agree"] {
        said.push(room.click(&format!("nightshift:{button}")).await);
    }
    room.click("nightshift:disagree").await;
    let view = room.last_view();
    for (chosen, user) in [
        ("", "U1"),
        ("true_positive", "U1"),
        ("false_positive", "U2"),
    ] {
        let mut form = submit(&view, verdict(chosen, ""));
        form["user"]["id"] = json!(user);
        said.push(room.post(&form).await.text);
    }
    room.post(&submit(&view, verdict("false_positive", "")))
        .await;
    said.push(room.last_line());
    room.click("nightshift:mute").await;
    let view = room.last_view();
    for (until, why) in [("", "x"), ("2027-01-01", "x"), ("2026-11-27", "")] {
        said.push(room.post(&submit(&view, mute(until, why))).await.text);
    }
    room.post(&submit(&view, mute("2026-11-27", "走査"))).await;
    said.push(room.last_line());
    for (value, user) in [
        (VALUE, "U2"),
        ("k3f9", "U1"),
        ("zzzz-zzzz-zzzz.r1", "U1"),
        ("k3f9-x2mq-7d1w.r9", "U1"),
    ] {
        room.post(&click("nightshift:agree", value, user)).await;
        said.push(room.last_line());
    }
    let mut critical = mutable();
    critical.alert.severity = Severity::Critical;
    said.push(
        japanese(FakeStore::with_views(vec![critical]))
            .click("nightshift:mute")
            .await,
    );
    said.push(
        japanese(FakeStore::with_views(vec![view_without_report()]))
            .click("nightshift:agree")
            .await,
    );
    insta::assert_snapshot!(said.join("\n"));
}

fn view_without_report() -> nightshift_pipeline::case::CaseView {
    view(None)
}

#[test]
fn what_the_store_refuses_is_told_in_both_languages() {
    let case = || "k3f9-x2mq-7d1w".to_owned();
    let target = ButtonTarget {
        case: CaseId(case()),
        revision: 1,
    };
    let judged = |verdict, agreed| PersonVerdict {
        at: now(),
        by: "slack:U1 (ana)".into(),
        revision: 2,
        verdict,
        agreed,
        note: String::new(),
    };
    let mut view = mutable();
    view.alert.account = Some("123456789012".into());
    view.alert.indicators = vec![Indicator::new(
        IndicatorKind::Ip,
        "203.0.113.9",
        IndicatorRole::Actor,
    )];
    view.report = None;
    let mut said = Vec::new();
    for language in Language::ALL {
        for error in [
            StoreError::NoVerdict(case()),
            StoreError::NotOver(case(), nightshift_pipeline::case::CaseStatus::Running),
            StoreError::NotOver(case(), nightshift_pipeline::case::CaseStatus::Queued),
            StoreError::Unreadable(case(), "x".into()),
            StoreError::LeaseLost,
        ] {
            said.push(messages::store_failed(language, &error));
        }
        said.push(messages::timed_out(language));
        said.push(messages::verdict_recorded(
            language,
            &target,
            &judged(Verdict::Inconclusive, true),
            &view,
        ));
        said.push(messages::verdict_recorded(
            language,
            &target,
            &judged(Verdict::BenignTruePositive, false),
            &view,
        ));
    }
    insta::assert_snapshot!(said.join("\n"));
}
