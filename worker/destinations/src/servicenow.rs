//! Delivers cases to ServiceNow: one incident per case, with work notes for later reports.
//!
//! The incident's `correlation_id` is the case and is looked up before an incident is made. The Table API reads its own
//! writes, so the wait after a lost answer is short. A work note ends in a key of its report, and the notes are read
//! before one is added. Sources: <https://www.servicenow.com/docs/> "Table API", "Inbound REST API rate limiting",
//! "Journal fields"; lengths from the dictionary of a new instance.

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
use nightshift_engine::key::KeySource;
use nightshift_engine::port::Clock;
use nightshift_pipeline::case_workflow::CaseWorkflow;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;
use nightshift_render::Language;
use nightshift_render::line::Line;
use serde_json::{Value, json};

use super::case_id;
use super::http::{Caller, DestinationError, Repeat};
use super::rest::{Identity, RestClient};
use super::tracker::{TicketContents, Tracker, below, destination};

pub use config::{ResolveConfig, ServiceNowConfig};

/// The time for which ServiceNow may still process a call whose answer was lost. It is longer than the timeout of any
/// call.
pub(super) const SETTLE: Duration = Duration::from_secs(60);
/// The pause between two deliveries of a few calls each.
const PACE: Duration = Duration::from_millis(500);

/// Delivers cases as incidents.
pub struct ServiceNowDestination {
    config: ServiceNowConfig,
    rest: RestClient,
}

impl ServiceNowDestination {
    /// Creates a destination for the configured instance. The password or token is read at each call.
    ///
    /// # Errors
    ///
    /// Fails when a key has an invalid value or the CA file cannot be read.
    pub fn new(
        config: ServiceNowConfig,
        secret: KeySource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        let base = config.check()?;
        let caller = Caller::new(&config.name, &base, &config.access(), clock)?;
        let identity = match &config.user {
            Some(user) => Identity::Basic(user.clone()),
            None => Identity::Bearer,
        };
        let rest = RestClient {
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

    fn ticket(&self, showing: &DeliveryPayload) -> Result<Value, DeliveryError> {
        record::incident(showing, &self.config)
    }

    fn addition(&self, showing: &DeliveryPayload) -> Result<Value, DeliveryError> {
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

    async fn told(&self, id: &str, _: &Report) -> Result<Option<TicketContents>, DeliveryError> {
        let resolved = self.config.resolve.as_ref().map(|one| one.state.as_str());
        let told = calls::told(&self.rest, &self.config.table, id, resolved);
        told.await.map(Some)
    }

    async fn add(&self, id: &str, note: &Value) -> Result<(), DeliveryError> {
        calls::set(&self.rest, &self.config.table, id, (note, Repeat::Doubles)).await
    }

    async fn close(&self, id: &str, _: &CaseWorkflow, end: &Line) -> Result<(), DeliveryError> {
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
