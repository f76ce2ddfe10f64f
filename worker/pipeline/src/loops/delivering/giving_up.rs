//! The end of a destination that is no more: what is owed to it is handed to the `otherwise` of its route, and given up.
//!
//! A worker never does that by itself. While a new configuration is rolled out two of them are live, and what the one does
//! not know the other still serves: so whoever gives up becomes the one who serves the destination, or leaves it alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{HandingOn, LEASE};
use crate::{CaseId, NotShown, Outbox, Owing, StoreError};

/// Cases of one round: far less than its lease takes.
const MOST: usize = 50;
/// What is said of a delivery that was given up so.
const WHY: &str = "given up by hand: no destination has this name any more";

/// Gives up what is owed to a destination that is configured no more.
pub struct GivingUp {
    /// Who serves the destination, and where else its reports go.
    pub outbox: Arc<dyn Outbox>,
    /// What is owed.
    pub owing: Arc<dyn Owing>,
    /// Which destination takes a report instead.
    pub handing_on: HandingOn,
    /// The name of this process, unlike that of any other.
    pub holder: String,
}

/// What was given up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenUp {
    /// How many reports.
    pub reports: u64,
    /// How many of them which other destination is to show, as the `otherwise` of their route says.
    pub handed_on: BTreeMap<String, u64>,
    /// Another process serves the destination, which shows what is left.
    pub is_served: bool,
}

impl GivingUp {
    /// Gives up everything that is owed to this destination.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written; what is not given up stays owed.
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
        // First: a case that ends meanwhile is not to be owed here again.
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

    /// A case that is gone meanwhile, or that this version cannot read, is handed to nobody.
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
