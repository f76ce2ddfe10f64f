//! Shows live progress on standard error: the plan, calls, results, insights, and what is open.
//!
//! On a terminal it shows a spinner with the elapsed time, elsewhere plain lines.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use nightshift_engine::event::{CommandId, CommandOutcome, Event, EventBody};
use nightshift_engine::fold::apply;
use nightshift_engine::plan::{PlanUpdateRecord, Step, StepStatus};
use nightshift_engine::state::CaseState;
use nightshift_engine::tool::ToolOutput;
use nightshift_pipeline::triage::Watcher;

use crate::output::{print_stderr, sanitize_line};

/// Maximum number of characters of a line.
const MAX_CHARS: usize = 160;

/// Prints what happens in cases.
pub(crate) struct Progress {
    states: Mutex<HashMap<String, CaseState>>,
    spinner: Option<ProgressBar>,
    /// True if several cases run at once: each line names its case, and only beginning, trouble and end are shown.
    is_shared: bool,
}

impl Progress {
    /// Creates a progress on standard error.
    pub(crate) fn new(is_shared: bool) -> Self {
        let spinner = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self {
            states: Mutex::default(),
            spinner,
            is_shared,
        }
    }

    /// Removes the spinner.
    pub(crate) fn finish(&self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }

    fn line(&self, case_id: &str, text: &str) {
        let text = if self.is_shared {
            shared_line(case_id, text)
        } else {
            text.to_owned()
        };
        match &self.spinner {
            Some(spinner) => spinner.suspend(|| print_stderr(&text)),
            None => print_stderr(&text),
        }
    }
}

impl Watcher for Progress {
    fn resumed(&self, case_id: &str, events: &[Event]) {
        if let Ok(mut states) = self.states.lock() {
            states.insert(case_id.to_owned(), nightshift_engine::fold::fold(events));
        }
    }

    fn journaled(&self, case_id: &str, events: &[Event]) {
        let Ok(mut states) = self.states.lock() else {
            return;
        };
        let state = states.entry(case_id.to_owned()).or_default();
        for event in events {
            let before = state.clone();
            apply(state, event);
            let mut lines = milestones(&before, state, &event.body);
            if !self.is_shared {
                lines.extend(details(&before, state, &event.body));
            }
            for line in lines {
                self.line(case_id, &line);
            }
            if let Some(spinner) = &self.spinner {
                spinner.set_message(spinner_text(state));
            }
        }
        if state.is_over() {
            states.remove(case_id);
        }
    }
}

/// Returns a line of one of several cases. It names the case once.
fn shared_line(case_id: &str, text: &str) -> String {
    let named = format!("case {case_id} ");
    format!("{case_id}  {}", text.strip_prefix(&named).unwrap_or(text))
}

/// Returns the text of the spinner: the state of the case and its cost.
fn spinner_text(state: &CaseState) -> String {
    let running: Vec<&Step> = state.steps_with(StepStatus::Running).collect();
    let what = running.first().map_or_else(
        || {
            if state.plan.is_none() {
                "planning"
            } else {
                "concluding"
            }
            .to_owned()
        },
        |step| sanitize_line(&step.description, 60),
    );
    match spent(state) {
        Some(spent) => format!("{what} ({spent})"),
        None => what,
    }
}

/// Returns the cost of the case so far, or `None` if nothing was paid.
fn spent(state: &CaseState) -> Option<String> {
    let usd = state.spent.usd;
    (usd > 0.0).then(|| format!("${usd:.4}"))
}

/// Appends the cost of the case to a line.
fn with_cost(line: String, state: &CaseState) -> String {
    match spent(state) {
        Some(spent) => format!("{line} ({spent} so far)"),
        None => line,
    }
}

