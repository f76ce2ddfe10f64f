//! Claims: each must be borne by the evidence that it cites.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{EvidenceId, Finding, FindingDraft, Quote, State, resolve};

/// What the evidence says that findings cite, read once for all of them.
pub(super) struct Cited(BTreeMap<EvidenceId, Value>);

impl Cited {
    /// That of these findings.
    pub(super) fn of(findings: &[FindingDraft], state: &State) -> Self {
        let cited: BTreeSet<EvidenceId> = findings
            .iter()
            .flat_map(|draft| &draft.quotes)
            .map(|quote| quote.evidence)
            .collect();
        let bodies = cited
            .into_iter()
            .filter_map(|id| state.evidence_of(id))
            // A call that failed says nothing, not even `null`.
            .filter(|evidence| evidence.error.is_none())
            .map(|evidence| (evidence.id, evidence.body.value()))
            .collect();
        Self(bodies)
    }
}

/// Checks one finding. What fails is kept, and counts for nothing.
pub(super) fn check(draft: &FindingDraft, cited: &Cited) -> Finding {
    let body = |id| cited.0.get(&id);
    let evidence: Vec<Quote> = draft
        .quotes
        .iter()
        .map(|quote| Quote {
            id: quote.evidence,
            quote: quote.quote.clone(),
            path: body(quote.evidence).and_then(|body| resolve(body, &quote.quote)),
        })
        .collect();
    let bodies: Vec<&Value> = evidence.iter().filter_map(|quote| body(quote.id)).collect();
    let problem = problem(draft, &evidence, &bodies);
    Finding {
        claim: draft.claim.clone(),
        supported: problem.is_none(),
        problem,
        evidence,
        stance: draft.stance,
    }
}

fn problem(draft: &FindingDraft, quotes: &[Quote], bodies: &[&Value]) -> Option<String> {
    if quotes.is_empty() {
        return Some("it cites no evidence".to_owned());
    }
    if let Some(quote) = quotes.iter().find(|quote| quote.path.is_none()) {
        return Some(format!("{} does not say {:?}", quote.id, quote.quote));
    }
    nightshift_alert::indicator::extract(&draft.claim)
        .into_iter()
        .find(|(_, value)| !bodies.iter().any(|body| mentions(body, value)))
        .map(|(kind, value)| format!("the {kind} {value} does not stand in what it cites"))
}

/// Whether a value stands somewhere in the evidence, in any case of letters.
fn mentions(body: &Value, value: &str) -> bool {
    match body {
        Value::String(text) => text.to_lowercase().contains(&value.to_lowercase()),
        Value::Array(list) => list.iter().any(|inner| mentions(inner, value)),
        Value::Object(map) => map
            .iter()
            .any(|(key, inner)| key.contains(value) || mentions(inner, value)),
        Value::Number(number) => number.to_string() == value,
        Value::Bool(_) | Value::Null => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Evidence, QuoteDraft, Stance, ToolError, fixture};

    #[test]
    fn a19_of_a_call_that_failed_nothing_can_be_quoted() {
        let mut state = fixture::opened_state();
        let mut failed = Evidence::clone(state.evidence_of(EvidenceId::ALERT).unwrap());
        failed.id = EvidenceId(2);
        failed.body = Value::Null.into();
        failed.error = Some(ToolError::Unavailable {
            what: "the register".to_owned(),
        });
        state.evidence.insert(failed.id, Arc::new(failed));
        let draft = FindingDraft {
            claim: "Nobody allowed it.".to_owned(),
            quotes: vec![QuoteDraft {
                evidence: EvidenceId(2),
                quote: "null".to_owned(),
            }],
            stance: Stance::For,
        };
        let cited = Cited::of(std::slice::from_ref(&draft), &state);
        let finding = check(&draft, &cited);
        assert!(!finding.supported, "{finding:?}");
        assert_eq!(finding.evidence[0].path, None);
    }
}
