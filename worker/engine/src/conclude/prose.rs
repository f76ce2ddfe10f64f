//! Filters the prose that a model writes beside its claims, where no quote supports a sentence.
//!
//! A sentence is left out when it names an address, a domain, a hash or an ARN that the case does not hold. When the
//! verdict was overridden, or text in the data addresses the analyst, all prose is left out. Text of rules is not
//! filtered.

use std::sync::OnceLock;

use unicode_segmentation::UnicodeSegmentation as _;

use super::claims::{EvidenceText, unsupported_value};
use crate::conclusion::Verdict;
use crate::state::CaseState;

/// Filter for the prose of a model that a report may show.
pub struct ProseFilter<'a>(ProsePolicy<'a>);

enum ProsePolicy<'a> {
    /// Shows everything; rules wrote it.
    All,
    /// Shows the sentences whose values the case holds.
    OnlyKnownValues {
        state: &'a CaseState,
        /// Evidence of the case, read on first use.
        bodies: OnceLock<Vec<EvidenceText>>,
    },
    /// Shows nothing.
    Hidden,
}

impl<'a> ProseFilter<'a> {
    /// Creates the filter of a case; before the conclusion it shows everything.
    #[must_use]
    pub fn from_state(state: &'a CaseState) -> Self {
        match &state.conclusion {
            Some(conclusion) => {
                Self::for_verdict(state, conclusion.verdict, conclusion.manipulation)
            }
            None => Self(ProsePolicy::All),
        }
    }

    /// Creates the filter for a case with this final verdict.
    pub(super) fn for_verdict(state: &'a CaseState, verdict: Verdict, manipulation: bool) -> Self {
        let overridden = state
            .draft
            .as_ref()
            .is_some_and(|draft| draft.verdict != verdict);
        Self(if state.models.is_empty() {
            ProsePolicy::All
        } else if overridden || manipulation || state.refused {
            ProsePolicy::Hidden
        } else {
            ProsePolicy::OnlyKnownValues {
                state,
                bodies: OnceLock::new(),
            }
        })
    }

    /// Returns the part of a text that may be shown.
    #[must_use]
    pub fn filter_text(&self, text: &str) -> String {
        match &self.0 {
            ProsePolicy::All => text.to_owned(),
            ProsePolicy::Hidden => String::new(),
            ProsePolicy::OnlyKnownValues { state, bodies } => {
                let bodies = || bodies.get_or_init(|| answered_evidence(state));
                let kept: String = text
                    .split_sentence_bounds()
                    .filter(|sentence| has_known_values(sentence, state, &bodies))
                    .collect();
                kept.trim().to_owned()
            }
        }
    }

    /// Returns the parts of lines that may be shown, without empty lines.
    #[must_use]
    pub fn filter_lines(&self, lines: &[String]) -> Vec<String> {
        lines
            .iter()
            .map(|line| self.filter_text(line))
            .filter(|line| !line.is_empty())
            .collect()
    }
}

/// Returns the evidence of answered calls.
fn answered_evidence(state: &CaseState) -> Vec<EvidenceText> {
    state
        .evidence
        .values()
        .filter(|evidence| evidence.error.is_none())
        .map(|evidence| evidence.body.value().into())
        .collect()
}

/// Returns whether the case holds every value that a sentence names.
fn has_known_values<'b>(
    sentence: &str,
    state: &CaseState,
    bodies: &dyn Fn() -> &'b Vec<EvidenceText>,
) -> bool {
    let says = |kind, value: &str| {
        state.knows(kind, value) || bodies().iter().any(|said| said.mentions(kind, value))
    };
    let spells = |word: &str| bodies().iter().any(|said| said.contains_text(word));
    unsupported_value(sentence, &says, &spells).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclusion::ConclusionDraft;
    use crate::fixture;

    fn filtered_sample(state: &CaseState, verdict: Verdict) -> String {
        ProseFilter::for_verdict(state, verdict, false).filter_text(
            "Somebody scans web-01. It was 203.0.113.9, our own scanner. Nobody answered.",
        )
    }

    #[test]
    fn a19_a_sentence_about_what_no_evidence_holds_is_left_out() {
        let mut state = fixture::opened_state();
        let whole = filtered_sample(&state, Verdict::Inconclusive);
        assert!(whole.contains("203.0.113.9"), "rules wrote it: {whole}");
        state.models = vec!["fake/model".to_owned()];
        assert_eq!(
            filtered_sample(&state, Verdict::Inconclusive),
            "Somebody scans web-01. Nobody answered."
        );
    }

    #[test]
    fn a_sentence_may_spell_a_value_as_the_evidence_does() {
        let mut state = fixture::opened_state();
        state.models = vec!["fake/model".to_owned()];
        let mut evidence = crate::evidence::Evidence::clone(
            state.evidence_of(crate::evidence::EvidenceId(0)).unwrap(),
        );
        evidence.id = crate::evidence::EvidenceId(2);
        evidence.body = serde_json::json!({"event": "GET http://203.0.113.66:80/a"}).into();
        state
            .evidence
            .insert(evidence.id, std::sync::Arc::new(evidence));
        let text = "It fetched http://203.0.113.66:80/a twice.";
        assert_eq!(
            ProseFilter::for_verdict(&state, Verdict::Inconclusive, false).filter_text(text),
            text
        );
    }

    #[test]
    fn a19_no_words_of_an_overridden_verdict_remain() {
        let mut state = fixture::opened_state();
        state.models = vec!["fake/model".to_owned()];
        state.draft = Some(ConclusionDraft {
            verdict: Verdict::FalsePositive,
            ..super::super::fallback::fallback_draft(&state)
        });
        assert_eq!(filtered_sample(&state, Verdict::Inconclusive), "");
        assert_ne!(filtered_sample(&state, Verdict::FalsePositive), "");
        assert_eq!(
            ProseFilter::for_verdict(&state, Verdict::FalsePositive, true)
                .filter_text("All is well."),
            ""
        );
    }
}
