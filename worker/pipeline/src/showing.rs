//! What a destination is to show of a case: its report, what people made of it, and what the destination shows now, so
//! that it can say what changed. How that looks, and where, is for the destinations.

use nightshift_alert::Severity;
use nightshift_engine::{Leaning, Urgency, Verdict};
use serde::{Deserialize, Serialize};

use crate::{CaseStatus, Desk, DeskStatus, Report};

/// What a destination is to show of one case.
#[derive(Debug, Clone)]
pub struct Showing {
    /// Its number: it grows with every change that somebody should see.
    pub version: u64,
    /// What the destination calls it, once it shows it.
    pub remote_id: Option<String>,
    /// The report; of a case that still runs, what is known of its alert.
    pub report: Report,
    /// What the destination shows now; none where it shows nothing yet.
    pub shown: Option<Shown>,
    /// What people made of it.
    pub desk: Desk,
    /// Only counts or people's acts changed since then, nothing that a report says: an edit that can wait, and that is no
    /// news to who is told once.
    pub minor: bool,
    /// An earlier try began and nobody knows how it ended: where it cannot be looked up, it may be there already.
    pub in_doubt: bool,
}

/// What a destination shows of a case: enough to say what changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Which triage.
    pub revision: u32,
    /// How it ended, or that it runs.
    pub status: CaseStatus,
    /// The verdict.
    pub verdict: Verdict,
    /// Where it leans.
    pub leaning: Leaning,
    /// Severity after triage.
    pub assessed_severity: Severity,
    /// When somebody should act.
    pub urgency: Urgency,
    /// How many more times its alert had arrived.
    pub sightings: u64,
}

impl Shown {
    /// What is shown once this report is.
    #[must_use]
    pub const fn of(report: &Report) -> Self {
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

    /// Whether it told how a case ended.
    #[must_use]
    pub const fn is_report(&self) -> bool {
        matches!(self.status, CaseStatus::Concluded | CaseStatus::Failed)
    }
}

impl Showing {
    /// A report that is shown for the first time.
    #[must_use]
    pub fn first(report: Report) -> Self {
        Self {
            version: 1,
            remote_id: None,
            report,
            shown: None,
            desk: Desk::default(),
            minor: false,
            in_doubt: false,
        }
    }

    /// Whether the case still runs, so that there is no report yet.
    #[must_use]
    pub const fn is_early(&self) -> bool {
        !matches!(
            self.report.status,
            CaseStatus::Concluded | CaseStatus::Failed
        )
    }

    /// Whether it is a canary that has come through and is shown still: it is taken away, or closed.
    #[must_use]
    pub fn is_spent_canary(&self) -> bool {
        self.report.is_canary()
            && self.remote_id.is_some()
            && self.desk.status == DeskStatus::Closed
    }

    /// Whether what is shown told how the case ended, and it ended otherwise since.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        !self.is_early()
            && self
                .earlier()
                .is_some_and(|shown| said(shown) != self.says())
    }

    /// Whether it is worse than what is shown: somebody must be told who has read that. A case that failed is worse than
    /// any that was cleared, for nobody knows.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        !self.is_early()
            && self.earlier().is_some_and(|shown| {
                let now = (
                    weight(self.report.verdict, self.report.leaning),
                    self.report.assessed_severity,
                );
                let then = (
                    weight(shown.verdict, shown.leaning),
                    shown.assessed_severity,
                );
                now.0 > then.0 || now.1 > then.1
            })
    }

    /// The report that is shown now, if it is one.
    #[must_use]
    pub fn earlier(&self) -> Option<&Shown> {
        self.shown.as_ref().filter(|shown| shown.is_report())
    }

    const fn says(&self) -> (CaseStatus, Verdict, Leaning, Severity) {
        let report = &self.report;
        (
            report.status,
            report.verdict,
            report.leaning,
            report.assessed_severity,
        )
    }
}

const fn said(shown: &Shown) -> (CaseStatus, Verdict, Leaning, Severity) {
    (
        shown.status,
        shown.verdict,
        shown.leaning,
        shown.assessed_severity,
    )
}

/// How bad a verdict is.
const fn weight(verdict: Verdict, leaning: Leaning) -> u8 {
    match (verdict, leaning) {
        (Verdict::FalsePositive | Verdict::BenignTruePositive, _) => 0,
        (Verdict::Inconclusive, Leaning::Benign) => 1,
        (Verdict::Inconclusive, Leaning::None) => 2,
        (Verdict::Inconclusive, Leaning::Malicious) => 3,
        (Verdict::TruePositive, _) => 4,
    }
}
