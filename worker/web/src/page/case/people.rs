//! Renders the case workflow: actions of people, the latest first, and the current status.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::{CaseRow, CaseView};
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, WorkflowStatus};
use nightshift_pipeline::language::Language;
use nightshift_render::Line;
use serde::Serialize;

use crate::page::display::{DisplayTime, optional_name, person};
use crate::page::list::workflow_label;

/// The maximum number of actions that are shown.
const MOST: usize = 100;
/// The maximum number of characters of a note.
const NOTE: usize = 1_000;

#[derive(Debug, Serialize)]
pub(super) struct People {
    status: &'static str,
    class: &'static str,
    /// The assignee of an open case, with and without the id.
    owner: Option<Line>,
    owner_name: Option<Line>,
    /// The verdict of a person, if it differs from that of the case.
    verdict: Option<&'static str>,
    /// The person who cancelled the latest triage.
    cancelled_by: Option<Line>,
    acts: Vec<ActionRow>,
    /// The number of earlier actions that are not shown.
    left: usize,
    /// The commands to assign, dispute or close the case.
    commands: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ActionRow {
    at: DisplayTime,
    by: Line,
    words: Line,
    note: Option<Line>,
}

impl People {
    pub(super) fn new(view: &CaseView, language: Language, now: DateTime<Utc>) -> Self {
        let desk = &view.workflow;
        let owner = desk.owner.as_ref();
        let owner = owner.filter(|_| desk.status == WorkflowStatus::Acknowledged);
        Self {
            status: workflow_label(desk.status, language),
            class: desk.status.as_str(),
            owner: optional_name(owner),
            owner_name: owner.map(|owner| person(owner)),
            verdict: desk.verdict.map(|verdict| language.verdict(verdict)),
            cancelled_by: optional_name(view.cancelled_by.as_ref()),
            acts: desk
                .acts
                .iter()
                .rev()
                .take(MOST)
                .map(|act| done(act, view, language, now))
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

fn done(act: &CaseAction, view: &CaseView, language: Language, now: DateTime<Utc>) -> ActionRow {
    let note = Line::default().foreign(&act.note, NOTE);
    ActionRow {
        at: DisplayTime::new(language, act.at, now),
        by: Line::from_name(&act.by),
        words: words(act, view, language),
        note: (!note.is_empty()).then_some(note),
    }
}

/// Returns the text of an action, which follows the name.
fn words(act: &CaseAction, view: &CaseView, language: Language) -> Line {
    let own = |en, ja| Line::from_static(language.pick(en, ja));
    match &act.kind {
        CaseActionKind::Acknowledged => own("has it", "が対応中"),
        CaseActionKind::Assigned { to } => own("gave it to ", "が担当者を指定: ").name(to),
        CaseActionKind::Agreed => own("agrees with the verdict", "が判定に同意")
            .then(&revision_suffix(act, view, language)),
        CaseActionKind::Disagreed { verdict } => own("disagrees: ", "が異議: ")
            .say(language.verdict(*verdict))
            .then(&revision_suffix(act, view, language)),
        CaseActionKind::AskedAgain => own("had it triaged again", "が再トリアージを依頼"),
        CaseActionKind::Muted { name, until } => {
            own("muted its like until ", "が同種をミュート、期限 ")
                .at(*until)
                .say(" (")
                .name(name)
                .say(")")
        }
        CaseActionKind::Closed => own("closed it", "がクローズ"),
        CaseActionKind::Reopened => own("sent something new: open again", "から新着、再オープン"),
    }
}

/// Returns the revision that a verdict is about, if there are several.
fn revision_suffix(act: &CaseAction, view: &CaseView, language: Language) -> Line {
    let mut said = view.person_verdicts.iter();
    match said.find(|said| said.at == act.at && said.by == act.by) {
        Some(said) if view.row.revision > 1 => {
            Line::from_static(language.pick(" (revision ", "（改訂 "))
                .number(said.revision.into())
                .say(language.pick(")", "）"))
        }
        _ => Line::default(),
    }
}
