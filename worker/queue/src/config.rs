//! The `[[source]]` tables of a configuration.
//!
//! `kind` picks the source; its other keys stand in the source's own file. Unknown keys and kinds are refused by name.
//! What is wrong by itself is told by [`SourceConfig::check`]; whether a queue is there shows when it is connected.
//! `kind = "http"`, the intake, is none of ours.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{pubsub, rabbitmq, spool, sqs};

/// One source as configured.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SourceConfig {
    /// A queue of RabbitMQ.
    Rabbitmq(rabbitmq::Config),
    /// A queue of Amazon SQS, or of what answers like it.
    Sqs(sqs::Config),
    /// A subscription of Google Cloud Pub/Sub that is pulled from.
    Pubsub(pubsub::Config),
    /// A directory that files are put into.
    Spool(spool::Config),
}

/// A source that cannot be what its configuration says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("[[source]] {name}: {what}")]
pub struct ConfigError {
    /// The source's name.
    pub name: String,
    /// What is wrong, and how to mend it.
    pub what: String,
}

impl SourceConfig {
    /// The source's name, unique in a configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Rabbitmq(config) => &config.name,
            Self::Sqs(config) => &config.name,
            Self::Pubsub(config) => &config.name,
            Self::Spool(config) => &config.name,
        }
    }

    /// The feeds that it may carry, for `ReadOptions::feeds`; `None` for all.
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

    /// The same source, its relative paths taken from `base` (the folder of the configuration file).
    #[must_use]
    pub fn resolved(mut self, base: &Path) -> Self {
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

    /// Whether it makes sense by itself. Nothing is opened or called.
    ///
    /// # Errors
    ///
    /// The first thing that does not.
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

/// A name is a label of metrics.
fn check_name(name: &str) -> Result<(), String> {
    let fits = |one: char| one.is_ascii_alphanumeric() || one == '-' || one == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err("a name is a-z, A-Z, 0-9, _ and -, from 1 to 64 of them".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
