//! Implements the verdict rules: only code exonerates.
//!
//! A benign verdict or a lowered severity needs every required subject of the ledger covered and looked up whole (see
//! [`crate::verdict_policy`]). No key step may have failed, whether the plan or the playbook for such alerts marks it.
//! Nothing may have cut the work short, and no text may address the analyst. An analyst may make the verdict worse as
//! long as evidence supports its claims.

use nightshift_alert::{Alert, Severity};

use super::{next_steps, reason};
use crate::conclusion::{ConclusionDraft, Leaning, Verdict, VerdictOverride, VerdictReason};
use crate::finding::{Finding, FindingStance};
use crate::fold::leans_benign;
use crate::plan::StepStatus;
use crate::state::CaseState;
use crate::verdict_policy::Ledger;

/// Names of the rules that may override an analyst, as used in reports and metrics.
pub const OVERRIDES: &[&str] = &[
    "not_exonerated",
    "severity_floor",
    "unsupported_evidence",
    "suspected_manipulation",
    "key_step_failed",
    "cut_short",
    "model_refused",
];

/// Verdict and severity after the rules.
pub(super) struct PolicyOutcome {
    pub(super) verdict: Verdict,
    pub(super) leaning: Leaning,
    pub(super) reason: VerdictReason,
    pub(super) severity: Severity,
    pub(super) would_decide: Vec<String>,
    pub(super) overridden: Vec<VerdictOverride>,
    /// True if a record clears the alert and nothing blocks it.
    pub(super) cleared: bool,
    /// Reason why an alert that records clear is held up.
    pub(super) hold_reason: Option<String>,
}

/// Applies the rules to the analyst's proposal.
pub(super) fn apply_rules(
    state: &CaseState,
    ledger: &Ledger<'_>,
    alert: &Alert,
    draft: &ConclusionDraft,
    findings: &[Finding],
    manipulation: bool,
) -> PolicyOutcome {
    let obstacle = find_blocker(state, ledger, alert, manipulation);
    let mut ruling = PolicyOutcome {
        verdict: draft.verdict,
        leaning: draft.leaning,
        reason: draft.reason,
        severity: draft.assessed_severity,
        would_decide: Vec::new(),
        overridden: Vec::new(),
        cleared: obstacle.is_none(),
        hold_reason: None,
    };
    if let Some(obstacle) = &obstacle {
        ruling.apply_blocker(obstacle, alert, draft, manipulation);
    }
    if let Some(used) = foreign_use(ledger) {
        ruling.apply_foreign_use(used);
    }
    choose_benign_verdict(&mut ruling, ledger);
    ruling.reason = reason::choose_reason(ruling.verdict, ruling.reason, state);
    require_support(&mut ruling, findings);
    apply_refusal(&mut ruling, state, alert);
    apply_cutoff(&mut ruling, state);
    if ruling.verdict != Verdict::Inconclusive {
        ruling.leaning = Leaning::None;
    }
    ruling
}

impl PolicyOutcome {
    /// Applies a blocker, so that nothing is cleared.
    fn apply_blocker(
        &mut self,
        obstacle: &Blocker,
        alert: &Alert,
        draft: &ConclusionDraft,
        manipulation: bool,
    ) {
        // An analyst that considered the case decided named nothing, and after manipulation nothing of its text is
        // shown.
        if draft.verdict.is_benign() || manipulation {
            self.would_decide.clone_from(&obstacle.would_decide);
        }
        if draft.verdict.is_benign() {
            self.verdict = Verdict::Inconclusive;
            self.leaning = obstacle.leaning;
            self.reason = obstacle.reason;
            let said = draft.verdict.title().to_lowercase();
            self.record_override(
                obstacle.rule,
                &obstacle.text,
                &format!("the analyst said {said}; {}", obstacle.text),
            );
        } else if manipulation && leans_benign(draft) {
            self.leaning = Leaning::None;
            self.reason = obstacle.reason;
            self.record_override(
                obstacle.rule,
                &obstacle.text,
                &format!("the analyst leaned towards benign; {}", obstacle.text),
            );
        }
        if self.severity < alert.severity {
            self.severity = alert.severity;
            self.record_override(
                "severity_floor",
                &obstacle.text,
                &format!("the severity stays {}; {}", alert.severity, obstacle.text),
            );
        }
    }

