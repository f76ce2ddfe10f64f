//! Runs the doctor checks of a queue of SQS, whose attributes show whether messages can be lost.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html>

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::QueueAttributeName as Name;
use nightshift_engine::doctor::HealthReport;
use serde_json::Value;

use super::batch::sdk_error_text;
use super::{SqsConfig, SqsSource};
use crate::doctor::{ExpiryOutcome, check_retention, format_duration, report_unusable};

/// Smallest advisable maxReceiveCount. With fewer receives, an hour in which Nightshift is slow moves alerts to the
/// dead letters.
const FEWEST_RECEIVES: u64 = 3;
/// Longest advisable `visibility_secs`. The messages of a dead worker are redelivered after that time.
const LONGEST_SECS: u32 = 900;
/// Longest unnoticeable delay of a queue, in seconds.
const LONGEST_DELAY_SECS: u64 = 60;
/// The AWS managed key, whose policy cannot be changed.
const AWS_KEY: &str = "alias/aws/sqs";

/// Checks a queue.
pub(crate) async fn probe(config: &SqsConfig) -> HealthReport {
    let mut checkup = HealthReport::default();
    let sqs = match SqsSource::new(config.clone()).await {
        Ok(sqs) => sqs,
        Err(what) => {
            report_unusable(what, &mut checkup);
            return checkup;
        }
    };
    probe_queue(&sqs.poller.access.current_client(), config, &mut checkup).await;
    checkup
}

async fn probe_queue(client: &Client, config: &SqsConfig, checkup: &mut HealthReport) {
    match fetch_attributes(client, &config.queue_url, Name::All).await {
        Ok(attributes) => {
            check_attributes(&attributes, config, checkup);
            if let Some((arn, _)) = redrive_policy(&attributes) {
                check_dead_letters(client, config, &arn, &attributes, checkup).await;
            }
        }
        Err(failed) => report_refusal(&failed, checkup),
    }
}

/// Error of a call.
struct AttributesError {
    code: String,
    what: String,
}

impl AttributesError {
    fn is_missing(&self) -> bool {
        [
            "QueueDoesNotExist",
            "AWS.SimpleQueueService.NonExistentQueue",
        ]
        .contains(&self.code.as_str())
    }
}

type QueueAttributes = HashMap<Name, String>;

async fn fetch_attributes(
    client: &Client,
    url: &str,
    name: Name,
) -> Result<QueueAttributes, AttributesError> {
    let asked = client
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(name);
    let answer = asked.send().await.map_err(|error| AttributesError {
        code: error.code().unwrap_or_default().to_owned(),
        what: sdk_error_text(&error),
    })?;
    Ok(answer.attributes.unwrap_or_default())
}

fn report_refusal(failed: &AttributesError, checkup: &mut HealthReport) {
    let why = "no alerts are received from it";
    let what = format!("the queue cannot be asked: {}", failed.what);
    if failed.is_missing() {
        let mend = "see queue_url: account, region and name; make the queue if it was deleted";
        checkup.add_error("source.no_queue", what, why, mend);
    } else if failed.code.is_empty() {
        let mend = "see queue_url, region and endpoint_url, that the network lets us through, and that there are \
                    AWS credentials: environment, profile, web identity, or those of the instance";
        checkup.add_error("source.unreachable", what, why, mend);
    } else {
        let mend = "give the role sqs:ReceiveMessage, DeleteMessage, ChangeMessageVisibility and GetQueueAttributes \
                    on the queue, and kms:Decrypt on its key";
        checkup.add_error("source.refused", what, why, mend);
    }
}

fn numeric_attribute(attributes: &QueueAttributes, name: &Name) -> Option<u64> {
    attributes.get(name)?.parse().ok()
}

/// Returns the dead-letter queue and the receive count at which messages move there.
fn redrive_policy(attributes: &QueueAttributes) -> Option<(String, u64)> {
    let policy: Value = serde_json::from_str(attributes.get(&Name::RedrivePolicy)?).ok()?;
    let most = policy.get("maxReceiveCount")?;
    let most = most.as_u64().or_else(|| most.as_str()?.parse().ok())?;
    Some((
        policy.get("deadLetterTargetArn")?.as_str()?.to_owned(),
        most,
    ))
}

/// Reports problems of the attributes.
fn check_attributes(attributes: &QueueAttributes, config: &SqsConfig, checkup: &mut HealthReport) {
    let waiting = numeric_attribute(attributes, &Name::ApproximateNumberOfMessages).unwrap_or(0);
    checkup.add_observation(if config.is_fifo() {
        "a FIFO queue of SQS"
    } else {
        "a queue of SQS"
    });
    checkup.add_observation(format!("about {waiting} messages wait"));
    match redrive_policy(attributes) {
        None => checkup.add_warning(
            "source.no_dead_letter",
            "the queue has no redrive policy",
            "what cannot be taken, its payload being away say, comes again and again until it is too old, and is then \
             dropped without a word",
            "make a queue for them and set RedrivePolicy with a maxReceiveCount of 10 or so (deploy/aws does)",
        ),
        Some((_, most)) if most < FEWEST_RECEIVES => checkup.add_warning(
            "source.receives",
            format!("a message is moved to the dead letters after it was received {most} times"),
            "workers that end, or a database that is slow, receive a message more than once: good alerts are moved away",
            "set maxReceiveCount in RedrivePolicy to 10 or so",
        ),
        Some(_) => {}
    }
    let retained = numeric_attribute(attributes, &Name::MessageRetentionPeriod);
    if let Some(secs) = retained {
        check_retention(
            secs,
            ExpiryOutcome::Dropped,
            "set MessageRetentionPeriod to 1209600 (14 days)",
            checkup,
        );
    }
    check_visibility(config, retained, checkup);
    check_encryption(attributes, checkup);
    if let Some(secs) =
        numeric_attribute(attributes, &Name::DelaySeconds).filter(|secs| *secs > LONGEST_DELAY_SECS)
    {
        checkup.add_warning(
            "source.delay",
            format!(
                "every message waits for {} before it can be taken",
                format_duration(secs)
            ),
            "a critical alert waits as well",
            "set DelaySeconds to 0",
        );
    }
}

