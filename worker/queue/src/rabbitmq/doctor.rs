//! Runs the doctor checks of a queue of RabbitMQ. AMQP shows whether the queue exists. Its type, limits and policies
//! are known only to the management interface at `management_url`, if that is set.

mod queue_settings;

use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use nightshift_engine::doctor::HealthReport;
use nightshift_engine::port::Clock;

use super::RabbitmqConfig;
use super::management::{ManagementClient, ManagementError};
use super::session::{ANSWER_TIMEOUT, SessionError, connect, open_channel, with_timeout};
use crate::SecretResolver;
use crate::backoff::FailureKind;

/// Checks a queue.
pub(crate) async fn probe(
    config: &RabbitmqConfig,
    secrets: &SecretResolver,
    clock: &dyn Clock,
) -> HealthReport {
    let mut checkup = HealthReport::default();
    match passive_declare(config, secrets).await {
        Ok((messages, consumers)) => {
            checkup.add_observation(format!("RabbitMQ, queue {:?}", config.queue));
            checkup.add_observation(format!("{messages} messages wait, {consumers} consumers"));
        }
        Err(trouble) if trouble.is_queue_missing && config.declare => {
            checkup.add_observation(format!(
                "RabbitMQ, queue {:?}, created at the first start",
                config.queue
            ));
            return checkup;
        }
        Err(trouble) => {
            report_connect_error(&trouble, &mut checkup);
            return checkup;
        }
    }
    match ManagementClient::from_config(config, secrets) {
        None => {
            checkup.add_observation("type, limits and policies are unknown without management_url")
        }
        Some(Err(not)) => report_management_error(&not, &mut checkup),
        Some(Ok(management)) => probe_management(&management, config, clock, &mut checkup).await,
    }
    checkup
}

/// Returns the number of waiting messages and of consumers.
async fn passive_declare(
    config: &RabbitmqConfig,
    secrets: &SecretResolver,
) -> Result<(u32, u32), SessionError> {
    let connection = connect(config, secrets).await?;
    let channel = open_channel(&connection).await?;
    let options = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let looked =
        channel.queue_declare(config.queue.as_str().into(), options, FieldTable::default());
    let looked = with_timeout("look for the queue", ANSWER_TIMEOUT, looked).await;
    let closed = connection.close(200, "done".into());
    if let Err(trouble) = with_timeout("close the connection", ANSWER_TIMEOUT, closed).await {
        tracing::debug!(why = trouble.what, "cannot close the connection cleanly");
    }
    looked.map(|queue| (queue.message_count(), queue.consumer_count()))
}

fn report_connect_error(trouble: &SessionError, checkup: &mut HealthReport) {
    let why = "no alerts are received from it";
    if trouble.is_queue_missing {
        let mend = "make it (a durable quorum queue), see `queue` and the vhost in `url`, or set declare = true";
        checkup.add_error("source.no_queue", trouble.what.as_str(), why, mend);
    } else if trouble.failure == FailureKind::Refused && trouble.has_empty_vhost {
        let mend = "`url` ends in /, which names the vhost without a name: leave that / out, or write %2f after it for the \
                    vhost /";
        checkup.add_error("source.refused", trouble.what.as_str(), why, mend);
    } else if trouble.failure == FailureKind::Refused {
        let mend = "see user, password and vhost, and give the user read on the queue: rabbitmqctl set_permissions";
        checkup.add_error("source.refused", trouble.what.as_str(), why, mend);
    } else {
        let mend = "see host and port in `url`, that the broker is up, and that the network lets us through; an \
                    authority that is not known goes into ca_file";
        checkup.add_error("source.unreachable", trouble.what.as_str(), why, mend);
    }
}

fn report_management_error(not: &ManagementError, checkup: &mut HealthReport) {
    checkup.add_warning(
        "source.management",
        format!("the management interface does not answer: {}", not.0),
        "type, limits and policies of the queue stay unknown",
        "see management_url, and give the user the tag `monitoring`; or leave management_url out",
    );
}

async fn probe_management(
    management: &ManagementClient,
    config: &RabbitmqConfig,
    clock: &dyn Clock,
    checkup: &mut HealthReport,
) {
    let asked = clock.now();
    let told = match management.queue(&config.queue).await {
        Ok(told) => told,
        Err(not) => return report_management_error(&not, checkup),
    };
    if let Some(said) = told.date {
        checkup.add_clock_skew("the broker", said, asked, clock.now());
    }
    let version = management.version().await.unwrap_or_default();
    let facts = queue_settings::parse_settings(&told.body, &version);
    queue_settings::check_settings(&facts, checkup);
    check_dead_letters(management, config, &facts, checkup).await;
}

/// Checks whether dead letters of the broker reach a queue.
async fn check_dead_letters(
    management: &ManagementClient,
    config: &RabbitmqConfig,
    facts: &queue_settings::QueueSettings,
    checkup: &mut HealthReport,
) {
    let another =
        "set dead-letter-routing-key to the name of a queue for dead letters, and make that queue";
    let key = facts.dead_letter_key.as_deref();
    let (leads, what, mend) = match (facts.dead_letter_exchange.as_deref(), key) {
        (None, _) => return,
        // The default exchange uses the routing key as the name of a queue.
        (Some(""), None) => {
            return checkup.add_warning(
                "source.dead_letter_missing",
                "dead letters go to the default exchange under the key that they came by: to a queue of that name, if any",
                "where none has it, or it is this one, messages that exceed a limit are dropped \
                 silently",
                another,
            );
        }
        (Some(""), Some("")) => (
            Ok(false),
            "dead letters go to the default exchange without a key, and so to no queue".to_owned(),
            another,
        ),
        (Some(""), Some(key)) if key == config.queue => (
            Ok(false),
            "dead letters return to the same queue".to_owned(),
            another,
        ),
        (Some(""), Some(key)) => (
            management.has_queue(key).await,
            format!("dead letters go to the queue {key:?}, which does not exist"),
            "make that queue, durable",
        ),
        (Some(exchange), _) => (
            management.has_bindings(exchange).await,
            format!("dead letters go to the exchange {exchange:?}, which leads to no queue"),
            "make the exchange, and bind a queue to it",
        ),
    };
    if let Ok(false) = leads {
        let why = "messages that exceed a limit are dropped silently";
        checkup.add_error("source.dead_letter_missing", what, why, mend);
    }
}
