//! Deletes and extends messages, ten at a time, and evaluates the result of each entry.
//!
//! A batch that SQS accepts may still have failed entries. Only those are retried, unless the error is permanent (an
//! expired handle stays expired). A message that cannot be settled is reported and redelivered.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::change_message_visibility_batch::builders::ChangeMessageVisibilityBatchFluentBuilder as Visibility;
use aws_sdk_sqs::operation::delete_message_batch::builders::DeleteMessageBatchFluentBuilder as Deletion;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry,
};
use backon::{BackoffBuilder, ExponentialBuilder};
use futures_util::{StreamExt, stream};
use nightshift_engine::error_chain::format_error_chain;
use nightshift_pipeline::port::SettleError;

use crate::in_flight::SettleAction;

/// Maximum number of entries of one call.
const MOST_ENTRIES: usize = 10;
/// Concurrent calls.
const CALLS: usize = 8;
/// Longest attempt of a call.
const ATTEMPT: Duration = Duration::from_secs(5);
/// Attempts of an entry.
const TRIES: usize = 6;

/// Performs the action on these messages, given with their handles, and returns those for which it failed.
pub(super) async fn settle_all(
    client: &Client,
    queue_url: &str,
    action: SettleAction,
    messages: Vec<(String, String)>,
) -> Vec<SettleError> {
    let calls: Vec<_> = messages
        .chunks(MOST_ENTRIES)
        .map(|some| settle_chunk(client, queue_url, action, some.to_vec()))
        .collect();
    let failed: Vec<Vec<SettleError>> = stream::iter(calls).buffer_unordered(CALLS).collect().await;
    failed.into_iter().flatten().collect()
}

async fn settle_chunk(
    client: &Client,
    queue_url: &str,
    action: SettleAction,
    mut left: Vec<(String, String)>,
) -> Vec<SettleError> {
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(5))
        .with_max_times(TRIES - 1)
        .with_jitter()
        .build();
    let mut failed = Vec::new();
    loop {
        let refused = match send_batch(client, queue_url, action, &left).await {
            Ok(refused) => refused,
            // The client has already retried where that can help.
            Err(why) => {
                failed.extend(left.into_iter().map(|(id, _)| settle_error(id, &why)));
                return failed;
            }
        };
        let mut again = Vec::new();
        let pause = pauses.next();
        for entry in refused {
            let Some(message) = entry.id().parse().ok().and_then(|at: usize| left.get(at)) else {
                continue;
            };
            if entry.sender_fault() || pause.is_none() {
                failed.push(settle_error(message.0.clone(), &reason(&entry)));
            } else {
                again.push(message.clone());
            }
        }
        left = again;
        match pause {
            Some(pause) if !left.is_empty() => tokio::time::sleep(pause).await,
            _ => return failed,
        }
    }
}

fn settle_error(id: String, why: &str) -> SettleError {
    SettleError {
        id,
        why: why.to_owned(),
    }
}

fn reason(entry: &BatchResultErrorEntry) -> String {
    let message = entry.message().unwrap_or("no reason given");
    format!("{}: {message}", entry.code())
}

/// Makes one call and returns the failed entries. An entry's id is its index in `messages`.
async fn send_batch(
    client: &Client,
    queue_url: &str,
    action: SettleAction,
    messages: &[(String, String)],
) -> Result<Vec<BatchResultErrorEntry>, String> {
    let handles = messages
        .iter()
        .enumerate()
        .map(|(at, (_, handle))| (at, handle));
    match action {
        SettleAction::Ack => {
            let mut call: Deletion = client.delete_message_batch().queue_url(queue_url);
            for (at, handle) in handles {
                let entry = DeleteMessageBatchRequestEntry::builder()
                    .id(at.to_string())
                    .receipt_handle(handle);
                call = call.entries(entry.build().map_err(|error| error.to_string())?);
            }
            let answer = call
                .customize()
                .config_override(short_timeouts())
                .send()
                .await
                .map_err(|error| sdk_error_text(&error))?;
            Ok(answer.failed)
        }
        SettleAction::SetVisibility(secs) => {
            let mut call: Visibility = client
                .change_message_visibility_batch()
                .queue_url(queue_url);
            for (at, handle) in handles {
                let entry = ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(at.to_string())
                    .receipt_handle(handle)
                    .visibility_timeout(i32::try_from(secs).unwrap_or(i32::MAX));
                call = call.entries(entry.build().map_err(|error| error.to_string())?);
            }
            let answer = call
                .customize()
                .config_override(short_timeouts())
                .send()
                .await
                .map_err(|error| sdk_error_text(&error))?;
            Ok(answer.failed)
        }
    }
}

/// Returns shorter timeouts than those of the client, which suit a long poll. Here such a silence means that the
/// server is gone.
fn short_timeouts() -> Builder {
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT);
    Builder::new().timeout_config(timeouts.build())
}

/// Formats an error of the SDK on one line.
pub(super) fn sdk_error_text<E, R>(error: &SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug,
{
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        _ => format_error_chain(error),
    }
}
