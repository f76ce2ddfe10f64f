//! Lists the look-ups that the ledger demands. The engine makes them itself, regardless of who made the plan.
//!
//! Every register is asked about every required subject. When all of them are covered, the audit logs are searched for
//! every caller. An alert that nothing can clear costs no search.

use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole};
use serde_json::Map;

use super::subject::{self, Subject};
use super::{Ledger, audit_log};
use crate::state::CaseState;
use crate::tool::{ToolCall, ToolSpec};

/// Kinds of tools whose rows cover subjects, and the watch lists that limit `any` network.
pub(crate) const REGISTERS: [&str; 5] = [
    "asset_lookup",
    "identity_lookup",
    "change_lookup",
    "authorised_scanners",
    "watchlist",
];
/// Maximum number of questions that a case puts to registers, those of its plan included.
pub const MOST_LOOKUPS: usize = 256;

/// Returns the calls to make now. The list is empty when nothing is left to ask, or when nothing can clear the alert
/// any more.
pub(crate) fn required_calls(state: &CaseState) -> Vec<ToolCall> {
    let Some((ledger, opened)) = Ledger::from_state(state).zip(state.setup.as_ref()) else {
        return Vec::new();
    };
    let registers = open_register_calls(state, &ledger, &opened.tools);
    if !registers.is_empty() || !ledger.is_covered() {
        return registers;
    }
    open_log_calls(state, &ledger, &opened.tools)
}

/// Returns the questions to registers about required subjects. One subject goes first: when none of its registers
/// covers it, nothing clears the alert, and the rest is not asked.
fn open_register_calls(
    state: &CaseState,
    ledger: &Ledger<'_>,
    tools: &[ToolSpec],
) -> Vec<ToolCall> {
    let required = || ledger.required_rows();
    if required().any(|(subject, _)| !subject.is_value()) {
        return Vec::new();
    }
    let covered: Vec<&Subject> = required()
        .filter_map(|(subject, is_covered)| is_covered.then_some(subject))
        .collect();
    let open = |subject: &Subject| -> Vec<ToolCall> {
        let own = unanswered(state, tools, subject);
        if !own.is_empty() || covered.contains(&subject) {
            return own;
        }
        let addresses = addresses_of(ledger.alert, subject).into_iter();
        addresses
            .flat_map(|address| unanswered(state, tools, &address))
            .collect()
    };
    let is_open = |subject: &Subject| !open(subject).is_empty();
    // A person behind a shared identity may be listed with that identity.
    let may_be_listed = |subject: &Subject| {
        subject.is_principal() && required().any(|(one, _)| one.is_principal() && is_open(one))
    };
    let is_hopeless = required().any(|(subject, is_covered)| {
        !is_covered && subject.needs_own_record() && !is_open(subject) && !may_be_listed(subject)
    });
    if is_hopeless {
        return Vec::new();
    }
    let is_hopeful = required().any(|(_, is_covered)| is_covered);
    let most = if is_hopeful { usize::MAX } else { 1 };
    let mut subjects: Vec<&Subject> = required()
        .map(|(subject, _)| subject)
        .filter(|subject| is_open(subject))
        .collect();
    // Subjects that nothing else covers come first, because they decide whether the alert can be cleared.
    subjects.sort_by_key(|subject| !subject.needs_own_record());
    let mut calls = Vec::new();
    for call in subjects.into_iter().take(most).flat_map(open) {
        push_new_call(state, &mut calls, call);
    }
    calls
}

/// Returns the questions to registers about a subject that were not answered yet.
pub(crate) fn unanswered(
    state: &CaseState,
    tools: &[ToolSpec],
    subject: &Subject,
) -> Vec<ToolCall> {
    let mut open = register_questions(tools, subject);
    let value = &subject.value;
    open.retain(|call| state.answers_about(&call.tool, value).next().is_none());
    open
}

/// Returns the addresses by which registers may know the one machine of an alert.
fn addresses_of(alert: &Alert, subject: &Subject) -> Vec<Subject> {
    let machines = alert.with_role(IndicatorRole::Target);
    let machines = machines.filter(|one| one.kind == IndicatorKind::Instance);
    let is_machine =
        subject.is_of_kind(IndicatorKind::Instance) && subject.role == IndicatorRole::Target;
    if !is_machine || machines.count() != 1 {
        return Vec::new();
    }
    let addresses = alert.addresses.iter();
    let addresses =
        addresses.map(|one| Indicator::new(IndicatorKind::Ip, one, IndicatorRole::Related));
    addresses
        .map(|one| Subject::from_indicator(alert, 0, &one))
        .collect()
}

