//! What is stored and counted, but not triaged: findings that their feed has done with, and classes that are no
//! detections.

use nightshift_alert::Alert;

use super::{AdmissionPolicy, SetAside};

/// Classes of Security Command Center that are detections; a finding without a class is one too.
/// <https://cloud.google.com/security-command-center/docs/reference/rest/v2/FindingClass>
const TRIAGED: [&str; 3] = ["THREAT", "TOXIC_COMBINATION", "FINDING_CLASS_UNSPECIFIED"];

/// Why it is not triaged, where it is not.
pub(super) fn why(alert: &Alert, policy: &AdmissionPolicy) -> Option<SetAside> {
    let state = &alert.state;
    let by_state = [
        (state.archived, SetAside::Archived),
        (state.inactive, SetAside::Inactive),
        (state.resolved, SetAside::Resolved),
        (state.suppressed, SetAside::Suppressed),
    ];
    let by_state = by_state.into_iter().find_map(|(is, why)| is.then_some(why));
    by_state.or_else(|| by_class(alert, policy))
}

fn by_class(alert: &Alert, policy: &AdmissionPolicy) -> Option<SetAside> {
    let class = alert.class.as_ref()?;
    let is_triaged = TRIAGED.iter().any(|one| one.eq_ignore_ascii_case(class));
    let is_wanted = || policy.wanted.iter().any(|when| when.fits(alert));
    (!is_triaged && !is_wanted()).then(|| SetAside::Class(class.clone()))
}
