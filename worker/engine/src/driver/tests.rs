//! Tests the engine under a scripted analyst: the rules of the design, and faults of earlier engines.

use async_trait::async_trait;
use serde_json::json;

use super::scripted::*;
use super::*;
use crate::conclusion::{ConclusionDraft, Leaning, Verdict, VerdictReason};
use crate::driver::{CaseEnd, DriverPorts, drive};
use crate::event::{Event, EventBody};
use crate::evidence::EvidenceId;
use crate::finding::{FindingDraft, FindingStance, QuoteDraft};
use crate::fixture::{at, opening, tools};
use crate::fold::fold;
use crate::limits::{BudgetCap, TriageLimits};
use crate::plan::{PlanUpdate, StepDraft, StepId, StepOutcome, StepStatus};
use crate::port::{NoMeter, Toolbox};
use crate::question::Reflection;
use crate::tool::{CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};

#[tokio::test(start_paused = true)]
async fn a_case_runs_from_plan_to_proven_verdict() {
    let run = ScriptedRun::new(one_step(Verdict::TruePositive));
    let conclusion = run.conclusion().await;
    assert_eq!(conclusion.verdict, Verdict::TruePositive);
    assert_eq!(
        conclusion.findings[0].evidence[0].path.as_deref(),
        Some("/listed")
    );
    assert_eq!(
        *run.script.seen.lock().unwrap(),
        [
            "s1:1 of \"was it a brute force\" alert UnauthorizedAccess:EC2/SSHBruteForce",
            "s1:2 of \"was it a brute force\" alert UnauthorizedAccess:EC2/SSHBruteForce"
        ],
        "turns see objective and alert; nothing pending and all met needs no reflection"
    );
}

