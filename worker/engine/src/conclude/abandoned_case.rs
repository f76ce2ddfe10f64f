//! Builds the conclusion of a case that repeatedly crashed its worker. It keeps the case from crashing the next one.
//!
//! Only the store knows how many workers were lost. No event records the number except the failure text of the
//! conclusion.

use super::{NO_CONCLUSION, draw_conclusion};
use crate::conclusion::Conclusion;
use crate::state::CaseState;

/// Failure text after the number of workers.
const WORKERS_LOST_SUFFIX: &str = " workers were lost while they ran this case";

/// Returns the conclusion of a failed run after `workers_lost` workers were lost, or `None` before the case is
/// opened. Earlier conclusions of an analyst do not count.
#[must_use]
pub fn conclude_abandoned(state: &CaseState, workers_lost: u32) -> Option<Conclusion> {
    draw_conclusion(&CaseState {
        draft: None,
        plan_error: None,
        draft_error: Some(format!("{workers_lost}{WORKERS_LOST_SUFFIX}")),
        ..state.clone()
    })
}

/// Parses the number of lost workers from a failure text. Returns `None` for other failures.
pub(crate) fn workers_lost(failed: &str) -> Option<u32> {
    let why = failed.strip_prefix(NO_CONCLUSION)?;
    why.strip_suffix(WORKERS_LOST_SUFFIX)?.parse().ok()
}
