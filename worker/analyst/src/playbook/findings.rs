//! Makes findings of the rules of a playbook that hold, with the places of the evidence for their claims.
//!
//! A finding without a place in the evidence is not made. A rule that cannot be evaluated is reported.

use std::sync::{Arc, OnceLock};

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr};
use nightshift_alert::Technique;
use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::finding::{FindingDraft, QuoteDraft};
use nightshift_expression::error::EvaluationError;
use nightshift_expression::scope::Scope;

use super::facts::{CaseFacts, FINDINGS};
use super::playbook_file::{FindingForm, Playbook, SpannedText};
use super::quote;

/// The findings of the rules of a playbook.
#[derive(Debug, Default)]
pub(super) struct RuleFindings {
    /// The findings, in the order of the rules.
    pub(super) drafts: Vec<FindingDraft>,
    /// Ids of the rules that made a finding.
    ids: Vec<String>,
    /// Techniques that the findings show.
    pub(super) techniques: Vec<Technique>,
    /// Rules that could not be evaluated.
    pub(super) problems: Vec<String>,
}

/// The ids of the findings of a case, evaluated at their first use.
#[derive(Debug)]
struct LazyFindings {
    playbook: Arc<Playbook>,
    facts: Arc<CaseFacts>,
    /// The scope in which the rules are evaluated.
    scope: Scope,
    ids: OnceLock<Vec<String>>,
}

impl LazyFindings {
    fn ids(&self) -> &[String] {
        let make = || evaluate(&self.playbook, &self.facts, &mut self.scope.clone()).ids;
        self.ids.get_or_init(make)
    }
}

/// The findings used as a value are the list of their ids.
impl Object for LazyFindings {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let id = self.ids().get(key.as_usize()?)?;
        Some(Value::from(id.as_str()))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.ids().len())
    }
}

/// Sets the ids of the findings, which are evaluated when a rule first asks.
pub(super) fn set_lazy(playbook: &Arc<Playbook>, facts: &Arc<CaseFacts>, scope: &mut Scope) {
    let lazy = LazyFindings {
        playbook: Arc::clone(playbook),
        facts: Arc::clone(facts),
        scope: scope.clone(),
        ids: OnceLock::new(),
    };
    scope.set(FINDINGS, Value::from_object(lazy));
}

/// Evaluates all finding rules and sets in `scope` which of them made a finding.
pub(super) fn evaluate(playbook: &Playbook, facts: &CaseFacts, scope: &mut Scope) -> RuleFindings {
    let mut made = RuleFindings::default();
    for form in &playbook.findings {
        match evaluate_rule(form, facts, scope) {
            Ok((drafts, _)) if drafts.is_empty() => {}
            Ok((drafts, techniques)) => {
                made.drafts.extend(drafts);
                made.ids.push(form.id.get_ref().clone());
                add_techniques(&mut made.techniques, &techniques);
                scope.set(FINDINGS, Value::from(made.ids.clone()));
            }
            Err(error) => made.problems.push(format!(
                "Rule \"{}\" of playbook {} could not be evaluated: {error}",
                form.id.get_ref(),
                playbook.name
            )),
        }
    }
    made
}

/// Returns the findings of a rule, and the techniques that they show.
fn evaluate_rule(
    form: &FindingForm,
    facts: &CaseFacts,
    scope: &Scope,
) -> Result<(Vec<FindingDraft>, Vec<String>), EvaluationError> {
    let for_each = form.for_each.as_ref().map(|list| list.get_ref().as_str());
    let when = form.when.as_ref().map(|when| when.get_ref().as_str());
    let mut drafts: Vec<FindingDraft> = Vec::new();
    let mut techniques = Vec::new();
    for item in scope.items(for_each)? {
        if drafts.len() >= form.most {
            break;
        }
        let scope = scope.with_item(item.as_ref());
        if !scope.holds(when)? {
            continue;
        }
        let mut quotes = Vec::new();
        for cite in &form.cite {
            let place = scope.render(cite.get_ref())?;
            quotes.extend(quote::quote_at(&place, facts).filter(|quote| !quotes.contains(quote)));
        }
        if quotes.is_empty() {
            continue;
        }
        let claim = scope.render_line(form.claim.get_ref())?;
        add_subject(&claim, facts, &mut quotes);
        techniques.extend(scope.render_lines(form.techniques.iter().map(SpannedText::get_ref))?);
        if drafts.iter().all(|draft| draft.claim != claim) {
            drafts.push(FindingDraft {
                claim,
                quotes,
                stance: form.stance,
            });
        }
    }
    Ok((drafts, techniques))
}

/// Adds the alert's own mention of its subject to the quotes of a claim that names it.
fn add_subject(claim: &str, facts: &CaseFacts, quotes: &mut Vec<QuoteDraft>) {
    const PLACES: [&str; 2] = ["E0:/resources/0/name", "E0:/resources/0/id"];
    let cites_alert = quotes
        .iter()
        .any(|quote| quote.evidence == EvidenceId::ALERT);
    if !cites_alert && !facts.subject.is_empty() && claim.contains(&facts.subject) {
        let place = PLACES
            .into_iter()
            .find_map(|place| quote::quote_at(place, facts));
        quotes.extend(place);
    }
}

/// Adds techniques in the form `T1496 Resource Hijacking`, without duplicates.
pub(super) fn add_techniques(techniques: &mut Vec<Technique>, texts: &[String]) {
    for text in texts {
        let text = text.trim();
        let (id, name) = text.split_once(' ').unwrap_or((text, ""));
        if techniques.iter().all(|known| known.id != id) {
            techniques.push(Technique {
                id: id.to_owned(),
                name: (!name.trim().is_empty()).then(|| name.trim().to_owned()),
            });
        }
    }
}
