//! Decides which alerts are stored and counted but not triaged: findings that their feed has finished with, and
//! classes that are not detections.

use nightshift_alert::{Alert, Class, FeedState};

use super::{AdmissionPolicy, SetAside};

/// Returns why the alert is set aside, or `None` if it is triaged.
///
/// An intruder may be able to mute findings. A threat of high or critical severity is therefore triaged if its feed
/// only mutes, suppresses or archives it, as a suppression rule of GuardDuty does.
pub(super) fn why(alert: &Alert, policy: &AdmissionPolicy) -> Option<SetAside> {
    let is_urgent_threat = alert.class == Class::Threat && alert.severity.is_urgent();
    states(&alert.state)
        .find(|why| !(is_urgent_threat && MUTED.contains(why)))
        .or_else(|| by_class(alert, policy))
}

/// States that anyone who may write rules at the feed can give to future alerts.
const MUTED: [SetAside; 2] = [SetAside::Archived, SetAside::Suppressed];

/// Returns the state at the feed that sets the alert aside, if any.
pub(super) fn by_state(state: &FeedState) -> Option<SetAside> {
    states(state).next()
}

/// Returns all states at the feed that set the alert aside.
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
