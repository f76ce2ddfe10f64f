//! Doctor checks of a queue of RabbitMQ. AMQP shows whether the queue exists. Its type, limits and policies are known
//! only to the management interface at `management_url`, if that is set.

mod judge;

use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use nightshift_engine::checkup::Checkup;
use nightshift_engine::port::Clock;

use super::Config;
use super::management::{Management, NotTold};
use super::session::{ANSWER_SECS, Trouble, asked, connect, open_channel};
use crate::Secrets;
use crate::pace::Failure;

/// Checks a queue.
pub(crate) async fn examine(config: &Config, secrets: &Secrets, clock: &dyn Clock) -> Checkup {
    let mut checkup = Checkup::default();
    match passively(config, secrets).await {
        Ok((messages, consumers)) => {
            checkup.saw(format!("RabbitMQ, queue {:?}", config.queue));
            checkup.saw(format!("{messages} messages wait, {consumers} consumers"));
        }
        Err(trouble) if trouble.missing && config.declare => {
            checkup.saw(format!(
                "RabbitMQ, queue {:?}, made at the first start",
                config.queue
            ));
            return checkup;
        }
        Err(trouble) => {
            refused(&trouble, &mut checkup);
            return checkup;
        }
    }
    match Management::of(config, secrets) {
        None => checkup.saw("without management_url nobody tells its type, limits and policies"),
        Some(Err(not)) => not_told(&not, &mut checkup),
        Some(Ok(management)) => manage(&management, config, clock, &mut checkup).await,
    }
    checkup
}

/// Returns the number of waiting messages and of consumers.
async fn passively(config: &Config, secrets: &Secrets) -> Result<(u32, u32), Trouble> {
    let connection = connect(config, secrets).await?;
    let channel = open_channel(&connection).await?;
    let options = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let looked =
        channel.queue_declare(config.queue.as_str().into(), options, FieldTable::default());
    let looked = asked("look for the queue", ANSWER_SECS, looked).await;
    let closed = connection.close(200, "done".into());
    if let Err(trouble) = asked("close the connection", ANSWER_SECS, closed).await {
        tracing::debug!(why = trouble.what, "a connection did not end in order");
    }
    looked.map(|queue| (queue.message_count(), queue.consumer_count()))
}

fn refused(trouble: &Trouble, checkup: &mut Checkup) {
    let why = "no alert comes in by it";
    if trouble.missing {
        let mend = "make it (a durable quorum queue), see `queue` and the vhost in `url`, or set declare = true";
        checkup.error("source.no_queue", trouble.what.as_str(), why, mend);
    } else if trouble.failure == Failure::Refused && trouble.nameless {
        let mend = "`url` ends in /, which names the vhost without a name: leave that / out, or write %2f after it for the \
                    vhost /";
        checkup.error("source.refused", trouble.what.as_str(), why, mend);
    } else if trouble.failure == Failure::Refused {
        let mend = "see user, password and vhost, and give the user read on the queue: rabbitmqctl set_permissions";
        checkup.error("source.refused", trouble.what.as_str(), why, mend);
    } else {
        let mend = "see host and port in `url`, that the broker is up, and that the network lets us through; an \
                    authority that is not known goes into ca_file";
        checkup.error("source.unreachable", trouble.what.as_str(), why, mend);
    }
}

fn not_told(not: &NotTold, checkup: &mut Checkup) {
    checkup.warning(
        "source.management",
        format!("the management interface does not answer: {}", not.0),
        "type, limits and policies of the queue stay unknown",
        "see management_url, and give the user the tag `monitoring`; or leave management_url out",
    );
}

async fn manage(
    management: &Management,
    config: &Config,
    clock: &dyn Clock,
    checkup: &mut Checkup,
) {
    let asked = clock.now();
    let told = match management.queue(&config.queue).await {
        Ok(told) => told,
        Err(not) => return not_told(&not, checkup),
    };
    if let Some(said) = told.date {
        checkup.heard("the broker", said, asked, clock.now());
    }
    let version = management.version().await.unwrap_or_default();
    let facts = judge::facts(&told.body, &version);
    judge::judge(&facts, checkup);
    dead_letters(management, config, &facts, checkup).await;
}

/// Checks whether dead letters of the broker reach a queue.
async fn dead_letters(
    management: &Management,
    config: &Config,
    facts: &judge::Facts,
    checkup: &mut Checkup,
) {
    let another =
        "set dead-letter-routing-key to the name of a queue for dead letters, and make that queue";
    let key = facts.dead_letter_key.as_deref();
    let (leads, what, mend) = match (facts.dead_letter_exchange.as_deref(), key) {
        (None, _) => return,
        // The default exchange uses the routing key as the name of a queue.
        (Some(""), None) => {
            return checkup.warning(
                "source.dead_letter_missing",
                "dead letters go to the default exchange under the key that they came by: to a queue of that name, if any",
                "where none has it, or it is this one, what the broker gives up on is dropped without a word",
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
            "dead letters go back into the queue that they come from".to_owned(),
            another,
        ),
        (Some(""), Some(key)) => (
            management.has_queue(key).await,
            format!("dead letters go to the queue {key:?}, which is not there"),
            "make that queue, durable",
        ),
        (Some(exchange), _) => (
            management.has_bindings(exchange).await,
            format!("dead letters go to the exchange {exchange:?}, which leads to no queue"),
            "make the exchange, and bind a queue to it",
        ),
    };
    if let Ok(false) = leads {
        let why = "what the broker gives up on is dropped without a word";
        checkup.error("source.dead_letter_missing", what, why, mend);
    }
}
