//! Detects storms: many cases of one feed, type and account within minutes become one report with a count. High and
//! critical alerts and generated samples never become members.

use nightshift_alert::Alert;

use super::AdmissionPolicy;
use crate::case::CaseId;

/// Cases of one feed, type and account opened within the storm window, without samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StormWindow {
    /// Number of cases.
    pub cases: u32,
    pub first: CaseId,
}

/// Returns the case that the alert becomes a member of, if the window is full.
pub(super) fn storm_to_join<'a>(
    alert: &Alert,
    window: Option<&'a StormWindow>,
    policy: &AdmissionPolicy,
) -> Option<&'a CaseId> {
    let may_join = !alert.severity.is_urgent() && !alert.is_sample();
    window
        .filter(|window| may_join && window.cases >= policy.storm_cases)
        .map(|window| &window.first)
}
