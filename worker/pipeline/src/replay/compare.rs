//! Compares two runs of one alert: plan, verdict, findings, tokens and cost.

use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Confidence, Leaning, Verdict, VerdictReason};
use nightshift_engine::limits::Cost;
use nightshift_engine::plan::{StepOutcome, StepStatus};
use nightshift_engine::state::CaseState;
use serde::Serialize;

use super::ReplayOutcome;

/// One of the two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    pub profile: String,
    /// Models that answered.
    pub models: Vec<String>,
    /// Verdict; `None` if the run did not conclude.
    pub verdict: Option<Verdict>,
    /// Leaning of an inconclusive verdict.
    pub leaning: Option<Leaning>,
    pub reason: Option<VerdictReason>,
    /// Confidence that code computed.
    pub confidence: Option<Confidence>,
    /// Severity after triage.
    pub assessed_severity: Option<Severity>,
    /// Steps in their final state.
    pub steps: Vec<StepSummary>,
    /// Claims that their evidence supports.
    pub proven: Vec<String>,
    /// Claims that their evidence does not support.
    pub unverified: Vec<String>,
    pub cost: Cost,
    /// True if the fallback analyst took over.
    pub degraded: bool,
}

/// A step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepSummary {
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
pub struct ReplayDifference {
    pub case_id: String,
    /// The recorded run.
    pub before: RunSummary,
    /// The replayed run.
    pub after: RunSummary,
    /// True if verdict, leaning and assessed severity are equal.
    pub same_verdict: bool,
    /// Calls of the first run that the second did not make.
    pub calls_left_out: Vec<String>,
    /// Calls of the second run that the first did not make.
    pub calls_added: Vec<String>,
    /// Calls of the second run that the recording does not answer.
    pub calls_unanswered: Vec<String>,
}

#[must_use]
pub fn compare(replayed: &ReplayOutcome) -> ReplayDifference {
    let (before, after) = (&replayed.before, &replayed.after);
    let (one, two) = (summarize_run(before), summarize_run(after));
    let calls = |side: &RunSummary| -> Vec<String> {
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
    ReplayDifference {
        case_id: before
            .setup
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

fn summarize_run(state: &CaseState) -> RunSummary {
    let conclusion = state.conclusion.as_ref();
    let claims = |supported: bool| -> Vec<String> {
        let findings = conclusion.map_or(&[][..], |conclusion| &conclusion.findings);
        findings
            .iter()
            .filter(|finding| finding.supported == supported)
            .map(|finding| finding.claim.clone())
            .collect()
    };
    RunSummary {
        profile: state
            .setup
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
            .map(|view| StepSummary {
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
