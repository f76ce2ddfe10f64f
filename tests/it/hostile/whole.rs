//! Tests attacks across cases: text that leaks into others, repeated ids, broken messages, and an exhausted day budget.

use nightshift_alert::{
    FeedState, FindingClass, Indicator, IndicatorKind, IndicatorRole, ReadOptions, Severity,
};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::limits::BudgetCap;
use nightshift_pipeline::admission::{Admission, RevisionReason};
use nightshift_pipeline::feedback::NewPersonVerdict;
use nightshift_pipeline::intake::read_message;
use nightshift_pipeline::port::{Cases, DaySpendStore, Feedback, Message};

use super::analyst::{CANARY, HostileAnalyst, Misbehavior};
use super::fixture::NoonClock;
use super::pipe::{HostileFixture, QUESTION_USD};
use super::*;

fn benign() -> HostileAnalyst {
    HostileAnalyst(Misbehavior::Benign(Verdict::BenignTruePositive))
}

/// Returns all alerts, each with an id of its own that begins with the prefix.
fn renamed(prefix: &str) -> Vec<Alert> {
    let mut all = alerts();
    for (n, alert) in all.iter_mut().enumerate() {
        alert.key.id = format!("{prefix}{n}");
    }
    all
}

#[tokio::test]
async fn a20_no_word_of_another_case_crosses() {
    let pipe = HostileFixture::new(HostileAnalyst(Misbehavior::ReadOtherCases), 0.0);
    let mut first = renamed("a");
    for alert in &mut first {
        alert.title = format!("{CANARY} {}", alert.title);
        alert.description = CANARY.to_owned();
        alert.raw = serde_json::json!({"secret": CANARY}).into();
        for resource in &mut alert.resources {
            resource.name = Some(CANARY.to_owned());
            resource.tags.insert("k".to_owned(), CANARY.to_owned());
        }
    }
    let accepted = pipe.accept(first, true).await;
    let ended = pipe.work().await;
    assert_eq!(ended.len(), accepted.len());
    for case in &accepted {
        let said = NewPersonVerdict {
            verdict: Some(Verdict::TruePositive),
            by: "ana".to_owned(),
            at: nightshift_engine::port::Clock::now(&NoonClock),
            note: CANARY.to_owned(),
        };
        let id = &case.case_id.as_ref().unwrap().0;
        pipe.store.add_verdict(id, said).await.unwrap();
    }
    assert!(
        pipe.questions
            .lock()
            .unwrap()
            .iter()
            .any(|text| text.contains(CANARY))
    );
    pipe.questions.lock().unwrap().clear();
    pipe.accept(renamed("b"), true).await;
    let (mut found, mut refused) = (0, 0);
    for state in pipe.work().await {
        let views = state.step_views();
        let calls = views.iter().flat_map(|view| &view.calls);
        refused += calls.filter(|call| call.refused.is_some()).count();
        let past = state.evidence_of(EvidenceId(1)).unwrap();
        found += usize::from(past.body.value()["found"].as_u64() > Some(0));
        let text = format!("{state:?}");
        assert!(!text.contains(CANARY), "{text}");
        let id = &state.setup.as_ref().unwrap().case_id;
        let report = format!("{:?}", pipe.store.view(id).await.unwrap().report);
        assert!(!report.contains(CANARY), "{report}");
    }
    assert!(found >= 30, "{found} cases saw an earlier one");
    assert!(
        refused >= 30,
        "{refused} calls for another case were refused"
    );
    for text in pipe.questions.lock().unwrap().iter() {
        assert!(!text.contains(CANARY), "{text}");
    }
}

#[tokio::test]
async fn a23_an_id_that_is_used_again_hides_nothing() {
    let pipe = HostileFixture::new(benign(), 0.0);
    let mut all = renamed("r");
    for alert in &mut all {
        // Alerts that their feed has closed are tested elsewhere.
        alert.state = FeedState::default();
        alert.class = FindingClass::Threat;
    }
    pipe.accept(all.clone(), false).await;
    assert_eq!(pipe.work().await.len(), all.len());
    let actor = Indicator::new(IndicatorKind::Ip, "192.0.2.250", IndicatorRole::Actor);
    for alert in &mut all {
        alert.indicators.push(actor.clone());
        alert.content.0.push('!');
    }
    for accepted in pipe.accept(all.clone(), false).await {
        let is_triaged = matches!(
            accepted.admission,
            Admission::Revision(_, RevisionReason::Actor)
        );
        assert!(is_triaged, "{}: {:?}", accepted.key, accepted.admission);
    }
    let again = pipe.work().await;
    assert_eq!(again.len(), all.len());
    for state in again {
        let opened = state.setup.as_ref().unwrap();
        assert_eq!(opened.revision, 2);
        assert!(
            opened
                .alert
                .with_role(IndicatorRole::Actor)
                .any(|one| *one == actor)
        );
    }
}

