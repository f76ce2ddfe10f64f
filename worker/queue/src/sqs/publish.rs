//! Publishes a message to the queue. The identity needs `sqs:SendMessage`, and for an encrypted queue
//! `kms:GenerateDataKey` and `kms:Decrypt` of its key.

use std::time::Duration;

use async_trait::async_trait;
#[cfg(test)]
use aws_config::SdkConfig;
use aws_sdk_sqs::error::DisplayErrorContext;
use nightshift_pipeline::port::{OutgoingMessage, Publish, PublishError};

use super::SqsConfig;
use super::access::{ClientAccess, is_refused};
use crate::publish::publish_error;

/// Longest attempt; the SDK makes three.
const ATTEMPT: Duration = Duration::from_secs(8);
/// Message group of canaries in a FIFO queue, so that they do not delay other messages.
const CANARY_GROUP: &str = "nightshift-canary";

/// Publisher of messages to a queue.
pub(crate) struct SqsPublisher {
    config: SqsConfig,
    access: ClientAccess,
}

impl SqsPublisher {
    /// Creates a publisher with the credentials and, unless configured, the region of the AWS environment.
    pub(crate) async fn new(config: SqsConfig) -> Result<Self, String> {
        let access = ClientAccess::load(&config, ATTEMPT).await?;
        Ok(Self { config, access })
    }

    /// Creates a publisher over a configuration of the SDK.
    #[cfg(test)]
    pub(crate) fn with_sdk_config(config: SqsConfig, sdk: &SdkConfig) -> Result<Self, String> {
        let access = ClientAccess::with_sdk_config(&config, sdk)?;
        Ok(Self { config, access })
    }
}

#[async_trait]
impl Publish for SqsPublisher {
    fn name(&self) -> &str {
        &self.config.name
    }

    async fn publish(&self, message: &OutgoingMessage) -> Result<(), PublishError> {
        let name = &self.config.name;
        let body = String::from_utf8(message.bytes.clone())
            .map_err(|_| publish_error(name, "SQS takes text alone"))?;
        let send = || {
            let send = self.access.current_client().send_message();
            let send = send.queue_url(&self.config.queue_url).message_body(&body);
            if self.config.is_fifo() {
                send.message_group_id(CANARY_GROUP)
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
            .map_err(|error| publish_error(name, DisplayErrorContext(error).to_string()))
    }
}
