//! Ends a destination that was removed from the configuration: pending reports go to the `otherwise` destinations of
//! their route and are given up here.
//!
//! A worker never does this by itself. During a rollout two configurations are live, and the other one may still
//! serve a destination that the new one does not have. The command therefore takes the lease for the destination, or
//! leaves it alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{HandingOn, LEASE};
use crate::case::CaseId;
use crate::port::{Outbox, Owing, StoreError};
use crate::report::NotShown;

/// Cases of one round, far fewer than fit into the lease.
const MOST: usize = 50;
/// Error text of a delivery that was given up by this command.
const WHY: &str = "given up by hand: no destination has this name any more";

/// Gives up pending reports of a destination that is no longer configured.
pub struct GivingUp {
    /// Holds the lease for the destination, and takes reports for other destinations.
    pub outbox: Arc<dyn Outbox>,
    /// Pending reports.
    pub owing: Arc<dyn Owing>,
    /// Finds another destination for a report.
    pub handing_on: HandingOn,
    /// Unique name of this process.
    pub holder: String,
}

/// Result of giving up a destination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenUp {
    /// Number of reports that were given up.
    pub reports: u64,
    /// Number of these reports per destination that shows them instead, according to the `otherwise` of their route.
    pub handed_on: BTreeMap<String, u64>,
    /// Another process serves the destination and shows what is left.
    pub is_served: bool,
}

impl GivingUp {
    /// Gives up all pending reports of this destination.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written. Reports that were not given up stay pending.
    pub async fn give_up(&self, destination: &str) -> Result<GivenUp, StoreError> {
        let mut given_up = GivenUp::default();
        if !self.serves(destination).await? {
            given_up.is_served = true;
            return Ok(given_up);
        }
        let done = self.all(destination, &mut given_up).await;
        self.outbox.leave(destination, &self.holder).await?;
        done.map(|()| given_up)
    }

    async fn all(&self, destination: &str, given_up: &mut GivenUp) -> Result<(), StoreError> {
        // This comes first so that a case that ends meanwhile does not become pending here again.
        self.owing.forget_shown(destination).await?;
        loop {
            if !self.serves(destination).await? {
                given_up.is_served = true;
                return Ok(());
            }
            let cases = self.owing.owed_to(destination, MOST).await?;
            if cases.is_empty() {
                return Ok(());
            }
            for case in &cases {
                if let Some(next) = self.hand_on(case, destination).await? {
                    *given_up.handed_on.entry(next).or_default() += 1;
                }
            }
            let reports = self.owing.give_up(destination, &cases, WHY).await?;
            if reports == 0 {
                return Ok(());
            }
            given_up.reports += reports;
        }
    }

    async fn serves(&self, destination: &str) -> Result<bool, StoreError> {
        self.outbox.serve(destination, &self.holder, LEASE).await
    }

    /// Hands the report to another destination, unless the case was removed meanwhile or this version cannot read it.
    async fn hand_on(
        &self,
        case: &CaseId,
        destination: &str,
    ) -> Result<Option<String>, StoreError> {
        let handing_on = &self.handing_on;
        match handing_on
            .hand_on(case, destination, NotShown::Removed, None)
            .await
        {
            Err(StoreError::NoSuchCase(_) | StoreError::Unreadable(..)) => Ok(None),
            handed => handed,
        }
    }
}
