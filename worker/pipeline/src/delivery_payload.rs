//! Defines the content that a destination should show of a case: its report, the state of the case workflow, and what
//! the destination shows now, so that it can render the difference. Destinations decide on form and place.

use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Leaning, Urgency, Verdict};
use serde::{Deserialize, Serialize};

use crate::case::CaseStatus;
use crate::case_workflow::{CaseWorkflow, WorkflowStatus};
use crate::report::Report;

/// Content to show of one case.
#[derive(Debug, Clone)]
pub struct DeliveryPayload {
    /// Version number, which grows with every visible change.
    pub version: u64,
    /// Remote id, once the destination shows the case.
    pub remote_id: Option<String>,
    /// The report, or for a running case a provisional one of its alert.
    pub report: Report,
    /// The report that the destination shows now, or `None` if it shows nothing yet.
    pub delivered: Option<DeliveredReport>,
    /// State of the case workflow.
    pub workflow: CaseWorkflow,
    /// True if only counts or people's actions changed, and nothing that a report says. Such an edit can wait, and
    /// destinations that show a report once do not want it.
    pub is_minor: bool,
    /// True if an earlier attempt has an unknown result. If it cannot be looked up, the report may be there already.
    pub in_doubt: bool,
}

/// The content that a destination shows of a case, in enough detail to describe changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveredReport {
    /// Triage of the shown report.
    pub revision: u32,
    /// Status of the case, which may be running.
    pub status: CaseStatus,
    pub verdict: Verdict,
    pub leaning: Leaning,
    /// Severity after triage.
    pub assessed_severity: Severity,
    pub urgency: Urgency,
    /// Number of further arrivals of the alert at that time.
    pub sightings: u64,
}

impl DeliveredReport {
    /// Creates the content that a destination shows once it has this report.
    #[must_use]
    pub const fn from_report(report: &Report) -> Self {
        Self {
            revision: report.revision,
            status: report.status,
            verdict: report.verdict,
            leaning: report.leaning,
            assessed_severity: report.assessed_severity,
            urgency: report.urgency,
            sightings: report.alert.sightings,
        }
    }

    /// Returns whether the shown content is a report of an ended case.
    #[must_use]
    pub const fn is_report(&self) -> bool {
        matches!(self.status, CaseStatus::Concluded | CaseStatus::Failed)
    }
}

impl DeliveryPayload {
    /// Creates the content for a report that is shown for the first time.
    #[must_use]
    pub fn new(report: Report) -> Self {
        Self {
            version: 1,
            remote_id: None,
            report,
            delivered: None,
            workflow: CaseWorkflow::default(),
            is_minor: false,
            in_doubt: false,
        }
    }

    /// Returns whether the case still runs, so that there is no report yet.
    #[must_use]
    pub const fn is_early(&self) -> bool {
        !matches!(
            self.report.status,
            CaseStatus::Concluded | CaseStatus::Failed
        )
    }

    /// Returns whether this is a canary that came through and is still shown. It is then removed or closed.
    #[must_use]
    pub fn is_spent_canary(&self) -> bool {
        self.report.is_canary()
            && self.remote_id.is_some()
            && self.workflow.status == WorkflowStatus::Closed
    }

    /// Returns whether the shown report has another result than the current one.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        !self.is_early()
            && self
                .delivered_report()
                .is_some_and(|shown| delivered_assessment(shown) != self.assessment())
    }

    /// Returns whether the current result is worse than the shown one, so that its readers must be notified. A failed
    /// case is worse than any cleared one, because its verdict is unknown.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        !self.is_early()
            && self.delivered_report().is_some_and(|shown| {
                let now = (
                    verdict_rank(self.report.verdict, self.report.leaning),
                    self.report.assessed_severity,
                );
                let then = (
                    verdict_rank(shown.verdict, shown.leaning),
                    shown.assessed_severity,
                );
                now.0 > then.0 || now.1 > then.1
            })
    }

    /// Returns the shown content if it is a report.
    #[must_use]
    pub fn delivered_report(&self) -> Option<&DeliveredReport> {
        self.delivered.as_ref().filter(|shown| shown.is_report())
    }

    const fn assessment(&self) -> (CaseStatus, Verdict, Leaning, Severity) {
        let report = &self.report;
        (
            report.status,
            report.verdict,
            report.leaning,
            report.assessed_severity,
        )
    }
}

const fn delivered_assessment(shown: &DeliveredReport) -> (CaseStatus, Verdict, Leaning, Severity) {
    (
        shown.status,
        shown.verdict,
        shown.leaning,
        shown.assessed_severity,
    )
}

/// Returns the weight of a verdict, higher for worse.
const fn verdict_rank(verdict: Verdict, leaning: Leaning) -> u8 {
    match (verdict, leaning) {
        (Verdict::FalsePositive | Verdict::BenignTruePositive, _) => 0,
        (Verdict::Inconclusive, Leaning::Benign) => 1,
        (Verdict::Inconclusive, Leaning::None) => 2,
        (Verdict::Inconclusive, Leaning::Malicious) => 3,
        (Verdict::TruePositive, _) => 4,
    }
}
