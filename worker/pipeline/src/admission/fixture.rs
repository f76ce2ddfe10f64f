//! Provides alerts and stored facts for the tests of admission.

use std::sync::Arc;
use std::sync::LazyLock;

use chrono::{DateTime, Duration, Utc};
use nightshift_alert::{
    Alert, ContentHash, FeedState, Indicator, IndicatorKind, IndicatorRole, Severity,
};
use nightshift_engine::conclusion::Verdict;

use super::{KnownCase, TriageStage};
use crate::case::CaseId;
use crate::intake::Arrival;

/// Returns the time at which everything in these tests happens.
pub(super) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_772_419_000, 0).unwrap()
}

/// Returns a real finding of medium severity.
pub(super) fn alert() -> Alert {
    static ALERT: LazyLock<Alert> = LazyLock::new(parse_fixture);
    ALERT.clone()
}

fn parse_fixture() -> Alert {
    let bytes = include_bytes!("../../../../tests/fixtures/alerts/guardduty-finding.json");
    let options = nightshift_alert::ReadOptions::default();
    let mut alert = nightshift_alert::read_message(bytes, &options)
        .unwrap()
        .alerts
        .remove(0);
    alert.severity = Severity::Medium;
    alert.state.sample = false;
    alert.times.updated = Some(now() - Duration::hours(1));
    with_content(alert)
}

/// Sets a content hash roughly as the parser would. It covers every field that these tests change.
pub(super) fn with_content(mut alert: Alert) -> Alert {
    let Alert {
        kind,
        severity,
        region,
        action,
        outcome,
        indicators,
        resources,
        state,
        ..
    } = &alert;
    let state = FeedState {
        sample: false,
        ..*state
    };
    let text = format!(
        "{kind} {severity} {region:?} {action:?} {outcome:?} {state:?} {indicators:?} {resources:?}"
    );
    alert.content = ContentHash(text);
    alert
}

/// Returns an address in a role.
pub(super) fn address(role: IndicatorRole, last: u8) -> Indicator {
    Indicator::new(IndicatorKind::Ip, format!("198.51.100.{last}"), role)
}

/// Returns the arrival of an alert from a source.
pub(super) fn arrival(alert: Alert) -> Arrival {
    Arrival {
        source: "test".into(),
        at: now(),
        alert: Arc::new(with_content(alert)),
        raw: b"{}".as_slice().into(),
        unreadable: None,
        on_demand: false,
        link: None,
    }
}

/// Returns a concluded case of the alert, an hour old.
pub(super) fn concluded(alert: &Alert) -> KnownCase {
    KnownCase {
        id: CaseId("first".into()),
        stage: TriageStage::Over,
        verdict: Some(Verdict::TruePositive),
        disputed: false,
        alert: Arc::new(alert.clone()),
        state: alert.state,
        updated: alert.times.updated,
        cleared_until: None,
        last_event: None,
        touched_at: now() - Duration::hours(1),
        revisions_today: 0,
    }
}
