//! GitHub issues: an issue per case, made once, with comments for what comes later.
//!
//! The issue carries a label of its case, and the repository's issues are listed by it before one is made: lists do not lag
//! as the search does. The label is made first, for labels that the token may not set are left off an issue without a word,
//! and an issue without its label would be made twice. Body and comments end in an HTML comment of ours that keeps the key of
//! what they tell. Sources: <https://docs.github.com/en/rest/issues>, there "Issues", "Comments" and "Labels", "Rate limits for the
//! REST API" and "Best practices for using the REST API".

mod body;
mod calls;
mod config;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_engine::Clock;
use nightshift_pipeline::{DeliveryError, DeskStatus, Destination, Sent, Showing};
use serde_json::{Value, json};

use super::http::{Caller, DestinationError, SecretSource};
use super::rest::{Identity, Rest};
use super::{mark, ticket};

pub use config::GitHubConfig;

/// How long a call whose answer was lost may still be at work there: longer than any of ours waits for its answer.
pub(super) const SETTLE: Duration = Duration::from_secs(60);
/// Between two deliveries, of two writes at most: "wait at least one second between each request".
const PACE: Duration = Duration::from_secs(2);

/// Shows cases as issues of a repository.
pub struct GitHubDestination {
    config: GitHubConfig,
    rest: Rest,
}

impl GitHubDestination {
    /// One for the repository of the configuration. The token is asked for at each call.
    ///
    /// # Errors
    ///
    /// When a key has a value that cannot be, or the CA file cannot be read.
    pub fn new(
        config: GitHubConfig,
        token: SecretSource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DestinationError> {
        let base = config.check()?;
        let caller = Caller::new(&config.name, &base, &config.access, clock)?;
        let rest = Rest {
            caller,
            base,
            identity: Identity::Bearer,
            secret: token,
            vendor: &calls::GITHUB,
        };
        Ok(Self { config, rest })
    }

    /// What would be sent: the issue, or the comment where there is one.
    #[must_use]
    pub fn preview(&self, showing: &Showing) -> Value {
        let sent = match showing.remote_id {
            None => body::issue(showing, &self.config),
            Some(_) => body::comment(showing, &self.config).map(|body| json!({ "body": body })),
        };
        sent.unwrap_or_else(|error| json!({ "error": error.to_string() }))
    }

    /// Tells an issue what is new, and each thing once.
    async fn tell(&self, number: &str, showing: &Showing) -> Result<(), DeliveryError> {
        let issue = calls::Issue::new(&self.rest, &self.config.repo, number)?;
        let told = issue.told().await?;
        if !showing.minor && !told.has(&mark::told(&showing.report)?) {
            issue
                .add_comment(&body::comment(showing, &self.config)?)
                .await?;
        }
        if showing.desk.is_settled() {
            let closed = mark::closed(&showing.report)?;
            if !told.has(&closed) {
                let line = ticket::settled(&showing.desk, self.config.language);
                issue.add_comment(&body::closing(&line, &closed)).await?;
            }
            if told.is_open {
                let is_done = showing.desk.status == DeskStatus::Closed;
                issue
                    .close(if is_done { "completed" } else { "not_planned" })
                    .await?;
            }
        }
        Ok(())
    }

    async fn look(&self, showing: &Showing) -> Result<Option<String>, DeliveryError> {
        let label = body::label(&showing.report)?;
        calls::search(&self.rest, &self.config.repo, &label).await
    }
}

#[async_trait]
impl Destination for GitHubDestination {
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
            Some(number) => Some(number.clone()),
            None => self.look(showing).await?,
        };
        let number = match found {
            Some(number) => {
                self.tell(&number, showing).await?;
                number
            }
            None => {
                let repo = &self.config.repo;
                let label = body::label(&showing.report)?;
                calls::make_label(&self.rest, repo, &label).await?;
                let issue = body::issue(showing, &self.config)?;
                calls::create(&self.rest, repo, &issue).await?
            }
        };
        Ok(Sent {
            remote_id: Some(number),
        })
    }
}

impl fmt::Debug for GitHubDestination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("GitHubDestination")
            .field("name", &self.rest.caller.name())
            .field("host", &self.rest.caller.host())
            .field("repo", &self.config.repo)
            .finish_non_exhaustive()
    }
}
