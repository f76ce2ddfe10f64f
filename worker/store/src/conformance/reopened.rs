//! Tests new alerts of cases that people had finished with.

use nightshift_alert::Severity;
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::case_workflow::{CaseActionKind, CaseWorkflow, WorkflowStatus};
use nightshift_pipeline::feedback::NewPersonVerdict;

use super::admission::arrival;
use super::workflow::does;
use super::*;

on_both_stores! {
    what_is_closed_is_open_again_when_it_gets_worse
    a_false_positive_covers_no_alert_that_came_after_it
    what_got_worse_while_it_ran_is_open_when_its_turn_comes
    what_waits_behind_a_closed_case_opens_it_when_its_turn_comes
    what_is_closed_before_its_report_is_open_with_it
    what_is_called_off_leaves_open_what_waited_behind_it
    whoever_runs_a_closed_case_again_does_not_open_it
    failed_triage_has_no_verdict_where_its_rerun_was_cancelled
    verdict_stands_while_its_case_reruns_or_rerun_is_cancelled
}

fn severe(second: i64, severity: Severity) -> Arrival {
    arrival(second, |alert| alert.severity = severity)
}

pub(super) async fn workflow_of(
    fixture: &Fixture,
    id: &CaseId,
) -> (CaseWorkflow, WorkflowStatus, Option<String>) {
    let view = fixture.store.view(&id.0).await.unwrap();
    (view.workflow, view.row.desk, view.row.owner)
}

pub(super) async fn close(fixture: &Fixture, id: &CaseId) {
    for (kind, second) in [
        (CaseActionKind::Acknowledged, 5),
        (CaseActionKind::Closed, 6),
    ] {
        let act = does(kind, second);
        fixture.store.record_action(&id.0, act).await.unwrap();
    }
    let (workflow, column, _) = workflow_of(fixture, id).await;
    assert!(workflow.is_settled() && column == WorkflowStatus::Closed);
}

pub(super) async fn is_reopened(fixture: &Fixture, id: &CaseId) {
    let (workflow, column, owner) = workflow_of(fixture, id).await;
    assert!(!workflow.is_settled(), "{workflow:?}");
    assert_eq!(
        (workflow.status, workflow.owner.as_deref()),
        (WorkflowStatus::Open, None)
    );
    assert_eq!((column, owner), (WorkflowStatus::Open, None));
    let reopened = workflow
        .acts
        .iter()
        .filter(|act| act.kind == CaseActionKind::Reopened);
    let by: Vec<&str> = reopened.map(|act| act.by.as_str()).collect();
    assert_eq!(by, ["test"], "once");
}

async fn what_is_closed_is_open_again_when_it_gets_worse(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.take(severe(0, Severity::Medium)).await);
    conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
    close(&fixture, &id).await;
    let same = fixture.take(severe(1, Severity::Medium)).await;
    assert_eq!(same.case_id.as_ref(), Some(&id));
    assert!(
        workflow_of(&fixture, &id).await.0.is_settled(),
        "nothing new"
    );
    fixture.take(severe(10, Severity::High)).await;
    is_reopened(&fixture, &id).await;
    conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
    is_reopened(&fixture, &id).await;
    let due = store.due_deliveries("soc", 10).await.unwrap().remove(0);
    assert!(!due.payload.workflow.is_settled() && !due.payload.is_minor);
    let digest = store.collect_digest(at(-1), at(86_400)).await.unwrap();
    let open: Vec<_> = digest.open.into_iter().map(|case| case.case_id).collect();
    assert_eq!(open, [id.0.as_str()]);
    let closed = does(CaseActionKind::Closed, 20);
    let (_, workflow) = store.record_action(&id.0, closed).await.unwrap();
    assert!(workflow.is_settled(), "they are done with that too");
}

async fn a_false_positive_covers_no_alert_that_came_after_it(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.take(severe(0, Severity::Medium)).await);
    conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
    let says = NewPersonVerdict {
        verdict: Some(Verdict::FalsePositive),
        by: "ana".into(),
        at: at(2),
        note: "our scanner".into(),
    };
    store.add_verdict(&id.0, says).await.unwrap();
    assert!(workflow_of(&fixture, &id).await.0.is_settled());
    fixture.take(severe(10, Severity::High)).await;
    // A more severe alert replaces the waiting one. The case is already open.
    fixture.take(severe(11, Severity::Critical)).await;
    is_reopened(&fixture, &id).await;
}

async fn what_got_worse_while_it_ran_is_open_when_its_turn_comes(fixture: Fixture) {
    let id = case_of(&fixture.take(severe(0, Severity::Medium)).await);
    let claimed = fixture.claim().await;
    close(&fixture, &id).await;
    fixture.take(severe(10, Severity::High)).await;
    assert!(
        workflow_of(&fixture, &id).await.0.is_settled(),
        "of what runs"
    );
    conclude_as(&fixture.store, &claimed, Verdict::TruePositive).await;
    is_reopened(&fixture, &id).await;
}

async fn what_waits_behind_a_closed_case_opens_it_when_its_turn_comes(fixture: Fixture) {
    let id = case_of(&fixture.take(severe(0, Severity::High)).await);
    close(&fixture, &id).await;
    let milder = arrival(10, |alert| {
        alert.severity = Severity::Low;
        alert.kind = "Other:EC2/Type".into();
    });
    let behind = fixture.take(milder).await.admission;
    assert_eq!(
        behind,
        Admission::Revision(id.clone(), RevisionReason::Type)
    );
    let claimed = fixture.claim().await;
    let is_settled = workflow_of(&fixture, &id).await.0.is_settled();
    assert!(is_settled, "they are done with what runs");
    conclude_as(&fixture.store, &claimed, Verdict::TruePositive).await;
    is_reopened(&fixture, &id).await;
}

