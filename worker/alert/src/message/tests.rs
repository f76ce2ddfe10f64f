//! Tests messages as feeds send them. The sample files are in `tests/fixtures/alerts/`.

mod addresses;
mod aliases;
mod asff;
mod attacks;
mod bases;
mod borrowed_identity;
mod callers;
mod corpus;
mod denied;
mod direction;
mod display_names;
mod faults;
mod feeds;
mod fields;
mod generic;
mod guardduty;
mod kinds;
mod limits;
mod lost;
mod names;
mod newer;
mod ocsf;
mod principals;
mod properties;
mod scc;
mod security_hub;
mod severities;
mod shapes;
mod text;
mod traces;
mod unreadable;
mod unusual_actors;
mod victims;
mod wrapping;

use serde_json::{Value, json};

use super::*;
use crate::{Indicator, IndicatorKind, IndicatorRole};

pub(super) const SAMPLES: [(&str, &str); 9] = [
    (
        "guardduty-eventbridge-credential-exfiltration",
        include_str!(
            "../../../../tests/fixtures/alerts/guardduty-eventbridge-credential-exfiltration.json"
        ),
    ),
    (
        "guardduty-eventbridge-dns",
        include_str!("../../../../tests/fixtures/alerts/guardduty-eventbridge-dns.json"),
    ),
    (
        "guardduty-finding",
        include_str!("../../../../tests/fixtures/alerts/guardduty-finding.json"),
    ),
    (
        "guardduty-findings-list",
        include_str!("../../../../tests/fixtures/alerts/guardduty-findings-list.json"),
    ),
    (
        "ocsf-impossible-travel",
        include_str!("../../../../tests/fixtures/alerts/ocsf-impossible-travel.json"),
    ),
    (
        "pubsub-push-scc-crypto-miner",
        include_str!("../../../../tests/fixtures/alerts/pubsub-push-scc-crypto-miner.json"),
    ),
    (
        "scc-crypto-miner",
        include_str!("../../../../tests/fixtures/alerts/scc-crypto-miner.json"),
    ),
    (
        "securityhub-eventbridge-discovery",
        include_str!("../../../../tests/fixtures/alerts/securityhub-eventbridge-discovery.json"),
    ),
    (
        "sns-guardduty-credential-exfiltration",
        include_str!(
            "../../../../tests/fixtures/alerts/sns-guardduty-credential-exfiltration.json"
        ),
    ),
];

pub(super) fn sample(name: &str) -> &'static str {
    SAMPLES.iter().find(|(known, _)| *known == name).unwrap().1
}

pub(super) fn parsed(name: &str) -> Value {
    serde_json::from_str(sample(name)).unwrap()
}

pub(super) fn read_all(text: &str) -> MessageContents {
    read_message(text.as_bytes(), &ReadOptions::default()).unwrap()
}

/// Returns the only alert of a message.
pub(super) fn one(text: &str) -> Alert {
    let mut batch = read_all(text);
    assert_eq!(
        (batch.alerts.len(), batch.rejected.len()),
        (1, 0),
        "{:?}",
        batch.rejected
    );
    batch.alerts.remove(0)
}

pub(super) fn one_of(value: &Value) -> Alert {
    one(&value.to_string())
}

pub(super) fn has(alert: &Alert, kind: IndicatorKind, role: IndicatorRole, value: &str) -> bool {
    alert
        .indicators
        .contains(&Indicator::new(kind, value, role))
}

pub(super) fn error(text: &str) -> ReadError {
    read_message(text.as_bytes(), &ReadOptions::default()).unwrap_err()
}

#[test]
fn every_sample_is_an_alert_without_suspicion() {
    for (name, text) in SAMPLES {
        let alert = one(text);
        assert_eq!(alert.flags, [], "{name}: {:#}", alert.raw.value());
        assert!(
            !alert.title.is_empty() && !alert.indicators.is_empty(),
            "{name}"
        );
        assert!(alert.times.window().is_some(), "{name}");
    }
}

#[test]
fn the_same_finding_in_different_wrappings_is_one_alert() {
    for group in [
        &[
            "guardduty-finding",
            "guardduty-findings-list",
            "guardduty-eventbridge-dns",
        ][..],
        &[
            "guardduty-eventbridge-credential-exfiltration",
            "sns-guardduty-credential-exfiltration",
        ],
        &["scc-crypto-miner", "pubsub-push-scc-crypto-miner"],
    ] {
        let alerts: Vec<Alert> = group.iter().map(|name| one(sample(name))).collect();
        for alert in &alerts {
            assert_eq!(alert.key, alerts[0].key);
            assert_eq!(alert.content, alerts[0].content);
            assert_eq!(alert.indicators, alerts[0].indicators);
        }
    }
    let envelopes = |name| read_all(sample(name)).envelopes;
    assert_eq!(
        envelopes("sns-guardduty-credential-exfiltration"),
        ["sns", "eventbridge"]
    );
    assert_eq!(envelopes("pubsub-push-scc-crypto-miner"), ["pubsub"]);
    assert_eq!(envelopes("guardduty-finding"), [""; 0]);
}

#[test]
fn no_findings_is_nothing_to_do() {
    for text in [
        r#"{"findings": []}"#,
        r#"{"Findings": []}"#,
        r#"{"findings": null}"#,
        r#"{"Findings": [], "NextToken": "t", "ResponseMetadata": {}}"#,
        "[]",
    ] {
        assert_eq!(read_all(text), MessageContents::default(), "{text}");
    }
}

#[test]
fn raw_keeps_every_field_that_we_do_not_know() {
    let mut value = parsed("guardduty-finding");
    value["NeverSeen"] = json!({"deep": [1, {"x": null}]});
    value["Service"]["Novel"] = json!("field");
    let alert = one_of(&value);
    assert_eq!(alert.raw.value(), value);
}
