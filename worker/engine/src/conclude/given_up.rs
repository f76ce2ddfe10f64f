//! The conclusion of a case that workers were lost with: the next one is not to be lost with it too.
//!
//! How many were lost is known to the store alone. No event tells of it but the conclusion itself, by why it failed.

use super::{NO_CONCLUSION, conclusion};
use crate::{Conclusion, State};

/// What stands behind the number of workers.
const WERE_LOST: &str = " workers were lost while they ran this case";

/// The conclusion after so many workers were lost, as of a run that failed: nothing that an analyst had concluded before
/// counts. None before the case is opened.
#[must_use]
pub fn given_up(state: &State, workers_lost: u32) -> Option<Conclusion> {
    conclusion(&State {
        draft: None,
        plan_error: None,
        draft_error: Some(format!("{workers_lost}{WERE_LOST}")),
        ..state.clone()
    })
}

/// With how many workers lost a case was given up, by why it failed; none where it failed otherwise.
pub(crate) fn workers_lost(failed: &str) -> Option<u32> {
    let why = failed.strip_prefix(NO_CONCLUSION)?;
    why.strip_suffix(WERE_LOST)?.parse().ok()
}
