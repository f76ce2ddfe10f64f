//! Doctor checks of a queue before it is used: whether it exists, and whether its messages can be lost. No message is
//! taken and nothing is created.

use nightshift_engine::checkup::Checkup;
use nightshift_engine::port::Clock;
use nightshift_pipeline::look::in_thread;

use crate::{Secrets, SourceConfig, pubsub, rabbitmq, spool, sqs};

/// Checks the queue of this source.
pub async fn examine(config: &SourceConfig, secrets: Secrets, clock: &dyn Clock) -> Checkup {
    if let Err(error) = config.check() {
        let mut checkup = Checkup::default();
        unusable(error.what, &mut checkup);
        return checkup;
    }
    match config {
        SourceConfig::Rabbitmq(own) => rabbitmq::examine(own, &secrets, clock).await,
        SourceConfig::Sqs(own) => sqs::examine(own).await,
        SourceConfig::Pubsub(own) => pubsub::examine(own, secrets).await,
        SourceConfig::Spool(own) => {
            let own = own.clone();
            in_thread(move || spool::examine(&own)).await
        }
    }
}

/// Checks whether canaries can be published to the queue of this source, as far as that is visible without
/// publishing.
pub async fn examine_publishing(config: &SourceConfig, secrets: Secrets) -> Checkup {
    match config {
        SourceConfig::Rabbitmq(own) => rabbitmq::examine_publishing(own.clone(), secrets).await,
        SourceConfig::Sqs(_) => {
            let mut checkup = Checkup::default();
            checkup.saw("whether canaries may be sent shows when one is: sqs:SendMessage");
            checkup
        }
        // Publishing to a directory needs the same rights as taking from it.
        SourceConfig::Spool(_) | SourceConfig::Pubsub(_) => Checkup::default(),
    }
}

/// Shortest advisable retention in seconds: a weekend.
const SHORTEST_SECS: u64 = 2 * 24 * 3600;

/// Shortest tolerable retention. Below this, each restart or upgrade may lose alerts.
const SHORTEST_AT_ALL_SECS: u64 = 3_600;

/// Reports a source with an invalid configuration.
pub(crate) fn unusable(what: String, checkup: &mut Checkup) {
    checkup.error(
        "source.configuration",
        what,
        "the worker does not start",
        "docs/sources.md has all keys",
    );
}

/// What happens to messages that a queue no longer keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    Gone,
    DeadLettered,
}

/// Reports a queue with a retention that is too short.
pub(crate) fn retention(secs: u64, fate: Fate, mend: &str, checkup: &mut Checkup) {
    let (do_what, are_where) = match fate {
        Fate::Gone => ("are dropped", "are gone before anybody sees them"),
        Fate::DeadLettered => (
            "go to the dead-letter exchange",
            "are where nobody triages them",
        ),
    };
    let found = |during: &str| {
        (
            format!("messages {do_what} after {}", length(secs)),
            format!("alerts that come while nobody takes them, {during} say, {are_where}"),
        )
    };
    if secs < SHORTEST_AT_ALL_SECS {
        let (what, why) = found("during an upgrade");
        checkup.error("source.retention", what, why, mend);
    } else if secs < SHORTEST_SECS {
        let (what, why) = found("over a weekend");
        checkup.warning("source.retention", what, why, mend);
    }
}

/// Formats a duration for people.
pub(crate) fn length(secs: u64) -> String {
    match secs {
        0..120 => format!("{secs} seconds"),
        120..7_200 => format!("{} minutes", secs / 60),
        7_200..172_800 => format!("{} hours", secs / 3_600),
        _ => format!("{} days", secs / 86_400),
    }
}
