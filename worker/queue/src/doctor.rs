//! Runs the doctor checks of a queue before it is used: whether it exists, and whether its messages can be lost. No
//! message is taken and nothing is created.

use nightshift_engine::doctor::HealthReport;
use nightshift_engine::port::Clock;
use nightshift_pipeline::blocking::run_blocking;

#[cfg(feature = "sqs")]
use crate::sqs;
use crate::{SecretResolver, SourceConfig, pubsub, rabbitmq, spool};

/// Checks the queue of this source.
pub async fn probe_source(
    config: &SourceConfig,
    secrets: SecretResolver,
    clock: &dyn Clock,
) -> HealthReport {
    if let Err(error) = config.check() {
        let mut checkup = HealthReport::default();
        report_unusable(error.what, &mut checkup);
        return checkup;
    }
    match config {
        SourceConfig::Rabbitmq(own) => rabbitmq::probe(own, &secrets, clock).await,
        #[cfg(feature = "sqs")]
        SourceConfig::Sqs(own) => sqs::probe(own).await,
        #[cfg(not(feature = "sqs"))]
        SourceConfig::Sqs(_) => {
            let mut checkup = HealthReport::default();
            report_unusable(crate::WITHOUT_SQS.to_owned(), &mut checkup);
            checkup
        }
        SourceConfig::Pubsub(own) => pubsub::probe(own, secrets).await,
        SourceConfig::Spool(own) => {
            let own = own.clone();
            run_blocking(move || spool::probe(&own)).await
        }
    }
}

/// Checks whether canaries can be published to the queue of this source, as far as that is visible without
/// publishing.
pub async fn probe_publishing(config: &SourceConfig, secrets: SecretResolver) -> HealthReport {
    match config {
        SourceConfig::Rabbitmq(own) => rabbitmq::examine_publishing(own.clone(), secrets).await,
        SourceConfig::Sqs(_) => {
            let mut checkup = HealthReport::default();
            checkup.add_observation(
                "permission to publish canaries (sqs:SendMessage) is known only \
                 after the first canary",
            );
            checkup
        }
        // Publishing to a directory needs the same rights as taking from it.
        SourceConfig::Spool(_) | SourceConfig::Pubsub(_) => HealthReport::default(),
    }
}

/// Shortest advisable retention in seconds: a weekend.
const MIN_RETENTION_SECS: u64 = 2 * 24 * 3600;

/// Shortest tolerable retention. Below this, each restart or upgrade may lose alerts.
const CRITICAL_RETENTION_SECS: u64 = 3_600;

/// Reports a source with an invalid configuration.
pub(crate) fn report_unusable(what: String, checkup: &mut HealthReport) {
    checkup.add_error(
        "source.configuration",
        what,
        "the worker does not start",
        "docs/sources.md has all keys",
    );
}

/// The outcome for messages that a queue no longer keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ExpiryOutcome {
    Dropped,
    DeadLettered,
}

/// Reports a queue with a retention that is too short.
pub(crate) fn check_retention(
    secs: u64,
    fate: ExpiryOutcome,
    mend: &str,
    checkup: &mut HealthReport,
) {
    let (do_what, are_where) = match fate {
        ExpiryOutcome::Dropped => ("are dropped", "are lost before triage"),
        ExpiryOutcome::DeadLettered => ("go to the dead-letter exchange", "are not triaged"),
    };
    let found = |during: &str| {
        (
            format!("messages {do_what} after {}", format_duration(secs)),
            format!("alerts that arrive while no worker runs, for example {during}, {are_where}"),
        )
    };
    if secs < CRITICAL_RETENTION_SECS {
        let (what, why) = found("during an upgrade");
        checkup.add_error("source.retention", what, why, mend);
    } else if secs < MIN_RETENTION_SECS {
        let (what, why) = found("over a weekend");
        checkup.add_warning("source.retention", what, why, mend);
    }
}

/// Formats a duration for people.
pub(crate) fn format_duration(secs: u64) -> String {
    match secs {
        0..120 => format!("{secs} seconds"),
        120..7_200 => format!("{} minutes", secs / 60),
        7_200..172_800 => format!("{} hours", secs / 3_600),
        _ => format!("{} days", secs / 86_400),
    }
}
