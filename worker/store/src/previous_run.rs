//! What the report before said of a case that is triaged again, as databases tell it.

use nightshift_alert::Alert;
use nightshift_engine::previous_run::PreviousRun;
use nightshift_pipeline::admission::compare_alerts as compared_alerts;

use crate::newer_version;

/// Read of what a database says, with what is new in the alert since the one that the report before was about. None where
/// this version cannot read it: a case does not wait for that.
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
