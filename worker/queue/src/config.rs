//! Defines the `[[source]]` tables of a configuration.
//!
//! `kind` selects the source; its other keys are in the source's own file. Unknown keys and kinds are refused by name.
//! [`SourceConfig::check`] finds errors within the configuration. A missing queue is found only on connecting. This
//! crate does not implement `kind = "http"`, the intake.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{pubsub, rabbitmq, spool, sqs_config};

/// Configuration of one source.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SourceConfig {
    /// A queue of RabbitMQ.
    Rabbitmq(rabbitmq::RabbitmqConfig),
    /// A queue of Amazon SQS or a compatible service.
    Sqs(sqs_config::SqsConfig),
    /// A pull subscription of Google Cloud Pub/Sub.
    Pubsub(pubsub::PubsubConfig),
    /// A directory that receives files.
    Spool(spool::SpoolConfig),
}

/// Error in the configuration of a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("[[source]] {name}: {what}")]
pub struct ConfigError {
    /// Name of the source.
    pub name: String,
    /// Error and its remedy.
    pub what: String,
}

impl SourceConfig {
    /// Returns the name of the source, which is unique in a configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Rabbitmq(config) => &config.name,
            Self::Sqs(config) => &config.name,
            Self::Pubsub(config) => &config.name,
            Self::Spool(config) => &config.name,
        }
    }

    /// Returns the feeds that the source may carry, for `ReadOptions::feeds`; `None` for all.
    #[must_use]
    pub fn feeds(&self) -> Option<Vec<String>> {
        let feeds = match self {
            Self::Rabbitmq(config) => &config.feeds,
            Self::Sqs(config) => &config.feeds,
            Self::Pubsub(config) => &config.feeds,
            Self::Spool(config) => &config.feeds,
        };
        (!feeds.is_empty()).then(|| feeds.clone())
    }

    /// Returns the source with relative paths resolved against `base` (the folder of the configuration file).
    #[must_use]
    pub fn with_base(mut self, base: &Path) -> Self {
        match &mut self {
            Self::Rabbitmq(config) => {
                if let Some(file) = &mut config.ca_file {
                    *file = base.join(&*file);
                }
            }
            Self::Spool(config) => config.dir = base.join(&config.dir),
            Self::Sqs(_) | Self::Pubsub(_) => {}
        }
        self
    }

    /// Checks that the configuration is consistent. Nothing is opened or called.
    ///
    /// # Errors
    ///
    /// Returns the first inconsistency.
    pub fn check(&self) -> Result<(), ConfigError> {
        let checked = check_name(self.name()).and_then(|()| match self {
            Self::Rabbitmq(config) => config.check(),
            Self::Sqs(config) => config.check(),
            Self::Pubsub(config) => config.check(),
            Self::Spool(config) => config.check(),
        });
        checked.map_err(|what| self.error(what))
    }

    pub(crate) fn error(&self, what: String) -> ConfigError {
        ConfigError {
            name: self.name().to_owned(),
            what,
        }
    }
}

/// Checks the name, which is a label of metrics.
fn check_name(name: &str) -> Result<(), String> {
    let fits = |one: char| one.is_ascii_alphanumeric() || one == '-' || one == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err("name: use 1 to 64 characters of a-z, A-Z, 0-9, _ and -".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
