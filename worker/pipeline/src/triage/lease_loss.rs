//! Determines why a lease is gone: a person cancelled or removed the case, or another worker holds it.

use nightshift_engine::event::Event;
use nightshift_engine::fold::fold;
use nightshift_engine::journal::read_event;
use nightshift_engine::state::{CaseState, StopCause};

use super::Triage;
use crate::case::Lease;
use crate::port::StoreError;
use crate::spans;

impl Triage {
    /// Returns the state of a case whose lease is gone because it was cancelled, or `None` for any other reason.
    pub(super) async fn cancelled_state(&self, lease: &Lease) -> Option<CaseState> {
        let revision = Some(lease.revision);
        let lines = self.cases.journal(&lease.case_id, revision).await.ok()?;
        let events: Vec<Event> = lines
            .iter()
            .filter_map(|line| read_event(&line.event).ok())
            .collect();
        let state = fold(&events);
        matches!(state.stop, Some(StopCause::Cancelled(_))).then_some(())?;
        log_cancelled(&state);
        self.count_cancelled(&state);
        Some(state)
    }

    /// Returns whether the case no longer exists.
    pub(super) async fn is_removed(&self, lease: &Lease) -> bool {
        let found = self.cases.view(&lease.case_id.0).await;
        matches!(found, Err(StoreError::NoSuchCase(_)))
    }
}

/// Logs one line for a case that was cancelled.
pub(super) fn log_cancelled(state: &CaseState) {
    let by = match &state.stop {
        Some(StopCause::Cancelled(by)) => Some(by.as_str()),
        _ => None,
    };
    tracing::info!(by, "case cancelled");
    spans::record_triage(state, "cancelled");
}
