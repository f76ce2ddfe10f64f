//! Delivers cases to Jira Cloud: one issue per case, with comments for later reports.
//!
//! The issue carries the label `nightshift-<case id>`, by which it is searched before one is made. Jira's search lags
//! by seconds to minutes, so after a lost answer it is repeated until [`SETTLE`] is over. Comments carry a key of their
//! report and are read before one is added; reading them does not lag. Only the labels of Nightshift are edited and,
//! where configured, the status when people close the case in Nightshift. Sources:
//! <https://developer.atlassian.com/cloud/jira/platform/rest/v3/>, there "Issues", "Issue comments", "Issue search" and
//! "Search and reconcile".

mod calls;
mod checkup;
mod config;
mod page;

#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::key::KeySource;
use nightshift_engine::port::Clock;
use nightshift_pipeline::case_workflow::CaseWorkflow;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;
use nightshift_render::Language;
use nightshift_render::line::Line;
use serde_json::{Value, json};

use super::http::{Caller, DestinationError};
use super::mark;
use super::rest::{Identity, RestClient};
use super::tracker::{TicketContents, Tracker, below, destination};

pub use config::JiraConfig;

/// The time for which the search may lag, "from a few seconds to minutes" ("Search and reconcile"). Before that, an
/// empty result proves nothing.
pub(super) const SETTLE: Duration = Duration::from_secs(300);
/// The pause between two deliveries of a few calls each. Writes to one issue are limited to 20 in 2 seconds ("Rate
/// limiting").
const PACE: Duration = Duration::from_millis(500);

/// Delivers cases as issues of a project.
pub struct JiraDestination {
    config: JiraConfig,
    rest: RestClient,
}

impl JiraDestination {
    /// Creates a destination for the configured project. The token is read at each call.
    ///
    /// # Errors
    ///
    /// Fails when a key has an invalid value or the CA file cannot be read.
    pub fn new(
        config: JiraConfig,
        token: KeySource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        let base = config.check()?;
        let caller = Caller::new(&config.name, &base, &config.access(), clock)?;
        let identity = match &config.email {
            Some(email) => Identity::Basic(email.clone()),
            None => Identity::Bearer,
        };
        let rest = RestClient {
            caller,
            base,
            identity,
            secret: token,
            vendor: &calls::JIRA,
        };
        Ok(Self { config, rest })
    }
}

destination!(JiraDestination, project);

#[async_trait]
impl Tracker for JiraDestination {
    const TICKET: &'static str = "the issue";
    const SETTLE: Duration = SETTLE;

    fn language(&self) -> Language {
        self.config.language
    }

    fn ticket(&self, showing: &DeliveryPayload) -> Result<Value, DeliveryError> {
        page::issue(showing, &self.config)
    }

    fn addition(&self, showing: &DeliveryPayload) -> Result<Value, DeliveryError> {
        page::comment(showing, &self.config).map(|body| json!({ "body": body }))
    }

    fn ending(&self, end: &Line, key: &str) -> Value {
        json!({ "body": page::closing(end, key) })
    }

    async fn look(&self, report: &Report) -> Result<Option<String>, DeliveryError> {
        let label = mark::label(report)?;
        calls::search(&self.rest, &self.config.project, &label).await
    }

    async fn open(&self, _: &Report, ticket: &Value) -> Result<String, DeliveryError> {
        calls::create(&self.rest, ticket).await
    }

    async fn told(&self, key: &str, _: &Report) -> Result<Option<TicketContents>, DeliveryError> {
        calls::told(&self.rest, key).await.map(Some)
    }

    async fn add(&self, key: &str, comment: &Value) -> Result<(), DeliveryError> {
        calls::add_comment(&self.rest, key, comment).await
    }

    async fn mark(&self, key: &str, verdict: Verdict) -> Result<(), DeliveryError> {
        calls::set_verdict(&self.rest, key, verdict).await
    }

    async fn close(&self, key: &str, _: &CaseWorkflow, _: &Line) -> Result<(), DeliveryError> {
        match &self.config.done_transition {
            Some(wanted) => calls::transition(&self.rest, key, ("done_transition", wanted)).await,
            None => Ok(()),
        }
    }

    async fn reopen(&self, key: &str) -> Result<(), DeliveryError> {
        match &self.config.reopen_transition {
            Some(wanted) => calls::transition(&self.rest, key, ("reopen_transition", wanted)).await,
            None => Ok(()),
        }
    }

    fn address(&self, key: &str) -> Option<String> {
        // The address of a site is unknown behind Atlassian's gateway.
        let is_site = self.rest.base.host_str() != Some("api.atlassian.com");
        let issue = below(&self.rest.base, &["browse", key]);
        issue.filter(|_| is_site).map(String::from)
    }
}
