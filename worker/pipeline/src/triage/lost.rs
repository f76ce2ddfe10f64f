//! Determines why a lease is gone: a person cancelled or removed the case, or another worker holds it.

use nightshift_engine::event::Event;
use nightshift_engine::fold::fold;
use nightshift_engine::journal::read_event;
use nightshift_engine::state::{State, Stop};

use super::Triage;
use crate::case::Lease;
use crate::port::StoreError;
use crate::spans;

impl Triage {
    /// Returns the state of a case whose lease is gone because it was cancelled, or `None` for any other reason.
    pub(super) async fn called_off(&self, lease: &Lease) -> Option<State> {
        let revision = Some(lease.revision);
        let lines = self.cases.journal(&lease.case_id, revision).await.ok()?;
        let events: Vec<Event> = lines
            .iter()
            .filter_map(|line| read_event(&line.event).ok())
            .collect();
        let state = fold(&events);
        matches!(state.stop, Some(Stop::Cancelled(_))).then_some(())?;
        cancelled(&state);
        self.count_called_off(&state);
        Some(state)
    }

    /// Returns whether the case no longer exists.
    pub(super) async fn is_removed(&self, lease: &Lease) -> bool {
        let found = self.cases.view(&lease.case_id.0).await;
        matches!(found, Err(StoreError::NoSuchCase(_)))
    }
}

/// Logs one line for a case that was cancelled.
pub(super) fn cancelled(state: &State) {
    let by = match &state.stop {
        Some(Stop::Cancelled(by)) => Some(by.as_str()),
        _ => None,
    };
    tracing::info!(by, "case cancelled");
    spans::triaged(state, "cancelled");
}
