//! Implements the common part of the probes of destinations. A probe only reads and posts nothing.

use std::path::Path;

use nightshift_engine::doctor::HealthReport;
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::probe::check_writable;
use reqwest::RequestBuilder;
use serde_json::Value;

use super::http::{Answer, Caller, Repeat};
use super::rest::{Call, RestClient};

/// The consequence of a destination that does not work.
pub(super) const WHY: &str = "reports cannot be delivered there";

/// Records what a failed call means for the destination.
pub(super) fn refused(error: &DeliveryError, checkup: &mut HealthReport) {
    match error {
        DeliveryError::Permanent { what } => checkup.add_error(
            "destination.refused",
            what.as_str(),
            "reports are refused permanently and go to `otherwise` of their route",
            "correct the named setting and try `nightshift destinations test NAME`",
        ),
        DeliveryError::Transient { what, .. }
        | DeliveryError::NotVisibleYet { what, .. }
        | DeliveryError::Ambiguous { what }
        | DeliveryError::Partial { what, .. } => checkup.add_error(
            "destination.unreachable",
            what.as_str(),
            "reports wait until it answers",
            "check its address, proxy and ca_file, and that the network allows the connection",
        ),
    }
}

/// Records the time that an answer carries. An answer from a cache (RFC 9111, `Age`) is skipped, because its date is
/// that of storing.
pub(super) fn hear(
    caller: &Caller,
    answer: &Answer,
    asked: chrono::DateTime<chrono::Utc>,
    checkup: &mut HealthReport,
) {
    let is_fresh = answer.header("age").is_none_or(|age| age.trim() == "0");
    let date = answer.header("date").filter(|_| is_fresh);
    let date = date.and_then(|date| chrono::DateTime::parse_from_rfc2822(date).ok());
    if let Some(date) = date {
        checkup.add_clock_skew(caller.host(), date.to_utc(), asked, caller.now());
    }
}

/// Sends a request that changes nothing and returns the head of the answer, whatever its status.
pub(super) async fn reach(
    caller: &Caller,
    request: RequestBuilder,
    checkup: &mut HealthReport,
) -> Option<Answer> {
    let asked = caller.now();
    match caller.send(request, Repeat::Harmless).await {
        Ok(answer) => {
            hear(caller, &answer, asked, checkup);
            Some(answer)
        }
        Err(error) => {
            refused(&error, checkup);
            None
        }
    }
}

impl RestClient {
    /// Reads from the vendor and records a refusal.
    pub(super) async fn look(&self, call: Call<'_>, checkup: &mut HealthReport) -> Option<Value> {
        let asked = self.caller.now();
        let looked = async {
            let answer = self.send(&call).await?;
            hear(&self.caller, &answer, asked, checkup);
            if answer.status().is_success() {
                return answer.json(super::rest::MOST_BYTES).await;
            }
            Err(self.refusal(answer).await)
        };
        match looked.await {
            Ok(value) => Some(value),
            Err(error) => {
                refused(&error, checkup);
                None
            }
        }
    }
}

/// Checks whether reports can be written to a folder. Blocks the thread.
pub(super) fn folder(dir: &Path, checkup: &mut HealthReport) {
    if let Err(error) = check_writable(dir) {
        checkup.add_error(
            "destination.folder",
            format!("{} cannot be written: {error}", dir.display()),
            WHY,
            "let the worker's user write to that folder, or set another path",
        );
    }
}
