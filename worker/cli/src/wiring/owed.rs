//! Pending deliveries to destinations that are no longer configured. The worker reports them, and a command gives
//! them up.

use nightshift_pipeline::loops::{GivingUp, HandingOn};
use nightshift_pipeline::port::{Owed, StoreError};

use super::App;

impl App {
    /// Returns the removed destinations with pending deliveries.
    pub(crate) async fn owed_to_nobody(&self) -> Result<Vec<Owed>, StoreError> {
        let mut owed = self.store.owed().await?;
        owed.retain(|one| !self.has_destination(&one.destination));
        Ok(owed)
    }

    /// Returns whether a destination of this name is configured.
    pub(crate) fn has_destination(&self, name: &str) -> bool {
        self.destinations.iter().any(|one| one.name() == name)
    }

    /// Warns once of each such destination. A worker with an earlier configuration may still deliver there.
    pub(crate) async fn warn_of_what_nobody_delivers(&self) {
        let owed = match self.owed_to_nobody().await {
            Ok(owed) => owed,
            Err(error) => {
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::warn!(
                    error,
                    "nobody knows whether reports are owed to destinations that are gone"
                );
                return;
            }
        };
        for one in owed {
            let (name, reports) = (&one.destination, one.reports);
            tracing::warn!(
                destination.name = name,
                reports,
                since = %one.since.format("%Y-%m-%dT%H:%M:%SZ"),
                "reports are owed to a destination that this configuration has not, so nobody delivers them; \
                 give it its name back, or give them up: `nightshift destinations drop {name}`"
            );
        }
    }

    /// Builds the operation that gives up such deliveries.
    pub(crate) fn giving_up(&self) -> GivingUp {
        GivingUp {
            outbox: self.store.clone(),
            owing: self.store.clone(),
            handing_on: self.handing_on(),
            holder: uuid::Uuid::new_v4().to_string(),
        }
    }

    /// Builds the operation that hands a refused delivery to the next destination.
    pub(crate) fn handing_on(&self) -> HandingOn {
        HandingOn {
            outbox: self.store.clone(),
            cases: self.store.clone(),
            routes: self.routes.clone(),
            destinations: self.destinations.clone(),
        }
    }
}
