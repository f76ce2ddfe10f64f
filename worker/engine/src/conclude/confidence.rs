//! Confidence, computed from supported findings, independent tools and gaps. An analyst has no say in it.

use std::collections::BTreeSet;

use super::floor::Ruling;
use crate::conclusion::{Confidence, Coverage, Verdict};
use crate::evidence::EvidenceId;
use crate::finding::{Finding, Quote, Stance};
use crate::state::State;
use crate::tool::Trust;

/// Returns the confidence in the outcome.
pub(super) fn of(
    ruling: &Ruling,
    findings: &[Finding],
    state: &State,
    coverage: &Coverage,
) -> Confidence {
    let complete = coverage.read == coverage.wanted && state.cut_by().is_none();
    match ruling.verdict {
        Verdict::Inconclusive => Confidence::Low,
        Verdict::BenignTruePositive | Verdict::FalsePositive => {
            // The part that was cut from an answer may speak against the outcome.
            let mut evidence = state.evidence.values();
            if complete && !evidence.any(|evidence| state.may_hide(evidence)) {
                Confidence::High
            } else {
                Confidence::Medium
            }
        }
        Verdict::TruePositive => {
            let supported: Vec<_> = findings
                .iter()
                .filter(|finding| finding.supported && finding.stance == Stance::For)
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
                .any(|finding| finding.supported && finding.stance == Stance::Against);
            match (tools.len(), supported.len()) {
                (2.., 2..) if complete && !contested => Confidence::High,
                (1.., 2..) | (2.., _) => Confidence::Medium,
                _ => Confidence::Low,
            }
        }
    }
}

/// Returns whether a platform or a register wrote the quoted text; anybody may have written the rest.
pub(super) fn is_trusted(state: &State, quote: &Quote) -> bool {
    let tools = state
        .opened
        .as_ref()
        .map_or(&[][..], |opened| &opened.tools);
    state
        .evidence_of(quote.id)
        .and_then(|evidence| tools.iter().find(|spec| spec.name == evidence.tool))
        .zip(quote.path.as_ref())
        .is_some_and(|(spec, path)| spec.trust_of(path) > Trust::External)
}
