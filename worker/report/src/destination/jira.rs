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
mod config;
mod page;

#[cfg(test)]
mod schema;
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
use super::{mark, ticket};

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

    /// What would be sent: the issue, or the comment where there is one.
    #[must_use]
    pub fn preview(&self, showing: &Showing) -> Value {
        let body = match showing.remote_id {
            None => page::issue(showing, &self.config),
            Some(_) => page::comment(showing, &self.config).map(|body| json!({ "body": body })),
        };
        body.unwrap_or_else(|error| json!({ "error": error.to_string() }))
    }

    /// Tells an issue what is new, and each thing once.
    async fn tell(&self, key: &str, showing: &Showing) -> Result<(), DeliveryError> {
        let told = calls::told(&self.rest, key).await?;
        if !showing.minor {
            if !told.has(&mark::told(&showing.report)?) {
                let comment = page::comment(showing, &self.config)?;
                calls::add_comment(&self.rest, key, &comment).await?;
            }
            calls::set_verdict(&self.rest, key, showing.report.verdict).await?;
        }
        if showing.desk.is_settled() {
            let closed = mark::closed(&showing.report)?;
            if !told.has(&closed) {
                let line = ticket::settled(&showing.desk, self.config.language);
                let comment = page::closing(&line, &closed);
                calls::add_comment(&self.rest, key, &comment).await?;
            }
            if let Some(wanted) = &self.config.done_transition
                && !told.is_done
            {
                calls::transition(&self.rest, key, wanted).await?;
            }
        }
        Ok(())
    }

    async fn look(&self, showing: &Showing) -> Result<Option<String>, DeliveryError> {
        let label = mark::label(&showing.report)?;
        calls::search(&self.rest, &self.config.project, &label).await
    }
}

#[async_trait]
impl Destination for JiraDestination {
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
            ticket::not_yet("the issue", begun_ago, SETTLE)?;
        }
        Ok(found)
    }

    async fn deliver(&self, showing: &Showing) -> Result<Sent, DeliveryError> {
        let found = match &showing.remote_id {
            Some(key) => Some(key.clone()),
            None => self.look(showing).await?,
        };
        let key = match found {
            Some(key) => {
                self.tell(&key, showing).await?;
                key
            }
            None => calls::create(&self.rest, &page::issue(showing, &self.config)?).await?,
        };
        Ok(Sent {
            remote_id: Some(key),
        })
    }
}

impl fmt::Debug for JiraDestination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("JiraDestination")
            .field("name", &self.rest.caller.name())
            .field("host", &self.rest.caller.host())
            .field("project", &self.config.project)
            .finish_non_exhaustive()
    }
}