/// Returns the questions to every register about every required subject of an alert.
#[must_use]
pub fn register_calls(alert: &Alert, tools: &[ToolSpec]) -> Vec<ToolCall> {
    let subjects = subject::subjects(alert).into_iter();
    let required = subjects.filter(|subject| subject.required && subject.is_value());
    let with_addresses = required.flat_map(|subject| {
        let addresses = addresses_of(alert, &subject);
        std::iter::once(subject).chain(addresses)
    });
    with_addresses
        .flat_map(|subject| register_questions(tools, &subject))
        .collect()
}

/// Returns the questions to the registers that take a subject.
pub(crate) fn register_questions(tools: &[ToolSpec], subject: &Subject) -> Vec<ToolCall> {
    registers(tools, subject)
        .filter_map(|spec| {
            let argument = audit_log::subject_argument(spec, subject)?;
            let mut arguments = Map::new();
            arguments.insert(argument.to_owned(), subject.value.clone().into());
            Some(ToolCall::new(&spec.name, arguments))
        })
        .collect()
}

/// Returns the registers in which a subject is looked up; watch lists cover addresses alone.
fn registers<'a>(tools: &'a [ToolSpec], subject: &Subject) -> impl Iterator<Item = &'a ToolSpec> {
    let is_address = subject.is_of_kind(IndicatorKind::Ip);
    tools.iter().filter(move |spec| {
        REGISTERS.contains(&spec.kind.as_str()) && (is_address || spec.kind != "watchlist")
    })
}

fn open_log_calls(state: &CaseState, ledger: &Ledger<'_>, tools: &[ToolSpec]) -> Vec<ToolCall> {
    let mut calls = Vec::new();
    for subject in ledger
        .distinct_required()
        .filter(|one| one.role == IndicatorRole::Actor)
    {
        for spec in audit_log::recording_logs(tools, ledger.alert, subject) {
            if audit_log::search_problem(state, spec, ledger.alert, subject).is_some() {
                for call in audit_log::searches(spec, ledger.alert, subject) {
                    push_new_call(state, &mut calls, call);
                }
            }
        }
    }
    calls
}

/// Adds a call that was not made yet, while there is room.
fn push_new_call(state: &CaseState, calls: &mut Vec<ToolCall>, call: ToolCall) {
    let is_new = !state.evidence_by_call.contains_key(&call.identity()) && !calls.contains(&call);
    if is_new && calls.len() + state.register_answers() < MOST_LOOKUPS {
        calls.push(call);
    }
}

/// Returns the reason, in half a sentence, why the registers were not read whole about the required subjects, or `None`
/// when all answered.
pub(super) fn lookup_problem(
    state: &CaseState,
    ledger: &Ledger<'_>,
    tools: &[ToolSpec],
) -> Option<String> {
    let mut problems = ledger.required_rows().flat_map(|(subject, _)| {
        registers(tools, subject)
            .filter(|spec| audit_log::subject_argument(spec, subject).is_some())
            .filter_map(|spec| register_problem(state, spec, subject))
    });
    problems.next()
}

fn register_problem(state: &CaseState, spec: &ToolSpec, subject: &Subject) -> Option<String> {
    let (name, value) = (&spec.name, &subject.value);
    let Some(answer) = state.answers_about(name, value).next() else {
        if state.register_answers() >= MOST_LOOKUPS {
            return Some(format!(
                "{name} was not asked about {value}: a case makes at most {MOST_LOOKUPS} look-ups"
            ));
        }
        return Some(format!("{name} was not asked about {value}"));
    };
    if let Some(error) = &answer.error {
        return Some(format!("{name} gave no answer about {value}: {error}"));
    }
    let body = answer.body.value();
    let searched = |field: &str| body.pointer(&format!("/searched/{field}"))?.as_u64();
    if answer.truncated || searched("left_out").is_some_and(|rows| rows > 0) {
        return Some(format!("{name} was not read whole [{}]", answer.id));
    }
    (searched("records") == Some(0)).then(|| format!("{name} is empty [{}]", answer.id))
}