/// Returns the lines of the beginning of a case, of trouble, and of its end.
fn milestones(before: &CaseState, state: &CaseState, body: &EventBody) -> Vec<String> {
    match body {
        EventBody::Opened(opened) => {
            let alert = &opened.alert;
            let what = sanitize_line(&alert.title, MAX_CHARS);
            vec![format!(
                "case {} revision {}: {what} ({}, {})",
                opened.case_id, opened.revision, alert.severity, alert.feed
            )]
        }
        EventBody::Claimed { epoch } if *epoch > 1 && !before.finished.is_empty() => {
            vec![format!(
                "going on after {} finished commands",
                before.finished.len()
            )]
        }
        EventBody::Finished {
            id,
            outcome,
            degraded,
            ..
        } => {
            let taken_over = degraded
                .as_ref()
                .filter(|_| before.degraded.is_empty())
                .map(|why| {
                    let why = sanitize_line(&why.to_string(), MAX_CHARS);
                    format!("{id}: {why}; the playbook takes over from the model")
                });
            let failed = match &**outcome {
                CommandOutcome::AskFailed(error) => Some(error.to_string()),
                _ => None,
            };
            let failed = failed.map(|why| format!("{id}: {}", sanitize_line(&why, MAX_CHARS)));
            taken_over.into_iter().chain(failed).collect()
        }
        EventBody::Withdrawn { id, .. } => vec![format!("{id} waits: no model is available")],
        EventBody::TimeUp => vec!["the active time is used up".to_owned()],
        EventBody::Cancelled { by } => vec![format!("called off by {}", sanitize_line(by, 60))],
        EventBody::Concluded(conclusion) => {
            let cost = spent(state).map_or_else(String::new, |spent| format!(" ({spent})"));
            vec![format!(
                "concluded: {}, {} confidence, {}{cost}",
                conclusion.verdict.title(),
                conclusion.confidence.as_str(),
                conclusion.assessed_severity
            )]
        }
        EventBody::Claimed { .. } | EventBody::Started { .. } => Vec::new(),
    }
}

/// Returns the lines of the plan, of calls and of steps.
fn details(before: &CaseState, state: &CaseState, body: &EventBody) -> Vec<String> {
    match body {
        EventBody::Started { id, .. } => step_started(before, state, id),
        EventBody::Finished { id, outcome, .. } => {
            let mut all = finished(state, id, outcome);
            all.extend(steps_ended(before, state));
            all
        }
        _ => Vec::new(),
    }
}

/// Returns `step 2/3 (1 done) audit-logs` when the first command of a step starts.
fn step_started(before: &CaseState, state: &CaseState, id: &CommandId) -> Vec<String> {
    let newly = state.steps().iter().find(|step| {
        step.status == StepStatus::Running
            && id.0.contains(&format!(":{}:", step.id))
            && before
                .plan
                .as_ref()
                .and_then(|plan| plan.step(&step.id))
                .is_some_and(|old| old.status == StepStatus::Pending)
    });
    newly
        .map(|step| {
            let number = state
                .steps()
                .iter()
                .take_while(|one| one.id != step.id)
                .count()
                + 1;
            let done = state
                .steps()
                .iter()
                .filter(|one| one.status.is_terminal())
                .count();
            let line = format!(
                "step {number}/{} ({done} done) {}: {}",
                state.steps().len(),
                sanitize_line(&step.name, 40),
                sanitize_line(&step.description, MAX_CHARS)
            );
            with_cost(line, state)
        })
        .into_iter()
        .collect()
}

fn finished(state: &CaseState, id: &CommandId, outcome: &CommandOutcome) -> Vec<String> {
    match outcome {
        CommandOutcome::Planned(_) => plan(state),
        CommandOutcome::Called(output) => vec![called(state, id, output)],
        CommandOutcome::CallFailed(error) => {
            vec![format!(
                "  {} gave no answer: {}",
                call_name(state, id),
                sanitize_line(&error.to_string(), MAX_CHARS)
            )]
        }
        CommandOutcome::Reflected(reflection) => {
            let insights = reflection
                .insights
                .iter()
                .map(|insight| format!("insight: {}", sanitize_line(insight, MAX_CHARS)));
            let updates = state
                .updates
                .iter()
                .filter(|record| record.reflection == state.reflections)
                .map(update);
            let mut all: Vec<String> = insights.chain(updates).collect();
            if !reflection.plan_updates.is_empty() {
                all.push(format!("done: {}", names(state, StepStatus::is_terminal)));
                all.push(format!(
                    "open: {}",
                    names(state, |status| !status.is_terminal())
                ));
            }
            all
        }
        CommandOutcome::Decided(decision) if !decision.reasoning.is_empty() => {
            vec![format!(
                "decided: {}",
                sanitize_line(&decision.reasoning, MAX_CHARS)
            )]
        }
        CommandOutcome::AskFailed(_)
        | CommandOutcome::Decided(_)
        | CommandOutcome::Turned(_)
        | CommandOutcome::Drafted(_)
        | CommandOutcome::Exonerated(_) => Vec::new(),
    }
}

