//! Builds a provisional report of a case without a report: its alert and its progress, without any verdict.

use chrono::{DateTime, Utc};
use nightshift_alert::Alert;
use nightshift_engine::conclusion::{
    Confidence, Leaning, SourceCoverage, Urgency, Verdict, VerdictReason,
};
use nightshift_engine::event::AnalystKind;
use nightshift_engine::limits::Cost;

use super::{BlastRadius, FailoverSources, REPORT_SCHEMA, Report, ReportProducer, build};
use crate::case::{CaseId, CaseStatus};

/// Progress of a case without a report.
#[derive(Debug, Clone)]
pub struct EarlyReportInput {
    pub case_id: CaseId,
    /// Triage of the case.
    pub revision: u32,
    pub status: CaseStatus,
    pub opened_at: DateTime<Utc>,
    /// Person who cancelled the case.
    pub cancelled_by: Option<String>,
}

/// Text before the name of the person who cancelled a case.
const CALLED_OFF: &str = "called off by ";

impl Report {
    /// Returns the person who cancelled the case before it had a verdict.
    #[must_use]
    pub fn called_off_by(&self) -> Option<&str> {
        let why = self.failed.as_deref()?;
        why.strip_prefix(CALLED_OFF)
            .filter(|_| self.status == CaseStatus::Cancelled)
    }
}

/// Returns a provisional report. Its verdict is inconclusive, and `failed` names the person who cancelled the case.
#[must_use]
pub fn early_report(alert: &Alert, early: EarlyReportInput) -> Report {
    let cancelled_by = early.cancelled_by.as_deref();
    Report {
        schema: REPORT_SCHEMA.to_owned(),
        case_id: early.case_id.0,
        revision: early.revision,
        status: early.status,
        again: None,
        instead_of: FailoverSources::new(),
        alert: build::facts(alert),
        verdict: Verdict::Inconclusive,
        leaning: Leaning::None,
        reason: VerdictReason::MissingData,
        confidence: Confidence::Low,
        severity: alert.severity,
        assessed_severity: alert.severity,
        urgency: Urgency::ThisShift,
        title: build::title(alert),
        summary: String::new(),
        meaning: String::new(),
        findings: Vec::new(),
        gaps: Vec::new(),
        would_decide: Vec::new(),
        actions: Vec::new(),
        steps: Vec::new(),
        insights: Vec::new(),
        updates: Vec::new(),
        timeline: Vec::new(),
        timeline_left: 0,
        since: Box::default(),
        indicators: alert
            .indicators
            .iter()
            .take(build::MOST_INDICATORS)
            .cloned()
            .collect(),
        techniques: Vec::new(),
        exonerations: Vec::new(),
        ledger: Vec::new(),
        cost: Cost::default(),
        analyst: AnalystKind::Model,
        models: Vec::new(),
        prompts: String::new(),
        source: String::new(),
        degraded: false,
        takeover: None,
        stopped_by: None,
        failed: cancelled_by.map(|who| format!("{CALLED_OFF}{who}")),
        overridden: Vec::new(),
        manipulation: false,
        signals: Vec::new(),
        coverage: SourceCoverage::default(),
        reach: BlastRadius::default(),
        evidence: Vec::new(),
        opened_at: early.opened_at,
        concluded_at: early.opened_at,
        took_ms: 0,
        sender: ReportProducer::default(),
        trace: alert.trace.clone(),
    }
}
