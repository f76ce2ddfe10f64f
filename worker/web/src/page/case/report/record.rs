//! Renders the record: timeline, indicators, exonerations and evidence.

use chrono::{DateTime, Utc};
use nightshift_engine::evidence::EvidenceId;
use nightshift_pipeline::report::{GroupedRecord, Report};
use serde::Serialize;

use crate::page::case::evidence::{EvidenceView, entries};
use crate::page::case::{Cite, cites};
use crate::safe_text::{DisplayTime, SafeText};

/// The default maximum number of lines in a list.
const MOST: usize = 60;

#[derive(Debug, Serialize)]
pub(super) struct Record {
    exonerations: Vec<RecordView>,
    timeline: Vec<TimelineRow>,
    timeline_left: u32,
    indicators: Vec<IndicatorView>,
    indicators_left: usize,
    techniques: Vec<SafeText>,
    evidence: Vec<EvidenceView>,
}

#[derive(Debug, Serialize)]
struct RecordView {
    statement: SafeText,
    reference: SafeText,
    approved_by: SafeText,
    /// The subjects, if the statement does not name them.
    about: Vec<SafeText>,
    from: Option<DisplayTime>,
    until: Option<DisplayTime>,
    cites: Vec<Cite>,
}

#[derive(Debug, Serialize)]
struct TimelineRow {
    at: DisplayTime,
    what: SafeText,
    cites: Vec<Cite>,
}

#[derive(Debug, Serialize)]
struct IndicatorView {
    role: &'static str,
    kind: &'static str,
    value: SafeText,
}

impl Record {
    pub(super) fn new(report: &Report, here: &[EvidenceId], now: DateTime<Utc>) -> Self {
        let told = report.grouped_records();
        let exonerations = told.iter().take(8);
        let timeline = report.timeline.iter().take(MOST).map(|entry| TimelineRow {
            at: DisplayTime::new(entry.at, now),
            what: SafeText::from_foreign(&entry.what, 200),
            cites: cites(entry.evidence, here),
        });
        let indicators = report
            .indicators
            .iter()
            .take(MOST)
            .map(|one| IndicatorView {
                role: one.role.as_str(),
                kind: one.kind.as_str(),
                value: SafeText::value(one),
            });
        let techniques = report.techniques.iter().take(20).map(|one| {
            let id = SafeText::from_foreign(&one.id, 12);
            match &one.name {
                Some(name) => {
                    SafeText::from_own(format_args!("{id} {}", SafeText::from_foreign(name, 60)))
                }
                None => id,
            }
        });
        Self {
            exonerations: exonerations.map(|one| record(one, here, now)).collect(),
            timeline: timeline.collect(),
            timeline_left: report.timeline_left,
            indicators: indicators.collect(),
            indicators_left: report.indicators.len().saturating_sub(MOST),
            techniques: techniques.collect(),
            evidence: entries(report, now),
        }
    }
}

fn record(told: &GroupedRecord<'_>, here: &[EvidenceId], now: DateTime<Utc>) -> RecordView {
    let record = told.record;
    RecordView {
        about: told.about.iter().take(8).map(SafeText::value).collect(),
        statement: SafeText::sentence(&record.statement),
        reference: SafeText::name(&record.reference),
        approved_by: SafeText::name(&record.approved_by),
        from: record.from.map(|at| DisplayTime::new(at, now)),
        until: record.until.map(|at| DisplayTime::new(at, now)),
        cites: cites(record.evidence, here),
    }
}
