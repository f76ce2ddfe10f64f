//! Compares two runs of one alert: plan, verdict, findings, tokens and cost.

use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Confidence, Leaning, Reason, Verdict};
use nightshift_engine::limits::Cost;
use nightshift_engine::plan::{StepOutcome, StepStatus};
use nightshift_engine::state::State;
use serde::Serialize;

use super::Replayed;

/// One of the two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    pub profile: String,
    /// Models that answered.
    pub models: Vec<String>,
    /// Verdict; `None` if the run did not conclude.
    pub verdict: Option<Verdict>,
    /// Leaning of an inconclusive verdict.
    pub leaning: Option<Leaning>,
    pub reason: Option<Reason>,
    /// Confidence that code computed.
    pub confidence: Option<Confidence>,
    /// Severity after triage.
    pub assessed_severity: Option<Severity>,
    /// Steps in their final state.
    pub steps: Vec<StepLine>,
    /// Claims that their evidence supports.
    pub proven: Vec<String>,
    /// Claims that their evidence does not support.
    pub unverified: Vec<String>,
    pub cost: Cost,
    /// Whether the fallback analyst took over.
    pub degraded: bool,
}

/// A step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepLine {
    /// Objective of the step.
    pub description: String,
    /// Final status.
    pub status: StepStatus,
    pub outcome: Option<StepOutcome>,
    /// Calls, as `tool(arguments)`.
    pub calls: Vec<String>,
}

/// Two runs of one alert and their differences.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    pub case_id: String,
    /// The recorded run.
    pub before: Side,
    /// The replayed run.
    pub after: Side,
    /// Whether verdict, leaning and assessed severity are equal.
    pub same_verdict: bool,
    /// Calls of the first run that the second did not make.
    pub calls_left_out: Vec<String>,
    /// Calls of the second run that the first did not make.
    pub calls_added: Vec<String>,
    /// Calls of the second run that the recording does not answer.
    pub calls_unanswered: Vec<String>,
}

#[must_use]
pub fn compare(replayed: &Replayed) -> Difference {
    let (before, after) = (&replayed.before, &replayed.after);
    let (one, two) = (side(before), side(after));
    let calls = |side: &Side| -> Vec<String> {
        let all = side.steps.iter().flat_map(|step| step.calls.clone());
        all.collect()
    };
    let (calls_before, calls_after) = (calls(&one), calls(&two));
    let without = |these: &[String], those: &[String]| -> Vec<String> {
        let mut left: Vec<String> = these
            .iter()
            .filter(|call| !those.contains(call))
            .cloned()
            .collect();
        left.dedup();
        left
    };
    let mut unanswered = replayed.missing.clone();
    unanswered.sort_unstable();
    unanswered.dedup();
    Difference {
        case_id: before
            .opened
            .as_ref()
            .map(|opened| opened.case_id.clone())
            .unwrap_or_default(),
        same_verdict: one.verdict == two.verdict
            && one.leaning == two.leaning
            && one.assessed_severity == two.assessed_severity,
        calls_left_out: without(&calls_before, &calls_after),
        calls_added: without(&calls_after, &calls_before),
        calls_unanswered: unanswered,
        before: one,
        after: two,
    }
}

fn side(state: &State) -> Side {
    let conclusion = state.conclusion.as_ref();
    let claims = |supported: bool| -> Vec<String> {
        let findings = conclusion.map_or(&[][..], |conclusion| &conclusion.findings);
        findings
            .iter()
            .filter(|finding| finding.supported == supported)
            .map(|finding| finding.claim.clone())
            .collect()
    };
    Side {
        profile: state
            .opened
            .as_ref()
            .map(|opened| opened.profile.clone())
            .unwrap_or_default(),
        models: state.models.clone(),
        verdict: conclusion.map(|conclusion| conclusion.verdict),
        leaning: conclusion.map(|conclusion| conclusion.leaning),
        reason: conclusion.map(|conclusion| conclusion.reason),
        confidence: conclusion.map(|conclusion| conclusion.confidence),
        assessed_severity: conclusion.map(|conclusion| conclusion.assessed_severity),
        steps: state
            .step_views()
            .into_iter()
            .map(|view| StepLine {
                description: view.step.description,
                status: view.step.status,
                outcome: view.step.outcome,
                calls: view.calls.iter().map(|call| call.call.identity()).collect(),
            })
            .collect(),
        proven: claims(true),
        unverified: claims(false),
        cost: state.spent,
        degraded: !state.degraded.is_empty(),
    }
}
