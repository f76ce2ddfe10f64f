//! Doctor checks of a queue of SQS, whose attributes show whether messages can be lost.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html>

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::QueueAttributeName as Name;
use nightshift_engine::checkup::Checkup;
use serde_json::Value;

use super::batch::told;
use super::{Config, Sqs};
use crate::examine::{Fate, length, retention, unusable};

/// Smallest advisable maxReceiveCount. With fewer receives, a slow hour of ours moves alerts to the dead letters.
const FEWEST_RECEIVES: u64 = 3;
/// Longest advisable `visibility_secs`. The messages of a dead worker are redelivered after that time.
const LONGEST_SECS: u32 = 900;
/// Longest unnoticeable delay of a queue, in seconds.
const LONGEST_DELAY_SECS: u64 = 60;
/// The AWS managed key, whose policy cannot be changed.
const AWS_KEY: &str = "alias/aws/sqs";

/// Checks a queue.
pub(crate) async fn examine(config: &Config) -> Checkup {
    let mut checkup = Checkup::default();
    let sqs = match Sqs::new(config.clone()).await {
        Ok(sqs) => sqs,
        Err(what) => {
            unusable(what, &mut checkup);
            return checkup;
        }
    };
    look(&sqs.poller.access.client(), config, &mut checkup).await;
    checkup
}

async fn look(client: &Client, config: &Config, checkup: &mut Checkup) {
    match attributes(client, &config.queue_url, Name::All).await {
        Ok(attributes) => {
            judge(&attributes, config, checkup);
            if let Some((arn, _)) = redrive(&attributes) {
                dead_letters(client, config, &arn, &attributes, checkup).await;
            }
        }
        Err(failed) => refused(&failed, checkup),
    }
}

/// Error of a call.
struct Failed {
    code: String,
    what: String,
}

impl Failed {
    fn is_missing(&self) -> bool {
        [
            "QueueDoesNotExist",
            "AWS.SimpleQueueService.NonExistentQueue",
        ]
        .contains(&self.code.as_str())
    }
}

type Attributes = HashMap<Name, String>;

async fn attributes(client: &Client, url: &str, name: Name) -> Result<Attributes, Failed> {
    let asked = client
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(name);
    let answer = asked.send().await.map_err(|error| Failed {
        code: error.code().unwrap_or_default().to_owned(),
        what: told(&error),
    })?;
    Ok(answer.attributes.unwrap_or_default())
}

fn refused(failed: &Failed, checkup: &mut Checkup) {
    let why = "no alert comes in by it";
    let what = format!("the queue cannot be asked: {}", failed.what);
    if failed.is_missing() {
        let mend = "see queue_url: account, region and name; make the queue if it was deleted";
        checkup.error("source.no_queue", what, why, mend);
    } else if failed.code.is_empty() {
        let mend = "see queue_url, region and endpoint_url, that the network lets us through, and that there are \
                    AWS credentials: environment, profile, web identity, or those of the instance";
        checkup.error("source.unreachable", what, why, mend);
    } else {
        let mend = "give the role sqs:ReceiveMessage, DeleteMessage, ChangeMessageVisibility and GetQueueAttributes \
                    on the queue, and kms:Decrypt on its key";
        checkup.error("source.refused", what, why, mend);
    }
}

fn number(attributes: &Attributes, name: &Name) -> Option<u64> {
    attributes.get(name)?.parse().ok()
}

/// Returns the dead-letter queue and the receive count at which messages move there.
fn redrive(attributes: &Attributes) -> Option<(String, u64)> {
    let policy: Value = serde_json::from_str(attributes.get(&Name::RedrivePolicy)?).ok()?;
    let most = policy.get("maxReceiveCount")?;
    let most = most.as_u64().or_else(|| most.as_str()?.parse().ok())?;
    Some((
        policy.get("deadLetterTargetArn")?.as_str()?.to_owned(),
        most,
    ))
}

