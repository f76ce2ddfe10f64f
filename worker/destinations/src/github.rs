//! Delivers cases as GitHub issues: one issue per case, with comments for later reports.
//!
//! The issue carries a label of its case. Before an issue is made, the repository's issues are listed by that label,
//! because lists do not lag as the search does. The label is made first: GitHub silently drops labels that the token
//! may not set, and an issue without its label would be made twice. Body and comments end in an HTML comment with the
//! key of the report. Sources: <https://docs.github.com/en/rest/issues>, there "Issues", "Comments" and "Labels", "Rate
//! limits for the REST API" and "Best practices for using the REST API".

mod body;
mod calls;
mod checkup;
mod config;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_engine::key::KeySource;
use nightshift_engine::port::Clock;
use nightshift_pipeline::case_workflow::{CaseWorkflow, WorkflowStatus};
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;
use nightshift_render::Language;
use nightshift_render::line::Line;
use serde_json::{Value, json};

use super::http::{Caller, DestinationError};
use super::rest::{Identity, RestClient};
use super::tracker::{TicketContents, Tracker, below, destination};

pub use config::GitHubConfig;

/// The time for which GitHub may still process a call whose answer was lost. It is longer than the timeout of any call.
pub(super) const SETTLE: Duration = Duration::from_secs(60);
/// The pause between two deliveries of two writes at most: "wait at least one second between each request".
const PACE: Duration = Duration::from_secs(2);

/// Delivers cases as issues of a repository.
pub struct GitHubDestination {
    config: GitHubConfig,
    rest: RestClient,
}

impl GitHubDestination {
    /// Creates a destination for the configured repository. The token is read at each call.
    ///
    /// # Errors
    ///
    /// Fails when a key has an invalid value or the CA file cannot be read.
    pub fn new(
        config: GitHubConfig,
        token: KeySource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        let base = config.check()?;
        let caller = Caller::new(&config.name, &base, &config.access(), clock)?;
        let rest = RestClient {
            caller,
            base,
            identity: Identity::Bearer,
            secret: token,
            vendor: &calls::GITHUB,
        };
        Ok(Self { config, rest })
    }

    fn issue<'a>(&'a self, number: &'a str) -> Result<calls::GitHubIssue<'a>, DeliveryError> {
        calls::GitHubIssue::new(&self.rest, &self.config.repo, number)
    }
}

destination!(GitHubDestination, repo);

#[async_trait]
impl Tracker for GitHubDestination {
    const TICKET: &'static str = "the issue";
    const SETTLE: Duration = SETTLE;

    fn language(&self) -> Language {
        self.config.language
    }

    fn ticket(&self, showing: &DeliveryPayload) -> Result<Value, DeliveryError> {
        body::issue(showing, &self.config)
    }

    fn addition(&self, showing: &DeliveryPayload) -> Result<Value, DeliveryError> {
        body::comment(showing, &self.config).map(|body| json!({ "body": body }))
    }

    fn ending(&self, end: &Line, key: &str) -> Value {
        json!({ "body": body::closing(end, key) })
    }

    async fn look(&self, report: &Report) -> Result<Option<String>, DeliveryError> {
        calls::search(&self.rest, &self.config.repo, &body::label(report)?).await
    }

    async fn open(&self, report: &Report, ticket: &Value) -> Result<String, DeliveryError> {
        let (repo, label) = (&self.config.repo, body::label(report)?);
        calls::make_label(&self.rest, repo, &label).await?;
        calls::create(&self.rest, repo, ticket).await
    }

    /// Reads the ticket, unless another repository was configured since. Issue numbers are those of one repository.
    async fn told(
        &self,
        number: &str,
        report: &Report,
    ) -> Result<Option<TicketContents>, DeliveryError> {
        self.issue(number)?.told(&body::label(report)?).await
    }

    async fn add(&self, number: &str, comment: &Value) -> Result<(), DeliveryError> {
        self.issue(number)?.add_comment(comment).await
    }

    async fn close(
        &self,
        number: &str,
        desk: &CaseWorkflow,
        _: &Line,
    ) -> Result<(), DeliveryError> {
        let is_done = desk.status == WorkflowStatus::Closed;
        let reason = if is_done { "completed" } else { "not_planned" };
        self.issue(number)?.close(reason).await
    }

    async fn reopen(&self, number: &str) -> Result<(), DeliveryError> {
        self.issue(number)?.reopen().await
    }

    fn address(&self, number: &str) -> Option<String> {
        let parts: Vec<&str> = self
            .config
            .repo
            .split('/')
            .chain(["issues", number])
            .collect();
        below(&config::pages(&self.rest.base)?, &parts).map(String::from)
    }
}