/// Returns variants of the message that break careless parsers.
fn broken(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let inside = |more: &str| text.replacen('{', &format!("{{{more},"), 1).into_bytes();
    let deep = format!("\"zz\":{}1{}", "[".repeat(1000), "]".repeat(1000));
    vec![
        ("BOM", [b"\xef\xbb\xbf", text.as_bytes()].concat()),
        ("number", inside("\"zz\":1e400")),
        ("surrogate", inside("\"zz\":\"\\ud800\"")),
        ("NUL", inside("\"zz\":\"a\\u0000b\"")),
        ("twice", inside("\"zz\":\"benign\",\"zz\":\"malicious\"")),
        ("depth", inside(&deep)),
        (
            "bytes",
            inside("\"zz\":\"#\"")
                .into_iter()
                .map(|b| if b == b'#' { 0xff } else { b })
                .collect(),
        ),
    ]
}

#[tokio::test]
async fn a25_what_breaks_readers_costs_no_alert() {
    let read = |bytes: Vec<u8>| {
        let message = Message {
            id: "m".to_owned(),
            bytes,
            attributes: Default::default(),
        };
        let now = nightshift_engine::port::Clock::now(&NoonClock);
        read_message("hostile", &message, &ReadOptions::default(), now)
    };
    let pipe = HostileFixture::new(benign(), 0.0);
    let mut taken = 0;
    for path in files_below(&repository_root().join("tests/fixtures/alerts")).unwrap() {
        let text = std::fs::read_to_string(&path).unwrap();
        let whole = read(text.clone().into_bytes());
        assert!(whole.iter().all(|arrival| arrival.unreadable.is_none()));
        for (n, (what, bytes)) in broken(&text).into_iter().enumerate() {
            let arrivals = read(bytes);
            let of = format!("{what} in {}", path.display());
            let is_read = arrivals.iter().all(|one| one.unreadable.is_none());
            assert!(
                is_read && arrivals.len() == whole.len(),
                "{of}: {arrivals:?}"
            );
            let mut alerts: Vec<Alert> = arrivals
                .into_iter()
                .map(|one| std::sync::Arc::unwrap_or_clone(one.alert))
                .collect();
            for (alert, good) in alerts.iter_mut().zip(&whole) {
                assert_eq!(alert.key, good.alert.key, "{of}");
                assert_eq!(alert.severity, good.alert.severity, "{of}");
                alert.key.id.push_str(&n.to_string());
            }
            taken += alerts.len();
            pipe.accept(alerts, true).await;
        }
        // A malformed line is between two good ones.
        let line = serde_json::from_str::<serde_json::Value>(&text)
            .unwrap()
            .to_string();
        let rows = read(format!("{line}\n{{\"id\": \"x\",\n{line}\n").into_bytes());
        let unreadable = rows.iter().filter(|one| one.unreadable.is_some()).count();
        assert_eq!(unreadable, 1, "{}", path.display());
        assert_eq!(rows.len(), 2 * whole.len() + 1, "{}", path.display());
    }
    let ended = pipe.work().await;
    assert!(ended.len() >= 30, "{}", ended.len());
    assert!(ended.len() <= taken);
}

#[tokio::test]
async fn a26_lows_that_came_first_leave_the_reserve() {
    const DAY_USD: f64 = 2.0;
    let pipe = HostileFixture::new(benign(), DAY_USD);
    let mut lows = renamed("l");
    for alert in &mut lows {
        alert.severity = Severity::Low;
    }
    pipe.accept(lows, true).await;
    let ended = pipe.work().await;
    let (starved, asked): (Vec<_>, Vec<_>) =
        ended.iter().partition(|state| state.day_budget_reached);
    assert!(!starved.is_empty() && !asked.is_empty(), "{}", asked.len());
    for state in &starved {
        let conclusion = state.conclusion.as_ref().unwrap();
        assert_eq!(conclusion.stopped_by, Some(BudgetCap::DayUsd));
        assert_eq!(conclusion.reason, VerdictReason::BudgetExhausted);
    }
    let today = nightshift_engine::port::Clock::now(&NoonClock).date_naive();
    let spent = pipe.store.spent_on(today).await.unwrap();
    assert!(spent.other_usd <= DAY_USD / 2.0, "{spent:?}");
    assert!(
        spent.other_usd > DAY_USD / 2.0 - 2.0 * QUESTION_USD,
        "{spent:?}"
    );
    // One critical alert of each feed; none costs more than the reserve.
    let mut worst = renamed("c");
    let mut feeds = std::collections::BTreeSet::new();
    worst.retain(|alert| feeds.insert(alert.feed.clone()));
    for alert in &mut worst {
        alert.severity = Severity::Critical;
    }
    pipe.accept(worst.clone(), true).await;
    let ended = pipe.work().await;
    assert_eq!(ended.len(), worst.len());
    let first = &ended[0];
    assert!(!first.day_budget_reached && first.spent.model_calls > 0);
    let spent = pipe.store.spent_on(today).await.unwrap();
    assert!(
        spent.total_usd() <= DAY_USD && spent.urgent_usd > 0.0,
        "{spent:?}"
    );
}
