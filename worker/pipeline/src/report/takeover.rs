//! Records where rules took over from a model. The report then has the rules' conclusions, even if a model made the
//! plan.

use nightshift_engine::event::CommandId;
use nightshift_engine::state::CaseState;
use serde::{Deserialize, Serialize};

use crate::language::Language;

/// The first question that the fallback analyst answered instead of the model. The fallback had the case from then
/// on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takeover {
    /// Name of the question's command.
    pub at: String,
    /// Reason why the model did not answer.
    pub why: String,
    /// True if the fallback analyst made the conclusion.
    pub concluded: bool,
}

impl Takeover {
    /// Returns the takeover of a case, or `None` if there was none.
    pub(super) fn from_state(state: &CaseState) -> Option<Self> {
        let (at, why) = state.degraded.first()?.split_once(": ")?;
        Some(Self {
            // With the actor's fields blanked a conclusion is only requested again.
            concluded: state.draft.is_some() && at != CommandId::counterfactual().0,
            at: at.to_owned(),
            why: why.to_owned(),
        })
    }

    /// Returns the question in words: `step s1`, `the plan`.
    #[must_use]
    pub fn place(&self, language: Language) -> String {
        let mut parts = self.at.split(':');
        let (question, which) = (parts.next(), parts.next());
        match (question, which) {
            (Some("turn"), Some(step)) => format!("{} {step}", language.pick("step", "手順")),
            (Some("decide"), Some(which)) => {
                format!("{} {which}", language.pick("decision", "判断"))
            }
            (Some("reflect"), Some(which)) => {
                format!("{} {which}", language.pick("reflection", "見直し"))
            }
            (Some("plan"), _) => language.pick("the plan", "計画").to_owned(),
            _ => language.pick("the conclusion", "結論").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_concluded_is_who_answered_last() {
        let at = |command: &str, has_draft: bool| {
            let draft = serde_json::json!({
                "verdict": "inconclusive", "reason": "missing_data", "assessed_severity": "high",
            });
            let mut state = CaseState {
                degraded: vec![
                    format!("{command}: no answer: HTTP 500: overloaded"),
                    "conclude: no answer".to_owned(),
                ],
                ..CaseState::default()
            };
            if has_draft {
                state.draft = serde_json::from_value(draft).unwrap();
            }
            let found = Takeover::from_state(&state).unwrap();
            assert_eq!(found.why, "no answer: HTTP 500: overloaded");
            (found.place(Language::En), found.concluded)
        };
        assert_eq!(at("plan", true), ("the plan".to_owned(), true));
        assert_eq!(at("turn:s2:3", true), ("step s2".to_owned(), true));
        assert_eq!(at("turn:s2:3", false), ("step s2".to_owned(), false));
        assert_eq!(at("reflect:1", true), ("reflection 1".to_owned(), true));
        let conclusion = "the conclusion".to_owned();
        assert_eq!(at("conclude", true), (conclusion.clone(), true));
        assert_eq!(at("conclude:blanked", true), (conclusion, false));
        assert_eq!(Takeover::from_state(&CaseState::default()), None);
    }
}
