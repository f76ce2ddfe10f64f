//! Builds the timeline: event, detection, triage, and what logs show before and after.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::evidence::{Evidence, EvidenceId};
use nightshift_engine::state::CaseState;
use serde_json::Value;
use serde_json::value::RawValue;

use super::TimelineEntry;
use super::items::{is_log, items};

/// Maximum number of log rows.
const MOST_ROWS: usize = 24;

/// Returns the events in order, and the number of log rows that did not fit.
pub(super) fn build_timeline(
    state: &CaseState,
    concluded_at: DateTime<Utc>,
) -> (Vec<TimelineEntry>, u32) {
    let times = state.alert().map(|alert| &alert.times);
    let last = times.and_then(|times| times.last_seen.or(times.first_seen));
    let logs = state
        .evidence
        .values()
        .map(AsRef::as_ref)
        .filter(|one| is_log(one));
    let (mut lines, left) = select_rows(logs, last.unwrap_or(concluded_at));
    lines.extend(case_entries(state, concluded_at));
    lines.sort_by_key(|line| line.at);
    (lines, left)
}

/// Returns the entries of the alert and the case themselves.
fn case_entries(state: &CaseState, concluded_at: DateTime<Utc>) -> Vec<TimelineEntry> {
    let mut lines = Vec::new();
    let mut add = |at: Option<DateTime<Utc>>, what: &str, evidence| {
        lines.extend(at.map(|at| TimelineEntry {
            at,
            what: what.to_owned(),
            evidence,
        }));
    };
    let e0 = Some(EvidenceId::ALERT);
    if let Some(alert) = state.alert() {
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
    lines
}

/// A log row with its rank.
struct RankedRow {
    rank: usize,
    away: TimeDelta,
    place: usize,
    action: Option<String>,
    line: TimelineEntry,
}

/// Returns the latest rows of these logs and those of each answer nearest to `last`, and the number of rows left out.
/// Each action is taken once before any is taken twice, so that a burst of one call does not displace what followed,
/// nor one log the others.
fn select_rows<'a>(
    logs: impl Iterator<Item = &'a Evidence>,
    last: DateTime<Utc>,
) -> (Vec<TimelineEntry>, u32) {
    let mut known = HashSet::new();
    let mut rows: Vec<RankedRow> = Vec::new();
    for evidence in logs {
        let mut of_this = rows_of(evidence, last, &mut known);
        of_this.sort_by_key(|row| row.away);
        let mut actions = HashSet::new();
        let (first, again): (Vec<_>, Vec<_>) = of_this
            .into_iter()
            .partition(|row| actions.insert(row.action.clone()));
        let ranked = first.into_iter().chain(again).enumerate();
        rows.extend(ranked.map(|(rank, row)| RankedRow { rank, ..row }));
    }
    if let Some(latest) = rows.iter_mut().max_by_key(|row| row.line.at) {
        (latest.rank, latest.away) = (0, TimeDelta::zero());
    }
    rows.sort_by_key(|row| (row.rank, row.away));
    let left = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    rows.sort_by_key(|row| row.place);
    let lines = rows.into_iter().map(|row| row.line).collect();
    (lines, u32::try_from(left).unwrap_or(u32::MAX))
}

/// Returns the rows of an answer that have a time. If two searches find the same row, the first is named.
fn rows_of(
    evidence: &Evidence,
    last: DateTime<Utc>,
    known: &mut HashSet<(DateTime<Utc>, String)>,
) -> Vec<RankedRow> {
    let row = |row: &RawValue| {
        let row: Value = serde_json::from_str(row.get()).ok()?;
        let at = DateTime::parse_from_rfc3339(row.get("at")?.as_str()?).ok()?;
        let line = TimelineEntry {
            at: at.to_utc(),
            what: log_line(&row),
            evidence: Some(evidence.id),
        };
        let is_new = known.insert((line.at, line.what.clone()));
        is_new.then(|| RankedRow {
            rank: 0,
            away: (line.at - last).abs(),
            place: known.len(),
            action: row.get("action").map(Value::to_string),
            line,
        })
    };
    items(evidence, "rows")
        .into_iter()
        .filter_map(row)
        .collect()
}

/// Returns the text of a row from its fields: `ListBuckets by prod-payments-worker from 203.0.113.42`.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_772_419_000 + second, 0).unwrap()
    }

    /// Returns a log's answer with these calls.
    fn answer(id: u32, rows: &[(i64, &str)]) -> Evidence {
        let row = |(second, action): &(i64, &str)| json!({ "at": at(*second), "action": action });
        Evidence {
            id: EvidenceId(id),
            step: None,
            tool: "cloudtrail".to_owned(),
            kind: "log_search.cloudtrail".to_owned(),
            arguments: serde_json::Map::new(),
            at: at(0),
            body: json!({ "rows": rows.iter().map(row).collect::<Vec<_>>() }).into(),
            rows: None,
            truncated: false,
            error: None,
            flags: Vec::new(),
        }
    }

    /// Returns the lines for these answers around second 0, each with time, text and evidence, and the number of rows
    /// left out.
    fn lines(answers: &[Evidence]) -> (Vec<(i64, String, u32)>, u32) {
        let (mut lines, left) = select_rows(answers.iter(), at(0));
        lines.sort_by_key(|line| line.at);
        let line = |line: TimelineEntry| {
            let second = (line.at - at(0)).num_seconds();
            (second, line.what, line.evidence.unwrap().0)
        };
        (lines.into_iter().map(line).collect(), left)
    }

    #[test]
    fn a_burst_crowds_out_neither_what_followed_nor_another_log() {
        let mut calls: Vec<(i64, &str)> = (-300..0).map(|second| (second, "ListRoles")).collect();
        calls.extend([
            (500, "CreateUser"),
            (900, "CreateAccessKey"),
            (4_000, "ListRoles"),
        ]);
        let flows: Vec<(i64, &str)> = (10..40).map(|second| (second, "ACCEPT")).collect();
        let (told, left) = lines(&[answer(13, &calls), answer(14, &flows)]);
        assert_eq!((told.len(), left), (24, 309));
        for row in [
            (-1, "ListRoles", 13),
            (500, "CreateUser", 13),
            (900, "CreateAccessKey", 13),
            (4_000, "ListRoles", 13),
            (10, "ACCEPT", 14),
            (20, "ACCEPT", 14),
        ] {
            let row = (row.0, row.1.to_owned(), row.2);
            assert!(told.contains(&row), "no {row:?} in {told:?}");
        }
    }

    #[test]
    fn all_rows_are_told_where_there_is_room_and_each_once() {
        let calls = [
            (-9, "ListBuckets"),
            (-9, "GetObject"),
            (-9, "ListBuckets"),
            (7, "GetObject"),
        ];
        let (told, left) = lines(&[answer(3, &calls), answer(4, &calls)]);
        assert_eq!(left, 0);
        assert_eq!(
            told,
            [
                (-9, "ListBuckets", 3),
                (-9, "GetObject", 3),
                (7, "GetObject", 3)
            ]
            .map(|(second, what, id)| (second, what.to_owned(), id))
        );
    }
}
