//! Jira Cloud: an issue per case, made once, and commented on by what comes later.
//!
//! The issue carries the label `nightshift-<case id>`, by which it is looked up before one is made. Jira's search lags behind
//! by seconds to minutes, so after a try whose end nobody heard it is asked again and again until [`SETTLE`] is over. Comments
//! carry a key of what they tell, and are read before one is added: those do not lag. What people do in Jira stays theirs:
//! nothing is edited but our own labels, and, where it is configured, the status when people are done in Nightshift.
//! Sources: <https://developer.atlassian.com/cloud/jira/platform/rest/v3/>, there "Issues", "Issue comments", "Issue search" and
//! "Search and reconcile".

mod adf;
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
use nightshift_engine::{Clock, Verdict};
use nightshift_pipeline::{DeliveryError, Desk, Report, Showing};
use serde_json::{Value, json};

use super::http::{Caller, DestinationError, SecretSource};
use super::mark;
use super::rest::{Identity, Rest};
use super::tracker::{Told, Tracker, below, destination};
use crate::Language;
use crate::line::Line;

pub use config::JiraConfig;

/// How long a search may lag behind, "from a few seconds to minutes" ("Search and reconcile"): until then it is not
/// believed that an issue is not there.
pub(super) const SETTLE: Duration = Duration::from_secs(300);
/// Between two deliveries, of a few calls each: writes to one issue are limited to 20 in 2 seconds ("Rate limiting").
const PACE: Duration = Duration::from_millis(500);

/// Shows cases as issues in a project.
pub struct JiraDestination {
    config: JiraConfig,
    rest: Rest,
}

impl JiraDestination {
    /// One for the project of the configuration. The token is asked for at each call.
    ///
    /// # Errors
    ///
    /// When a key has a value that cannot be, or the CA file cannot be read.
    pub fn new(
        config: JiraConfig,
        token: SecretSource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        let base = config.check()?;
        let caller = Caller::new(&config.name, &base, &config.access, clock)?;
        let identity = match &config.email {
            Some(email) => Identity::Basic(email.clone()),
            None => Identity::Bearer,
        };
        let rest = Rest {
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

    fn ticket(&self, showing: &Showing) -> Result<Value, DeliveryError> {
        page::issue(showing, &self.config)
    }

    fn addition(&self, showing: &Showing) -> Result<Value, DeliveryError> {
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

    async fn told(&self, key: &str, _: &Report) -> Result<Option<Told>, DeliveryError> {
        calls::told(&self.rest, key).await.map(Some)
    }

    async fn add(&self, key: &str, comment: &Value) -> Result<(), DeliveryError> {
        calls::add_comment(&self.rest, key, comment).await
    }

    async fn mark(&self, key: &str, verdict: Verdict) -> Result<(), DeliveryError> {
        calls::set_verdict(&self.rest, key, verdict).await
    }

    async fn close(&self, key: &str, _: &Desk, _: &Line) -> Result<(), DeliveryError> {
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
        // Behind Atlassian's gateway nobody knows the site's own address.
        let is_site = self.rest.base.host_str() != Some("api.atlassian.com");
        let issue = below(&self.rest.base, &["browse", key]);
        issue.filter(|_| is_site).map(String::from)
    }
}
