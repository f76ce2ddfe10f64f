//! Implements `nightshift cases ack`, `assign` and `close`: the actions of a person on a case.

use nightshift_alert::text::sanitize as clean;
use nightshift_pipeline::case_workflow::{
    ACTION_NAME_CHARS, ACTION_NOTE_CHARS, CaseAction, CaseActionKind, CaseWorkflow,
};

use super::feedback::author;
use crate::args::{CaseActionArgs, CasesAssignArgs};
use crate::exit::Exit;
use crate::output::{print, print_json, sanitize_line};
use crate::wiring::App;

pub(super) async fn acknowledge(app: &App, options: &CaseActionArgs) -> Result<(), Exit> {
    act(app, options, CaseActionKind::Acknowledged).await
}

pub(super) async fn close(app: &App, options: &CaseActionArgs) -> Result<(), Exit> {
    act(app, options, CaseActionKind::Closed).await
}

pub(super) async fn assign(app: &App, options: &CasesAssignArgs) -> Result<(), Exit> {
    let to = clean(&options.to, ACTION_NAME_CHARS);
    if to.trim().is_empty() {
        return Err(Exit::usage(
            "say who gets the case with --to NAME".to_owned(),
        ));
    }
    let kind = CaseActionKind::Assigned { to };
    act(app, &options.act, kind).await
}

async fn act(app: &App, options: &CaseActionArgs, kind: CaseActionKind) -> Result<(), Exit> {
    let act = CaseAction {
        at: app.clock.now(),
        by: clean(&author(options.by.as_deref())?, ACTION_NAME_CHARS),
        kind,
        note: clean(&options.note, ACTION_NOTE_CHARS),
    };
    let (id, desk) = app.store.record_action(&options.id, act).await?;
    if options.json.json {
        return print_json(&desk);
    }
    print(&format!("case {id}: {}", workflow_summary(&desk)))
}

/// Returns the state of the case workflow: `acknowledged, ana has it`.
pub(super) fn workflow_summary(desk: &CaseWorkflow) -> String {
    let status = desk.status.as_str();
    match &desk.owner {
        Some(owner) => format!(
            "{status}, {} has it",
            sanitize_line(owner, ACTION_NAME_CHARS)
        ),
        None => status.to_owned(),
    }
}

/// Returns an action as a line: `2026-03-02 08:00:00 ana closed it: why`.
pub(super) fn action_line(act: &CaseAction) -> String {
    let what = match &act.kind {
        CaseActionKind::Acknowledged => "has it".to_owned(),
        CaseActionKind::Assigned { to } => format!("gave it to {}", sanitize_line(to, 80)),
        CaseActionKind::Agreed => "agrees".to_owned(),
        CaseActionKind::Disagreed { verdict } => format!("disagrees: {}", verdict.title()),
        CaseActionKind::AskedAgain => "had it triaged again".to_owned(),
        CaseActionKind::Muted { name, until } => {
            format!(
                "muted its like until {} ({})",
                until.format("%Y-%m-%d"),
                sanitize_line(name, 40)
            )
        }
        CaseActionKind::Closed => "closed it".to_owned(),
        CaseActionKind::Reopened => "sent something new: open again".to_owned(),
    };
    let note = if act.note.is_empty() {
        String::new()
    } else {
        format!(": {}", sanitize_line(&act.note, 300))
    };
    format!(
        "{} {} {what}{note}",
        act.at.format("%Y-%m-%d %H:%M:%S UTC"),
        sanitize_line(&act.by, 80)
    )
}