/// Reports problems of the attributes.
fn judge(attributes: &Attributes, config: &Config, checkup: &mut Checkup) {
    let waiting = number(attributes, &Name::ApproximateNumberOfMessages).unwrap_or(0);
    checkup.saw(if config.is_fifo() {
        "a FIFO queue of SQS"
    } else {
        "a queue of SQS"
    });
    checkup.saw(format!("about {waiting} messages wait"));
    match redrive(attributes) {
        None => checkup.warning(
            "source.no_dead_letter",
            "the queue has no redrive policy",
            "what cannot be taken, its payload being away say, comes again and again until it is too old, and is then \
             dropped without a word",
            "make a queue for them and set RedrivePolicy with a maxReceiveCount of 10 or so (deploy/aws does)",
        ),
        Some((_, most)) if most < FEWEST_RECEIVES => checkup.warning(
            "source.receives",
            format!("a message is moved to the dead letters after it was received {most} times"),
            "workers that end, or a database that is slow, receive a message more than once: good alerts are moved away",
            "set maxReceiveCount in RedrivePolicy to 10 or so",
        ),
        Some(_) => {}
    }
    let retained = number(attributes, &Name::MessageRetentionPeriod);
    if let Some(secs) = retained {
        retention(
            secs,
            Fate::Gone,
            "set MessageRetentionPeriod to 1209600 (14 days)",
            checkup,
        );
    }
    visibility(config, retained, checkup);
    encryption(attributes, checkup);
    if let Some(secs) =
        number(attributes, &Name::DelaySeconds).filter(|secs| *secs > LONGEST_DELAY_SECS)
    {
        checkup.warning(
            "source.delay",
            format!(
                "every message waits for {} before it can be taken",
                length(secs)
            ),
            "a critical alert waits as well",
            "set DelaySeconds to 0",
        );
    }
}

fn visibility(config: &Config, retained: Option<u64>, checkup: &mut Checkup) {
    let ours = config.visibility_secs;
    if retained.is_some_and(|secs| u64::from(ours) >= secs) {
        checkup.error(
            "source.visibility",
            format!("visibility_secs = {ours} is as long as the queue keeps a message"),
            "the messages of a worker that dies are dropped before they can come again",
            "set MessageRetentionPeriod to 1209600 (14 days); for visibility_secs 60 is enough",
        );
    } else if ours > LONGEST_SECS {
        checkup.warning(
            "source.visibility",
            format!("visibility_secs = {ours}"),
            format!(
                "the messages of a worker that dies come again only after {}",
                length(ours.into())
            ),
            "set visibility_secs to 60: a slow commit extends it by itself",
        );
    }
}

fn encryption(attributes: &Attributes, checkup: &mut Checkup) {
    let key = attributes
        .get(&Name::KmsMasterKeyId)
        .filter(|key| !key.is_empty());
    let is_managed = attributes
        .get(&Name::SqsManagedSseEnabled)
        .is_some_and(|text| text == "true");
    match key {
        Some(key) if key == AWS_KEY || key.ends_with(&format!(":{AWS_KEY}")) => checkup.warning(
            "source.key",
            format!("the queue is encrypted with {AWS_KEY}"),
            "EventBridge and SNS may not use that key, and nobody can let them: what they send is dropped without a word",
            "use a key of your own whose policy lets events.amazonaws.com use it (deploy/aws does), or SqsManagedSseEnabled",
        ),
        None if !is_managed => checkup.warning(
            "source.not_encrypted",
            "the queue is not encrypted",
            "alerts name machines, people and what is weak",
            "set SqsManagedSseEnabled = true, or KmsMasterKeyId to a key of your own",
        ),
        _ => {}
    }
}

/// Checks whether the dead-letter queue exists. A missing permission to read it is not an error.
async fn dead_letters(
    client: &Client,
    config: &Config,
    arn: &str,
    source: &Attributes,
    checkup: &mut Checkup,
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
            let failed = Failed {
                code: error.code().unwrap_or_default().to_owned(),
                what: told(&error),
            };
            if failed.is_missing() {
                checkup.error(
                    "source.dead_letter_missing",
                    format!("the redrive policy leads to {name}, which is not there"),
                    "what is received too often cannot be moved, and is dropped when it is too old",
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
    let Ok(theirs) = attributes(client, &url, Name::MessageRetentionPeriod).await else {
        return;
    };
    let kept = |attributes: &Attributes| number(attributes, &Name::MessageRetentionPeriod);
    if let (Some(ours), Some(theirs)) = (kept(source), kept(&theirs))
        && theirs < ours
    {
        checkup.warning(
            "source.dead_letter_retention",
            format!("dead letters are kept for {}, and messages for {}", length(theirs), length(ours)),
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
        let config: Config = serde_json::from_value(config).unwrap();
        let mut checkup = Checkup::default();
        let attributes = [(Name::MessageRetentionPeriod, "60".to_owned())];
        judge(&attributes.into(), &config, &mut checkup);
        let found = checkup.found.iter();
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
