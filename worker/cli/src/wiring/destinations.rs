//! Builds destinations from the configuration. Secrets are read at each post, so listing cases needs none.

use std::path::Path;
use std::sync::Arc;

use nightshift_destinations::{
    DestinationError, FileDestination, GitHubDestination, JiraDestination, PagerDutyDestination,
    ServiceNowDestination, SlackConfig, SlackDestination, WebhookConfig, WebhookDestination,
};
use nightshift_engine::key::{KeyRef, KeySource};
use nightshift_engine::port::Clock;
use nightshift_pipeline::port::Destination;

use crate::config::{DestinationConfig, LoadedConfig, secret_reader};
use crate::exit::Exit;

/// Returns the web address of a remote id at the destination of this name.
pub(crate) fn remote_link(
    destinations: &[Arc<dyn Destination>],
    name: &str,
    remote_id: &str,
) -> Option<String> {
    let destination = destinations.iter().find(|one| one.name() == name)?;
    destination.link(remote_id)
}

/// Builds all configured destinations, without a store.
pub(crate) fn build_destinations(
    loaded: &LoadedConfig,
    clock: &Arc<dyn Clock>,
) -> Result<Vec<Arc<dyn Destination>>, Exit> {
    let config = &loaded.config;
    let building = DestinationBuilder {
        trace_sample_ratio: config.traces.ratio(),
        base: loaded.base(),
        clock,
    };
    let all = config.destinations.iter();
    all.map(|one| building.build(one))
        .collect::<Result<_, _>>()
        .map_err(|error| Exit::Config(error.into()))
}

/// The context that all destinations are built with.
pub(crate) struct DestinationBuilder<'a> {
    /// The folder of the configuration.
    pub(crate) base: &'a Path,
    pub(crate) clock: &'a Arc<dyn Clock>,
    /// The fraction of cases that are traced.
    pub(crate) trace_sample_ratio: f64,
}

impl DestinationBuilder<'_> {
    pub(super) fn secret(&self, key: &KeyRef) -> KeySource {
        secret_reader(key.location(), self.base)
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(self.clock)
    }

    fn webhook(&self, config: &WebhookConfig) -> Result<WebhookDestination, DestinationError> {
        let secret = self.secret(&config.secret);
        let config = WebhookConfig {
            traced: self.trace_sample_ratio,
            ..config.clone()
        };
        WebhookDestination::new(config, secret, self.clock())
    }

    pub(super) fn slack(&self, config: &SlackConfig) -> Result<SlackDestination, DestinationError> {
        let (_, secret) = config.secret()?;
        SlackDestination::new(config.clone(), self.secret(secret), self.clock())
    }

    /// Builds a destination.
    pub(crate) fn build(
        &self,
        config: &DestinationConfig,
    ) -> Result<Arc<dyn Destination>, DestinationError> {
        Ok(match config {
            DestinationConfig::File { name, path, format } => Arc::new(FileDestination {
                name: name.clone(),
                dir: path.clone(),
                format: *format,
            }),
            DestinationConfig::Webhook(one) => Arc::new(self.webhook(one)?),
            DestinationConfig::Slack(one) => Arc::new(self.slack(one)?),
            DestinationConfig::Jira(one) => {
                let (config, token) = (one.clone(), self.secret(&one.token));
                Arc::new(JiraDestination::new(config, token, self.clock())?)
            }
            DestinationConfig::ServiceNow(one) => {
                let (config, password) = (one.clone(), self.secret(&one.secret));
                Arc::new(ServiceNowDestination::new(config, password, self.clock())?)
            }
            DestinationConfig::PagerDuty(one) => {
                let (config, key) = (one.clone(), self.secret(&one.routing_key));
                Arc::new(PagerDutyDestination::new(config, key, self.clock())?)
            }
            DestinationConfig::GitHub(one) => {
                let (config, token) = (one.clone(), self.secret(&one.token));
                Arc::new(GitHubDestination::new(config, token, self.clock())?)
            }
        })
    }

    /// Checks whether a destination has its secret, so that a worker reports a missing one at once.
    pub(crate) fn check_secret(&self, config: &DestinationConfig) -> Result<(), DestinationError> {
        let (key, secret) = match config {
            DestinationConfig::File { .. } => return Ok(()),
            DestinationConfig::Webhook(one) => return self.webhook(one)?.check_secret(),
            DestinationConfig::Slack(one) => one.secret()?,
            DestinationConfig::Jira(one) => ("token", &one.token),
            DestinationConfig::ServiceNow(one) => ("secret", &one.secret),
            DestinationConfig::PagerDuty(one) => ("routing_key", &one.routing_key),
            DestinationConfig::GitHub(one) => ("token", &one.token),
        };
        match self.secret(secret)() {
            Ok(_) => Ok(()),
            Err(problem) => Err(DestinationError::Secret {
                name: config.name().to_owned(),
                key,
                problem,
            }),
        }
    }
}
