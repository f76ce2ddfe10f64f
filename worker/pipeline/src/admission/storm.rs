//! Storms: many cases of one feed, type and account within minutes are one report with a count. High and critical
//! alerts never drown in one.

use nightshift_alert::Alert;

use super::AdmissionPolicy;
use crate::CaseId;

/// Cases of one feed, type and account that were opened within the storm window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// How many.
    pub cases: u32,
    /// The first of them.
    pub first: CaseId,
}

/// The case that the alert becomes a member of, if it is one too many.
pub(super) fn joins<'a>(
    alert: &Alert,
    window: Option<&'a Window>,
    policy: &AdmissionPolicy,
) -> Option<&'a CaseId> {
    window
        .filter(|window| window.cases >= policy.storm_cases && !alert.severity.is_urgent())
        .map(|window| &window.first)
}
