//! Doctor checks of a subscription: whether it exists, permits pulling, and may lose messages. No message is taken.
//! <https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions>

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
            format!("{} may not be taken from", config.subscription),
            "no alert of it comes",
            mend,
        ),
        Err(failed) => {
            let (check, mend) = match failed.status {
                Some(404) => (
                    "source.no_queue",
                    "make it, or mend `subscription`: projects/PROJECT/subscriptions/NAME",
                ),
                Some(400..500) => ("source.refused", mend),
                _ => (
                    "source.unreachable",
                    "see that the worker reaches Pub/Sub, and that `credentials` are those of this machine",
                ),
            };
            checkup.add_error(check, failed.what, "no alert of it comes", mend);
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
            "dead letters, retention and expiry not looked at: {}",
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
            "what no worker gets committed comes again and again until it is too old, and is then dropped without a word",
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
                "the subscription is deleted when nobody has pulled for {}",
                format_duration(secs)
            ),
            "when workers are away for that long, what lies in it is gone, and what comes then goes nowhere",
            update("--expiration-period never"),
        );
    }
}
