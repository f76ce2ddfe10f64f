//! Renews all leases of a worker together: one statement, however many cases run.

use std::collections::BTreeMap;
use std::time::Duration;

use nightshift_engine::error_chain::format_error_chain;
use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use crate::case::{CaseId, Lease};
use crate::port::Cases;

/// Leases of the running cases, with the tokens that stop cases whose lease is lost.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<BTreeMap<CaseId, (Lease, CancellationToken)>>);

impl Leases {
    fn lock_leases(&self) -> MutexGuard<'_, BTreeMap<CaseId, (Lease, CancellationToken)>> {
        self.0.lock()
    }

    /// Renews the lease from now on, and returns a token that is cancelled when the lease is lost. An older lease of
    /// the same case is thereby lost: the case was cancelled, or the lease ended, and the case could be claimed
    /// again.
    pub(super) fn add(&self, lease: &Lease) -> CancellationToken {
        let lost = CancellationToken::new();
        let held = (lease.clone(), lost.clone());
        let earlier = self.lock_leases().insert(lease.case_id.clone(), held);
        if let Some((_, lost)) = earlier {
            lost.cancel();
        }
        lost
    }

    /// Removes only this lease, because the case may have been released and claimed again since.
    pub(super) fn remove(&self, lease: &Lease) {
        let mut held = self.lock_leases();
        if held
            .get(&lease.case_id)
            .is_some_and(|(one, _)| one == lease)
        {
            held.remove(&lease.case_id);
        }
    }

    fn cancel_lost(&self, leases: &[Lease]) {
        let held = self.lock_leases();
        for lease in leases {
            if let Some((one, lost)) = held.get(&lease.case_id)
                && one == lease
            {
                lost.cancel();
            }
        }
    }

    /// Renews all leases until dropped. A failed renewal is tried again at the next tick. The task of a lost lease is
    /// stopped, so a cancelled case makes no further model calls.
    pub(super) async fn renew(&self, cases: &dyn Cases, every: Duration) {
        let mut turns = tokio::time::interval(every);
        turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            turns.tick().await;
            let held: Vec<Lease> = self
                .lock_leases()
                .values()
                .map(|(one, _)| one.clone())
                .collect();
            if held.is_empty() {
                continue;
            }
            match cases.renew(&held).await {
                Ok(lost) => self.cancel_lost(&lost),
                Err(error) => tracing::warn!(
                    cases = held.len(),
                    error = format_error_chain(&error),
                    "cannot renew leases; retrying"
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_holder_of_a_reclaimed_case_learns_and_newer_lease_stays() {
        let lease = |revision, epoch| Lease {
            case_id: CaseId("a".to_owned()),
            revision,
            epoch,
        };
        let (leases, before, after) = (Leases::default(), lease(1, 1), lease(2, 2));
        let lost = leases.add(&before);
        let is_held = leases.add(&after);
        assert!(lost.is_cancelled() && !is_held.is_cancelled());
        leases.remove(&before);
        leases.cancel_lost(&[before]);
        assert!(!is_held.is_cancelled());
        leases.cancel_lost(&[after]);
        assert!(is_held.is_cancelled(), "it is held, and so renewed");
    }
}
