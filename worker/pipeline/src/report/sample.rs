//! Builds a report that shows how reports look and marks itself as a sample. `nightshift destinations test` sends it.

use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Urgency, Verdict, VerdictReason};
use nightshift_engine::event::AnalystKind;

use super::{EarlyReportInput, Report, ReportProducer, early_report};
use crate::case::{CaseId, CaseStatus};
use crate::intake::unreadable_alert;

/// Returns a sample report under this id. It contains no data of any real cloud.
#[must_use]
pub fn sample_report(id: &str, now: DateTime<Utc>, sender: &ReportProducer) -> Report {
    let alert = unreadable_alert("nightshift", id.as_bytes(), "a sample", now);
    let early = EarlyReportInput {
        case_id: CaseId(id.to_owned()),
        revision: 1,
        status: CaseStatus::Concluded,
        opened_at: now,
        cancelled_by: None,
    };
    let mut report = early_report(&alert, early);
    report.alert.sample = true;
    report.alert.kind = "Sample:Destination/Test".to_owned();
    report.alert.title = "Sample report: nothing happened".to_owned();
    report.alert.description = "Sent to see that reports arrive.".to_owned();
    report.alert.flags.clear();
    report.title.clone_from(&report.alert.title);
    report.summary =
        "This is a sample of a report: this destination can be reached, and takes reports."
            .to_owned();
    report.meaning = "Nobody needs to act on it.".to_owned();
    report.verdict = Verdict::FalsePositive;
    report.reason = VerdictReason::WrongDetectionLogic;
    report.severity = Severity::Informational;
    report.assessed_severity = Severity::Informational;
    report.urgency = Urgency::None;
    report.analyst = AnalystKind::Playbook;
    report.source = "sample".to_owned();
    report.sender = sender.clone();
    report
}
