//! What is measured of a case when it ends: once, by the worker that ended it or had it when it was called off.

use nightshift_engine::{AnalystKind, Cap, Conclusion, Measure, Opened, PlanUpdate, State};

use super::Triage;
use crate::CaseStatus;

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

    /// A case that somebody called off while it ran: it has no verdict.
    pub(super) fn count_called_off(&self, state: &State) {
        let Some(opened) = counted(state) else {
            return;
        };
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
}

/// Who thought: rules that had to do for models of which none answered are a playbook, as in the report.
pub(super) fn thought(opened: &Opened, state: &State, is_degraded: bool) -> AnalystKind {
    match is_degraded && state.models.is_empty() {
        true => AnalystKind::Playbook,
        false => opened.analyst,
    }
}

/// What is measured of cases is about alerts: a canary, which always gets through, would hide that others do not.
fn counted(state: &State) -> Option<&Opened> {
    let opened = state.opened.as_ref()?;
    (!opened.alert.is_canary()).then_some(opened)
}