#[tokio::test(start_paused = true)]
async fn only_code_says_benign_and_only_code_lowers_the_severity() {
    for verdict in [Verdict::BenignTruePositive, Verdict::FalsePositive] {
        let conclusion = ScriptedRun::new(one_step(verdict)).conclusion().await;
        assert_eq!(conclusion.verdict, Verdict::Inconclusive);
        assert_eq!(conclusion.reason, VerdictReason::NotExonerated);
        assert_eq!(conclusion.leaning, Leaning::Benign);
        assert_eq!(
            conclusion.assessed_severity,
            nightshift_alert::Severity::High
        );
        assert!(!conclusion.would_decide.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn approved_record_for_actor_clears_and_for_others_does_not() {
    for (subject, expected) in [
        ("198.51.100.7", Verdict::BenignTruePositive),
        ("198.51.100.9", Verdict::Inconclusive),
    ] {
        let mut run = ScriptedRun::new(one_step(Verdict::BenignTruePositive));
        run.shelf = Arc::new(ScriptedToolbox {
            facts: vec![scanner(subject)],
            ..ScriptedToolbox::default()
        });
        assert_eq!(run.conclusion().await.verdict, expected, "{subject}");
    }
}

#[tokio::test(start_paused = true)]
async fn a19_a_claim_without_its_evidence_counts_for_nothing() {
    let mut script = one_step(Verdict::TruePositive);
    script.drafts = list([ConclusionDraft {
        findings: vec![FindingDraft {
            claim: "the address is not listed".into(),
            quotes: vec![QuoteDraft {
                evidence: EvidenceId(2),
                quote: "listed: false".into(),
            }],
            stance: FindingStance::For,
        }],
        ..draft(Verdict::TruePositive)
    }]);
    let conclusion = ScriptedRun::new(script).conclusion().await;
    assert_eq!(conclusion.verdict, Verdict::Inconclusive);
    assert_eq!(conclusion.reason, VerdictReason::UnsupportedEvidence);
    assert!(!conclusion.findings[0].supported);
}

#[tokio::test(start_paused = true)]
async fn r1_update_of_unknown_or_finished_step_is_refused() {
    let update = |id: &str| PlanUpdate::UpdateStep {
        id: StepId(id.into()),
        description: "again".into(),
        expected: None,
        reason: "to loop".into(),
    };
    let script = ScriptedAnalyst {
        plan: plan(vec![step("a", &[]), step("b", &["a"])]),
        turns: list([
            result(StepOutcome::Unmet),
            asks(vec![address()]),
            result(StepOutcome::Met),
        ]),
        reflections: list([Reflection {
            plan_updates: vec![update("s9"), update("s1")],
            ..Reflection::default()
        }]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let state = ScriptedRun::new(script).state().await;
    assert_eq!(state.updates.len(), 2);
    assert!(state.updates.iter().all(|record| record.refused.is_some()));
    assert_eq!(state.steps()[0].description, "look into a");
    assert_eq!(state.conclusion.unwrap().verdict, Verdict::TruePositive);
}

#[tokio::test(start_paused = true)]
async fn r1_a_failing_reflection_or_conclusion_loses_nothing() {
    let script = ScriptedAnalyst {
        plan: plan(vec![step("a", &[]), step("b", &["a"])]),
        turns: list([
            asks(vec![address()]),
            result(StepOutcome::Unmet),
            result(StepOutcome::Met),
        ]),
        ..ScriptedAnalyst::default()
    };
    let state = ScriptedRun::new(script).state().await;
    let conclusion = state.conclusion.as_ref().unwrap();
    assert_eq!(conclusion.verdict, Verdict::Inconclusive);
    assert!(conclusion.degraded && conclusion.failed.is_some());
    assert!(
        state
            .steps()
            .iter()
            .all(|step| step.status == StepStatus::Done)
    );
    assert_eq!(state.evidence.len(), 3, "alert, earlier cases, the look-up");
}

#[tokio::test(start_paused = true)]
async fn r1_running_out_of_turns_is_a_failed_step() {
    let calls = (1..=9).map(|limit| {
        asks(vec![lookup(
            json!({"indicator": "198.51.100.7", "limit": limit}),
        )])
    });
    let script = ScriptedAnalyst {
        plan: plan(vec![step("a", &[])]),
        turns: list(calls),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let run = ScriptedRun::new(script);
    let limits = TriageLimits {
        turns: 3,
        ..TriageLimits::default()
    };
    let state = run.with(limits).await;
    assert_eq!(state.steps()[0].status, StepStatus::Failed);
    assert_eq!(run.shelf.calls.lock().unwrap().len(), 1 + 2);
    assert!(!state.conclusion.unwrap().gaps.is_empty());
}

#[tokio::test(start_paused = true)]
async fn r1_doubled_ids_and_empty_plans_are_mended() {
    let script = ScriptedAnalyst {
        plan: plan(vec![step("a", &[]), step("a", &[])]),
        turns: list([result(StepOutcome::Met), result(StepOutcome::Met)]),
        ..ScriptedAnalyst::default()
    };
    let state = ScriptedRun::new(script).state().await;
    assert_eq!(state.steps()[0].id.0, "s1");
    assert_eq!(state.steps()[1].id.0, "s2");

    let empty = ScriptedAnalyst {
        plan: plan(Vec::new()),
        turns: list([asks(vec![address()]), result(StepOutcome::Met)]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let state = ScriptedRun::new(empty).state().await;
    assert_eq!(state.steps().len(), 1, "an empty plan is one implicit step");
}

#[tokio::test(start_paused = true)]
async fn a_circle_of_steps_loses_the_edge_that_closes_it() {
    let script = ScriptedAnalyst {
        plan: plan(vec![
            step("a", &["b"]),
            step("b", &["a"]),
            step("c", &["c"]),
        ]),
        turns: list((0..3).map(|_| result(StepOutcome::Met))),
        reflections: list([Reflection::default()]),
        ..ScriptedAnalyst::default()
    };
    let state = ScriptedRun::new(script).state().await;
    assert!(
        state
            .steps()
            .iter()
            .all(|step| step.status == StepStatus::Done)
    );
    assert_eq!(state.insights.len(), 2, "{:?}", state.insights);
}

#[tokio::test(start_paused = true)]
async fn r2_every_call_of_a_turn_is_answered_and_unknown_tool_named() {
    let made_up = ToolCall::new("nmap", serde_json::Map::new());
    let script = ScriptedAnalyst {
        plan: plan(vec![step("a", &[])]),
        turns: list([
            asks(vec![address(), made_up, address()]),
            result(StepOutcome::Met),
        ]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let run = ScriptedRun::new(script);
    let state = run.state().await;
    let calls = &state.step_views()[0].calls;
    assert!(calls[0].evidence.is_some());
    assert!(matches!(calls[1].refused, Some(ToolError::Unknown { .. })));
    assert_eq!(
        calls[2].evidence, calls[0].evidence,
        "the same call is answered from evidence"
    );
    assert_eq!(
        run.shelf.calls.lock().unwrap().len(),
        2,
        "earlier cases and one look-up"
    );
}

#[tokio::test(start_paused = true)]
async fn three_refused_calls_fail_the_step() {
    let bad = || asks(vec![lookup(json!({"indicator": "203.0.113.1"}))]);
    let script = ScriptedAnalyst {
        plan: plan(vec![step("a", &[])]),
        turns: list([bad(), bad(), bad()]),
        ..ScriptedAnalyst::default()
    };
    let state = ScriptedRun::new(script).state().await;
    assert_eq!(state.steps()[0].status, StepStatus::Failed);
}

#[tokio::test(start_paused = true)]
async fn reflection_adds_cancels_and_stops_early() {
    let script = ScriptedAnalyst {
        plan: plan(vec![step("a", &[]), step("b", &["a"]), step("c", &["b"])]),
        turns: list([result(StepOutcome::Unmet), result(StepOutcome::Met)]),
        reflections: list([
            Reflection {
                plan_updates: vec![
                    PlanUpdate::CancelStep {
                        id: StepId("s3".into()),
                        reason: "no use".into(),
                    },
                    PlanUpdate::AddStep {
                        step: step("d", &["b"]),
                        reason: "other logs".into(),
                    },
                    PlanUpdate::AddStep {
                        step: step("d", &[]),
                        reason: "the same again".into(),
                    },
                ],
                ..Reflection::default()
            },
            Reflection {
                achieved: true,
                ..Reflection::default()
            },
        ]),
        ..ScriptedAnalyst::default()
    };
    let state = ScriptedRun::new(script).state().await;
    let statuses: Vec<_> = state
        .steps()
        .iter()
        .map(|step| step.status.as_str())
        .collect();
    assert_eq!(statuses, ["done", "done", "cancelled", "not_run"]);
    assert!(state.updates[2].refused.is_some());
}

#[tokio::test(start_paused = true)]
async fn key_steps_run_whatever_an_analyst_thinks_to_have_found() {
    let key = StepDraft {
        key: true,
        ..step("d", &["c"])
    };
    let cancels = PlanUpdate::CancelStep {
        id: StepId::numbered(4),
        reason: "it was a scanner".into(),
    };
    let script = ScriptedAnalyst {
        plan: plan(vec![
            step("a", &[]),
            step("b", &["a"]),
            step("c", &["a"]),
            key,
        ]),
        turns: list((0..3).map(|_| result(StepOutcome::Unmet))),
        reflections: list([Reflection {
            achieved: true,
            plan_updates: vec![cancels],
            ..Reflection::default()
        }]),
        drafts: list([draft(Verdict::BenignTruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let mut run = ScriptedRun::new(script);
    run.shelf = Arc::new(ScriptedToolbox {
        facts: vec![scanner("198.51.100.7")],
        ..ScriptedToolbox::default()
    });
    let state = run.state().await;
    let statuses = state.steps().iter().map(|step| step.status.as_str());
    let statuses: Vec<_> = statuses.collect();
    assert_eq!(statuses, ["done", "not_run", "done", "done"]);
    assert_eq!(state.reflections, 1, "what is decided is not asked again");
    assert_eq!(
        state.updates[0].refused.as_deref(),
        Some("s4 is a key step: nothing is cleared without it")
    );
}

#[tokio::test(start_paused = true)]
async fn g04_a_case_goes_on_at_its_turn_after_a_kill_at_any_event() {
    let whole = ScriptedRun::new(one_step(Verdict::TruePositive));
    let expected = whole.conclusion().await;
    let journal = whole.journal.0.lock().unwrap().clone();
    for cut in 2..journal.len() {
        let mut events = journal[..cut].to_vec();
        events.push(Event::new(at(101), EventBody::Claimed { epoch: 2 }));
        let state = fold(&events);
        let mut script = one_step(Verdict::TruePositive);
        for id in &state.finished {
            match id.0.as_str() {
                "plan" => drop(script.plan.get_mut().unwrap().pop_front()),
                "conclude" => drop(script.drafts.get_mut().unwrap().pop_front()),
                turn if turn.starts_with("turn") => {
                    drop(script.turns.get_mut().unwrap().pop_front());
                }
                _ => {}
            }
        }
        let answered = state.evidence_by_call.len();
        let run = ScriptedRun::new(script);
        let ports = DriverPorts {
            analyst: run.script.clone(),
            fallback: None,
            toolbox: run.shelf.clone(),
            exonerator: Arc::new(NoExonerations),
            journal: run.journal.clone(),
            clock: Arc::new(FixedClock),
            meter: Arc::new(NoMeter),
        };
        let end = drive(&ports, state, &CancellationToken::new())
            .await
            .unwrap();
        let CaseEnd::Concluded(end) = end else {
            panic!("{end:?}")
        };
        assert_eq!(end.conclusion.unwrap(), expected, "cut at {cut}");
        assert_eq!(
            run.shelf.calls.lock().unwrap().len(),
            2 - answered,
            "g4: a call whose outcome is journaled is not made again (cut at {cut})"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r2_the_end_of_the_active_time_still_gives_a_report() {
    struct HangingToolbox;
    #[async_trait]
    impl Toolbox for HangingToolbox {
        fn specs(&self) -> Vec<ToolSpec> {
            tools()
        }
        async fn call(&self, _: &ToolCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
            std::future::pending().await
        }
    }
    let run = ScriptedRun::new(one_step(Verdict::BenignTruePositive));
    let limits = TriageLimits {
        minutes: 1,
        tool_secs: 3600,
        ..TriageLimits::default()
    };
    let ports = DriverPorts {
        analyst: run.script.clone(),
        fallback: None,
        toolbox: Arc::new(HangingToolbox),
        exonerator: Arc::new(NoExonerations),
        journal: run.journal.clone(),
        clock: Arc::new(FixedClock),
        meter: Arc::new(NoMeter),
    };
    let end = drive(&ports, fold(&opening(limits)), &CancellationToken::new())
        .await
        .unwrap();
    let CaseEnd::Concluded(state) = end else {
        panic!("{end:?}")
    };
    let conclusion = state.conclusion.unwrap();
    assert_eq!(conclusion.stopped_by, Some(BudgetCap::Minutes));
    assert_eq!(conclusion.verdict, Verdict::Inconclusive);
    assert_eq!(conclusion.reason, VerdictReason::BudgetExhausted);
}

#[tokio::test(start_paused = true)]
async fn text_that_talks_to_the_analyst_clears_nothing() {
    let leaning = ConclusionDraft {
        leaning: Leaning::Benign,
        reason: VerdictReason::AuthorisedActivity,
        ..draft(Verdict::Inconclusive)
    };
    for said in [draft(Verdict::BenignTruePositive), leaning] {
        let conclusion = of_manipulated(said).await;
        assert_eq!(conclusion.verdict, Verdict::Inconclusive);
        assert_eq!(conclusion.leaning, Leaning::None);
        assert_eq!(conclusion.reason, VerdictReason::SuspectedManipulation);
        assert_eq!(
            conclusion.assessed_severity,
            nightshift_alert::Severity::High
        );
        assert_eq!(conclusion.overridden[0].rule, "suspected_manipulation");
    }
}

/// Returns the conclusion from a draft about an alert whose text addresses the analyst, though a scanner's record
/// clears it.
async fn of_manipulated(said: ConclusionDraft) -> crate::conclusion::Conclusion {
    let run = ScriptedRun::new(ScriptedAnalyst {
        drafts: list([said]),
        ..one_step(Verdict::Inconclusive)
    });
    let mut events = opening(TriageLimits::default());
    if let EventBody::Opened(opened) = &mut events[0].body {
        let mut alert = opened.alert.as_ref().clone();
        alert
            .flags
            .push(nightshift_alert::ContentFlag::Instructions {
                path: "/userAgent".into(),
            });
        opened.alert = Arc::new(alert);
    }
    let ports = DriverPorts {
        analyst: run.script.clone(),
        fallback: None,
        toolbox: Arc::new(ScriptedToolbox {
            facts: vec![scanner("198.51.100.7")],
            ..ScriptedToolbox::default()
        }),
        exonerator: Arc::new(NoExonerations),
        journal: run.journal.clone(),
        clock: Arc::new(FixedClock),
        meter: Arc::new(NoMeter),
    };
    let end = drive(&ports, fold(&events), &CancellationToken::new())
        .await
        .unwrap();
    let CaseEnd::Concluded(state) = end else {
        panic!("{end:?}")
    };
    state.conclusion.unwrap()
}
