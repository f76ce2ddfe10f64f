//! Tests other strategies of the engine: adaptive and direct cases, reflection when needed, a fallback analyst, second
//! rounds.

use async_trait::async_trait;
use serde_json::json;

use super::scripted::*;
use super::*;
use crate::conclusion::{ConclusionDraft, Verdict, VerdictReason};
use crate::driver::{CaseEnd, DriverPorts, drive};
use crate::event::{AnalystKind, CommandId};
use crate::evidence::EvidenceId;
use crate::finding::{FindingDraft, FindingStance, QuoteDraft};
use crate::fold::fold;
use crate::limits::TriageLimits;
use crate::plan::{PlanUpdate, StepDraft, StepId, StepOutcome, StepStatus};
use crate::port::{Analyst, Answer, NoAnswer};
use crate::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, Judgement, PlanAnswer, PlanQuestion,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};
use crate::state::CaseState;
use crate::strategy::{ReflectionMode, Strategy, TriageOptions};
use crate::tool::{ToolCall, ToolError};

fn with(script: ScriptedAnalyst, conduct: TriageOptions) -> ScriptedRun {
    let mut run = ScriptedRun::new(script);
    run.opened.options = conduct;
    run
}

fn by(strategy: Strategy) -> TriageOptions {
    TriageOptions {
        strategy,
        ..TriageOptions::default()
    }
}

fn look_up(limit: u32) -> ToolCall {
    lookup(json!({"indicator": "198.51.100.7", "limit": limit}))
}

fn action(id: &str, calls: Vec<ToolCall>) -> StepDraft {
    StepDraft {
        calls,
        ..step(id, &[])
    }
}

fn next_action(judged: bool, next: Option<StepDraft>) -> Decision {
    Decision {
        objective: "find out".into(),
        source: String::new(),
        reasoning: "because".into(),
        judgement: judged.then(|| Judgement {
            outcome: StepOutcome::Met,
            summary: "found".into(),
            findings: Vec::new(),
        }),
        next,
    }
}

