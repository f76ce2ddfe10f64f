//! Answers the conclude question: findings, and the first verdict rule that holds.
//!
//! A benign verdict is proposed only if a fact of the case clears the alert and every rule could be evaluated. The
//! engine checks the same again.

use std::sync::Arc;

use minijinja::Value;
use nightshift_alert::{Alert, Indicator, Severity};
use nightshift_engine::catalogue::ActionChoice;
use nightshift_engine::conclusion::{ConclusionDraft, Leaning, Verdict, VerdictReason};
use nightshift_engine::plan::StepStatus;
use nightshift_engine::question::ConcludeQuestion;
use nightshift_expression::error::EvaluationError;
use nightshift_expression::scope::Scope;

use super::calls::CallPlanner;
use super::completeness::set_step_answers;
use super::exonerate::exonerate;
use super::facts::answers::failure;
use super::facts::{CaseFacts, QuestionParts};
use super::findings::{self, add_techniques};
use super::functions::first_names;
use super::playbook_file::{MAX_CALLS, Playbook, SpannedText, VerdictForm, action_parts};
use super::scope;
use super::{key_steps, tool_kinds};

/// Maximum number of values that a gap names.
const MAX_NAMED: usize = 4;

/// Returns the facts and the scope of a case whose work has ended.
pub(super) fn ended_case(
    playbook: &Arc<Playbook>,
    question: &ConcludeQuestion,
) -> (Arc<CaseFacts>, Scope) {
    let parts = QuestionParts {
        past: question.past.as_ref(),
        steps: &question.steps,
        source: &question.source,
        exonerations: &question.exonerations,
        cleared: question.cleared,
        tools: &question.tools,
    };
    let (facts, mut scope) = scope::of_question(playbook, &question.alert, &parts);
    set_step_answers(
        playbook,
        &question.steps,
        &question.tools,
        &facts,
        &mut scope,
    );
    (facts, scope)
}

/// Returns the conclusion of this playbook.
pub(super) fn conclude(
    playbook: &Arc<Playbook>,
    question: &ConcludeQuestion,
) -> Result<ConclusionDraft, EvaluationError> {
    let (facts, mut scope) = ended_case(playbook, question);
    let made = findings::evaluate(playbook, &facts, &mut scope);
    // The question already holds what the rules of the playbook clear. Only the rules that could not be evaluated are
    // used here.
    let (_, mut problems) = exonerate(playbook, &question.alert, &scope);
    problems.extend(made.problems);
    let cleared = question.cleared;

    let chosen = first_matching_rule(playbook, &scope, &mut problems);
    let proposed = chosen
        .and_then(|form| form.verdict)
        .unwrap_or(Verdict::Inconclusive);
    let unanswered = key_steps::unanswered_key_steps(playbook, question, &scope)?;
    let may_be_benign = cleared && problems.is_empty() && unanswered.is_empty();
    let refused = proposed.is_benign() && !may_be_benign;
    let empty = VerdictForm::default();
    let otherwise = playbook
        .otherwise
        .as_ref()
        .map_or(&empty, |form| form.get_ref());
    let form = chosen.filter(|_| !refused).unwrap_or(otherwise);
    let verdict = if refused {
        Verdict::Inconclusive
    } else {
        proposed
    };

    let reason = if refused && !unanswered.is_empty() {
        VerdictReason::ToolFailure
    } else {
        reason(form, verdict, refused, question)
    };
    let unasked_calls = unasked_calls(playbook, question, &scope)?;
    let mut gaps = failed_call_gaps(question);
    gaps.extend(unasked_calls.left_out);
    gaps.extend(unanswered);
    gaps.extend(problems);
    gaps.extend(lines(&scope, &form.gaps)?);
    let mut techniques = made.techniques;
    add_techniques(&mut techniques, &lines(&scope, &form.techniques)?);
    Ok(ConclusionDraft {
        verdict,
        leaning: leaning(form, verdict, refused),
        reason,
        assessed_severity: severity(form, question.alert.severity, verdict),
        findings: made.drafts,
        gaps,
        not_covered: unasked_calls.lines,
        would_decide: lines(&scope, &form.would_decide)?,
        actions: actions(form, &scope, &question.alert)?,
        meaning: playbook.meaning.clone(),
        techniques,
    })
}

/// The calls that the steps of the playbook did not make.
#[derive(Debug, Default)]
struct UnaskedCalls {
    /// Lines for coverage: kinds that nobody configured, and steps with more calls than the limit.
    lines: Vec<String>,
    /// The gap for the values that were left out.
    left_out: Option<String>,
}

