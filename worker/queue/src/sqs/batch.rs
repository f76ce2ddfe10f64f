//! Deleting and holding messages, ten at a time, each entry's answer read.
//!
//! A batch that SQS takes may still refuse some of its entries: those alone are tried again, unless the fault is ours (an
//! expired handle stays expired). What cannot be settled is told; its message comes again.

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
use nightshift_engine::with_causes;
use nightshift_pipeline::Unsettled;

use crate::held::Action;

/// Most entries of one call.
const MOST_ENTRIES: usize = 10;
/// Calls under way at a time.
const CALLS: usize = 8;
/// How long one try of a call may take.
const ATTEMPT: Duration = Duration::from_secs(5);
/// Tries of an entry.
const TRIES: usize = 6;

/// Does it to all of these, given with their handles, and returns those for which it failed.
pub(super) async fn all(
    client: &Client,
    queue_url: &str,
    action: Action,
    messages: Vec<(String, String)>,
) -> Vec<Unsettled> {
    let calls: Vec<_> = messages
        .chunks(MOST_ENTRIES)
        .map(|some| ten(client, queue_url, action, some.to_vec()))
        .collect();
    let failed: Vec<Vec<Unsettled>> = stream::iter(calls).buffer_unordered(CALLS).collect().await;
    failed.into_iter().flatten().collect()
}

async fn ten(
    client: &Client,
    queue_url: &str,
    action: Action,
    mut left: Vec<(String, String)>,
) -> Vec<Unsettled> {
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(5))
        .with_max_times(TRIES - 1)
        .with_jitter()
        .build();
    let mut failed = Vec::new();
    loop {
        let refused = match once(client, queue_url, action, &left).await {
            Ok(refused) => refused,
            // The client itself has tried again already where that can help.
            Err(why) => {
                failed.extend(left.into_iter().map(|(id, _)| unsettled(id, &why)));
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
                failed.push(unsettled(message.0.clone(), &reason(&entry)));
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

fn unsettled(id: String, why: &str) -> Unsettled {
    Unsettled {
        id,
        why: why.to_owned(),
    }
}

fn reason(entry: &BatchResultErrorEntry) -> String {
    let message = entry.message().unwrap_or("no reason given");
    format!("{}: {message}", entry.code())
}

/// One call; the entries that it refused. An entry's id is its place in `messages`.
async fn once(
    client: &Client,
    queue_url: &str,
    action: Action,
    messages: &[(String, String)],
) -> Result<Vec<BatchResultErrorEntry>, String> {
    let handles = messages
        .iter()
        .enumerate()
        .map(|(at, (_, handle))| (at, handle));
    match action {
        Action::Done => {
            let mut call: Deletion = client.delete_message_batch().queue_url(queue_url);
            for (at, handle) in handles {
                let entry = DeleteMessageBatchRequestEntry::builder()
                    .id(at.to_string())
                    .receipt_handle(handle);
                call = call.entries(entry.build().map_err(|error| error.to_string())?);
            }
            let answer = call
                .customize()
                .config_override(brief())
                .send()
                .await
                .map_err(|error| told(&error))?;
            Ok(answer.failed)
        }
        Action::Hold(secs) => {
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
                .config_override(brief())
                .send()
                .await
                .map_err(|error| told(&error))?;
            Ok(answer.failed)
        }
    }
}

/// The client's limit is that of a long poll; here, silence for so long means that nobody is there.
fn brief() -> Builder {
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT);
    Builder::new().timeout_config(timeouts.build())
}

/// An error of the SDK, in a line.
pub(super) fn told<E, R>(error: &SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug,
{
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        _ => with_causes(error),
    }
}
