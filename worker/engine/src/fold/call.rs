//! Folds tool calls: numbers for their evidence, and their answers.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{apply_exoneration, step_of, turn};
use crate::event::CommandId;
use crate::evidence::{Evidence, EvidenceId};
use crate::question_builder::PAST_CASES_EVIDENCE;
use crate::state::{CallRecord, CallState, CaseState};
use crate::tool::{ToolCall, ToolError, ToolOutput};
use nightshift_alert::JsonText;

/// Maximum number of indicators that tool results may add to a case.
const MAX_INDICATORS: usize = 256;

/// Gives a call its evidence number on its first start. A restarted call keeps its number.
pub(super) fn assign_evidence_id(state: &mut CaseState, id: &CommandId) {
    if state.evidence_ids.contains_key(id) {
        return;
    }
    let number = if *id == CommandId::past_cases() {
        PAST_CASES_EVIDENCE
    } else {
        let last = state
            .evidence_ids
            .values()
            .max()
            .copied()
            .unwrap_or(PAST_CASES_EVIDENCE);
        EvidenceId(last.0.max(PAST_CASES_EVIDENCE.0) + 1)
    };
    state.evidence_ids.insert(id.clone(), number);
}

/// Stores a tool's answer and passes it to the step that asked.
pub(super) fn apply_answer(
    state: &mut CaseState,
    id: &CommandId,
    result: Result<&ToolOutput, &ToolError>,
    at: DateTime<Utc>,
) {
    let Some(number) = state.evidence_ids.get(id).copied() else {
        return;
    };
    let step = step_of(id);
    let call =
        call_of(state, id).unwrap_or_else(|| ToolCall::new("past_cases", serde_json::Map::new()));
    let kind = state
        .setup
        .as_ref()
        .and_then(|opened| opened.tools.iter().find(|spec| spec.name == call.tool))
        .map_or_else(|| call.tool.clone(), |spec| spec.kind.clone());
    let evidence = Evidence {
        id: number,
        step,
        tool: call.tool.clone(),
        kind,
        arguments: call.arguments.clone(),
        at,
        body: JsonText::from(result.map_or(&Value::Null, |output| &output.body)),
        rows: result.ok().and_then(|output| output.rows),
        truncated: result.is_ok_and(|output| output.truncated),
        error: result.err().cloned(),
        flags: result.map_or_else(|_| Vec::new(), |output| output.flags.clone()),
    };
    state.evidence.insert(number, Arc::new(evidence));
    state.evidence_by_call.insert(call.identity(), number);
    if let Ok(output) = result {
        collect_facts(state, output, number);
    }
    if let Some(record) = record_mut(state, id) {
        record.state = CallState::Answered(number);
    }
    turn::settle_repeated_calls(state);
    if *id == CommandId::past_cases() {
        super::plan::plan_without_question(state);
    }
}

/// Takes indicators and facts from an answer. Only tools add them, never an analyst.
fn collect_facts(state: &mut CaseState, output: &ToolOutput, number: EvidenceId) {
    for indicator in &output.indicators {
        let is_new = !state.knows(indicator.kind, &indicator.value);
        if is_new && state.indicators.len() < MAX_INDICATORS {
            state.indicators.push(indicator.clone());
        }
    }
    for fact in &output.exonerations {
        let mut fact = fact.clone();
        fact.evidence = Some(number);
        apply_exoneration(state, fact);
    }
}

fn call_of(state: &mut CaseState, id: &CommandId) -> Option<ToolCall> {
    id.lookup_call()
        .or_else(|| record_mut(state, id).map(|record| record.call.clone()))
}

fn record_mut<'a>(state: &'a mut CaseState, id: &CommandId) -> Option<&'a mut CallRecord> {
    let step = step_of(id)?;
    let mut parts = id.0.split(':').skip(2);
    let turn: usize = parts.next()?.parse().ok()?;
    let index: usize = parts.next()?.parse().ok()?;
    let work = state.work.get_mut(&step)?;
    work.turns.get_mut(turn)?.calls.get_mut(index)
}