/// Returns a script of two tasks, the second of which needs the first's result.
fn two_tasks_adaptive() -> ScriptedAnalyst {
    ScriptedAnalyst {
        decisions: list([
            next_action(false, Some(action("a", vec![look_up(1)]))),
            next_action(true, Some(action("b", vec![look_up(2)]))),
            next_action(true, None),
        ]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    }
}

fn two_tasks_planned() -> ScriptedAnalyst {
    ScriptedAnalyst {
        plan: plan(vec![action("a", vec![look_up(1)]), step("b", &["a"])]),
        turns: list([
            result(StepOutcome::Met),
            asks(vec![look_up(2)]),
            result(StepOutcome::Met),
        ]),
        reflections: list([Reflection::default()]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    }
}

fn questions(state: &CaseState) -> usize {
    state
        .finished
        .iter()
        .filter(|id| !id.0.starts_with("call:") && id.0 != "exonerate")
        .count()
}

#[tokio::test(start_paused = true)]
async fn r4_adaptive_needs_no_more_calls_than_planned_on_two_tasks() {
    let adaptive = with(two_tasks_adaptive(), by(Strategy::Adaptive))
        .state()
        .await;
    let planned = with(two_tasks_planned(), by(Strategy::Planned))
        .state()
        .await;
    for state in [&adaptive, &planned] {
        assert_eq!(
            state.conclusion.as_ref().unwrap().verdict,
            Verdict::TruePositive
        );
        assert!(
            state
                .steps()
                .iter()
                .all(|step| step.status == StepStatus::Done)
        );
        assert_eq!(state.evidence.len(), 4);
    }
    assert_eq!(questions(&adaptive), 4);
    assert!(questions(&adaptive) < questions(&planned));
}

#[tokio::test(start_paused = true)]
async fn r4_a_failed_decision_ends_cleanly() {
    let script = ScriptedAnalyst {
        decisions: list([next_action(false, Some(action("a", vec![look_up(1)])))]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let state = with(script, by(Strategy::Adaptive)).state().await;
    assert_eq!(state.steps()[0].status, StepStatus::Failed);
    assert_eq!(state.conclusion.unwrap().verdict, Verdict::TruePositive);
}

#[tokio::test(start_paused = true)]
async fn an_adaptive_case_that_never_ends_is_ended() {
    let again = || next_action(true, Some(action("a", vec![look_up(1)])));
    let script = ScriptedAnalyst {
        decisions: list((0..100).map(|_| again())),
        ..ScriptedAnalyst::default()
    };
    let run = with(script, by(Strategy::Adaptive));
    let limits = TriageLimits {
        steps: 5,
        ..TriageLimits::default()
    };
    let state = run.with(limits).await;
    assert_eq!(state.steps().len(), 1, "the same step is not added again");
    assert_eq!(state.decisions, 3, "who was told and asks again is done");
}

#[tokio::test(start_paused = true)]
async fn ids_of_an_analyst_begin_anew_with_each_answer() {
    let other = |limit: u32| StepDraft {
        description: format!("look {limit} times"),
        ..action("a2", vec![look_up(limit)])
    };
    let script = ScriptedAnalyst {
        decisions: list([
            next_action(false, Some(other(1))),
            next_action(true, Some(other(2))),
            next_action(true, Some(other(2))),
            next_action(true, None),
        ]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let state = with(script, by(Strategy::Adaptive)).state().await;
    assert_eq!(state.steps().len(), 2);
    let told = &state.decide_question().unwrap().insights;
    assert_eq!(
        *told,
        [r#""look 2 times" was not taken up: s2 is the same step"#]
    );

    let add = |limit: u32, depends_on: &[&str]| {
        let step = StepDraft {
            depends_on: depends_on.iter().map(ToString::to_string).collect(),
            ..other(limit)
        };
        let reason = "a gap".to_owned();
        Reflection {
            plan_updates: vec![PlanUpdate::AddStep { step, reason }],
            ..Reflection::default()
        }
    };
    let script = ScriptedAnalyst {
        plan: plan(vec![action("a2", vec![look_up(1)])]),
        turns: list((0..4).map(|_| result(StepOutcome::Unmet))),
        reflections: list([
            add(2, &["a2"]),
            add(3, &["a2"]),
            add(3, &[]),
            add(4, &["s1"]),
        ]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let state = ScriptedRun::new(script).state().await;
    let waits_for = |number: usize| state.steps()[number].depends_on.clone();
    assert_eq!(waits_for(1), [StepId::numbered(1)]);
    assert_eq!(waits_for(2), [StepId::numbered(2)], "the last of its name");
    assert_eq!(
        state.updates[2].refused.as_deref(),
        Some("s3 is the same step")
    );
}

#[tokio::test(start_paused = true)]
async fn a_direct_case_has_one_implicit_step_and_no_plan_question() {
    let script = ScriptedAnalyst {
        turns: list([asks(vec![look_up(1)]), result(StepOutcome::Unmet)]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let state = with(script, by(Strategy::Direct)).state().await;
    assert_eq!(state.steps().len(), 1);
    assert!(!state.finished.contains(&CommandId::plan()));
    assert!(!state.plan.as_ref().unwrap().objective.is_empty());
    assert_eq!(state.reflections, 0);
}

#[tokio::test(start_paused = true)]
async fn steps_that_carry_their_calls_need_one_turn_less() {
    let script = ScriptedAnalyst {
        plan: plan(vec![
            action("a", vec![look_up(1)]),
            action("b", vec![look_up(2)]),
            action("c", vec![look_up(3)]),
        ]),
        turns: list((0..3).map(|_| result(StepOutcome::Met))),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let state = ScriptedRun::new(script).state().await;
    assert_eq!(
        questions(&state),
        5,
        "plan, three turns side by side, conclude"
    );
    assert_eq!(state.wave, 1);
}

#[tokio::test(start_paused = true)]
async fn reflection_when_needed_waits_for_a_miss_or_a_text() {
    for (outcome, rule, reflections) in [
        (StepOutcome::Met, "ERROR:", 0),
        (StepOutcome::Unmet, "ERROR:", 1),
        (StepOutcome::Met, "198.51.100.7", 1),
    ] {
        let script = ScriptedAnalyst {
            plan: plan(vec![action("a", vec![look_up(1)]), step("b", &["a"])]),
            turns: list([result(outcome), result(StepOutcome::Met)]),
            reflections: list([Reflection::default()]),
            drafts: list([draft(Verdict::TruePositive)]),
            ..ScriptedAnalyst::default()
        };
        let conduct = TriageOptions {
            reflection: ReflectionMode::WhenNeeded,
            replan_when: vec![rule.into()],
            ..TriageOptions::default()
        };
        let state = with(script, conduct).state().await;
        assert_eq!(state.reflections, reflections, "{outcome:?} {rule}");
    }
}

#[tokio::test(start_paused = true)]
async fn conditional_steps_are_asked_for_though_all_steps_were_met() {
    let answer = plan(vec![step("a", &[])]);
    answer.lock().unwrap()[0].conditional = true;
    let added = PlanUpdate::AddStep {
        step: step("b", &[]),
        reason: "its condition holds".into(),
    };
    let script = ScriptedAnalyst {
        plan: answer,
        turns: list([result(StepOutcome::Met), result(StepOutcome::Met)]),
        reflections: list([
            Reflection {
                plan_updates: vec![added],
                ..Reflection::default()
            },
            Reflection::default(),
        ]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let conduct = TriageOptions {
        reflection: ReflectionMode::WhenNeeded,
        ..TriageOptions::default()
    };
    let state = with(script, conduct).state().await;
    let names = state.steps().iter().map(|step| step.name.as_str());
    let names: Vec<_> = names.collect();
    assert_eq!((names, state.reflections), (vec!["a", "b"], 2));
}

#[tokio::test(start_paused = true)]
async fn reflection_every_step_runs_steps_one_by_one() {
    let script = ScriptedAnalyst {
        plan: plan(vec![step("a", &[]), step("b", &[])]),
        turns: list([result(StepOutcome::Met), result(StepOutcome::Met)]),
        reflections: list([Reflection::default()]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    };
    let conduct = TriageOptions {
        reflection: ReflectionMode::EveryStep,
        ..TriageOptions::default()
    };
    let state = with(script, conduct).state().await;
    assert_eq!((state.wave, state.reflections), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_query_waits_for_its_schema() {
    let mut run = ScriptedRun::new(ScriptedAnalyst {
        plan: plan(vec![step("a", &[])]),
        turns: list([
            asks(vec![look_up(1)]),
            asks(vec![ToolCall::new("schema", serde_json::Map::new())]),
            asks(vec![look_up(1)]),
            result(StepOutcome::Met),
        ]),
        drafts: list([draft(Verdict::TruePositive)]),
        ..ScriptedAnalyst::default()
    });
    let mut tools = run.opened.tools.to_vec();
    let mut schema = tools[0].clone();
    schema.name = "schema".into();
    schema.kind = "schema".into();
    tools[1].needs = Some("schema".into());
    tools.push(schema);
    run.opened.tools = tools.into();
    let state = run.state().await;
    let calls = &state.step_views()[0].calls;
    assert!(matches!(
        calls[0].refused,
        Some(ToolError::NotAllowed { .. })
    ));
    assert!(calls[1].evidence.is_some() && calls[2].evidence.is_some());
}

#[tokio::test(start_paused = true)]
async fn the_lesser_analyst_takes_over_and_the_report_says_so() {
    let mut run = ScriptedRun::new(ScriptedAnalyst::default());
    run.fallback = Some(Arc::new(one_step(Verdict::TruePositive)));
    let conclusion = run.conclusion().await;
    assert_eq!(conclusion.verdict, Verdict::TruePositive);
    assert!(conclusion.degraded && conclusion.failed.is_none());
    assert!(conclusion.gaps.iter().any(|gap| gap.contains("took over")));
}

#[tokio::test(start_paused = true)]
async fn a16_a_refusal_is_reported_and_keeps_the_severity() {
    struct RefusingAnalyst;
    #[async_trait]
    impl Analyst for RefusingAnalyst {
        async fn plan(&self, _: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
            Err(AskError::Refused { what: "no".into() }.into())
        }
        async fn turn(&self, _: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
            Err(AskError::Refused { what: "no".into() }.into())
        }
        async fn decide(&self, _: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
            Err(AskError::Refused { what: "no".into() }.into())
        }
        async fn reflect(&self, _: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
            Err(AskError::Refused { what: "no".into() }.into())
        }
        async fn conclude(
            &self,
            _: &ConcludeQuestion,
        ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
            Err(AskError::Refused { what: "no".into() }.into())
        }
    }
    for lesser in [
        None,
        Some(Arc::new(one_step(Verdict::BenignTruePositive)) as Arc<dyn Analyst>),
    ] {
        let run = ScriptedRun::new(ScriptedAnalyst::default());
        let ports = DriverPorts {
            analyst: Arc::new(RefusingAnalyst),
            fallback: lesser,
            ..run.ports()
        };
        let end = drive(&ports, fold(&run.opening()), &CancellationToken::new())
            .await
            .unwrap();
        let CaseEnd::Concluded(state) = end else {
            panic!("{end:?}")
        };
        let conclusion = state.conclusion.unwrap();
        assert_eq!(conclusion.verdict, Verdict::Inconclusive);
        assert_eq!(conclusion.reason, VerdictReason::ModelRefused);
        assert_eq!(
            conclusion.assessed_severity,
            nightshift_alert::Severity::High
        );
    }
}

#[tokio::test(start_paused = true)]
async fn claims_that_do_not_hold_go_back_once() {
    let wrong = ConclusionDraft {
        findings: vec![FindingDraft {
            claim: "it is not listed".into(),
            quotes: vec![QuoteDraft {
                evidence: EvidenceId(2),
                quote: "listed: false".into(),
            }],
            stance: FindingStance::For,
        }],
        ..draft(Verdict::TruePositive)
    };
    for (second, verdict) in [
        (draft(Verdict::TruePositive), Verdict::TruePositive),
        (wrong.clone(), Verdict::Inconclusive),
    ] {
        let script = ScriptedAnalyst {
            drafts: list([wrong.clone(), second, draft(Verdict::TruePositive)]),
            ..one_step(Verdict::TruePositive)
        };
        let mut run = ScriptedRun::new(script);
        run.opened.analyst = AnalystKind::Model;
        let conclusion = run.conclusion().await;
        assert_eq!(conclusion.verdict, verdict);
        assert_eq!(
            run.script.drafts.lock().unwrap().len(),
            1,
            "asked twice, not three times"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn leaning_that_turns_without_actor_text_is_manipulation() {
    for (blanked, reason) in [
        (Verdict::TruePositive, VerdictReason::SuspectedManipulation),
        (
            Verdict::BenignTruePositive,
            VerdictReason::AuthorisedActivity,
        ),
    ] {
        let benign = ConclusionDraft {
            reason: VerdictReason::AuthorisedActivity,
            ..draft(Verdict::BenignTruePositive)
        };
        let mut run = ScriptedRun::new(ScriptedAnalyst {
            drafts: list([benign, draft(blanked)]),
            ..one_step(Verdict::TruePositive)
        });
        run.opened.options.counterfactual = true;
        run.shelf = Arc::new(ScriptedToolbox {
            facts: vec![scanner("198.51.100.7")],
            ..ScriptedToolbox::default()
        });
        assert_eq!(run.conclusion().await.reason, reason);
    }
}
