//! Builds the fallback conclusion when no analyst answered.

use crate::conclusion::{ConclusionDraft, Leaning, Verdict, VerdictReason};
use crate::state::CaseState;

/// Lists what was done, without a judgement.
pub(super) fn fallback_draft(state: &CaseState) -> ConclusionDraft {
    let severity = state
        .alert()
        .map_or_else(Default::default, |alert| alert.severity);
    ConclusionDraft {
        verdict: Verdict::Inconclusive,
        leaning: Leaning::None,
        reason: if state.cut_short_by().is_some() {
            VerdictReason::BudgetExhausted
        } else {
            VerdictReason::ToolFailure
        },
        assessed_severity: severity,
        findings: state
            .work
            .values()
            .flat_map(|work| work.findings.iter().cloned())
            .collect(),
        gaps: Vec::new(),
        not_covered: Vec::new(),
        would_decide: vec!["Another run of this case, once the analyst answers".to_owned()],
        actions: Vec::new(),
        meaning: String::new(),
        techniques: Vec::new(),
    }
}
