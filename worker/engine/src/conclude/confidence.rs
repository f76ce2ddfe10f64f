//! Computes the confidence of a conclusion from supported findings, independent tools and gaps. An analyst has no say
//! in it.

use std::collections::BTreeSet;

use super::verdict_rules::PolicyOutcome;
use crate::conclusion::{Confidence, SourceCoverage, Verdict};
use crate::evidence::EvidenceId;
use crate::finding::{Finding, FindingStance, Quote};
use crate::state::CaseState;
use crate::tool::Trust;

/// Returns the confidence in the outcome.
pub(super) fn rate_confidence(
    ruling: &PolicyOutcome,
    findings: &[Finding],
    state: &CaseState,
    coverage: &SourceCoverage,
) -> Confidence {
    let complete = coverage.read == coverage.wanted && state.cut_short_by().is_none();
    match ruling.verdict {
        Verdict::Inconclusive => Confidence::Low,
        Verdict::BenignTruePositive | Verdict::FalsePositive => {
            // The part that was cut from an answer may contradict the outcome.
            let mut evidence = state.evidence.values();
            if complete && !evidence.any(|evidence| state.has_unknown_omissions(evidence)) {
                Confidence::High
            } else {
                Confidence::Medium
            }
        }
        Verdict::TruePositive => {
            let supported: Vec<_> = findings
                .iter()
                .filter(|finding| finding.supported && finding.stance == FindingStance::For)
                .collect();
            let tools: BTreeSet<&str> = supported
                .iter()
                .flat_map(|finding| &finding.evidence)
                .filter(|quote| quote.id != EvidenceId::ALERT && is_trusted(state, quote))
                .filter_map(|quote| state.evidence_of(quote.id))
                .map(|evidence| evidence.tool.as_str())
                .collect();
            let contested = findings
                .iter()
                .any(|finding| finding.supported && finding.stance == FindingStance::Against);
            match (tools.len(), supported.len()) {
                (2.., 2..) if complete && !contested => Confidence::High,
                (1.., 2..) | (2.., _) => Confidence::Medium,
                _ => Confidence::Low,
            }
        }
    }
}

/// Returns whether a platform or a register wrote the quoted text; anybody may have written the rest.
pub(super) fn is_trusted(state: &CaseState, quote: &Quote) -> bool {
    let tools = state.setup.as_ref().map_or(&[][..], |opened| &opened.tools);
    state
        .evidence_of(quote.id)
        .and_then(|evidence| tools.iter().find(|spec| spec.name == evidence.tool))
        .zip(quote.path.as_ref())
        .is_some_and(|(spec, path)| spec.trust_of(path) > Trust::External)
}
