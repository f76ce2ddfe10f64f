//! The leases that a worker holds, renewed together: one statement however many cases run.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nightshift_engine::with_causes;

use crate::{CaseId, Cases, Lease};

/// The leases of the cases that run.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<BTreeMap<CaseId, Lease>>);

impl Leases {
    fn held(&self) -> MutexGuard<'_, BTreeMap<CaseId, Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, lease: &Lease) {
        self.held().insert(lease.case_id.clone(), lease.clone());
    }

    /// Only this one: the case may have been given back and claimed again since.
    pub(super) fn remove(&self, lease: &Lease) {
        let mut held = self.held();
        if held.get(&lease.case_id) == Some(lease) {
            held.remove(&lease.case_id);
        }
    }

    /// Renews all of them, for ever. A renewal that fails is tried at the next turn; a lease that ended meanwhile refuses
    /// the next write.
    pub(super) async fn renew(&self, cases: &dyn Cases, every: Duration) {
        let mut turns = tokio::time::interval(every);
        turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            turns.tick().await;
            let held: Vec<Lease> = self.held().values().cloned().collect();
            if held.is_empty() {
                continue;
            }
            if let Err(error) = cases.renew(&held).await {
                tracing::warn!(
                    cases = held.len(),
                    error = with_causes(&error),
                    "leases were not renewed"
                );
            }
        }
    }
}
