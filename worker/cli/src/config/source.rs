//! Defines `[[source]]`: the sources of messages. Queues are configured by `nightshift-queue`, the intake by
//! `nightshift-web`.

use std::path::Path;

use nightshift_queue::{PubsubConfig, RabbitmqConfig, SourceConfig, SpoolConfig, SqsConfig};
use nightshift_web::{HttpConfig, WebConfig};
use schemars::JsonSchema;
use secrecy::ExposeSecret as _;
use serde::Deserialize;

/// `[[source]]`
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum AnySourceConfig {
    /// A queue of RabbitMQ.
    Rabbitmq(RabbitmqConfig),
    /// A queue of Amazon SQS, or of a compatible service.
    Sqs(SqsConfig),
    /// A subscription of Google Cloud Pub/Sub that is pulled from.
    Pubsub(PubsubConfig),
    /// A directory that files are put into.
    Spool(SpoolConfig),
    /// Alerts that senders post to the worker.
    Http(Box<HttpConfig>),
}

/// Returns the address that alerts are posted to.
pub(crate) fn intake_address(web: &WebConfig) -> &str {
    let own = Some(web.intake_listen.as_str()).filter(|listen| !listen.is_empty());
    own.unwrap_or(&web.listen)
}

/// The transport by which the messages of a source arrive.
pub(crate) enum SourceKind<'a> {
    /// The worker takes them from a queue.
    Queue(SourceConfig),
    /// Senders post them to the worker.
    Http(&'a HttpConfig),
}

impl AnySourceConfig {
    /// Returns the name, which is unique in a configuration.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Rabbitmq(config) => &config.name,
            Self::Sqs(config) => &config.name,
            Self::Pubsub(config) => &config.name,
            Self::Spool(config) => &config.name,
            Self::Http(config) => &config.name,
        }
    }

    /// Returns whether the source connects with certificates of the system's authorities, to its queue or to the
    /// issuer of signatures.
    pub(crate) fn speaks_tls(&self) -> bool {
        match self {
            Self::Rabbitmq(config) => config.url.expose_secret().starts_with("amqps:"),
            Self::Sqs(_) => true,
            Self::Pubsub(config) => config.endpoint_url.is_none(),
            Self::Spool(_) => false,
            Self::Http(config) => config.sns.is_some() || config.pubsub.is_some(),
        }
    }

    /// Returns the allowed feeds, or `None` for all.
    pub(crate) fn feeds(&self) -> Option<Vec<String>> {
        let feeds = match self {
            Self::Rabbitmq(config) => &config.feeds,
            Self::Sqs(config) => &config.feeds,
            Self::Pubsub(config) => &config.feeds,
            Self::Spool(config) => &config.feeds,
            Self::Http(config) => &config.feeds,
        };
        (!feeds.is_empty()).then(|| feeds.clone())
    }

    /// Returns whether messages are posted to the worker.
    pub(crate) const fn is_http(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Checks whether a canary can be put into its queue.
    pub(crate) fn check_publishable(&self, web: &WebConfig) -> Result<(), String> {
        match self.kind() {
            SourceKind::Queue(queue) => queue.check_publishable(),
            SourceKind::Http(http) => http.check_publishable(intake_address(web)),
        }
    }

    /// Validates the table by itself. Nothing is opened or called.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.kind() {
            SourceKind::Http(http) => http
                .check()
                .map_err(|why| format!("[[source]] {}: {why}", http.name)),
            SourceKind::Queue(queue) => queue.check().map_err(|error| error.to_string()),
        }
    }

    /// Returns how its messages arrive.
    pub(crate) fn kind(&self) -> SourceKind<'_> {
        SourceKind::Queue(match self {
            Self::Rabbitmq(config) => SourceConfig::Rabbitmq(config.clone()),
            Self::Sqs(config) => SourceConfig::Sqs(config.clone()),
            Self::Pubsub(config) => SourceConfig::Pubsub(config.clone()),
            Self::Spool(config) => SourceConfig::Spool(config.clone()),
            Self::Http(config) => return SourceKind::Http(config),
        })
    }

    /// Resolves relative paths against `base`, the folder of the configuration file.
    pub(crate) fn with_base(self, base: &Path) -> Self {
        match self.kind() {
            SourceKind::Http(_) => self,
            SourceKind::Queue(queue) => match queue.with_base(base) {
                SourceConfig::Rabbitmq(config) => Self::Rabbitmq(config),
                SourceConfig::Sqs(config) => Self::Sqs(config),
                SourceConfig::Pubsub(config) => Self::Pubsub(config),
                SourceConfig::Spool(config) => Self::Spool(config),
            },
        }
    }
}
