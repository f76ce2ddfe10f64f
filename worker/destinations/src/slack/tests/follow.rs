//! Tests a case over time: early message, report, actions of people, sightings, another verdict.

use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, CaseWorkflow};

use super::*;

fn by(who: &str, kind: CaseActionKind, note: &str) -> CaseAction {
    CaseAction {
        at: fixture::now(),
        by: who.into(),
        kind,
        note: note.into(),
    }
}

#[tokio::test]
async fn what_is_wanted_when() {
    let (_, _, to) = soc().await;
    let at = Some("C1/1700000000.000001".to_owned());
    let with = |severity, status, remote_id: &Option<String>, shown: Option<Report>, minor| {
        let mut report = early();
        (report.severity, report.status) = (severity, status);
        let mut showing = DeliveryPayload::new(report);
        showing.remote_id = remote_id.clone();
        showing.delivered = shown.as_ref().map(DeliveredReport::from_report);
        showing.is_minor = minor;
        to.wants(&showing)
    };
    use CaseStatus::{Cancelled, Concluded, Failed, Queued, Running};
    use Severity::{Critical, High, Medium};
    let ended = Some(fixture::benign());
    // Only high and critical alerts get an early message, and only once.
    assert!(with(High, Queued, &None, None, false));
    assert!(with(Critical, Running, &None, None, false));
    assert!(!with(Medium, Running, &None, None, false));
    assert!(!with(High, Running, &at, Some(early()), false));
    // An early message whose report will not come is updated. Without an early message nothing is sent.
    assert!(with(High, Cancelled, &at, Some(early()), false));
    assert!(!with(High, Cancelled, &None, None, false));
    // A report is not edited back into an early message.
    assert!(!with(High, Running, &at, ended.clone(), false));
    assert!(!with(High, Cancelled, &at, ended.clone(), false));
    // Reports are always sent. Counts are sent only when there is a message to edit.
    assert!(with(Medium, Concluded, &None, None, false));
    assert!(with(Medium, Failed, &None, None, false));
    assert!(with(Medium, Concluded, &at, ended.clone(), true));
    assert!(!with(Medium, Concluded, &None, ended, true));
}

#[tokio::test]
async fn a_first_word_becomes_the_report_and_people_leave_their_mark() {
    let (clock, slack, to) = soc().await;
    let first = case(0, early());
    let sent = to.deliver(&first).await.unwrap();
    clock.wait(PACE);
    let mut report = fixture::true_positive();
    report.case_id = "case-0000".into();
    let second = later(&first, sent.remote_id.clone(), report.clone());
    to.deliver(&second).await.unwrap();
    let below = slack.below().len();
    assert_eq!(slack.channel().len(), 1);
    // A report after an early message is no change and notifies nobody.
    assert!(slack.below().iter().all(|one| !one.is_broadcast));
    clock.wait(PACE);
    let mut third = later(&second, sent.remote_id, report);
    third.is_minor = true;
    third.report.alert.sightings = 4;
    let disagreed = CaseActionKind::Disagreed {
        verdict: Verdict::FalsePositive,
    };
    third.workflow = CaseWorkflow::from_actions(vec![
        by("maria", CaseActionKind::Acknowledged, ""),
        by("<@U1>", disagreed, "our own pool <!channel>"),
    ]);
    let calls = slack.calls().len();
    to.deliver(&third).await.unwrap();
    // The message and the part of the thread that changed are edited, and nothing is added.
    let edits = ["chat.update", "conversations.replies", "chat.update"];
    assert_eq!(slack.calls()[calls..], edits);
    assert_eq!(slack.below().len(), below);
    let shown = slack.channel()[0].body["blocks"].to_string();
    assert!(shown.contains("disagrees: False positive"));
    let thread = slack.below()[0].body["blocks"].to_string();
    assert!(thread.contains("maria has it · 2026-11-20 03:14 UTC"));
    assert!(thread.contains("4 repeats"));
    assert!(
        !shown.contains("<!channel") && !shown.contains("<@U1"),
        "{shown}"
    );
    // An acknowledged case needs no button to acknowledge it.
    assert!(!shown.contains("nightshift:ack") && shown.contains("nightshift:close"));
}

