//! Ends a destination that was removed from the configuration: pending reports go to the `otherwise` destinations of
//! their route and are given up here.
//!
//! A worker never does this by itself. During a rollout two configurations are live, and the other one may still
//! serve a destination that the new one does not have. The command therefore takes the lease for the destination, or
//! leaves it alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Failover, LEASE_DURATION};
use crate::case::CaseId;
use crate::port::{Outbox, OutboxAdmin, StoreError};
use crate::report::FailoverReason;

/// Cases of one round, far fewer than fit into the lease.
const MAX_ROUND: usize = 50;
/// Error text of a delivery that was given up by this command.
const GIVE_UP_REASON: &str = "given up by hand: no destination has this name any more";

/// Gives up pending reports of a destination that is no longer configured.
pub struct GiveUpTask {
    /// Holds the lease for the destination, and takes reports for other destinations.
    pub outbox: Arc<dyn Outbox>,
    /// Pending reports.
    pub outbox_admin: Arc<dyn OutboxAdmin>,
    /// Finds another destination for a report.
    pub failover: Failover,
    /// Unique name of this process.
    pub holder: String,
}

/// Result of giving up a destination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GiveUpOutcome {
    /// Number of reports that were given up.
    pub reports: u64,
    /// Number of these reports per destination that shows them instead, according to the `otherwise` of their route.
    pub failed_over: BTreeMap<String, u64>,
    /// Another process serves the destination and shows what is left.
    pub is_served: bool,
}

impl GiveUpTask {
    /// Gives up all pending reports of this destination.
    ///
    /// # Errors
    ///
    /// Returns an error when the store cannot be read or written. Reports that were not given up stay pending.
    pub async fn give_up(&self, destination: &str) -> Result<GiveUpOutcome, StoreError> {
        let mut given_up = GiveUpOutcome::default();
        if !self.acquire_lease(destination).await? {
            given_up.is_served = true;
            return Ok(given_up);
        }
        let done = self.give_up_all(destination, &mut given_up).await;
        self.outbox.release_lease(destination, &self.holder).await?;
        done.map(|()| given_up)
    }

    async fn give_up_all(
        &self,
        destination: &str,
        given_up: &mut GiveUpOutcome,
    ) -> Result<(), StoreError> {
        // This comes first so that a case that ends meanwhile does not become pending here again.
        self.outbox_admin.forget_delivered(destination).await?;
        loop {
            if !self.acquire_lease(destination).await? {
                given_up.is_served = true;
                return Ok(());
            }
            let cases = self
                .outbox_admin
                .undelivered_cases(destination, MAX_ROUND)
                .await?;
            if cases.is_empty() {
                return Ok(());
            }
            for case in &cases {
                if let Some(next) = self.fail_over(case, destination).await? {
                    *given_up.failed_over.entry(next).or_default() += 1;
                }
            }
            let reports = self
                .outbox_admin
                .give_up(destination, &cases, GIVE_UP_REASON)
                .await?;
            if reports == 0 {
                return Ok(());
            }
            given_up.reports += reports;
        }
    }

    async fn acquire_lease(&self, destination: &str) -> Result<bool, StoreError> {
        self.outbox
            .acquire_lease(destination, &self.holder, LEASE_DURATION)
            .await
    }

    /// Hands the report to another destination, unless the case was removed meanwhile or this version cannot read it.
    async fn fail_over(
        &self,
        case: &CaseId,
        destination: &str,
    ) -> Result<Option<String>, StoreError> {
        let handing_on = &self.failover;
        match handing_on
            .fail_over(case, destination, FailoverReason::Removed, None)
            .await
        {
            Err(StoreError::NoSuchCase(_) | StoreError::Unreadable(..)) => Ok(None),
            handed => handed,
        }
    }
}
