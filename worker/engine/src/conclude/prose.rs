//! Prose: what a model writes beside its claims, where no quote stands behind a sentence.
//!
//! A sentence that names an address, a domain, a hash or an ARN which nothing of the case holds is left out. Where the
//! verdict was overridden, or text in the data talks to the analyst, all of it is. What rules write is as it is.

use std::sync::OnceLock;

use unicode_segmentation::UnicodeSegmentation as _;

use super::claims::{Said, unsaid};
use crate::{State, Verdict};

/// What of a model's prose a report may show.
pub struct Prose<'a>(Kept<'a>);

enum Kept<'a> {
    /// All: rules wrote it.
    All,
    /// The sentences whose values stand in what the case holds.
    Known {
        state: &'a State,
        /// Its evidence, read when it is first asked for.
        bodies: OnceLock<Vec<Said>>,
    },
    /// Nothing.
    Nothing,
}

impl<'a> Prose<'a> {
    /// That of a concluded case; all of it before the conclusion.
    #[must_use]
    pub fn of(state: &'a State) -> Self {
        match &state.conclusion {
            Some(conclusion) => Self::under(state, conclusion.verdict, conclusion.manipulation),
            None => Self(Kept::All),
        }
    }

    /// That of a case whose verdict came to be this one.
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

    /// What may be shown of a text.
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

    /// What may be shown of lines; one of which nothing is left goes.
    #[must_use]
    pub fn lines(&self, lines: &[String]) -> Vec<String> {
        lines
            .iter()
            .map(|line| self.text(line))
            .filter(|line| !line.is_empty())
            .collect()
    }
}

/// The evidence of calls that were answered.
fn read(state: &State) -> Vec<Said> {
    state
        .evidence
        .values()
        .filter(|evidence| evidence.error.is_none())
        .map(|evidence| evidence.body.value().into())
        .collect()
}

/// Whether the case holds every value that a sentence names.
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
    use crate::{ConclusionDraft, fixture};

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
        let mut evidence = crate::Evidence::clone(state.evidence_of(crate::EvidenceId(0)).unwrap());
        evidence.id = crate::EvidenceId(2);
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
