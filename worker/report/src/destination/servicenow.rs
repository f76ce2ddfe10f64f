//! ServiceNow: an incident per case, made once, with work notes for what comes later.
//!
//! The incident's `correlation_id` is the case, and is asked for before one is made; the Table API reads what it wrote, so
//! little has to be waited out. A work note ends in a key of what it tells, and the notes are read before one is added.
//! Sources: <https://www.servicenow.com/docs/> "Table API", "Inbound REST API rate limiting", "Journal fields"; lengths from the
//! dictionary of a new instance.

mod calls;
mod config;
mod record;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_engine::Clock;
use nightshift_pipeline::{DeliveryError, Destination, Sent, Showing};
use serde_json::{Value, json};

use super::http::{Caller, DestinationError, SecretSource};
use super::rest::{Identity, Rest};
use super::{case_id, mark, ticket};

pub use config::{ServiceNowConfig, ServiceNowResolve};

/// How long a call whose answer was lost may still be at work there: longer than any of ours waits for its answer.
pub(super) const SETTLE: Duration = Duration::from_secs(60);
/// Between two deliveries, of a few calls each.
const PACE: Duration = Duration::from_millis(500);

/// Shows cases as incidents.
pub struct ServiceNowDestination {
    config: ServiceNowConfig,
    rest: Rest,
}

impl ServiceNowDestination {
    /// One for the instance of the configuration. The password or token is asked for at each call.
    ///
    /// # Errors
    ///
    /// When a key has a value that cannot be, or the CA file cannot be read.
    pub fn new(
        config: ServiceNowConfig,
        secret: SecretSource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        let base = config.check()?;
        let caller = Caller::new(&config.name, &base, &config.access, clock)?;
        let identity = match &config.user {
            Some(user) => Identity::Basic(user.clone()),
            None => Identity::Bearer,
        };
        let rest = Rest {
            caller,
            base,
            identity,
            secret,
            vendor: &calls::SERVICENOW,
        };
        Ok(Self { config, rest })
    }

    /// What would be sent: the incident, or the work note where there is one.
    #[must_use]
    pub fn preview(&self, showing: &Showing) -> Value {
        let body = match showing.remote_id {
            None => record::incident(showing, &self.config),
            Some(_) => {
                record::note(showing, &self.config).map(|note| json!({ "work_notes": note }))
            }
        };
        body.unwrap_or_else(|error| json!({ "error": error.to_string() }))
    }

    /// Tells an incident what is new, and each thing once.
    async fn tell(&self, id: &str, showing: &Showing) -> Result<(), DeliveryError> {
        let table = &self.config.table;
        let told = calls::told(&self.rest, table, id).await?;
        if !showing.minor && !told.has(&mark::told(&showing.report)?) {
            let note = record::note(showing, &self.config)?;
            calls::add_note(&self.rest, table, id, &note).await?;
        }
        if showing.desk.is_settled() {
            let closed = mark::closed(&showing.report)?;
            let line = ticket::settled(&showing.desk, self.config.language);
            if !told.has(&closed) {
                let note = record::closing(&line, &closed);
                calls::add_note(&self.rest, table, id, &note).await?;
            }
            if let Some(resolve) = &self.config.resolve
                && told.state != resolve.state
            {
                let fields = record::resolved(resolve, &line);
                calls::set(&self.rest, table, id, &fields).await?;
            }
        }
        Ok(())
    }

    async fn look(&self, showing: &Showing) -> Result<Option<String>, DeliveryError> {
        let case = case_id(&showing.report)?;
        calls::search(&self.rest, &self.config.table, case).await
    }
}

#[async_trait]
impl Destination for ServiceNowDestination {
    fn name(&self) -> &str {
        self.rest.caller.name()
    }

    fn wants(&self, showing: &Showing) -> bool {
        self.config.policy.wants(showing)
    }

    fn pace(&self) -> Duration {
        PACE
    }

    fn preview(&self, showing: &Showing) -> Option<Value> {
        Some(Self::preview(self, showing))
    }

    async fn find(
        &self,
        showing: &Showing,
        begun_ago: Duration,
    ) -> Result<Option<String>, DeliveryError> {
        let found = self.look(showing).await?;
        if found.is_none() {
            ticket::not_yet("the incident", begun_ago, SETTLE)?;
        }
        Ok(found)
    }

    async fn deliver(&self, showing: &Showing) -> Result<Sent, DeliveryError> {
        let found = match &showing.remote_id {
            Some(id) => Some(id.clone()),
            None => self.look(showing).await?,
        };
        let id = match found {
            Some(id) => {
                self.tell(&id, showing).await?;
                id
            }
            None => {
                let incident = record::incident(showing, &self.config)?;
                calls::create(&self.rest, &self.config.table, &incident).await?
            }
        };
        Ok(Sent {
            remote_id: Some(id),
        })
    }
}

impl fmt::Debug for ServiceNowDestination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ServiceNowDestination")
            .field("name", &self.rest.caller.name())
            .field("host", &self.rest.caller.host())
            .finish_non_exhaustive()
    }
}
