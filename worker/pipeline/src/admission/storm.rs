//! Storms: many cases of one feed, type and account within minutes are one report with a count. High and critical
//! alerts never drown in one, and generated samples are no part of any.

use nightshift_alert::Alert;

use super::AdmissionPolicy;
use crate::CaseId;

/// Cases of one feed, type and account that were opened within the storm window, other than by samples.
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
    let may_join = !alert.severity.is_urgent() && !alert.is_sample();
    window
        .filter(|window| may_join && window.cases >= policy.storm_cases)
        .map(|window| &window.first)
}
