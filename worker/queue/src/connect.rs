//! Creates a source from its configuration.

use std::sync::Arc;

use nightshift_pipeline::port::Source;
use secrecy::SecretString;

#[cfg(feature = "sqs")]
use crate::sqs;
use crate::{ConfigError, SourceConfig, pubsub, rabbitmq, spool};

/// Resolves `env:NAME` and `file:PATH`; any other text is the secret itself. The function is called at each connect, so
/// that a changed file takes effect without a restart. The error names what is missing and contains no secret.
pub type SecretResolver = Arc<dyn Fn(&str) -> Result<SecretString, String> + Send + Sync>;

/// Creates a source, which connects at the first request for messages. If its broker is unavailable, the source is
/// created anyway, reports that in `ready`, and works once the broker is back.
///
/// # Errors
///
/// Returns an error when the configuration is inconsistent, or a folder or the certificates of an authority cannot be
/// used.
pub async fn connect(
    config: &SourceConfig,
    secrets: SecretResolver,
) -> Result<Arc<dyn Source>, ConfigError> {
    config.check()?;
    let source: Arc<dyn Source> = match config {
        SourceConfig::Rabbitmq(own) => {
            Arc::new(rabbitmq::RabbitmqSource::new(own.clone(), secrets))
        }
        #[cfg(feature = "sqs")]
        SourceConfig::Sqs(own) => {
            let made = sqs::SqsSource::new(own.clone()).await;
            Arc::new(made.map_err(|what| config.error(what))?)
        }
        #[cfg(not(feature = "sqs"))]
        SourceConfig::Sqs(_) => return Err(config.error(crate::WITHOUT_SQS.to_owned())),
        SourceConfig::Pubsub(own) => {
            let made = pubsub::PubsubSource::new(own.clone(), secrets);
            Arc::new(made.map_err(|what| config.error(what))?)
        }
        SourceConfig::Spool(own) => {
            let made = spool::SpoolSource::open(own.clone()).await;
            Arc::new(made.map_err(|what| config.error(what))?)
        }
    };
    Ok(source)
}
