//! Builds the ledger of the alert: each subject with the record that covers it, or with what is missing.

use nightshift_engine::ledger_row::LedgerRow;
use nightshift_pipeline::report::Report;

use super::{Block, Part, Section, more};
use crate::Language;
use crate::line::Line;

/// The maximum number of subjects.
const MOST: usize = 20;

/// Returns the required subjects, or `None` if no record covers any of them.
pub(super) fn section(report: &Report, language: Language) -> Option<Section> {
    let required = || report.ledger.iter().filter(|row| row.required);
    required().find(|row| row.covered_by.is_some())?;
    let rows = required().take(MOST);
    let blocks = rows
        .map(|row| Block::Item(told(row, language)))
        .chain(more(language, MOST, required().count()))
        .collect();
    Some(Section {
        part: Part::Ledger,
        title: language.pick("What clears it", "無害とする根拠"),
        heading: language.pick("What clears it", "無害とする根拠"),
        blocks,
    })
}

/// Returns the line of a subject: `ci-deploy (principal): identity R-7, approved by grace, until 2026-12-31 [E4]`, or
/// `…: NOT COVERED`.
fn told(row: &LedgerRow, language: Language) -> Line {
    let line = Line::default()
        .foreign(&row.subject, 120)
        .say(" (")
        .name(&row.subject_type.replace('_', " "))
        .say(")");
    let Some(record) = &row.covered_by else {
        return line.say(language.pick(": NOT COVERED", ": 【記録なし】"));
    };
    let line = line
        .say(": ")
        .name(&record.kind.replace('_', " "))
        .say(" ")
        .name(&record.reference)
        .say(language.pick(", approved by ", "、承認 "))
        .name(&record.approved_by);
    let line = match record.until {
        Some(until) => line.say(language.pick(", until ", "、期限 ")).at(until),
        None => line,
    };
    line.cite(record.evidence)
}
