//! Decides how a call was answered: whether it failed, and whether the answer is complete.

use nightshift_alert::{Alert, IndicatorKind, IndicatorRole};
use nightshift_engine::evidence::Evidence;
use nightshift_engine::log_time_range::LogTimeRange;
use nightshift_engine::question::CallView;
use serde_json::{Value as Json, json};

/// Returns why a call gave no answer, or `None` when it gave one.
pub(in crate::playbook) fn failure(call: &CallView) -> Option<String> {
    let by_tool = || {
        call.evidence
            .as_ref()
            .and_then(|evidence| evidence.error.as_ref())
    };
    let error = call.refused.as_ref().or_else(by_tool);
    match error {
        Some(error) => Some(error.to_string()),
        None if call.evidence.is_none() => Some("it was not made".to_owned()),
        None => None,
    }
}

/// Returns whether an answer leaves out nothing but repetitions of rows that it shows. The answer of a log must also
/// cover the time of the alert and contain the call that the alert is about.
pub(super) fn is_complete(evidence: &Evidence, body: &Json, alert: &Alert) -> bool {
    let is = |pointer: &str, value: Json| body.pointer(pointer) == Some(&value);
    if is_cut(evidence, body) && !is("/left_out", "repeats".into()) {
        return false;
    }
    let searched = LogTimeRange::from_body(evidence, body);
    searched.is_none_or(|searched| searched.covers(&alert.times))
        && !(is("/rows_matched", 0.into()) && lacks_call_of_alert(evidence, alert))
}

/// Returns the times between which the hidden rows of an answer lie, or `None` when the answer shows all rows.
pub(super) fn hidden_rows(evidence: &Evidence, body: &Json) -> Option<Json> {
    let moment = |pointer: &str| body.pointer(pointer).filter(|at| at.is_string());
    // Rows without a time may be of any time.
    let is_timed = body.pointer("/searched/without_time").is_none();
    let first = moment("/summary/first").filter(|_| is_timed);
    let last = moment("/summary/last").filter(|_| is_timed);
    is_cut(evidence, body).then(|| json!({"first": first, "last": last}))
}

/// Returns whether an answer leaves out some of the rows that it found.
fn is_cut(evidence: &Evidence, body: &Json) -> bool {
    evidence.truncated || body.pointer("/truncated") == Some(&true.into())
}

/// Returns whether an empty CloudTrail search shows that the trail is of another account or region. The search was
/// for the access key that the alert says was used, or for the caller of the reported API call.
fn lacks_call_of_alert(evidence: &Evidence, alert: &Alert) -> bool {
    let is_call = alert
        .action
        .as_deref()
        .is_some_and(|action| action.starts_with("AWS_API_CALL"));
    let asked = |name: &str| evidence.arguments.get(name).and_then(Json::as_str);
    let (key, caller) = (asked("access_key"), asked("principal").filter(|_| is_call));
    evidence.kind == "log_search.cloudtrail"
        && alert.indicators.iter().any(|one| match one.kind {
            IndicatorKind::AccessKey => {
                one.role != IndicatorRole::Related && key == Some(&*one.value)
            }
            IndicatorKind::Principal => {
                one.role == IndicatorRole::Actor && caller == Some(&*one.value)
            }
            _ => false,
        })
}
