//! Tests signed requests that are posted again: they have no second effect.

use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, CaseWorkflow};

use super::modals::{mutable, mute, verdict};
use super::*;
use crate::testing::ID;

/// Returns a request with this body, byte for byte as it was posted before.
fn replay(body: &str) -> Request<Body> {
    signed_at(body, SECRET, now().timestamp())
}

#[tokio::test]
async fn a_click_that_is_posted_again_does_nothing_a_second_time() {
    for button in ["ack", "agree", "rerun", "close"] {
        let room = SlackFixture::new();
        let body = form(&click(&format!("nightshift:{button}"), VALUE, "U1"));
        assert_eq!(room.send(replay(&body)).await.status, 200);
        let (writes, told) = (room.writes(), room.shown.lines.lock().unwrap().len());
        assert!(writes > 0 && told == 1, "{button}");
        for _ in 0..3 {
            assert_eq!(room.send(replay(&body)).await.status, 200);
        }
        assert_eq!(room.writes(), writes, "{button}");
        assert_eq!(room.shown.lines.lock().unwrap().len(), 1, "{button}");
    }
}

#[tokio::test]
async fn a_modal_that_is_posted_again_does_nothing_a_second_time() {
    let room = SlackFixture::with_store(FakeStore::with_views(vec![mutable()]));
    for (button, fields) in [
        ("nightshift:disagree", verdict("false_positive", "ours")),
        ("nightshift:mute", mute("2026-11-27", "the scanner")),
    ] {
        let before = room.writes();
        room.click(button).await;
        let body = form(&submit(&room.last_view(), fields));
        assert_eq!(room.send(replay(&body)).await.text, "");
        let writes = room.writes();
        assert!(writes > before, "{button}");
        assert_eq!(room.send(replay(&body)).await.status, 200);
        assert_eq!(room.writes(), writes, "{button}");
    }
}

/// Checks that the stored time of an action shows that another process handled the click.
#[tokio::test]
async fn a_click_that_another_process_took_does_nothing_a_second_time() {
    let until = now() + chrono::TimeDelta::days(7);
    let name = "slack-1".to_owned();
    let disagreed = CaseActionKind::Disagreed {
        verdict: nightshift_engine::conclusion::Verdict::FalsePositive,
    };
    let acts = [
        CaseActionKind::Agreed,
        CaseActionKind::AskedAgain,
        disagreed,
        CaseActionKind::Muted { name, until },
    ];
    let mut view = mutable();
    view.workflow = CaseWorkflow::from_actions(
        acts.map(|kind| CaseAction {
            at: now(),
            by: "slack:U1 (ana)".into(),
            kind,
            note: String::new(),
        })
        .into(),
    );
    let room = SlackFixture::with_store(FakeStore::with_views(vec![view]));
    let said = "This was noted before; nothing was changed.";
    for button in ["nightshift:agree", "nightshift:rerun"] {
        assert_eq!(room.click(button).await, said);
    }
    for (button, fields) in [
        ("nightshift:disagree", verdict("false_positive", "ours")),
        ("nightshift:mute", mute("2026-11-27", "the scanner")),
    ] {
        room.click(button).await;
        let answer = room.post(&submit(&room.last_view(), fields)).await;
        assert_eq!(
            (answer.text.as_str(), room.last_line().as_str()),
            ("", said)
        );
    }
    assert_eq!(room.writes(), 0);
    // Another person, or the same at another time, is a new click.
    let mut other = click("nightshift:rerun", VALUE, "U1");
    other["user"]["name"] = json!("bo");
    room.post(&other).await;
    assert_eq!(*room.store.retried.lock().unwrap(), [ID]);
}