#[tokio::test]
async fn worse_verdict_notifies_and_better_one_does_not() {
    let (clock, slack, to) = soc().await;
    let first = case(0, fixture::overridden());
    let sent = to.deliver(&first).await.unwrap();
    clock.wait(PACE);
    let mut worse = fixture::true_positive();
    worse.case_id = "case-0000".into();
    worse.revision = 2;
    worse.again = fixture::again().again;
    let second = later(&first, sent.remote_id.clone(), worse);
    // The process dies after the edit. The next attempt adds to the thread.
    to.deliver(&second).await.unwrap();
    clock.wait(PACE);
    to.deliver(&second).await.unwrap();
    let rung: Vec<_> = slack
        .below()
        .into_iter()
        .filter(|one| one.is_broadcast)
        .collect();
    assert_eq!(rung.len(), 1);
    assert_eq!(rung[0].key("part"), "r2.changed.true_positive.critical");
    let text = rung[0].text();
    assert!(text.starts_with("It got worse: verdict Inconclusive, leans benign → True positive; severity High → Critical; urgency This shift → Act now; revision 1 → 2; triaged again because: severity rose as sent, new actor 203.0.113[.]99"), "{text}");
    // The message itself names the change once, in the usual words.
    let shown = slack.channel()[0].body["blocks"].to_string();
    assert!(
        shown.contains("Changed since revision 1: verdict"),
        "{shown}"
    );
    assert!(
        !shown.contains("Changed since it was last shown"),
        "{shown}"
    );
    assert_eq!(slack.channel().len(), 1);
    // The details of the first revision were edited into those of the second.
    let details = |slack: &Slack| -> Vec<_> {
        let all = slack.below().into_iter();
        all.filter(|one| one.key("part").starts_with("details."))
            .collect()
    };
    assert_eq!(details(&slack).len(), 1);
    assert_eq!(details(&slack)[0].edits, 1);
    assert!(
        details(&slack)[0]
            .body
            .to_string()
            .contains("gcloud compute")
    );
    clock.wait(PACE);
    let mut better = fixture::benign();
    better.case_id = "case-0000".into();
    better.revision = 3;
    let third = later(&second, sent.remote_id, better);
    to.deliver(&third).await.unwrap();
    assert_eq!(
        slack.below().iter().filter(|one| one.is_broadcast).count(),
        1
    );
    let shown = slack.channel()[0].body["blocks"].to_string();
    assert!(
        shown.contains("verdict True positive → Benign true positive"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_thread_that_got_shorter_keeps_no_old_part() {
    let (clock, slack, to) = soc().await;
    let first = case(0, fixture::hostile());
    let sent = to.deliver(&first).await.unwrap();
    let parts = slack.below().len();
    assert!(parts > 1, "{parts}");
    clock.wait(PACE);
    let mut report = fixture::benign();
    report.case_id = "case-0000".into();
    let second = later(&first, sent.remote_id, report);
    to.deliver(&second).await.unwrap();
    let kept = slack.below();
    let last = &kept[parts - 1];
    assert!(
        last.text().contains("the report became shorter"),
        "{last:?}"
    );
    // The same once more changes nothing.
    let calls = slack.calls().len();
    clock.wait(PACE);
    to.deliver(&second).await.unwrap();
    assert_eq!(
        slack.calls()[calls..],
        ["chat.update", "conversations.replies"]
    );
}

#[tokio::test]
async fn a_case_that_was_called_off_says_so() {
    let (_, slack, to) = soc().await;
    let first = case(0, early());
    let sent = to.deliver(&first).await.unwrap();
    let mut cancelled = first.report.clone();
    cancelled.status = CaseStatus::Cancelled;
    let second = later(&first, sent.remote_id, cancelled);
    to.deliver(&second).await.unwrap();
    let message = &slack.channel()[0];
    assert_eq!(message.edits, 1);
    assert!(
        message.body["text"]
            .as_str()
            .unwrap()
            .starts_with("◌ Called off · High — ")
    );
    assert!(slack.below().is_empty());
}

#[tokio::test]
async fn f26_ambiguous_early_post_is_withdrawn_when_case_is_cancelled() {
    let (clock, slack, to) = soc().await;
    slack.breaks(|method, _| (method == "chat.postMessage").then_some(SlackFault::LostAfter));
    let mut wish = QueuedDelivery {
        showing: case(1, early()),
        attempts: 0,
        begun: None,
        not_before: clock.now(),
    };
    let lost = attempt(&clock, &to, &mut wish).await.unwrap_err();
    assert!(matches!(lost, DeliveryError::Ambiguous { .. }), "{lost:?}");
    assert!(slack.channel()[0].text().contains("Investigating"));
    slack.breaks(|_, _| None);
    clock.wait(Duration::from_secs(60));
    wish.showing.version += 1;
    wish.showing.report.status = CaseStatus::Cancelled;
    wish.showing.report.failed = Some("called off by ana".into());
    attempt(&clock, &to, &mut wish).await.unwrap();
    assert!(to.wants(&wish.showing), "what was found is told");
    let [message] = slack.channel().try_into().unwrap();
    assert_eq!(message.edits, 1);
    assert!(!message.text().contains("Investigating"), "{message:?}");
    let said = "Called off by ana before it came to a verdict.";
    assert!(message.body.to_string().contains(said), "{message:?}");
}

#[tokio::test]
async fn a_canary_is_posted_without_a_thread_and_taken_away() {
    let (clock, slack, to) = soc().await;
    let mut showing = fixture::canary();
    let sent = to.deliver(&showing).await.unwrap();
    let header = slack.channel()[0].body["text"].to_string();
    assert!(header.contains("[CANARY] [PLAYBOOK]"), "{header}");
    assert_eq!(slack.below().len(), 0);
    fixture::spend(&mut showing, sent.remote_id);
    assert!(to.wants(&showing));
    clock.wait(PACE);
    // The message is delivered twice, because the first answer may have been lost.
    for _ in 0..2 {
        to.deliver(&showing).await.unwrap();
        assert_eq!(slack.channel().len(), 0);
    }
}

#[tokio::test]
async fn where_nothing_may_be_deleted_a_canary_is_shown_as_closed() {
    let (clock, slack, to) = soc().await;
    slack.breaks(|method, _| {
        (method == "chat.delete").then_some(SlackFault::Says("compliance_exports_prevent_deletion"))
    });
    let mut showing = fixture::canary();
    let sent = to.deliver(&showing).await.unwrap();
    fixture::spend(&mut showing, sent.remote_id);
    clock.wait(PACE);
    to.deliver(&showing).await.unwrap();
    let shown = slack.channel()[0].body["blocks"].to_string();
    assert!(shown.contains("nightshift canary"), "{shown}");
}
