//! Creates a publisher that puts canaries into the queue of a source.

use std::sync::Arc;

use nightshift_pipeline::port::{Publish, PublishError};

#[cfg(feature = "sqs")]
use crate::sqs;
use crate::{ConfigError, SecretResolver, SourceConfig, rabbitmq, spool};

/// Creates a publisher for the queue of this source. Nothing is opened or called before the first message.
///
/// # Errors
///
/// Returns an error when the configuration is inconsistent, or the source does not support publishing.
pub async fn publisher(
    config: &SourceConfig,
    secrets: SecretResolver,
) -> Result<Arc<dyn Publish>, ConfigError> {
    config.check()?;
    config
        .check_publishable()
        .map_err(|what| config.error(what))?;
    Ok(match config {
        SourceConfig::Rabbitmq(own) => {
            Arc::new(rabbitmq::RabbitmqPublisher::new(own.clone(), secrets))
        }
        #[cfg(feature = "sqs")]
        SourceConfig::Sqs(own) => {
            let made = sqs::SqsPublisher::new(own.clone()).await;
            Arc::new(made.map_err(|what| config.error(what))?)
        }
        #[cfg(not(feature = "sqs"))]
        SourceConfig::Sqs(_) => return Err(config.error(crate::WITHOUT_SQS.to_owned())),
        SourceConfig::Spool(own) => Arc::new(spool::SpoolPublisher::new(own.clone())),
        SourceConfig::Pubsub(_) => {
            return Err(config.error("publishing is not supported".to_owned()));
        }
    })
}

impl SourceConfig {
    /// Checks whether messages can be published to this source.
    ///
    /// # Errors
    ///
    /// Returns the reason why nothing can be published.
    pub fn check_publishable(&self) -> Result<(), String> {
        match self {
            Self::Rabbitmq(_) | Self::Sqs(_) | Self::Spool(_) => Ok(()),
            Self::Pubsub(_) => {
                Err("cannot publish to a Pub/Sub subscription; publish to its topic".to_owned())
            }
        }
    }
}

/// Returns the error of a source.
pub(crate) fn publish_error(source: &str, what: impl Into<String>) -> PublishError {
    PublishError {
        source_name: source.to_owned(),
        what: what.into(),
    }
}
