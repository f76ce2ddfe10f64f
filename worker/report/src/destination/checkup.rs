//! What looks at destinations have in common. A look reads, and shows nothing to anybody.

use std::path::Path;

use nightshift_engine::Checkup;
use nightshift_pipeline::{DeliveryError, writable};
use reqwest::RequestBuilder;
use serde_json::Value;

use super::http::{Answer, Caller, Repeat};
use super::rest::{Call, Rest};

/// What it means that reports do not arrive.
pub(super) const WHY: &str = "reports do not arrive there";

/// Notes what the end of a call means.
pub(super) fn refused(error: &DeliveryError, checkup: &mut Checkup) {
    match error {
        DeliveryError::Never { what } => checkup.error(
            "destination.refused",
            what.as_str(),
            "reports are refused for good, and go to `otherwise` of their route",
            "mend what it names, and try it with `nightshift destinations test NAME`",
        ),
        DeliveryError::Later { what, .. }
        | DeliveryError::Settling { what, .. }
        | DeliveryError::Unclear { what }
        | DeliveryError::Partly { what, .. } => checkup.error(
            "destination.unreachable",
            what.as_str(),
            "reports wait until it answers",
            "see its address, proxy and ca_file, and that the network lets us through",
        ),
    }
}

/// Notes what time an answer says it is. One out of a cache says when it was put there (RFC 9111, `Age`).
pub(super) fn hear(
    caller: &Caller,
    answer: &Answer,
    asked: chrono::DateTime<chrono::Utc>,
    checkup: &mut Checkup,
) {
    let is_fresh = answer.header("age").is_none_or(|age| age.trim() == "0");
    let date = answer.header("date").filter(|_| is_fresh);
    let date = date.and_then(|date| chrono::DateTime::parse_from_rfc2822(date).ok());
    if let Some(date) = date {
        checkup.heard(caller.host(), date.to_utc(), asked, caller.now());
    }
}

/// Sends a request that changes nothing, and has the head of its answer, whatever that says.
pub(super) async fn reach(
    caller: &Caller,
    request: RequestBuilder,
    checkup: &mut Checkup,
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

impl Rest {
    /// Reads something; a refusal is noted.
    pub(super) async fn look(&self, call: Call<'_>, checkup: &mut Checkup) -> Option<Value> {
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

/// Whether reports can be written into a folder. Blocks.
pub(super) fn folder(dir: &Path, checkup: &mut Checkup) {
    if let Err(error) = writable(dir) {
        checkup.error(
            "destination.folder",
            format!("{} cannot be written: {error}", dir.display()),
            WHY,
            "make it a folder that the user of the worker may write, or set another path",
        );
    }
}
