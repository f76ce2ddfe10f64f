//! Tests each button.

use nightshift_alert::Severity;
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind};

use super::*;
use crate::testing::{ID, failed};

fn done(room: &SlackFixture) -> CaseAction {
    let (case, act) = room.store.acts.lock().unwrap().last().unwrap().clone();
    assert_eq!((case.as_str(), act.at), (ID, now()));
    assert_eq!(act.by, "slack:U1 (ana)");
    act
}

#[tokio::test]
async fn i_have_it_and_close_are_noted_with_who_and_when() {
    let room = SlackFixture::new();
    assert_eq!(
        room.click("nightshift:ack").await,
        "Noted: you have case k3f9-x2mq-7d1w."
    );
    assert_eq!(done(&room).kind, CaseActionKind::Acknowledged);
    assert_eq!(
        room.click("nightshift:close").await,
        "Noted: case k3f9-x2mq-7d1w is closed."
    );
    assert_eq!(done(&room).kind, CaseActionKind::Closed);
    let lines = room.shown.lines.lock().unwrap();
    assert_eq!(lines[0][..3], ["soc", "C1", "U1"]);
}

#[tokio::test]
async fn agreement_is_a_verdict_and_is_counted() {
    let room = SlackFixture::new();
    let told = room.click("nightshift:agree").await;
    assert_eq!(
        told,
        "Noted: you agree that case k3f9-x2mq-7d1w is a true positive."
    );
    let judged = room.store.judged.lock().unwrap().clone();
    assert_eq!(
        (judged[0].1.verdict, judged[0].1.by.as_str()),
        (None, "slack:U1 (ana)")
    );
    assert_eq!(*room.shown.counted.lock().unwrap(), [true]);
}

#[tokio::test]
async fn rerun_queues_a_finished_case_and_declines_a_running_one() {
    let room = SlackFixture::new();
    let told = room.click("nightshift:rerun").await;
    assert_eq!(
        told,
        "Case k3f9-x2mq-7d1w is triaged again; its report comes here."
    );
    assert_eq!(*room.store.retried.lock().unwrap(), [ID]);
    assert_eq!(done(&room).kind, CaseActionKind::AskedAgain);
    let mut running = view(Some(report()));
    running.row.status = CaseStatus::Running;
    let room = SlackFixture::with_store(FakeStore::with_views(vec![running]));
    let told = room.click("nightshift:rerun").await;
    assert_eq!(
        told,
        "Case k3f9-x2mq-7d1w is running already; it is triaged anyway, and nothing was changed."
    );
    assert_eq!(room.writes(), 0);
}

#[tokio::test]
async fn a_verdict_is_about_the_revision_that_was_seen() {
    let mut later = report();
    later.revision = 2;
    let room = SlackFixture::with_store(FakeStore::with_views(vec![view(Some(later))]));
    for button in [
        "nightshift:agree",
        "nightshift:disagree",
        "nightshift:close",
    ] {
        let told = room.click(button).await;
        assert!(
            told.contains("has moved on") && told.contains("now of revision 2"),
            "{told}"
        );
    }
    assert!(room.writes() == 0 && room.shown.views.lock().unwrap().is_empty());
    // The assignee does not depend on a revision.
    room.click("nightshift:ack").await;
    assert_eq!(done(&room).kind, CaseActionKind::Acknowledged);
}

#[tokio::test]
async fn what_has_no_verdict_cannot_be_agreed_with() {
    let room = SlackFixture::with_store(FakeStore::with_views(vec![view(None)]));
    assert_eq!(
        room.click("nightshift:agree").await,
        "Case k3f9-x2mq-7d1w has no verdict yet; nothing was noted."
    );
    let mut not_triaged = view(Some(failed()));
    not_triaged.row.verdict = None;
    let room = SlackFixture::with_store(FakeStore::with_views(vec![not_triaged]));
    assert!(
        room.click("nightshift:agree")
            .await
            .contains("no verdict that one could agree with")
    );
    assert_eq!(room.writes(), 0);
}

#[tokio::test]
async fn nothing_critical_gets_as_far_as_a_modal() {
    let mut sent = view(Some(report()));
    sent.row.assessed_severity = None;
    sent.alert.severity = Severity::Critical;
    // The report of the second case assesses it as critical.
    for critical in [sent, view(Some(report()))] {
        let room = SlackFixture::with_store(FakeStore::with_views(vec![critical]));
        let told = room.click("nightshift:mute").await;
        assert!(told.starts_with("Nothing critical is ever muted"), "{told}");
        assert!(room.shown.views.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn unknown_links_and_buttons_are_acknowledged_and_ignored() {
    let room = SlackFixture::new();
    for action_id in ["open_report", "nightshift:reboot", "nightshift:ack ", ""] {
        let answer = room.post(&click(action_id, VALUE, "U1")).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text.as_str()),
            (200, ""),
            "{action_id}"
        );
    }
    assert!(room.writes() == 0 && room.last_line().is_empty());
    room.post(&click("nightshift:ack", "k3f9", "U1")).await;
    assert!(
        room.last_line()
            .starts_with("This button belongs to no case")
    );
    room.post(&click("nightshift:ack", "zzzz-zzzz-zzzz.r1", "U1"))
        .await;
    assert!(
        room.last_line()
            .starts_with("This case is not in the store")
    );
    assert_eq!(room.writes(), 0);
}

#[tokio::test(start_paused = true)]
async fn slack_is_answered_in_three_seconds_however_slow_the_store() {
    let slow = FakeStore {
        is_slow: true,
        ..FakeStore::with_views(vec![view(Some(report()))])
    };
    let away = FakeSlack {
        is_away: true,
        ..FakeSlack::default()
    };
    let room = SlackFixture::with(slow, away, vec![desk("soc", "C1", "U1", secret(SECRET))]);
    let before = tokio::time::Instant::now();
    let told = room.click("nightshift:ack").await;
    assert!(
        told.starts_with("The store did not answer in time."),
        "{told}"
    );
    assert!(before.elapsed() < std::time::Duration::from_secs(3));
    let away = FakeStore {
        is_away: true,
        ..FakeStore::with_views(vec![view(Some(report()))])
    };
    let told = SlackFixture::with_store(away)
        .click("nightshift:close")
        .await;
    assert!(
        told.starts_with("The store does not answer") && !told.contains("10.0.0.5"),
        "{told}"
    );
}
