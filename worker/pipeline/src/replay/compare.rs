//! What differs between two runs of one alert: plan, verdict, findings, tokens and cost.

use nightshift_alert::Severity;
use nightshift_engine::{
    Confidence, Cost, Leaning, Reason, State, StepOutcome, StepStatus, Verdict,
};
use serde::Serialize;

use super::Replayed;

/// One of two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// The profile.
    pub profile: String,
    /// The models that answered.
    pub models: Vec<String>,
    /// The verdict; none where the case had no end.
    pub verdict: Option<Verdict>,
    /// Where an inconclusive one leans.
    pub leaning: Option<Leaning>,
    /// Why.
    pub reason: Option<Reason>,
    /// How sure code is of it.
    pub confidence: Option<Confidence>,
    /// The severity that it was assessed with.
    pub assessed_severity: Option<Severity>,
    /// Steps as they ended.
    pub steps: Vec<StepLine>,
    /// Claims that their evidence bears.
    pub proven: Vec<String>,
    /// Claims that it does not bear.
    pub unverified: Vec<String>,
    /// What it cost.
    pub cost: Cost,
    /// Whether a lesser analyst took over.
    pub degraded: bool,
}

/// A step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepLine {
    /// What it was to find out.
    pub description: String,
    /// How it ended.
    pub status: StepStatus,
    /// What it came to.
    pub outcome: Option<StepOutcome>,
    /// Its calls, `tool(arguments)`.
    pub calls: Vec<String>,
}

/// Two runs of one alert, and what differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The case.
    pub case_id: String,
    /// As it was recorded.
    pub before: Side,
    /// As it came out now.
    pub after: Side,
    /// Whether verdict, leaning and assessed severity are the same.
    pub same_verdict: bool,
    /// Calls of the first run that the second did not make.
    pub calls_left_out: Vec<String>,
    /// Calls of the second run that the first did not make.
    pub calls_added: Vec<String>,
    /// Calls of the second run to which the recording has no answer.
    pub calls_unanswered: Vec<String>,
}

/// Compares two runs.
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
