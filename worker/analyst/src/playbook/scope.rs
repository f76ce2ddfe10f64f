//! Sets the variables that expressions of a playbook see.

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::Serde;
use nightshift_alert::Alert;
use nightshift_expression::scope::Scope;

use super::facts::{CaseFacts, FACTS, FINDINGS, QuestionParts};
use super::language::LANGUAGE;
use super::playbook_file::Playbook;

/// Returns the facts and the scope for one question.
pub(super) fn of_question(
    playbook: &Playbook,
    alert: &Arc<Alert>,
    parts: &QuestionParts<'_>,
) -> (Arc<CaseFacts>, Scope) {
    let (facts, results) = CaseFacts::from_question(playbook, alert, parts);
    let subject = alert.subject().unwrap_or("the resource");
    let scope = scope(playbook, &facts, results, parts, subject);
    (facts, scope)
}

/// Returns the scope of an empty case, for checks before there is a case.
pub(super) fn blank(playbook: &Playbook) -> Scope {
    let (facts, results) = CaseFacts::blank(playbook);
    scope(playbook, &facts, results, &QuestionParts::default(), "")
}

fn scope(
    playbook: &Playbook,
    facts: &Arc<CaseFacts>,
    results: Value,
    parts: &QuestionParts<'_>,
    subject: &str,
) -> Scope {
    let mut scope = Scope::new(&LANGUAGE);
    scope.set("alert", Value::from_dyn_object(Arc::clone(facts)));
    scope.set("results", results);
    scope.set("past", facts.past_value());
    scope.set("cleared", Value::from(parts.cleared));
    scope.set("exonerations", Value::from(Serde(parts.exonerations)));
    scope.set(FINDINGS, Value::from(Vec::<String>::new()));
    scope.set(FACTS, Value::from_dyn_object(Arc::clone(facts)));
    scope.set("subject", Value::from(subject));
    let lets = playbook.lets();
    scope.define(
        lets.iter()
            .map(|(name, expression)| (name.as_str(), expression.get_ref().as_str())),
    );
    scope
}
