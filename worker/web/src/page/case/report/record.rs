//! The record: timeline, indicators, exonerations and evidence.

use chrono::{DateTime, Utc};
use nightshift_engine::evidence::EvidenceId;
use nightshift_pipeline::report::{Report, ToldRecord};
use serde::Serialize;

use crate::page::case::evidence::{EvidenceView, entries};
use crate::page::case::{Cite, cites};
use crate::shown::{Moment, Shown};

/// Default maximum of lines in a list.
const MOST: usize = 60;

#[derive(Debug, Serialize)]
pub(super) struct Record {
    exonerations: Vec<RecordView>,
    timeline: Vec<Line>,
    timeline_left: u32,
    indicators: Vec<IndicatorView>,
    indicators_left: usize,
    techniques: Vec<Shown>,
    evidence: Vec<EvidenceView>,
}

#[derive(Debug, Serialize)]
struct RecordView {
    statement: Shown,
    reference: Shown,
    approved_by: Shown,
    /// The subjects, if the statement does not name them.
    about: Vec<Shown>,
    from: Option<Moment>,
    until: Option<Moment>,
    cites: Vec<Cite>,
}

#[derive(Debug, Serialize)]
struct Line {
    at: Moment,
    what: Shown,
    cites: Vec<Cite>,
}

#[derive(Debug, Serialize)]
struct IndicatorView {
    role: &'static str,
    kind: &'static str,
    value: Shown,
}

impl Record {
    pub(super) fn new(report: &Report, here: &[EvidenceId], now: DateTime<Utc>) -> Self {
        let told = report.told_records();
        let exonerations = told.iter().take(8);
        let timeline = report.timeline.iter().take(MOST).map(|entry| Line {
            at: Moment::new(entry.at, now),
            what: Shown::foreign(&entry.what, 200),
            cites: cites(entry.evidence, here),
        });
        let indicators = report
            .indicators
            .iter()
            .take(MOST)
            .map(|one| IndicatorView {
                role: one.role.as_str(),
                kind: one.kind.as_str(),
                value: Shown::value(one),
            });
        let techniques = report.techniques.iter().take(20).map(|one| {
            let id = Shown::foreign(&one.id, 12);
            match &one.name {
                Some(name) => Shown::made(format_args!("{id} {}", Shown::foreign(name, 60))),
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

fn record(told: &ToldRecord<'_>, here: &[EvidenceId], now: DateTime<Utc>) -> RecordView {
    let record = told.record;
    RecordView {
        about: told.about.iter().take(8).map(Shown::value).collect(),
        statement: Shown::sentence(&record.statement),
        reference: Shown::name(&record.reference),
        approved_by: Shown::name(&record.approved_by),
        from: record.from.map(|at| Moment::new(at, now)),
        until: record.until.map(|at| Moment::new(at, now)),
        cites: cites(record.evidence, here),
    }
}
