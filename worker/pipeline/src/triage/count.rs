//! Metrics of a case when it ends. The worker that ended the case, or held it when it was cancelled, counts it once.

use nightshift_engine::conclusion::Conclusion;
use nightshift_engine::event::{AnalystKind, Opened};
use nightshift_engine::evidence_read;
use nightshift_engine::limits::Cap;
use nightshift_engine::measure::Measure;
use nightshift_engine::plan::PlanUpdate;
use nightshift_engine::state::{CallState, State, Work};
use nightshift_engine::tool::ToolSpec;

use super::Triage;
use crate::case::CaseStatus;

impl Triage {
    pub(super) fn count(&self, state: &State, conclusion: &Conclusion, status: CaseStatus) {
        let Some(opened) = counted(state) else {
            return;
        };
        for step in state.steps() {
            self.meter.count(&Measure::Step {
                status: step.status,
                outcome: step.outcome,
            });
        }
        for record in &state.updates {
            self.meter.count(&Measure::PlanUpdate {
                kind: PlanUpdate::as_str(&record.update),
                refused: record.refused.is_some(),
            });
        }
        self.count_refused(opened, state);
        for finding in &conclusion.findings {
            self.meter.count(&Measure::Claim {
                supported: finding.supported,
            });
        }
        for rule in &conclusion.overridden {
            self.meter.count(&Measure::Overridden {
                rule: rule.rule.clone(),
            });
        }
        if conclusion.manipulation {
            self.meter.count(&Measure::Manipulation);
        }
        if let Some(cap) = conclusion.stopped_by {
            self.meter.count(&Measure::Exhausted { cap });
        }
        if state.day_spent && conclusion.stopped_by != Some(Cap::DayUsd) {
            let cap = Cap::DayUsd;
            self.meter.count(&Measure::Exhausted { cap });
        }
        self.meter.count(&Measure::Case {
            feed: opened.alert.feed.clone(),
            status: status.as_str(),
            verdict: Some(conclusion.verdict),
            severity: conclusion.assessed_severity,
            analyst: thought(opened, state, conclusion.degraded),
            took: state.active(),
            steps: state.steps().len(),
            model_calls: state.spent.model_calls,
        });
    }

    /// Counts a case that was cancelled while it ran and has no verdict.
    pub(super) fn count_called_off(&self, state: &State) {
        let Some(opened) = counted(state) else {
            return;
        };
        self.count_refused(opened, state);
        self.meter.count(&Measure::Case {
            feed: opened.alert.feed.clone(),
            status: CaseStatus::Cancelled.as_str(),
            verdict: None,
            severity: opened.alert.severity,
            analyst: thought(opened, state, !state.degraded.is_empty()),
            took: state.active(),
            steps: state.steps().len(),
            model_calls: state.spent.model_calls,
        });
    }

    fn count_refused(&self, opened: &Opened, state: &State) {
        for tool in refused(&opened.tools, state.work.values()) {
            let tool = tool.to_owned();
            self.meter.count(&Measure::ToolRefused { tool });
        }
    }
}

/// Returns the tools of calls that were refused before they reached a tool. The name of an undeclared tool is text of
/// the analyst, and reading evidence again involves no tool.
fn refused<'a>(tools: &[ToolSpec], works: impl Iterator<Item = &'a Work>) -> Vec<&'a str> {
    let is_tool = |name: &str| {
        let called = tools.iter().find(|spec| spec.name == name);
        called.is_some_and(|spec| spec.kind != evidence_read::NAME)
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
pub(super) fn thought(opened: &Opened, state: &State, is_degraded: bool) -> AnalystKind {
    match is_degraded && state.models.is_empty() {
        true => AnalystKind::Playbook,
        false => opened.analyst,
    }
}

/// Returns the opening of a case that counts. Canaries do not count: they always get through and would hide that
/// alerts do not.
fn counted(state: &State) -> Option<&Opened> {
    let opened = state.opened.as_ref()?;
    (!opened.alert.is_canary()).then_some(opened)
}

#[cfg(test)]
mod tests {
    use nightshift_engine::evidence::EvidenceId;
    use nightshift_engine::state::{CallRecord, Turn};
    use nightshift_engine::tool::{ToolCall, ToolError};

    use super::*;

    #[test]
    fn a_refused_call_is_counted_for_its_tool_where_there_is_one() {
        let mut assets = evidence_read::spec();
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
        let turn = |calls| Turn { memo: None, calls };
        let work = |turns| Work {
            turns,
            ..Work::default()
        };
        let works = [
            work(vec![
                turn(vec![call("assets", no()), call("shell", no())]),
                turn(vec![call("assets", CallState::Answered(EvidenceId(3)))]),
            ]),
            work(vec![turn(vec![
                call("assets", no()),
                call(evidence_read::NAME, no()),
                call("assets", CallState::Waiting),
            ])]),
        ];
        let tools = [assets, evidence_read::spec()];
        assert_eq!(refused(&tools, works.iter()), ["assets", "assets"]);
    }
}
