//! ServiceNow: an incident per case, made once, with work notes for what comes later.
//!
//! The incident's `correlation_id` is the case, and is asked for before one is made; the Table API reads what it wrote, so
//! little has to be waited out. A work note ends in a key of what it tells, and the notes are read before one is added.
//! Sources: <https://www.servicenow.com/docs/> "Table API", "Inbound REST API rate limiting", "Journal fields"; lengths from the
//! dictionary of a new instance.

mod calls;
mod checkup;
mod config;
mod record;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_engine::Clock;
use nightshift_pipeline::{DeliveryError, Desk, Report, Showing};
use serde_json::{Value, json};

use super::case_id;
use super::http::{Caller, DestinationError, Repeat, SecretSource};
use super::rest::{Identity, Rest};
use super::tracker::{Told, Tracker, below, destination};
use crate::Language;
use crate::line::Line;

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
}

destination!(ServiceNowDestination, table);

#[async_trait]
impl Tracker for ServiceNowDestination {
    const TICKET: &'static str = "the incident";
    const SETTLE: Duration = SETTLE;

    fn language(&self) -> Language {
        self.config.language
    }

    fn ticket(&self, showing: &Showing) -> Result<Value, DeliveryError> {
        record::incident(showing, &self.config)
    }

    fn addition(&self, showing: &Showing) -> Result<Value, DeliveryError> {
        record::note(showing, &self.config).map(|note| json!({ "work_notes": note }))
    }

    fn ending(&self, end: &Line, key: &str) -> Value {
        json!({ "work_notes": record::closing(end, key) })
    }

    async fn look(&self, report: &Report) -> Result<Option<String>, DeliveryError> {
        calls::search(&self.rest, &self.config.table, case_id(report)?).await
    }

    async fn open(&self, _: &Report, ticket: &Value) -> Result<String, DeliveryError> {
        calls::create(&self.rest, &self.config.table, ticket).await
    }

    async fn told(&self, id: &str, _: &Report) -> Result<Option<Told>, DeliveryError> {
        let resolved = self.config.resolve.as_ref().map(|one| one.state.as_str());
        let told = calls::told(&self.rest, &self.config.table, id, resolved);
        told.await.map(Some)
    }

    async fn add(&self, id: &str, note: &Value) -> Result<(), DeliveryError> {
        calls::set(&self.rest, &self.config.table, id, (note, Repeat::Doubles)).await
    }

    async fn close(&self, id: &str, _: &Desk, end: &Line) -> Result<(), DeliveryError> {
        let Some(resolve) = &self.config.resolve else {
            return Ok(());
        };
        let fields = record::resolved(resolve, end);
        calls::set(
            &self.rest,
            &self.config.table,
            id,
            (&fields, Repeat::Harmless),
        )
        .await
    }

    async fn reopen(&self, id: &str) -> Result<(), DeliveryError> {
        let resolve = self.config.resolve.as_ref();
        let Some(state) = resolve.and_then(|one| one.reopen_state.as_deref()) else {
            return Ok(());
        };
        let (table, fields) = (&self.config.table, json!({ "state": state }));
        calls::set(&self.rest, table, id, (&fields, Repeat::Harmless)).await
    }

    fn address(&self, id: &str) -> Option<String> {
        let form = format!("{}.do", self.config.table);
        let mut url = below(&self.rest.base, &[&form])?;
        url.query_pairs_mut().append_pair("sys_id", id);
        Some(url.into())
    }
}
