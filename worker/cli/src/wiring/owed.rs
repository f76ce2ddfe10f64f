//! What is owed to destinations that the configuration has no more: told by the worker, ended by a command.

use nightshift_pipeline::{GivingUp, HandingOn, Owed, StoreError};

use super::App;

impl App {
    /// Destinations that are not configured, and to which reports are owed.
    pub(crate) async fn owed_to_nobody(&self) -> Result<Vec<Owed>, StoreError> {
        let mut owed = self.store.owed().await?;
        owed.retain(|one| !self.has_destination(&one.destination));
        Ok(owed)
    }

    /// Whether the configuration has a destination of this name.
    pub(crate) fn has_destination(&self, name: &str) -> bool {
        self.destinations.iter().any(|one| one.name() == name)
    }

    /// Says of each of them, once, that nobody delivers there. A worker of an earlier configuration may, so it is only said.
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

    /// What gives up the reports that are owed to such a destination.
    pub(crate) fn giving_up(&self) -> GivingUp {
        GivingUp {
            outbox: self.store.clone(),
            owing: self.store.clone(),
            handing_on: self.handing_on(),
            holder: uuid::Uuid::new_v4().to_string(),
        }
    }

    /// Who takes what a destination never will show.
    pub(crate) fn handing_on(&self) -> HandingOn {
        HandingOn {
            outbox: self.store.clone(),
            cases: self.store.clone(),
            routes: self.routes.clone(),
            destinations: self.destinations.clone(),
        }
    }
}
