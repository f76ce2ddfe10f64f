//! Why a lease is gone: somebody called the case off or had it removed, or another worker has it.

use nightshift_engine::{Event, State, Stop, fold, read_event};

use super::Triage;
use crate::spans;
use crate::{Lease, StoreError};

impl Triage {
    /// How a case stood whose lease is gone because somebody called it off; none where it went otherwise.
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

    /// Whether there is no such case any more.
    pub(super) async fn is_removed(&self, lease: &Lease) -> bool {
        let found = self.cases.view(&lease.case_id.0).await;
        matches!(found, Err(StoreError::NoSuchCase(_)))
    }
}

/// One line for a case that somebody called off.
pub(super) fn cancelled(state: &State) {
    let by = match &state.stop {
        Some(Stop::Cancelled(by)) => Some(by.as_str()),
        _ => None,
    };
    tracing::info!(by, "case cancelled");
    spans::triaged(state, "cancelled");
}
