//! The timeline: event, detection, triage, and what logs saw before and after.

use chrono::{DateTime, Utc};
use nightshift_engine::{EvidenceId, State};
use serde_json::Value;

use super::TimelineEntry;
use super::items::items;

/// Most lines.
const MOST_LINES: usize = 30;
/// Most log rows of one piece of evidence.
const MOST_ROWS: usize = 6;

/// What happened when, in order.
pub(super) fn of(state: &State, concluded_at: DateTime<Utc>) -> Vec<TimelineEntry> {
    let mut lines = Vec::new();
    let mut add = |at: Option<DateTime<Utc>>, what: &str, evidence| {
        if let Some(at) = at {
            lines.push(TimelineEntry {
                at,
                what: what.to_owned(),
                evidence,
            });
        }
    };
    let alert = state.alert();
    if let Some(alert) = alert {
        let e0 = Some(EvidenceId::ALERT);
        add(alert.times.first_seen, "first event of the alert", e0);
        if alert.times.last_seen != alert.times.first_seen {
            add(alert.times.last_seen, "last event of the alert", e0);
        }
        add(alert.times.created, "the feed made the alert", e0);
        if alert.times.updated != alert.times.created {
            add(alert.times.updated, "the feed changed the alert", e0);
        }
    }
    add(state.opened_at, "triage began", None);
    add(Some(concluded_at), "triage ended", None);
    for evidence in state.evidence.values() {
        if !evidence.kind.starts_with("log_search") {
            continue;
        }
        for row in items(evidence, "rows").into_iter().take(MOST_ROWS) {
            let row: Value = serde_json::from_str(row.get()).unwrap_or_default();
            let at = row
                .get("at")
                .and_then(Value::as_str)
                .and_then(|at| DateTime::parse_from_rfc3339(at).ok());
            add(at.map(|at| at.to_utc()), &log_line(&row), Some(evidence.id));
        }
    }
    lines.sort_by_key(|line| line.at);
    // Two searches may find the same row: the first one is named.
    lines.dedup_by(|later, first| later.at == first.at && later.what == first.what);
    lines.truncate(MOST_LINES);
    lines
}

/// `ListBuckets by prod-payments-worker from 203.0.113.42`, of what the row tells.
fn log_line(row: &Value) -> String {
    let text = |key: &str| {
        row.get(key)
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty())
    };
    let mut line = text("action").unwrap_or("event").to_owned();
    for (word, key) in [
        ("by", "principal"),
        ("from", "source_ip"),
        ("to", "destination_ip"),
        ("on", "resource"),
    ] {
        if let Some(value) = text(key) {
            line.push_str(&format!(" {word} {value}"));
        }
    }
    if let Some(error) = text("error") {
        line.push_str(&format!(" ({error})"));
    }
    line
}
