//! Runs the doctor checks of a subscription: whether it exists, permits pulling, and may lose messages. No message is
//! taken. <https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions>

use nightshift_engine::doctor::HealthReport;

use super::client::{SubscriptionClient, SubscriptionSettings};
use super::{PubsubConfig, PubsubSource};
use crate::SecretResolver;
use crate::doctor::{ExpiryOutcome, check_retention, format_duration, report_unusable};

/// Permission for taking messages.
pub(super) const CONSUME: &str = "pubsub.subscriptions.consume";

/// Checks a subscription.
pub(crate) async fn probe(config: &PubsubConfig, secrets: SecretResolver) -> HealthReport {
    let mut checkup = HealthReport::default();
    let source = match PubsubSource::new(config.clone(), secrets) {
        Ok(source) => source,
        Err(what) => {
            report_unusable(what, &mut checkup);
            return checkup;
        }
    };
    let mend = "give its account roles/pubsub.subscriber on the subscription: the variable `puller` of deploy/gcp/scc.tf";
    let subscription = &source.puller.subscription;
    match subscription.has_permission(CONSUME).await {
        Ok(true) => probe_settings(subscription, config, &mut checkup).await,
        Ok(false) => checkup.add_error(
            "source.refused",
            format!("no permission to pull from {}", config.subscription),
            "no alerts are received from it",
            mend,
        ),
        Err(failed) => {
            let (check, mend) = match failed.status {
                Some(404) => (
                    "source.no_queue",
                    "create the subscription, or correct `subscription`: \
                     projects/PROJECT/subscriptions/NAME",
                ),
                Some(400..500) => ("source.refused", mend),
                _ => (
                    "source.unreachable",
                    "check the network path to Pub/Sub, and that `credentials` belong to this \
                     machine",
                ),
            };
            checkup.add_error(check, failed.what, "no alerts are received from it", mend);
        }
    }
    checkup
}

/// Checks the settings. A missing permission to read them is not an error.
async fn probe_settings(
    subscription: &SubscriptionClient,
    config: &PubsubConfig,
    checkup: &mut HealthReport,
) {
    match subscription.settings().await {
        Ok(settings) => check_settings(&settings, &config.subscription, checkup),
        Err(failed) => checkup.add_observation(format!(
            "dead letters, retention and expiry not checked: {}",
            failed.what
        )),
    }
}

/// Reports problems of the settings. The subscription's own deadline is ignored, because the source sets its own.
fn check_settings(settings: &SubscriptionSettings, name: &str, checkup: &mut HealthReport) {
    checkup.add_observation("a subscription of Pub/Sub");
    let update = |options: &str| format!("run gcloud pubsub subscriptions update {name} {options}");
    if !settings.has_dead_letters() {
        checkup.add_warning(
            "source.no_dead_letter",
            "the subscription has no dead-letter topic",
            "a message that cannot be committed is redelivered until its retention ends, and is \
             then dropped silently",
            format!(
                "{}, with a topic that has a subscription of its own (deploy/gcp does)",
                update("--dead-letter-topic TOPIC --max-delivery-attempts 100")
            ),
        );
    }
    if let Some(secs) = settings.retained_secs() {
        let mend = update("--message-retention-duration 7d");
        check_retention(secs, ExpiryOutcome::Dropped, &mend, checkup);
    }
    if let Some(secs) = settings.expires_secs() {
        checkup.add_warning(
            "source.expires",
            format!(
                "the subscription is deleted after {} without a pull",
                format_duration(secs)
            ),
            "if no worker runs for that long, its messages are lost, and new ones are not kept",
            update("--expiration-period never"),
        );
    }
}