    /// Names what records do not cover, also when the analyst concluded nothing about it. The analyst may have used the
    /// fact without naming it.
    fn apply_foreign_use(&mut self, used: ForeignUse) {
        if self.verdict == Verdict::Inconclusive && self.leaning == Leaning::Benign {
            self.leaning = Leaning::None;
            self.record_override(
                "not_exonerated",
                &used.text,
                &format!("the case leaned towards benign; {}", used.text),
            );
        }
        let known = std::mem::take(&mut self.would_decide);
        let more = known
            .into_iter()
            .filter(|line| !used.would_decide.contains(line));
        self.would_decide = used.would_decide.iter().cloned().chain(more).collect();
        self.hold_reason = Some(used.text);
    }

    fn record_override(&mut self, rule: &str, why: &str, text: &str) {
        self.overridden.push(VerdictOverride {
            rule: rule.to_owned(),
            text: text.to_owned(),
            why: why.to_owned(),
        });
    }
}

/// Chooses the benign verdict: the detection is wrong only where a record says so.
fn choose_benign_verdict(ruling: &mut PolicyOutcome, ledger: &Ledger<'_>) {
    if ruling.verdict == Verdict::FalsePositive && !ledger.is_detection_wrong() {
        let why = "no record that clears it says that the detection is wrong";
        ruling.verdict = Verdict::BenignTruePositive;
        ruling.record_override(
            "not_exonerated",
            why,
            &format!("the analyst said false positive; {why}"),
        );
    }
}

/// Rejects a true positive without a single supported claim.
fn require_support(ruling: &mut PolicyOutcome, findings: &[Finding]) {
    let borne = findings
        .iter()
        .any(|finding| finding.supported && finding.stance == FindingStance::For);
    if ruling.verdict == Verdict::TruePositive && !borne {
        ruling.verdict = Verdict::Inconclusive;
        ruling.leaning = Leaning::Malicious;
        ruling.reason = VerdictReason::UnsupportedEvidence;
        ruling.record_override(
            "unsupported_evidence",
            "no claim that would prove it is borne by evidence",
            "the analyst said true positive; no claim of it is borne by evidence",
        );
    }
}

/// Applies the refusal of an analyst: the verdict is undecided and the severity stays.
fn apply_refusal(ruling: &mut PolicyOutcome, state: &CaseState, alert: &Alert) {
    if !state.refused {
        return;
    }
    if ruling.verdict == Verdict::TruePositive {
        ruling.leaning = Leaning::Malicious;
    } else if ruling.verdict.is_benign() {
        ruling.leaning = Leaning::None;
    }
    ruling.verdict = Verdict::Inconclusive;
    ruling.reason = VerdictReason::ModelRefused;
    ruling.severity = ruling.severity.max(alert.severity);
    ruling.record_override(
        "model_refused",
        "the model would not answer",
        "the model would not answer a question, so nothing is decided",
    );
}

/// Marks a case whose work was cut short, unless its evidence is enough.
fn apply_cutoff(ruling: &mut PolicyOutcome, state: &CaseState) {
    if state.cut_short_by().is_some() && ruling.verdict == Verdict::Inconclusive {
        ruling.reason = VerdictReason::BudgetExhausted;
    }
}

/// A reason that keeps an alert from being cleared.
pub(super) struct Blocker {
    rule: &'static str,
    reason: VerdictReason,
    pub(super) text: String,
    /// Leaning of the case when the analyst took it for benign.
    leaning: Leaning,
    would_decide: Vec<String>,
}

impl Blocker {
    /// Creates a blocker that does not contradict a benign leaning.
    fn new(
        rule: &'static str,
        reason: VerdictReason,
        text: String,
        would_decide: Vec<String>,
    ) -> Self {
        Self {
            rule,
            reason,
            text,
            leaning: Leaning::Benign,
            would_decide,
        }
    }

    /// Creates the blocker for manipulation.
    fn from_manipulation(state: &CaseState, alert: &Alert) -> Self {
        let text = "text in the data talks to the analyst, so nothing in it may clear the alert";
        Self {
            leaning: Leaning::None,
            ..Self::new(
                "suspected_manipulation",
                VerdictReason::SuspectedManipulation,
                text.to_owned(),
                next_steps::after_manipulation(state, alert),
            )
        }
    }
}

