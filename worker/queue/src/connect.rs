//! From a configuration to a source.

use std::sync::Arc;

use nightshift_pipeline::Source;
use secrecy::SecretString;

use crate::{ConfigError, SourceConfig, pubsub, rabbitmq, spool, sqs};

/// What `env:NAME` and `file:PATH` stand for; anything else stands for itself. Asked at each connect, so that a changed
/// file counts without a restart. The error says what is missing, and holds no secret.
pub type Secrets = Arc<dyn Fn(&str) -> Result<SecretString, String> + Send + Sync>;

/// A source, ready to be asked. It connects when it is asked for messages: one whose broker is away is made all the same,
/// says so in `ready`, and is there when the broker is.
///
/// # Errors
///
/// When the configuration does not make sense, or a folder or the certificates of an authority cannot be used.
pub async fn connect(
    config: &SourceConfig,
    secrets: Secrets,
) -> Result<Arc<dyn Source>, ConfigError> {
    config.check()?;
    let source: Arc<dyn Source> = match config {
        SourceConfig::Rabbitmq(own) => Arc::new(rabbitmq::Rabbitmq::new(own.clone(), secrets)),
        SourceConfig::Sqs(own) => {
            let made = sqs::Sqs::new(own.clone()).await;
            Arc::new(made.map_err(|what| config.error(what))?)
        }
        SourceConfig::Pubsub(own) => {
            let made = pubsub::Pubsub::new(own.clone(), secrets);
            Arc::new(made.map_err(|what| config.error(what))?)
        }
        SourceConfig::Spool(own) => {
            let made = spool::Spool::open(own.clone()).await;
            Arc::new(made.map_err(|what| config.error(what))?)
        }
    };
    Ok(source)
}
