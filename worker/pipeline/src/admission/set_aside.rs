//! Decides which alerts are stored and counted but not triaged: findings that their feed has finished with, and
//! classes that are not detections.

use nightshift_alert::{Alert, FeedState, FindingClass};

use super::{AdmissionPolicy, SetAsideReason};

/// Returns why the alert is set aside, or `None` if it is triaged.
///
/// An intruder may be able to mute findings. A threat of high or critical severity is therefore triaged if its feed
/// only mutes, suppresses or archives it, as a suppression rule of GuardDuty does.
pub(super) fn set_aside_reason(alert: &Alert, policy: &AdmissionPolicy) -> Option<SetAsideReason> {
    let is_urgent_threat = alert.class == FindingClass::Threat && alert.severity.is_urgent();
    state_reasons(&alert.state)
        .find(|why| !(is_urgent_threat && SUPPRESSED_AT_FEED.contains(why)))
        .or_else(|| reason_by_class(alert, policy))
}

/// States that anyone who may write rules at the feed can give to future alerts.
const SUPPRESSED_AT_FEED: [SetAsideReason; 2] =
    [SetAsideReason::Archived, SetAsideReason::Suppressed];

/// Returns the state at the feed that sets the alert aside, if any.
pub(super) fn reason_by_state(state: &FeedState) -> Option<SetAsideReason> {
    state_reasons(state).next()
}

/// Returns all states at the feed that set the alert aside.
fn state_reasons(state: &FeedState) -> impl Iterator<Item = SetAsideReason> {
    [
        (state.passed, SetAsideReason::Passed),
        (state.archived, SetAsideReason::Archived),
        (state.inactive, SetAsideReason::Inactive),
        (state.resolved, SetAsideReason::Resolved),
        (state.suppressed, SetAsideReason::Suppressed),
    ]
    .into_iter()
    .filter_map(|(is, why)| is.then_some(why))
}

fn reason_by_class(alert: &Alert, policy: &AdmissionPolicy) -> Option<SetAsideReason> {
    let is_wanted = || policy.class_exceptions.iter().any(|when| when.fits(alert));
    (alert.class != FindingClass::Threat && !is_wanted())
        .then_some(SetAsideReason::Class(alert.class))
}
