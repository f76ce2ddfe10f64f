//! Evaluates `benign_when`: rules over typed fields that may clear an alert. The engine checks each rule that holds.

use nightshift_alert::Alert;
use nightshift_engine::exoneration::Exoneration;
use nightshift_expression::error::EvaluationError;
use nightshift_expression::scope::Scope;

use super::playbook_file::{BenignForm, MatchedBy, Playbook, SpannedText};

/// Returns the rules that may clear this alert. A playbook that matched by title or by technique has none, because
/// outsiders can write both: a file name, the subject of a mail, a command line.
pub(super) fn applicable_rules<'a>(playbook: &'a Playbook, alert: &Alert) -> &'a [BenignForm] {
    match playbook.matches.best_fit(alert) {
        Some(fit) if matches!(fit.by, MatchedBy::Title | MatchedBy::Shown) => &[],
        _ => &playbook.benign,
    }
}

/// Returns the exonerations that the rules of a playbook give, and the rules that could not be evaluated. Such a rule
/// clears nothing.
pub(super) fn exonerate(
    playbook: &Playbook,
    alert: &Alert,
    scope: &Scope,
) -> (Vec<Exoneration>, Vec<String>) {
    let mut exonerations: Vec<Exoneration> = Vec::new();
    let mut problems = Vec::new();
    for form in applicable_rules(playbook, alert) {
        match apply_rule(playbook, form, scope) {
            Ok(more) => {
                for exoneration in more {
                    if !exonerations.contains(&exoneration) {
                        exonerations.push(exoneration);
                    }
                }
            }
            Err(error) => problems.push(format!(
                "Rule benign_when of playbook {} could not be evaluated: {error}",
                playbook.name
            )),
        }
    }
    (exonerations, problems)
}

fn apply_rule(
    playbook: &Playbook,
    form: &BenignForm,
    scope: &Scope,
) -> Result<Vec<Exoneration>, EvaluationError> {
    let for_each = form.for_each.as_ref().map(|list| list.get_ref().as_str());
    let mut exonerations = Vec::new();
    for item in scope.items(for_each)? {
        let scope = scope.with_item(item.as_ref());
        if !scope.holds(Some(form.when.get_ref()))? {
            continue;
        }
        let approved_by = match &form.approved_by {
            Some(template) => scope.render_line(template.get_ref())?,
            None => playbook.owner.clone(),
        };
        exonerations.push(Exoneration {
            kind: form.kind.clone(),
            subject_type: form.subject_type,
            subject: scope.render(form.subject.get_ref())?.trim().to_owned(),
            from: None,
            until: None,
            covers: form
                .covers
                .iter()
                .map(SpannedText::get_ref)
                .cloned()
                .collect(),
            approved_by,
            reference: scope.render_line(form.reference.get_ref())?,
            statement: scope.render_line(form.statement.get_ref())?,
            detection_wrong: form.detection_wrong,
            // The rule is about this alert only.
            scope: nightshift_engine::exoneration::RecordScope {
                account: Some("*".to_owned()),
                ..nightshift_engine::exoneration::RecordScope::default()
            },
            slack_mins: 0,
            extent: nightshift_engine::exoneration::RecordExtent::default(),
            evidence: None,
        });
    }
    Ok(exonerations)
}
