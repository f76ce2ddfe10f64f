//! Parses the previous result of a case that is triaged again.

use nightshift_alert::Alert;
use nightshift_engine::previous_run::PreviousRun;
use nightshift_pipeline::admission::compare_alerts as compared_alerts;

use crate::newer_version;

/// Parses the previous result and adds the differences between its alert and the current one. Returns `None` if this
/// version cannot read it, because a case does not wait for that.
pub(crate) fn parse_previous_run(
    case_id: &str,
    said: &str,
    last: Option<&str>,
    alert: &Alert,
) -> Option<Box<PreviousRun>> {
    let again: PreviousRun = serde_json::from_str(said)
        .inspect_err(|error| {
            tracing::warn!(case.id = case_id, %error, "what was said of a case before cannot be read by this version");
        })
        .ok()?;
    Some(Box::new(match last {
        Some(last) => compared_alerts(again, alert, &newer_version::alert(case_id, last, alert)),
        None => again,
    }))
}
