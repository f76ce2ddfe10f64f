//! Filters the prose that a model writes beside its claims, where no quote supports a sentence.
//!
//! A sentence is left out when it names an address, a domain, a hash or an ARN that the case does not hold. When the
//! verdict was overridden, or text in the data addresses the analyst, all prose is left out. Text of rules is not
//! filtered.

use std::sync::OnceLock;

use unicode_segmentation::UnicodeSegmentation as _;

use super::claims::{Said, unsaid};
use crate::conclusion::Verdict;
use crate::state::State;

/// Filter for the prose of a model that a report may show.
pub struct Prose<'a>(Kept<'a>);

enum Kept<'a> {
    /// Shows everything; rules wrote it.
    All,
    /// Shows the sentences whose values the case holds.
    Known {
        state: &'a State,
        /// Evidence of the case, read on first use.
        bodies: OnceLock<Vec<Said>>,
    },
    /// Shows nothing.
    Nothing,
}

impl<'a> Prose<'a> {
    /// Creates the filter of a case; before the conclusion it shows everything.
    #[must_use]
    pub fn of(state: &'a State) -> Self {
        match &state.conclusion {
            Some(conclusion) => Self::under(state, conclusion.verdict, conclusion.manipulation),
            None => Self(Kept::All),
        }
    }

    /// Creates the filter for a case with this final verdict.
    pub(super) fn under(state: &'a State, verdict: Verdict, manipulation: bool) -> Self {
        let overridden = state
            .draft
            .as_ref()
            .is_some_and(|draft| draft.verdict != verdict);
        Self(if state.models.is_empty() {
            Kept::All
        } else if overridden || manipulation || state.refused {
            Kept::Nothing
        } else {
            Kept::Known {
                state,
                bodies: OnceLock::new(),
            }
        })
    }

    /// Returns the part of a text that may be shown.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        match &self.0 {
            Kept::All => text.to_owned(),
            Kept::Nothing => String::new(),
            Kept::Known { state, bodies } => {
                let bodies = || bodies.get_or_init(|| read(state));
                let kept: String = text
                    .split_sentence_bounds()
                    .filter(|sentence| stands(sentence, state, &bodies))
                    .collect();
                kept.trim().to_owned()
            }
        }
    }

    /// Returns the parts of lines that may be shown, without empty lines.
    #[must_use]
    pub fn lines(&self, lines: &[String]) -> Vec<String> {
        lines
            .iter()
            .map(|line| self.text(line))
            .filter(|line| !line.is_empty())
            .collect()
    }
}

/// Returns the evidence of answered calls.
fn read(state: &State) -> Vec<Said> {
    state
        .evidence
        .values()
        .filter(|evidence| evidence.error.is_none())
        .map(|evidence| evidence.body.value().into())
        .collect()
}

/// Returns whether the case holds every value that a sentence names.
fn stands<'b>(sentence: &str, state: &State, bodies: &dyn Fn() -> &'b Vec<Said>) -> bool {
    let says = |kind, value: &str| {
        state.knows(kind, value) || bodies().iter().any(|said| said.mentions(kind, value))
    };
    let spells = |word: &str| bodies().iter().any(|said| said.spells(word));
    unsaid(sentence, &says, &spells).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclusion::ConclusionDraft;
    use crate::fixture;

    fn said(state: &State, verdict: Verdict) -> String {
        Prose::under(state, verdict, false)
            .text("Somebody scans web-01. It was 203.0.113.9, our own scanner. Nobody answered.")
    }

    #[test]
    fn a19_a_sentence_about_what_no_evidence_holds_is_left_out() {
        let mut state = fixture::opened_state();
        let whole = said(&state, Verdict::Inconclusive);
        assert!(whole.contains("203.0.113.9"), "rules wrote it: {whole}");
        state.models = vec!["fake/model".to_owned()];
        assert_eq!(
            said(&state, Verdict::Inconclusive),
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
            Prose::under(&state, Verdict::Inconclusive, false).text(text),
            text
        );
    }

    #[test]
    fn a19_nothing_is_left_of_the_words_of_a_verdict_that_was_overridden() {
        let mut state = fixture::opened_state();
        state.models = vec!["fake/model".to_owned()];
        state.draft = Some(ConclusionDraft {
            verdict: Verdict::FalsePositive,
            ..super::super::plain::draft(&state)
        });
        assert_eq!(said(&state, Verdict::Inconclusive), "");
        assert_ne!(said(&state, Verdict::FalsePositive), "");
        assert_eq!(
            Prose::under(&state, Verdict::FalsePositive, true).text("All is well."),
            ""
        );
    }
}