fn unasked_calls(
    playbook: &Playbook,
    question: &ConcludeQuestion,
    scope: &Scope,
) -> Result<UnaskedCalls, EvaluationError> {
    let known = CallPlanner::after(&question.alert, &question.tools, scope);
    let mut unasked_calls = UnaskedCalls::default();
    let (mut steps, mut values) = (Vec::new(), Vec::new());
    for form in &playbook.steps {
        if !scope.holds(form.condition())? {
            continue;
        }
        let calls = known.calls(form)?;
        tool_kinds::add_not_configured(&calls.unconfigured, &mut unasked_calls.lines);
        if !calls.left_out.is_empty() {
            steps.push(format!("{} of {}", calls.left_out.len(), form.id.get_ref()));
            values.extend(calls.left_out);
        }
    }
    if !steps.is_empty() {
        let steps = steps.join(", ");
        unasked_calls.lines.push(format!(
            "Left out, beyond {MAX_CALLS} calls in a step: {steps}"
        ));
        let values = first_names(&values, MAX_NAMED);
        unasked_calls.left_out = Some(format!(
            "{values}, which are beyond the {MAX_CALLS} calls of a step (left out: {steps})"
        ));
    }
    Ok(unasked_calls)
}

fn first_matching_rule<'a>(
    playbook: &'a Playbook,
    scope: &Scope,
    problems: &mut Vec<String>,
) -> Option<&'a VerdictForm> {
    for (number, form) in playbook.verdicts.iter().enumerate() {
        let form = form.get_ref();
        let when = form.when.as_ref().map(|when| when.get_ref().as_str());
        match scope.holds(when) {
            Ok(true) => return Some(form),
            Ok(false) => {}
            Err(error) => problems.push(format!(
                "Verdict rule {} of playbook {} could not be evaluated: {error}",
                number + 1,
                playbook.name
            )),
        }
    }
    None
}

/// Returns the calls without an answer in steps that are done. The engine reports steps that are not.
fn failed_call_gaps(question: &ConcludeQuestion) -> Vec<String> {
    let done = question
        .steps
        .iter()
        .filter(|view| view.step.status == StepStatus::Done);
    done.filter_map(|view| {
        let failures: Vec<_> = view.calls.iter().filter_map(failure).collect();
        let first = failures.first()?;
        let (failed, all) = (failures.len(), view.calls.len());
        Some(format!(
            "{}: {failed} of {all} calls gave no answer ({first})",
            view.step.description
        ))
    })
    .collect()
}

fn lines(scope: &Scope, texts: &[SpannedText]) -> Result<Vec<String>, EvaluationError> {
    scope.render_lines(texts.iter().map(SpannedText::get_ref))
}

fn leaning(form: &VerdictForm, verdict: Verdict, refused: bool) -> Leaning {
    match verdict {
        Verdict::Inconclusive if refused => Leaning::Benign,
        Verdict::Inconclusive => form.leaning.unwrap_or_default(),
        _ => Leaning::None,
    }
}

fn reason(
    form: &VerdictForm,
    verdict: Verdict,
    refused: bool,
    question: &ConcludeQuestion,
) -> VerdictReason {
    let failed = question
        .steps
        .iter()
        .any(|view| view.step.status == StepStatus::Failed);
    match (verdict, form.reason) {
        (Verdict::Inconclusive, _) if refused => VerdictReason::NotExonerated,
        (Verdict::Inconclusive, _) if question.stopped_by.is_some() => {
            VerdictReason::BudgetExhausted
        }
        (_, Some(reason)) => reason,
        (Verdict::TruePositive, None) => VerdictReason::SuspiciousActivity,
        (Verdict::BenignTruePositive, None) => VerdictReason::AuthorisedActivity,
        (Verdict::FalsePositive, None) => VerdictReason::WrongDetectionLogic,
        (Verdict::Inconclusive, None) if failed => VerdictReason::ToolFailure,
        (Verdict::Inconclusive, None) => VerdictReason::MissingData,
    }
}

/// Returns the severity after triage. Only a benign verdict lowers it.
fn severity(form: &VerdictForm, sent: Severity, verdict: Verdict) -> Severity {
    let least = form.severity_at_least.unwrap_or_default();
    match form.severity {
        Some(severity) if verdict.is_benign() => severity,
        Some(severity) => severity.max(sent),
        None if form.severity_at_least.is_some() => sent.max(least),
        None => sent,
    }
}

fn actions(
    form: &VerdictForm,
    scope: &Scope,
    alert: &Alert,
) -> Result<Vec<ActionChoice>, EvaluationError> {
    let about = match &form.about {
        Some(about) => indicators_with_values(alert, &scope.list(about.get_ref())?),
        None => Vec::new(),
    };
    let mut ids: Vec<String> = Vec::new();
    if let Some(advises) = &form.advises {
        let named = scope.list(advises.get_ref())?.into_iter();
        ids.extend(named.map(|id| id.to_string()));
    }
    for text in &form.actions {
        let (id, when) = action_parts(text.get_ref());
        if scope.holds(when)? {
            ids.push(id.to_owned());
        }
    }
    let choice = |id| ActionChoice {
        id,
        indicators: about.clone(),
    };
    Ok(ids.into_iter().map(choice).collect())
}

/// Returns the alert's indicators with these values. A value that the alert does not name is dropped.
fn indicators_with_values(alert: &Alert, values: &[Value]) -> Vec<Indicator> {
    values
        .iter()
        .flat_map(|value| {
            alert
                .indicators
                .iter()
                .filter(|indicator| value.as_str() == Some(indicator.value.as_str()))
        })
        .cloned()
        .collect()
}
