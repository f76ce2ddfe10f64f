//! Reports pending deliveries to destinations that are no longer configured. The worker reports them, and a command
//! gives them up.

use nightshift_pipeline::loops::{Failover, GiveUpTask};
use nightshift_pipeline::port::{DestinationBacklog, StoreError};

use super::App;

impl App {
    /// Returns the removed destinations with pending deliveries.
    pub(crate) async fn orphaned_backlogs(&self) -> Result<Vec<DestinationBacklog>, StoreError> {
        let mut owed = self.store.backlogs().await?;
        owed.retain(|one| !self.has_destination(&one.destination));
        Ok(owed)
    }

    /// Returns whether a destination of this name is configured.
    pub(crate) fn has_destination(&self, name: &str) -> bool {
        self.destinations.iter().any(|one| one.name() == name)
    }

    /// Warns once of each such destination. A worker with an earlier configuration may still deliver there.
    pub(crate) async fn warn_orphaned_backlogs(&self) {
        let owed = match self.orphaned_backlogs().await {
            Ok(owed) => owed,
            Err(error) => {
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::warn!(error, "cannot check for reports to removed destinations");
                return;
            }
        };
        for one in owed {
            let (name, reports) = (&one.destination, one.reports);
            tracing::warn!(
                destination.name = name,
                reports,
                since = %one.since.format("%Y-%m-%dT%H:%M:%SZ"),
                "reports are pending for a destination that is not configured; restore it, or \
                 give them up: `nightshift destinations drop {name}`"
            );
        }
    }

    /// Builds the operation that gives up such deliveries.
    pub(crate) fn give_up_task(&self) -> GiveUpTask {
        GiveUpTask {
            outbox: self.store.clone(),
            outbox_admin: self.store.clone(),
            failover: self.failover(),
            holder: uuid::Uuid::new_v4().to_string(),
        }
    }

    /// Builds the operation that hands a refused delivery to the next destination.
    pub(crate) fn failover(&self) -> Failover {
        Failover {
            outbox: self.store.clone(),
            cases: self.store.clone(),
            routes: self.routes.clone(),
            destinations: self.destinations.clone(),
        }
    }
}
