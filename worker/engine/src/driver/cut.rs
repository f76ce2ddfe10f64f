//! Tests cases that a cap cut short, and cases whose work was done when nothing more could be asked.

use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

use async_trait::async_trait;

use super::budget::PayingAnalyst;
use super::scripted::*;
use super::*;
use crate::conclusion::{Conclusion, ConclusionDraft, Confidence, Verdict, VerdictReason};
use crate::driver::{CaseEnd, DriverPorts, drive};
use crate::fold::fold;
use crate::limits::BudgetCap;
use crate::plan::{StepDraft, StepOutcome};
use crate::port::{Analyst, Answer, NoAnswer};
use crate::question::{
    ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion, ReflectQuestion,
    Reflection, TurnAnswer, TurnQuestion,
};
use crate::strategy::Strategy;

/// Analyst that pays 0.25 USD per question and records the cap that the last question names.
struct CapRecorder {
    paid: PayingAnalyst,
    caps: Mutex<Vec<Option<BudgetCap>>>,
}

#[async_trait]
impl Analyst for CapRecorder {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        self.paid.plan(question).await
    }
    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        self.paid.turn(question).await
    }
    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        self.paid.decide(question).await
    }
    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        self.paid.reflect(question).await
    }
    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        self.caps.lock().unwrap().push(question.stopped_by);
        self.paid.conclude(question).await
    }
}

/// Returns the conclusion of a case that a record clears, under this cap, with 0.25 USD reserved per question.
async fn concluded(script: ScriptedAnalyst, strategy: Strategy, usd: f64) -> Conclusion {
    let mut run = ScriptedRun::new(script);
    run.opened.limits.usd = usd;
    run.opened.reserve.usd = 0.25;
    run.opened.options.strategy = strategy;
    run.shelf = Arc::new(ScriptedToolbox {
        facts: vec![scanner("198.51.100.7")],
        ..ScriptedToolbox::default()
    });
    let analyst = Arc::new(CapRecorder {
        paid: PayingAnalyst {
            script: Arc::clone(&run.script),
            left: AtomicU32::new(u32::MAX),
        },
        caps: Mutex::default(),
    });
    let ports = DriverPorts {
        analyst: analyst.clone(),
        ..run.ports()
    };
    let end = drive(&ports, fold(&run.opening()), &CancellationToken::new()).await;
    let CaseEnd::Concluded(state) = end.unwrap() else {
        panic!("no report")
    };
    let conclusion = state.conclusion.unwrap();
    assert_eq!(*analyst.caps.lock().unwrap(), [conclusion.stopped_by]);
    conclusion
}

#[tokio::test(start_paused = true)]
async fn a_case_that_did_all_its_work_was_not_cut_short() {
    // A plan and two turns cost 0.75 USD, so there is room for the conclusion and nothing else.
    for usd in [1.0, 1.2, 1.3, 5.0] {
        let script = one_step(Verdict::BenignTruePositive);
        let end = concluded(script, Strategy::Planned, usd).await;
        assert_eq!(end.verdict, Verdict::BenignTruePositive, "{usd}");
        assert_eq!(end.stopped_by, None, "{usd}");
        assert_eq!(end.confidence, Confidence::High, "{usd}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_case_that_had_something_left_to_do_was_cut_short() {
    let missed = || ScriptedAnalyst {
        turns: list([asks(vec![address()]), result(StepOutcome::Unmet)]),
        ..one_step(Verdict::BenignTruePositive)
    };
    let two_steps = || ScriptedAnalyst {
        plan: plan(vec![step("a", &[]), step("b", &["a"])]),
        ..one_step(Verdict::BenignTruePositive)
    };
    let acts_once = || ScriptedAnalyst {
        decisions: list([Decision {
            objective: "find out".into(),
            source: String::new(),
            reasoning: "because".into(),
            judgement: None,
            next: Some(StepDraft {
                calls: vec![address()],
                ..step("a", &[])
            }),
        }]),
        ..one_step(Verdict::BenignTruePositive)
    };
    for (left, script, strategy, usd) in [
        ("a turn", missed(), Strategy::Planned, 0.9),
        ("a reflection", missed(), Strategy::Planned, 1.1),
        ("a step", two_steps(), Strategy::Planned, 1.1),
        ("a decision", acts_once(), Strategy::Adaptive, 0.7),
        // The question is asked, has no answer, and cannot be asked again.
        ("its answer", acts_once(), Strategy::Adaptive, 0.9),
    ] {
        let end = concluded(script, strategy, usd).await;
        assert_eq!(end.stopped_by, Some(BudgetCap::Usd), "{left}");
        assert_eq!(end.verdict, Verdict::Inconclusive, "{left}");
        assert_eq!(end.reason, VerdictReason::BudgetExhausted, "{left}");
    }
}
