//! Renders the case workflow: actions of people, the latest first, and the current status.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::{CaseRow, CaseView};
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, WorkflowStatus};
use serde::Serialize;

use crate::page::list::workflow_label;
use crate::safe_text::{DisplayTime, SafeText};

/// The maximum number of actions that are shown.
const MOST: usize = 100;
/// The maximum number of characters of a note.
const NOTE: usize = 1_000;

#[derive(Debug, Serialize)]
pub(super) struct People {
    status: &'static str,
    class: &'static str,
    /// The assignee of an open case, with and without the id.
    owner: Option<SafeText>,
    owner_name: Option<SafeText>,
    /// The verdict of a person, if it differs from that of the case.
    verdict: Option<&'static str>,
    /// The person who cancelled the latest triage.
    cancelled_by: Option<SafeText>,
    acts: Vec<ActionRow>,
    /// The number of earlier actions that are not shown.
    left: usize,
    /// The commands to assign, dispute or close the case.
    commands: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ActionRow {
    at: DisplayTime,
    by: SafeText,
    words: SafeText,
    note: Option<SafeText>,
}

impl People {
    pub(super) fn new(view: &CaseView, now: DateTime<Utc>) -> Self {
        let desk = &view.workflow;
        let owner = desk.owner.as_ref();
        let owner = owner.filter(|_| desk.status == WorkflowStatus::Acknowledged);
        Self {
            status: workflow_label(desk.status),
            class: desk.status.as_str(),
            owner: SafeText::optional_name(owner),
            owner_name: owner.map(|owner| SafeText::person(owner)),
            verdict: desk.verdict.map(Verdict::title),
            cancelled_by: SafeText::optional_name(view.cancelled_by.as_ref()),
            acts: desk
                .acts
                .iter()
                .rev()
                .take(MOST)
                .map(|act| done(act, view, now))
                .collect(),
            left: desk.acts.len().saturating_sub(MOST),
            commands: commands(&view.row),
        }
    }
}

/// Returns the commands for the current status. They contain only fixed words and the case id.
fn commands(row: &CaseRow) -> Vec<String> {
    let id = &row.id;
    let of = |act: &str| format!("nightshift cases {act} {id}");
    let mut commands = vec![of("ack")];
    if let Some(verdict) = row.verdict.filter(|_| row.status.is_over()) {
        let another = match verdict {
            Verdict::TruePositive | Verdict::Inconclusive => Verdict::FalsePositive,
            Verdict::BenignTruePositive | Verdict::FalsePositive => Verdict::TruePositive,
        };
        commands.push(of("agree"));
        commands.push(format!(
            "nightshift cases disagree {id} --verdict {} --note 'why'",
            another.as_str()
        ));
    }
    commands.push(of(if row.status.is_over() {
        "retry"
    } else {
        "cancel"
    }));
    commands.push(format!("{} --note 'what was done'", of("close")));
    commands
}

fn done(act: &CaseAction, view: &CaseView, now: DateTime<Utc>) -> ActionRow {
    let note = SafeText::from_foreign(&act.note, NOTE);
    ActionRow {
        at: DisplayTime::new(act.at, now),
        by: SafeText::name(&act.by),
        words: words(act, view),
        note: (!note.is_empty()).then_some(note),
    }
}

/// Returns the text of an action, which follows the name.
fn words(act: &CaseAction, view: &CaseView) -> SafeText {
    match &act.kind {
        CaseActionKind::Acknowledged => SafeText::from_own(format_args!("has it")),
        CaseActionKind::Assigned { to } => {
            SafeText::from_own(format_args!("gave it to {}", SafeText::name(to)))
        }
        CaseActionKind::Agreed => SafeText::from_own(format_args!(
            "agrees with the verdict{}",
            revision_suffix(act, view)
        )),
        CaseActionKind::Disagreed { verdict } => SafeText::from_own(format_args!(
            "disagrees: {}{}",
            verdict.title(),
            revision_suffix(act, view)
        )),
        CaseActionKind::AskedAgain => SafeText::from_own(format_args!("had it triaged again")),
        CaseActionKind::Muted { name, until } => SafeText::from_own(format_args!(
            "muted its like until {} UTC ({})",
            until.format("%Y-%m-%d %H:%M"),
            SafeText::name(name)
        )),
        CaseActionKind::Closed => SafeText::from_own(format_args!("closed it")),
        CaseActionKind::Reopened => {
            SafeText::from_own(format_args!("sent something new: open again"))
        }
    }
}

/// Returns the revision that a verdict is about, if there are several.
fn revision_suffix(act: &CaseAction, view: &CaseView) -> String {
    let mut said = view.person_verdicts.iter();
    match said.find(|said| said.at == act.at && said.by == act.by) {
        Some(said) if view.row.revision > 1 => format!(" (revision {})", said.revision),
        _ => String::new(),
    }
}
