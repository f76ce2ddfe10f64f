//! What is stored and counted, but not triaged: findings that their feed has done with, and classes that are no
//! detections.

use nightshift_alert::{Alert, Class, FeedState};

use super::{AdmissionPolicy, SetAside};

/// Why it is not triaged, where it is not.
///
/// Whoever breaks in may mute: a threat of high or critical severity that its feed only mutes, suppresses or archives, as a
/// suppression rule of GuardDuty does, is triaged.
pub(super) fn why(alert: &Alert, policy: &AdmissionPolicy) -> Option<SetAside> {
    let is_urgent_threat = alert.class == Class::Threat && alert.severity.is_urgent();
    states(&alert.state)
        .find(|why| !(is_urgent_threat && MUTED.contains(why)))
        .or_else(|| by_class(alert, policy))
}

/// What anybody who may write rules at the feed can do to alerts to come.
const MUTED: [SetAside; 2] = [SetAside::Archived, SetAside::Suppressed];

/// What its feed has done with it, where it has.
pub(super) fn by_state(state: &FeedState) -> Option<SetAside> {
    states(state).next()
}

/// Returns all that its feed has done with it.
fn states(state: &FeedState) -> impl Iterator<Item = SetAside> {
    [
        (state.passed, SetAside::Passed),
        (state.archived, SetAside::Archived),
        (state.inactive, SetAside::Inactive),
        (state.resolved, SetAside::Resolved),
        (state.suppressed, SetAside::Suppressed),
    ]
    .into_iter()
    .filter_map(|(is, why)| is.then_some(why))
}

fn by_class(alert: &Alert, policy: &AdmissionPolicy) -> Option<SetAside> {
    let is_wanted = || policy.wanted.iter().any(|when| when.fits(alert));
    (alert.class != Class::Threat && !is_wanted()).then_some(SetAside::Class(alert.class))
}
