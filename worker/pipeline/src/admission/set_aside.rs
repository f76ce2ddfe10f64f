//! What is stored and counted, but not triaged: findings that their feed has done with, and classes that are no
//! detections.

use nightshift_alert::{Alert, Class};

use super::{AdmissionPolicy, SetAside};

/// Why it is not triaged, where it is not.
pub(super) fn why(alert: &Alert, policy: &AdmissionPolicy) -> Option<SetAside> {
    let state = &alert.state;
    let by_state = [
        (state.passed, SetAside::Passed),
        (state.archived, SetAside::Archived),
        (state.inactive, SetAside::Inactive),
        (state.resolved, SetAside::Resolved),
        (state.suppressed, SetAside::Suppressed),
    ];
    let by_state = by_state.into_iter().find_map(|(is, why)| is.then_some(why));
    by_state.or_else(|| by_class(alert, policy))
}

fn by_class(alert: &Alert, policy: &AdmissionPolicy) -> Option<SetAside> {
    let is_wanted = || policy.wanted.iter().any(|when| when.fits(alert));
    (alert.class != Class::Threat && !is_wanted()).then_some(SetAside::Class(alert.class))
}