/// Returns the reason why nothing may clear this alert, if there is one.
pub(super) fn find_blocker(
    state: &CaseState,
    ledger: &Ledger<'_>,
    alert: &Alert,
    manipulation: bool,
) -> Option<Blocker> {
    if manipulation {
        return Some(Blocker::from_manipulation(state, alert));
    }
    let key_step = state
        .steps()
        .iter()
        .find(|step| step.key && matches!(step.status, StepStatus::Failed | StepStatus::NotRun));
    if let Some(step) = key_step {
        return Some(Blocker::new(
            "key_step_failed",
            VerdictReason::ToolFailure,
            format!("the key step {} came to no result", step.id),
            // The report's gaps name the step and its failure.
            Vec::new(),
        ));
    }
    if state.cut_short_by().is_some() || state.plan_error.is_some() {
        return Some(Blocker::new(
            "cut_short",
            VerdictReason::BudgetExhausted,
            "the work was cut short".to_owned(),
            vec![next_steps::after_cutoff(state)],
        ));
    }
    if !ledger.covers_alert() {
        return Some(Blocker::new(
            "not_exonerated",
            VerdictReason::NotExonerated,
            "no approved record clears it".to_owned(),
            ledger.would_decide(),
        ));
    }
    if let Some(text) = unanswered_step(state) {
        return Some(Blocker::new(
            "key_step_failed",
            VerdictReason::ToolFailure,
            text,
            // The report's gaps name everything without an answer.
            Vec::new(),
        ));
    }
    if let Some(text) = ledger.shown_uncovered() {
        return Some(Blocker {
            // A record that clears the rest says nothing about who acted.
            leaning: Leaning::None,
            ..Blocker::new(
                "not_exonerated",
                VerdictReason::NotExonerated,
                text,
                ledger.would_decide(),
            )
        });
    }
    ledger.missing_lookup(state).map(|text| {
        let would_decide = vec![format!("A whole look-up: {text}")];
        Blocker::new(
            "key_step_failed",
            VerdictReason::ToolFailure,
            text,
            would_decide,
        )
    })
}

/// Use that logs show beside an alert whose own subjects records clear.
struct ForeignUse {
    /// The blocker in half a sentence.
    text: String,
    would_decide: Vec<String>,
}

fn foreign_use(ledger: &Ledger<'_>) -> Option<ForeignUse> {
    let text = ledger.shown_uncovered().filter(|_| ledger.covers_alert())?;
    Some(ForeignUse {
        text,
        would_decide: ledger.would_decide(),
    })
}

/// Returns what the rules want answered before clearing, and what has no answer. The plan may come from an analyst
/// that marked no step as key, or asked nothing.
fn unanswered_step(state: &CaseState) -> Option<String> {
    let first = state.unanswered.first()?;
    Some(match state.unanswered.len() {
        1 => first.clone(),
        all => format!("{first} (and {} more)", all - 1),
    })
}

/// Returns the missing answer when it is all that holds up an alert which records clear.
pub(super) fn missing_answer(state: &CaseState, ledger: &Ledger<'_>) -> Option<String> {
    if !ledger.covers_alert() {
        return None;
    }
    unanswered_step(state).or_else(|| ledger.missing_lookup(state))
}

/// Returns all missing answers where they explain why the alert is not cleared: the analyst called it benign or less
/// severe, or records clear it and nothing is decided. Otherwise an unneeded question is not a gap.
pub(super) fn unanswered_gaps(
    state: &CaseState,
    ledger: &Ledger<'_>,
    alert: &Alert,
    draft: &ConclusionDraft,
) -> Vec<String> {
    let is_softer = draft.verdict.is_benign() || draft.assessed_severity < alert.severity;
    let is_open = draft.verdict == Verdict::Inconclusive && ledger.covers_alert();
    if is_softer || is_open {
        state.unanswered.clone()
    } else {
        Vec::new()
    }
}

/// Returns whether records clear the alert and the logged acts of its actors. For an alert whose own subjects records
/// clear, also returns what holds it up, in half a sentence: other use, or a missing answer.
pub(crate) fn clearance(state: &CaseState, ledger: &Ledger<'_>) -> (bool, Option<String>) {
    if !ledger.covers_alert() {
        return (false, None);
    }
    match ledger.shown_uncovered() {
        Some(used) => (false, Some(used)),
        None => (
            true,
            unanswered_step(state).or_else(|| ledger.missing_lookup(state)),
        ),
    }
}
