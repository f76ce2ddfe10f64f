//! Reports metrics of a case when it ends. The worker that ended the case, or held it when it was cancelled, counts it
//! once.

use nightshift_engine::conclusion::Conclusion;
use nightshift_engine::event::{AnalystKind, CaseSetup};
use nightshift_engine::evidence_read;
use nightshift_engine::limits::BudgetCap;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::plan::PlanUpdate;
use nightshift_engine::state::{CallState, CaseState, StepWork};
use nightshift_engine::tool::ToolSpec;

use super::Triage;
use crate::case::CaseStatus;

impl Triage {
    pub(super) fn count(&self, state: &CaseState, conclusion: &Conclusion, status: CaseStatus) {
        let Some(opened) = measured_case(state) else {
            return;
        };
        for step in state.steps() {
            self.meter.count(&Measurement::Step {
                status: step.status,
                outcome: step.outcome,
            });
        }
        for record in &state.updates {
            self.meter.count(&Measurement::PlanUpdate {
                kind: PlanUpdate::as_str(&record.update),
                refused: record.refused.is_some(),
            });
        }
        self.count_refused(opened, state);
        for finding in &conclusion.findings {
            self.meter.count(&Measurement::Claim {
                supported: finding.supported,
            });
        }
        for rule in &conclusion.overridden {
            self.meter.count(&Measurement::Overridden {
                rule: rule.rule.clone(),
            });
        }
        if conclusion.manipulation {
            self.meter.count(&Measurement::Manipulation);
        }
        if let Some(cap) = conclusion.stopped_by {
            self.meter.count(&Measurement::Exhausted { cap });
        }
        if state.day_budget_reached && conclusion.stopped_by != Some(BudgetCap::DayUsd) {
            let cap = BudgetCap::DayUsd;
            self.meter.count(&Measurement::Exhausted { cap });
        }
        self.meter.count(&Measurement::Case {
            feed: opened.alert.feed.clone(),
            status: status.as_str(),
            verdict: Some(conclusion.verdict),
            severity: conclusion.assessed_severity,
            analyst: effective_analyst(opened, state, conclusion.degraded),
            took: state.active_time(),
            steps: state.steps().len(),
            model_calls: state.spent.model_calls,
        });
    }

    /// Counts a case that was cancelled while it ran and has no verdict.
    pub(super) fn count_cancelled(&self, state: &CaseState) {
        let Some(opened) = measured_case(state) else {
            return;
        };
        self.count_refused(opened, state);
        self.meter.count(&Measurement::Case {
            feed: opened.alert.feed.clone(),
            status: CaseStatus::Cancelled.as_str(),
            verdict: None,
            severity: opened.alert.severity,
            analyst: effective_analyst(opened, state, !state.degraded.is_empty()),
            took: state.active_time(),
            steps: state.steps().len(),
            model_calls: state.spent.model_calls,
        });
    }

    fn count_refused(&self, opened: &CaseSetup, state: &CaseState) {
        for tool in refused_tools(&opened.tools, state.work.values()) {
            let tool = tool.to_owned();
            self.meter.count(&Measurement::ToolRefused { tool });
        }
    }
}

/// Returns the tools of calls that were refused before they reached a tool. The name of an undeclared tool is text of
/// the analyst, and reading evidence again involves no tool.
fn refused_tools<'a>(
    tools: &[ToolSpec],
    works: impl Iterator<Item = &'a StepWork>,
) -> Vec<&'a str> {
    let is_tool = |name: &str| {
        let called = tools.iter().find(|spec| spec.name == name);
        called.is_some_and(|spec| spec.kind != evidence_read::TOOL_NAME)
    };
    works
        .flat_map(|work| &work.turns)
        .flat_map(|turn| &turn.calls)
        .filter(|record| matches!(record.state, CallState::Refused(_)))
        .map(|record| record.call.tool.as_str())
        .filter(|tool| is_tool(tool))
        .collect()
}

/// Returns the kind of analyst. Rules that replaced models of which none answered count as a playbook, as in the
/// report.
pub(super) fn effective_analyst(
    opened: &CaseSetup,
    state: &CaseState,
    is_degraded: bool,
) -> AnalystKind {
    match is_degraded && state.models.is_empty() {
        true => AnalystKind::Playbook,
        false => opened.analyst,
    }
}

/// Returns the opening of a case that counts. Canaries do not count: they always get through and would hide that
/// alerts do not.
fn measured_case(state: &CaseState) -> Option<&CaseSetup> {
    let opened = state.setup.as_ref()?;
    (!opened.alert.is_canary()).then_some(opened)
}

#[cfg(test)]
mod tests {
    use nightshift_engine::evidence::EvidenceId;
    use nightshift_engine::state::{CallRecord, StepTurn};
    use nightshift_engine::tool::{ToolCall, ToolError};

    use super::*;

    #[test]
    fn a_refused_call_is_counted_for_its_tool_where_there_is_one() {
        let mut assets = evidence_read::tool_spec();
        (assets.name, assets.kind) = ("assets".into(), "asset_lookup".into());
        let call = |tool: &str, state| CallRecord {
            call: ToolCall::new(tool, serde_json::Map::new()),
            state,
        };
        let no = || {
            CallState::Refused(ToolError::NotAllowed {
                what: "this trail is given up".to_owned(),
            })
        };
        let turn = |calls| StepTurn { memo: None, calls };
        let work = |turns| StepWork {
            turns,
            ..StepWork::default()
        };
        let works = [
            work(vec![
                turn(vec![call("assets", no()), call("shell", no())]),
                turn(vec![call("assets", CallState::Answered(EvidenceId(3)))]),
            ]),
            work(vec![turn(vec![
                call("assets", no()),
                call(evidence_read::TOOL_NAME, no()),
                call("assets", CallState::Waiting),
            ])]),
        ];
        let tools = [assets, evidence_read::tool_spec()];
        assert_eq!(refused_tools(&tools, works.iter()), ["assets", "assets"]);
    }
}
