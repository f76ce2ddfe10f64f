//! Publishes a message to the queue. The identity needs `sqs:SendMessage`, and for an encrypted queue
//! `kms:GenerateDataKey` and `kms:Decrypt` of its key.

use std::time::Duration;

use async_trait::async_trait;
#[cfg(test)]
use aws_config::SdkConfig;
use aws_sdk_sqs::error::DisplayErrorContext;
use nightshift_pipeline::port::{Outgoing, Publish, PublishError};

use super::Config;
use super::access::{Access, is_refused};
use crate::publish::failed;

/// Longest attempt; the SDK makes three.
const ATTEMPT: Duration = Duration::from_secs(8);
/// Message group of canaries in a FIFO queue, so that they do not delay other messages.
const GROUP: &str = "nightshift-canary";

/// Publisher of messages to a queue.
pub(crate) struct Publisher {
    config: Config,
    access: Access,
}

impl Publisher {
    /// Creates a publisher with the credentials and, unless configured, the region of the AWS environment.
    pub(crate) async fn new(config: Config) -> Result<Self, String> {
        let access = Access::load(&config, ATTEMPT).await?;
        Ok(Self { config, access })
    }

    /// Creates a publisher over a configuration of the SDK.
    #[cfg(test)]
    pub(crate) fn with(config: Config, sdk: &SdkConfig) -> Result<Self, String> {
        let access = Access::with(&config, sdk)?;
        Ok(Self { config, access })
    }
}

#[async_trait]
impl Publish for Publisher {
    fn name(&self) -> &str {
        &self.config.name
    }

    async fn publish(&self, message: &Outgoing) -> Result<(), PublishError> {
        let name = &self.config.name;
        let body = String::from_utf8(message.bytes.clone())
            .map_err(|_| failed(name, "SQS takes text alone"))?;
        let send = || {
            let send = self.access.client().send_message();
            let send = send.queue_url(&self.config.queue_url).message_body(&body);
            if self.config.is_fifo() {
                send.message_group_id(GROUP)
                    .message_deduplication_id(&message.id)
            } else {
                send
            }
        };
        let sent = match send().send().await {
            Err(error) if is_refused(&error) && self.access.renew().await => send().send().await,
            other => other,
        };
        sent.map(drop)
            .map_err(|error| failed(name, DisplayErrorContext(error).to_string()))
    }
}