fn check_visibility(config: &SqsConfig, retained: Option<u64>, checkup: &mut HealthReport) {
    let ours = config.visibility_secs;
    if retained.is_some_and(|secs| u64::from(ours) >= secs) {
        checkup.add_error(
            "source.visibility",
            format!("visibility_secs = {ours} is as long as the queue keeps a message"),
            "the messages of a worker that dies are dropped before they can come again",
            "set MessageRetentionPeriod to 1209600 (14 days); for visibility_secs 60 is enough",
        );
    } else if ours > LONGEST_SECS {
        checkup.add_warning(
            "source.visibility",
            format!("visibility_secs = {ours}"),
            format!(
                "the messages of a worker that dies come again only after {}",
                format_duration(ours.into())
            ),
            "set visibility_secs to 60: a slow commit extends it by itself",
        );
    }
}

fn check_encryption(attributes: &QueueAttributes, checkup: &mut HealthReport) {
    let key = attributes
        .get(&Name::KmsMasterKeyId)
        .filter(|key| !key.is_empty());
    let is_managed = attributes
        .get(&Name::SqsManagedSseEnabled)
        .is_some_and(|text| text == "true");
    match key {
        Some(key) if key == AWS_KEY || key.ends_with(&format!(":{AWS_KEY}")) => checkup.add_warning(
            "source.key",
            format!("the queue is encrypted with {AWS_KEY}"),
            "EventBridge and SNS may not use that key, and nobody can let them: what they send is dropped without a word",
            "use a key of your own whose policy lets events.amazonaws.com use it (deploy/aws does), or SqsManagedSseEnabled",
        ),
        None if !is_managed => checkup.add_warning(
            "source.not_encrypted",
            "the queue is not encrypted",
            "alerts name machines, people and what is weak",
            "set SqsManagedSseEnabled = true, or KmsMasterKeyId to a key of your own",
        ),
        _ => {}
    }
}

/// Checks whether the dead-letter queue exists. A missing permission to read it is not an error.
async fn check_dead_letters(
    client: &Client,
    config: &SqsConfig,
    arn: &str,
    source: &QueueAttributes,
    checkup: &mut HealthReport,
) {
    let mut parts = arn.rsplit(':');
    let (Some(name), Some(account)) = (parts.next(), parts.next()) else {
        return;
    };
    let found = client
        .get_queue_url()
        .queue_name(name)
        .queue_owner_aws_account_id(account)
        .send()
        .await;
    let url = match found {
        Ok(found) => found.queue_url.unwrap_or_default(),
        Err(error) => {
            let failed = AttributesError {
                code: error.code().unwrap_or_default().to_owned(),
                what: sdk_error_text(&error),
            };
            if failed.is_missing() {
                checkup.add_error(
                    "source.dead_letter_missing",
                    format!("the redrive policy leads to {name}, which is not there"),
                    "messages that are received too often cannot be moved, and are dropped when \
                     their retention ends",
                    "make that queue, or set RedrivePolicy to one that there is",
                );
            }
            return;
        }
    };
    // A message of a FIFO queue gets a new age when it is moved; that of another queue keeps its own.
    // <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/setting-up-dead-letter-queue-retention.html>
    if config.is_fifo() {
        return;
    }
    let Ok(theirs) = fetch_attributes(client, &url, Name::MessageRetentionPeriod).await else {
        return;
    };
    let kept =
        |attributes: &QueueAttributes| numeric_attribute(attributes, &Name::MessageRetentionPeriod);
    if let (Some(ours), Some(theirs)) = (kept(source), kept(&theirs))
        && theirs < ours
    {
        checkup.add_warning(
            "source.dead_letter_retention",
            format!("dead letters are kept for {}, and messages for {}", format_duration(theirs), format_duration(ours)),
            "a message keeps its age when it is moved: one may be dropped as soon as it is a dead letter",
            format!("set MessageRetentionPeriod of {name} to 1209600 (14 days)"),
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_queue_that_keeps_nothing_is_mended_at_the_queue() {
        let config = json!({"name": "gd", "queue_url": "https://sqs.eu-west-1.amazonaws.com/1/q"});
        let config: SqsConfig = serde_json::from_value(config).unwrap();
        let mut checkup = HealthReport::default();
        let attributes = [(Name::MessageRetentionPeriod, "60".to_owned())];
        check_attributes(&attributes.into(), &config, &mut checkup);
        let found = checkup.failed_checks.iter();
        let found =
            found.filter(|one| ["source.retention", "source.visibility"].contains(&one.check));
        let mends: Vec<_> = found.map(|one| one.mend.as_str()).collect();
        assert_eq!(
            mends,
            [
                "set MessageRetentionPeriod to 1209600 (14 days)",
                "set MessageRetentionPeriod to 1209600 (14 days); for visibility_secs 60 is enough"
            ]
        );
    }
}
