//! Judges what the settings of a queue mean for its messages. The code is pure.

use nightshift_engine::doctor::HealthReport;
use serde_json::Value;

use crate::doctor::{ExpiryOutcome, check_retention, format_duration};

/// Shortest acceptable consumer timeout in milliseconds. A full inbox or an unavailable database holds messages for
/// as long as that lasts, and the broker must not take that for a stuck consumer.
const SHORTEST_TIMEOUT_MS: u64 = 600_000;

/// Settings of a queue from arguments and policies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct QueueSettings {
    kind: String,
    is_durable: bool,
    /// True if the queue is deleted with its last consumer or its connection.
    is_temporary: bool,
    /// Milliseconds without consumers after which the queue is deleted.
    expires_ms: Option<u64>,
    pub(super) dead_letter_exchange: Option<String>,
    pub(super) dead_letter_key: Option<String>,
    ttl_ms: Option<u64>,
    max_length: Option<u64>,
    drops_oldest: bool,
    delivery_limit: Option<i64>,
    consumer_timeout_ms: Option<u64>,
    version: String,
}

/// Parses the description of a queue from the management interface: `GET /api/queues/VHOST/NAME`.
pub(super) fn parse_settings(queue: &Value, version: &str) -> QueueSettings {
    let text = |name: &str| queue.get(name).and_then(Value::as_str).map(str::to_owned);
    let is = |name: &str| queue.get(name).and_then(Value::as_bool).unwrap_or(false);
    let set = |name: &str| {
        let argument = queue.pointer(&format!("/arguments/x-{name}"));
        let policy = queue.pointer(&format!("/effective_policy_definition/{name}"));
        (argument.cloned(), policy.cloned())
    };
    // An argument overrides a policy, except for limits, of which the lower one applies.
    let either = |name: &str| {
        let (argument, policy) = set(name);
        argument.or(policy)
    };
    let least = |name: &str| {
        let (argument, policy) = set(name);
        [argument, policy]
            .into_iter()
            .flatten()
            .filter_map(|one| one.as_u64())
            .min()
    };
    let string = |name: &str| either(name)?.as_str().map(str::to_owned);
    let kind = text("type")
        .or_else(|| string("queue-type"))
        .unwrap_or_else(|| "classic".to_owned());
    QueueSettings {
        drops_oldest: drops_oldest(set("overflow"), &kind),
        kind,
        is_durable: is("durable"),
        is_temporary: is("auto_delete") || is("exclusive"),
        expires_ms: least("expires"),
        dead_letter_exchange: string("dead-letter-exchange"),
        dead_letter_key: string("dead-letter-routing-key"),
        ttl_ms: least("message-ttl"),
        max_length: least("max-length").or_else(|| least("max-length-bytes")),
        delivery_limit: delivery_limit(set("delivery-limit"), version),
        consumer_timeout_ms: least("consumer-timeout"),
        version: version.to_owned(),
    }
}

/// Returns whether a full queue drops its oldest message. A quorum queue prefers the policy, and only
/// `reject-publish` spares its oldest message (`rabbit_quorum_queue`).
fn drops_oldest((argument, policy): (Option<Value>, Option<Value>), kind: &str) -> bool {
    let is_quorum = kind == "quorum";
    let first = if is_quorum {
        policy.or(argument)
    } else {
        argument.or(policy)
    };
    let how = first.as_ref().and_then(Value::as_str);
    match is_quorum {
        true => how != Some("reject-publish"),
        false => how.is_none_or(|how| how == "drop-head"),
    }
}