fn plan(state: &CaseState) -> Vec<String> {
    let Some(plan) = &state.plan else {
        return Vec::new();
    };
    plan_lines(plan)
}

/// Returns the lines of the plan, which `run` shows first and `--plan-only` alone.
pub(crate) fn plan_lines(plan: &nightshift_engine::plan::Plan) -> Vec<String> {
    let mut lines = vec![format!(
        "objective: {}",
        sanitize_line(&plan.objective, 400)
    )];
    if !plan.source.is_empty() {
        lines.push(format!("plan from {}", sanitize_line(&plan.source, 80)));
    }
    for step in &plan.steps {
        let after: Vec<&str> = step.depends_on.iter().map(|id| id.0.as_str()).collect();
        let after = if after.is_empty() {
            String::new()
        } else {
            format!(" (after {})", after.join(", "))
        };
        lines.push(format!(
            "  {} {}{after}",
            step.id,
            sanitize_line(&step.description, MAX_CHARS)
        ));
    }
    for source in &plan.not_covered {
        lines.push(format!(
            "  not covered: {}",
            sanitize_line(source, MAX_CHARS)
        ));
    }
    lines
}

fn call_name(state: &CaseState, id: &CommandId) -> String {
    let evidence = state
        .evidence_ids
        .get(id)
        .and_then(|number| state.evidence_of(*number));
    evidence.map_or_else(
        || id.to_string(),
        |evidence| {
            let arguments: Vec<String> = evidence
                .arguments
                .values()
                .map(|value| {
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned)
                })
                .collect();
            sanitize_line(&format!("{}({})", evidence.tool, arguments.join(", ")), 100)
        },
    )
}

fn called(state: &CaseState, id: &CommandId, output: &ToolOutput) -> String {
    let number = state
        .evidence_ids
        .get(id)
        .map_or_else(String::new, |number| format!(" [{number}]"));
    let rows = match output.rows {
        Some(1) => ": 1 row".to_owned(),
        Some(rows) => format!(": {rows} rows"),
        None => String::new(),
    };
    format!("  {}{rows}{number}", call_name(state, id))
}

fn update(record: &PlanUpdateRecord) -> String {
    use nightshift_engine::plan::PlanUpdate::{AddStep, CancelStep, UpdateStep};
    let text = match &record.update {
        AddStep { step, reason } => format!("plan: added {} ({reason})", step.description),
        UpdateStep { id, reason, .. } => format!("plan: changed {id} ({reason})"),
        CancelStep { id, reason } => format!("plan: cancelled {id} ({reason})"),
    };
    match &record.refused {
        Some(why) => sanitize_line(&format!("{text}, refused: {why}"), MAX_CHARS),
        None => sanitize_line(&text, MAX_CHARS),
    }
}

fn names(state: &CaseState, wanted: impl Fn(StepStatus) -> bool) -> String {
    let names: Vec<&str> = state
        .steps()
        .iter()
        .filter(|step| wanted(step.status))
        .map(|step| step.id.0.as_str())
        .collect();
    if names.is_empty() {
        "nothing".to_owned()
    } else {
        names.join(", ")
    }
}

/// Returns the steps that this event ended, each with its result.
fn steps_ended(before: &CaseState, state: &CaseState) -> Vec<String> {
    state
        .steps()
        .iter()
        .filter(|step| {
            let was_over = before
                .plan
                .as_ref()
                .and_then(|plan| plan.step(&step.id))
                .is_some_and(|old| old.status.is_terminal());
            step.status.is_terminal() && !was_over
        })
        .map(|step| {
            let word = step
                .outcome
                .map_or(step.status.as_str(), |outcome| outcome.as_str());
            let line = format!("  {} {word}: {}", step.id, step.summary);
            with_cost(sanitize_line(&line, MAX_CHARS), state)
        })
        .collect()
}

#[cfg(test)]
mod tests;
