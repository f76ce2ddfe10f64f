//! The case workflow: actions of people, the latest first, and the current status.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::{CaseRow, CaseView};
use nightshift_pipeline::desk::{Act, ActKind, DeskStatus};
use serde::Serialize;

use crate::page::list::desk_word;
use crate::shown::{Moment, Shown};

/// Most actions that are shown.
const MOST: usize = 100;
/// Most characters of a note.
const NOTE: usize = 1_000;

#[derive(Debug, Serialize)]
pub(super) struct People {
    status: &'static str,
    class: &'static str,
    /// The assignee of an open case, with and without the id.
    owner: Option<Shown>,
    owner_name: Option<Shown>,
    /// The verdict of a person, if it differs from that of the case.
    verdict: Option<&'static str>,
    /// The person who cancelled the latest triage.
    cancelled_by: Option<Shown>,
    acts: Vec<Done>,
    /// Number of earlier actions that are not shown.
    left: usize,
    /// Commands to assign, dispute or close the case.
    commands: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Done {
    at: Moment,
    by: Shown,
    words: Shown,
    note: Option<Shown>,
}

impl People {
    pub(super) fn new(view: &CaseView, now: DateTime<Utc>) -> Self {
        let desk = &view.desk;
        let owner = desk.owner.as_ref();
        let owner = owner.filter(|_| desk.status == DeskStatus::Acknowledged);
        Self {
            status: desk_word(desk.status),
            class: desk.status.as_str(),
            owner: Shown::option(owner),
            owner_name: owner.map(|owner| Shown::person(owner)),
            verdict: desk.verdict.map(Verdict::title),
            cancelled_by: Shown::option(view.cancelled_by.as_ref()),
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

/// Returns the commands for the current status. They contain only our own words and the case id.
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

fn done(act: &Act, view: &CaseView, now: DateTime<Utc>) -> Done {
    let note = Shown::foreign(&act.note, NOTE);
    Done {
        at: Moment::new(act.at, now),
        by: Shown::name(&act.by),
        words: words(act, view),
        note: (!note.is_empty()).then_some(note),
    }
}

/// Returns the text of an action, which follows the name.
fn words(act: &Act, view: &CaseView) -> Shown {
    match &act.kind {
        ActKind::Acknowledged => Shown::made(format_args!("has it")),
        ActKind::Assigned { to } => Shown::made(format_args!("gave it to {}", Shown::name(to))),
        ActKind::Agreed => Shown::made(format_args!("agrees with the verdict{}", of(act, view))),
        ActKind::Disagreed { verdict } => Shown::made(format_args!(
            "disagrees: {}{}",
            verdict.title(),
            of(act, view)
        )),
        ActKind::AskedAgain => Shown::made(format_args!("had it triaged again")),
        ActKind::Muted { name, until } => Shown::made(format_args!(
            "muted its like until {} UTC ({})",
            until.format("%Y-%m-%d %H:%M"),
            Shown::name(name)
        )),
        ActKind::Closed => Shown::made(format_args!("closed it")),
        ActKind::Reopened => Shown::made(format_args!("sent something new: open again")),
    }
}

/// Returns the revision that a verdict is about, if there are several.
fn of(act: &Act, view: &CaseView) -> String {
    let mut said = view.person_verdicts.iter();
    match said.find(|said| said.at == act.at && said.by == act.by) {
        Some(said) if view.row.revision > 1 => format!(" (revision {})", said.revision),
        _ => String::new(),
    }
}