/// Returns the delivery limit that applies: the lower of two. From RabbitMQ 4 on, if one of them means no limit, the
/// other applies.
fn delivery_limit(
    (argument, policy): (Option<Value>, Option<Value>),
    version: &str,
) -> Option<i64> {
    let number = |one: Option<Value>| one.and_then(|one| one.as_i64());
    match (number(argument), number(policy)) {
        (Some(one), Some(other)) if !is_before_4(version) && one.min(other) < 0 => {
            Some(one.max(other))
        }
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn is_before_4(version: &str) -> bool {
    version.starts_with(['2', '3'])
}

impl QueueSettings {
    /// Returns whether the queue drops a message after too many deliveries: if a limit is set, and from RabbitMQ 4 on
    /// also without one. A negative limit means none from RabbitMQ 4 on; older versions drop redelivered messages at
    /// once.
    fn drops_redelivered(&self) -> bool {
        let is_old = is_before_4(&self.version);
        let does = match self.delivery_limit {
            Some(limit) => limit < NEVER_REACHED && (limit >= 0 || is_old),
            None => !is_old,
        };
        self.kind == "quorum" && does
    }
}

/// Delivery limits from here on count as none: a year of one delivery each second.
const NEVER_REACHED: i64 = 31_536_000;

/// Reports problems of the settings.
pub(super) fn check_settings(facts: &QueueSettings, checkup: &mut HealthReport) {
    let version = if facts.version.is_empty() {
        String::new()
    } else {
        format!(", RabbitMQ {}", facts.version)
    };
    checkup.add_observation(format!("a {} queue{version}", facts.kind));
    if facts.kind == "stream" {
        // The checks below apply to queues only.
        return checkup.add_error(
            "source.stream",
            "it is a stream",
            "a reader gets what comes while it reads: alerts that come while no worker listens, during an upgrade or while \
             the inbox is full, are never taken",
            "make a durable quorum queue, and bind it in place of the stream",
        );
    }
    check_durability(facts, checkup);
    if facts.dead_letter_exchange.is_none() && (facts.drops_redelivered() || facts.ttl_ms.is_some())
    {
        checkup.add_warning(
            "source.no_dead_letter",
            "the queue has no dead-letter exchange",
            "RabbitMQ 4 drops a message of a quorum queue that was delivered 20 times, and any version one that reached \
             a limit of the queue: without a word, as long as nobody takes it elsewhere",
            "set a policy with dead-letter-exchange, or, for deliveries, delivery-limit = 1000000000 (docs/sources.md)",
        );
    }
    check_limits(facts, checkup);
    if let Some(ms) = facts
        .consumer_timeout_ms
        .filter(|ms| *ms < SHORTEST_TIMEOUT_MS)
    {
        checkup.add_warning(
            "source.consumer_timeout",
            format!("the consumer timeout of the broker is {}", format_duration(ms / 1_000)),
            "while the inbox is full or the database away messages are held for longer: they are delivered again and \
             again, and that counts against their delivery limit",
            "set consumer-timeout to 1800000 (30 minutes) or more",
        );
    }
}

/// Checks time and size limits, and where messages beyond them go.
fn check_limits(facts: &QueueSettings, checkup: &mut HealthReport) {
    let fate = match facts.dead_letter_exchange {
        Some(_) => ExpiryOutcome::DeadLettered,
        None => ExpiryOutcome::Dropped,
    };
    if let Some(ms) = facts.ttl_ms {
        check_retention(
            ms / 1_000,
            fate,
            "take message-ttl out of the policy or the arguments of the queue",
            checkup,
        );
    }
    if let Some(most) = facts.max_length.filter(|_| facts.drops_oldest) {
        checkup.add_error(
            "source.max_length",
            match fate {
                ExpiryOutcome::Dropped => {
                    format!("the queue is limited to {most} and drops the oldest")
                }
                ExpiryOutcome::DeadLettered => format!(
                    "the queue holds {most} at the most, and gives the oldest to the dead-letter exchange"
                ),
            },
            "a flood of alerts displaces earlier ones, which are then not triaged",
            "set overflow to reject-publish, so that publishers are told, or leave the limit out",
        );
    }
}

/// Checks whether the queue itself is permanent.
fn check_durability(facts: &QueueSettings, checkup: &mut HealthReport) {
    if !facts.is_durable {
        checkup.add_error(
            "source.not_durable",
            "the queue is not durable",
            "the queue and its messages are lost when the broker restarts",
            "delete it and create it again: durable, of type quorum",
        );
    }
    if facts.is_temporary {
        checkup.add_error(
            "source.auto_delete",
            "the queue is deleted with its last consumer (auto_delete, or exclusive)",
            "when the last worker stops, its messages are lost, and new ones are not kept",
            "delete it and create it again: durable, of type quorum, without auto_delete",
        );
    }
    if let Some(ms) = facts.expires_ms {
        checkup.add_error(
            "source.expires",
            format!(
                "the queue is deleted when nobody has listened for {}",
                format_duration(ms / 1_000)
            ),
            "if no worker runs for that long, its messages are lost, and new ones are not kept",
            "take expires out of the policy; where it is an argument (x-expires), delete the queue and make it anew without",
        );
    }
    if facts.kind == "classic" {
        checkup.add_warning(
            "source.classic_queue",
            "it is a classic queue",
            "it lives on one node of the broker: alerts in it are away, or lost, with that node",
            "create a quorum queue, bind it in place of this one, and drain this one",
        );
    }
}

#[cfg(test)]
mod tests {
    use nightshift_engine::doctor::CheckSeverity;
    use serde_json::json;

    use super::*;

    fn found(change: Value) -> Vec<&'static str> {
        let mut queue = json!({
            "type": "quorum", "durable": true, "auto_delete": false, "exclusive": false,
            "arguments": { "x-queue-type": "quorum" },
            "effective_policy_definition": { "dead-letter-exchange": "dlx" },
        });
        for (pointer, value) in change.as_object().unwrap() {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let parent = queue.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            parent.insert(name.to_owned(), value.clone());
        }
        let mut checkup = HealthReport::default();
        check_settings(&parse_settings(&queue, "4.1.0"), &mut checkup);
        checkup.failed_checks.iter().map(|one| one.check).collect()
    }

    #[test]
    fn what_loses_alerts_on_an_ordinary_day_is_an_error() {
        let errors = |name: &str, value: Value| {
            let queue = json!({"type": "quorum", "durable": true, "arguments": {name: value, "x-delivery-limit": -1}});
            let mut checkup = HealthReport::default();
            check_settings(&parse_settings(&queue, "4.1.0"), &mut checkup);
            let errors = checkup
                .failed_checks
                .iter()
                .filter(|one| one.severity == CheckSeverity::Error);
            errors.map(|one| one.check).collect::<Vec<_>>()
        };
        assert_eq!(errors("x-message-ttl", json!(60_000)), ["source.retention"]);
        assert_eq!(
            errors("x-message-ttl", json!(86_400_000)),
            Vec::<&str>::new()
        );
        assert_eq!(errors("x-max-length", json!(10)), ["source.max_length"]);
    }

    #[test]
    fn what_goes_to_the_dead_letter_exchange_is_not_said_to_be_gone() {
        let said = |policy: Value| {
            let queue = json!({
                "type": "quorum", "durable": true, "arguments": {"x-message-ttl": 60_000, "x-max-length": 10},
                "effective_policy_definition": policy,
            });
            let mut checkup = HealthReport::default();
            check_settings(&parse_settings(&queue, "4.1.0"), &mut checkup);
            let errors = checkup
                .failed_checks
                .iter()
                .filter(|one| one.severity == CheckSeverity::Error);
            errors.map(|one| one.what.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            said(json!({"delivery-limit": -1})),
            [
                "messages are dropped after 60 seconds",
                "the queue is limited to 10 and drops the oldest"
            ]
        );
        assert_eq!(
            said(json!({"dead-letter-exchange": "dlx"})),
            [
                "messages go to the dead-letter exchange after 60 seconds",
                "the queue holds 10 at the most, and gives the oldest to the dead-letter exchange"
            ]
        );
    }

    #[test]
    fn negative_limit_is_no_limit_from_rabbitmq_4_on() {
        let found = |version: &str, limit: i64| {
            let queue = json!({
                "type": "quorum", "durable": true, "arguments": {"x-delivery-limit": limit},
            });
            let mut checkup = HealthReport::default();
            check_settings(&parse_settings(&queue, version), &mut checkup);
            checkup.failed_checks.len()
        };
        assert_eq!([found("4.0.5", -1), found("3.13.7", -1)], [0, 1]);
        let most = i64::from(i32::MAX);
        assert_eq!([found("4.0.5", most), found("3.10.8", most)], [0, 0]);
        assert_eq!([found("4.0.5", 20), found("3.10.8", 20)], [1, 1]);
    }

    #[test]
    fn without_a_limit_a_message_is_dropped_from_version_4_on_alone() {
        let found = |version: &str| {
            let queue = json!({"type": "quorum", "durable": true, "arguments": {}});
            let mut checkup = HealthReport::default();
            check_settings(&parse_settings(&queue, version), &mut checkup);
            checkup.failed_checks.len()
        };
        assert_eq!(["3.13.7", "4.1.0", ""].map(found), [0, 1, 1]);
    }

    #[test]
    fn of_two_limits_of_deliveries_the_one_that_holds_is_judged() {
        let limit = |version: &str, argument: i64, policy: i64| {
            let queue = json!({
                "arguments": {"x-delivery-limit": argument},
                "effective_policy_definition": {"delivery-limit": policy},
            });
            parse_settings(&queue, version).delivery_limit
        };
        let most = i64::from(i32::MAX);
        assert_eq!(limit("4.0.5", most, 20), Some(20));
        assert_eq!(limit("4.0.5", -1, 5), Some(5));
        assert_eq!(limit("4.0.5", 7, -1), Some(7));
        assert_eq!(limit("4.0.5", -1, -1), Some(-1));
        assert_eq!(limit("3.10.8", most, 20), Some(20));
        assert_eq!(limit("3.10.8", most, -1), Some(-1));
    }

    #[test]
    fn sound_queue_has_no_finding_and_each_fault_has_its_own() {
        assert_eq!(found(json!({})), Vec::<&str>::new());
        assert_eq!(found(json!({"/type": "classic"})), ["source.classic_queue"]);
        assert_eq!(found(json!({"/durable": false})), ["source.not_durable"]);
        assert_eq!(found(json!({"/exclusive": true})), ["source.auto_delete"]);
        assert_eq!(found(json!({"/auto_delete": true})), ["source.auto_delete"]);
        let none = json!({"/effective_policy_definition": {}});
        assert_eq!(found(none), ["source.no_dead_letter"]);
        let no_limit = json!({"/effective_policy_definition": {"delivery-limit": -1}});
        assert_eq!(found(no_limit), Vec::<&str>::new());
        assert_eq!(found(json!({"/type": "stream"})), ["source.stream"]);
        let days = json!({"/arguments/x-expires": 604_800_000});
        assert_eq!(found(days), ["source.expires"]);
        let policy = json!({"/effective_policy_definition/expires": 60_000});
        assert_eq!(found(policy), ["source.expires"]);
        let hour = json!({"/arguments/x-message-ttl": 3_600_000});
        assert_eq!(found(hour), ["source.retention"]);
        let short = json!({"/effective_policy_definition/consumer-timeout": 60_000});
        assert_eq!(found(short), ["source.consumer_timeout"]);
        let full = json!({"/arguments/x-max-length": 1000});
        assert_eq!(found(full), ["source.max_length"]);
        let told =
            json!({"/arguments/x-max-length": 1000, "/arguments/x-overflow": "reject-publish"});
        assert_eq!(found(told), Vec::<&str>::new());
        // This applies to classic queues. A quorum queue treats the value as drop-head.
        let of_another =
            json!({"/arguments/x-max-length": 1000, "/arguments/x-overflow": "reject-publish-dlx"});
        assert_eq!(found(of_another), ["source.max_length"]);
        let overruled = json!({
            "/arguments/x-max-length": 1000,
            "/arguments/x-overflow": "reject-publish",
            "/effective_policy_definition/overflow": "drop-head",
        });
        assert_eq!(found(overruled), ["source.max_length"]);
    }
}
