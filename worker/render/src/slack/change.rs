//! Describes changes and actions of people, for a reader who sees a message again.

use chrono::{DateTime, Utc};
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, CaseWorkflow};
use nightshift_pipeline::delivery_payload::DeliveryPayload;

use crate::Language;
use crate::document::{differences, reasons};
use crate::line::{Line, joined};

/// The maximum number of actions of people that are listed. Earlier ones are skipped.
const MOST_ACTS: usize = 4;

/// Returns what changed and why, such as `verdict Inconclusive → True positive; severity High → Critical; revision 1
/// → 2`. Returns `None` if nothing that a report says changed.
pub(super) fn changes(showing: &DeliveryPayload, language: Language) -> Option<Line> {
    let shown = showing
        .delivered_report()
        .filter(|_| showing.is_changed())?;
    let report = &showing.report;
    let revision = match shown.revision == report.revision {
        true => Line::default(),
        false => Line::from_static(language.pick("revision ", "改訂 "))
            .number(shown.revision.into())
            .say(" → ")
            .number(report.revision.into()),
    };
    let said = differences(report, shown.into(), language);
    Some(joined([said, revision, reasons(report, language)], "; "))
}

/// Returns what people did with the case, the latest last.
pub(super) fn acts(desk: &CaseWorkflow, language: Language) -> Vec<Line> {
    let skipped = desk.acts.len().saturating_sub(MOST_ACTS);
    desk.acts
        .iter()
        .skip(skipped)
        .map(|act| line(act, language))
        .collect()
}

fn line(act: &CaseAction, language: Language) -> Line {
    let who = Line::from_name(&act.by);
    let line = match &act.kind {
        CaseActionKind::Acknowledged => who.say(language.pick(" has it", " が担当")),
        CaseActionKind::Assigned { to } => who
            .say(language.pick(" gave it to ", " が割り当て → "))
            .name(to),
        CaseActionKind::Agreed => who.say(language.pick(" agrees", " が同意")),
        CaseActionKind::Disagreed { verdict } => who
            .say(language.pick(" disagrees: ", " が異議: "))
            .say(language.verdict(*verdict)),
        CaseActionKind::AskedAgain => {
            who.say(language.pick(" had it run again", " が再実行を依頼"))
        }
        CaseActionKind::Muted { until, .. } => muted(who, *until, language),
        CaseActionKind::Closed => who.say(language.pick(" closed it", " がクローズ")),
        CaseActionKind::Reopened => who.say(language.pick(
            " sent something new: open again",
            " から新しい内容: 再オープン",
        )),
    };
    let line = line.say(" · ").at(act.at);
    if act.note.trim().is_empty() {
        line
    } else {
        line.say(" — ").foreign(&act.note, 200)
    }
}

fn muted(who: Line, until: DateTime<Utc>, language: Language) -> Line {
    match language {
        Language::En => who.say(" muted its like until ").at(until),
        Language::Ja => who.say(" が同種をミュート（").at(until).say(" まで）"),
    }
}