async fn what_is_closed_before_its_report_is_open_with_it(fixture: Fixture) {
    let store = &fixture.store;
    for (verdict, is_open) in [
        (Verdict::TruePositive, true),
        (Verdict::Inconclusive, true),
        (Verdict::BenignTruePositive, false),
    ] {
        let of = |second: i64, severity: Severity| {
            arrival(second, |alert| {
                alert.key.id = format!("{verdict:?}");
                alert.severity = severity;
            })
        };
        let id = case_of(&fixture.take(of(0, Severity::Medium)).await);
        conclude_as(store, &fixture.claim().await, Verdict::Inconclusive).await;
        let worse = fixture.take(of(4, Severity::High)).await.admission;
        assert_eq!(
            worse,
            Admission::Revision(id.clone(), RevisionReason::Severity)
        );
        let claimed = fixture.claim().await;
        close(&fixture, &id).await;
        conclude_as(store, &claimed, verdict).await;
        if is_open {
            is_reopened(&fixture, &id).await;
            let due = store.due_deliveries("soc", 100).await.unwrap();
            let ours = due.iter().find(|due| due.payload.report.case_id == id.0);
            let showing = &ours.unwrap().payload;
            assert!(!showing.workflow.is_settled() && !showing.is_minor);
        } else {
            assert!(
                workflow_of(&fixture, &id).await.0.is_settled(),
                "{verdict:?}"
            );
        }
    }
}

async fn what_is_called_off_leaves_open_what_waited_behind_it(fixture: Fixture) {
    let id = case_of(&fixture.take(severe(0, Severity::Medium)).await);
    fixture.claim().await;
    fixture.take(severe(10, Severity::High)).await;
    close(&fixture, &id).await;
    let called_off = fixture.store.cancel(&id.0, "ana", at(20)).await.unwrap();
    assert_eq!(called_off.next, Some(2));
    is_reopened(&fixture, &id).await;
}

async fn whoever_runs_a_closed_case_again_does_not_open_it(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.take(severe(0, Severity::Medium)).await);
    conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
    close(&fixture, &id).await;
    store.retry(&id.0).await.unwrap();
    conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
    let mut asked = severe(10, Severity::High);
    asked.on_demand = true;
    fixture.take(asked).await;
    assert!(workflow_of(&fixture, &id).await.0.is_settled());
}

async fn verdict_stands_while_its_case_reruns_or_rerun_is_cancelled(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.take(severe(0, Severity::High)).await);
    let waits = async || {
        let digest = store.collect_digest(at(-1), at(86_400)).await.unwrap();
        let open = digest.open.into_iter();
        open.map(|case| (case.case_id, case.verdict))
            .collect::<Vec<_>>()
    };
    assert_eq!(waits().await, [], "nothing is known of it yet");
    conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
    let known = [(id.0.clone(), Some(Verdict::TruePositive))];
    store.retry(&id.0).await.unwrap();
    assert_eq!(waits().await, known);
    fixture.claim().await;
    assert_eq!(waits().await, known);
    store.cancel(&id.0, "ana", at(20)).await.unwrap();
    assert_eq!(waits().await, known);
    let all = CaseFilter {
        limit: 9,
        ..CaseFilter::default()
    };
    let rows = store.list(&all).await.unwrap();
    assert_eq!(
        rows[0].cancelled_verdict(),
        Some("True positive (rerun cancelled)")
    );
    close(&fixture, &id).await;
    assert_eq!(waits().await, []);
    // A person who cancels a case before its first triage knows that it has no verdict.
    let other = case_of(&fixture.accept(MINER).await);
    store.cancel(&other.0, "ana", at(21)).await.unwrap();
    assert_eq!(waits().await, []);
}

async fn failed_triage_has_no_verdict_where_its_rerun_was_cancelled(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.take(severe(0, Severity::High)).await);
    let claimed = fixture.claim().await;
    fail(store, &claimed).await;
    let all = CaseFilter {
        limit: 9,
        ..CaseFilter::default()
    };
    let said = async || {
        let open = store.collect_digest(at(-1), at(86_400)).await.unwrap().open;
        let row = store.list(&all).await.unwrap().remove(0);
        let seen = store.view(&id.0).await.unwrap().row;
        assert_eq!(
            (seen.verdict, seen.cancelled_verdict()),
            (row.verdict, row.cancelled_verdict())
        );
        let inconclusive = CaseFilter {
            verdict: Some(Verdict::Inconclusive),
            status: Some(row.status),
            ..all.clone()
        };
        (
            open.iter().map(|case| case.verdict).collect::<Vec<_>>(),
            (row.status, row.verdict, row.cancelled_verdict()),
            store.list(&inconclusive).await.unwrap().len(),
        )
    };
    assert_eq!(said().await.0, [None]);
    store.retry(&id.0).await.unwrap();
    assert_eq!(
        said().await,
        (vec![None], (CaseStatus::Queued, None, None), 0)
    );
    fixture.claim().await;
    assert_eq!(
        said().await,
        (vec![None], (CaseStatus::Running, None, None), 0)
    );
    store.cancel(&id.0, "ana", at(20)).await.unwrap();
    assert_eq!(
        said().await,
        (vec![None], (CaseStatus::Cancelled, None, None), 0)
    );
}
