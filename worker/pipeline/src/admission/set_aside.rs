//! What is stored and counted, but not triaged: findings that their feed has done with, and classes that are no
//! detections.

use nightshift_alert::{Alert, Class, FeedState};

use super::{AdmissionPolicy, SetAside};

/// Why it is not triaged, where it is not.
///
/// Whoever breaks in may mute: a threat of high or critical severity that its feed only mutes or suppresses is triaged.
pub(super) fn why(alert: &Alert, policy: &AdmissionPolicy) -> Option<SetAside> {
    let is_urgent_threat = alert.class == Class::Threat && alert.severity.is_urgent();
    by_state(&alert.state)
        .filter(|why| !(is_urgent_threat && *why == SetAside::Suppressed))
        .or_else(|| by_class(alert, policy))
}

/// What its feed has done with it, where it has.
pub(super) fn by_state(state: &FeedState) -> Option<SetAside> {
    [
        (state.passed, SetAside::Passed),
        (state.archived, SetAside::Archived),
        (state.inactive, SetAside::Inactive),
        (state.resolved, SetAside::Resolved),
        (state.suppressed, SetAside::Suppressed),
    ]
    .into_iter()
    .find_map(|(is, why)| is.then_some(why))
}

fn by_class(alert: &Alert, policy: &AdmissionPolicy) -> Option<SetAside> {
    let is_wanted = || policy.wanted.iter().any(|when| when.fits(alert));
    (alert.class != Class::Threat && !is_wanted()).then_some(SetAside::Class(alert.class))
}
