//! Chooses rows when more match than an answer may hold.
//!
//! Ordinary calls around the events would otherwise hide the call that matters: a stolen key used from another address,
//! or the one mutating call among a thousand reads. So up to half of the rows are the first of each kind; the rows
//! nearest to the events fill the rest.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::log_record::LogRecord;

/// Maximum number of distinct audit events that are remembered.
const MAX_AUDIT_EVENTS: usize = 5_000;

/// A row with its distance in seconds from the events.
pub(super) type CandidateRow = (u64, LogRecord);

/// The class of a call, the most informative first: it may have changed something, it only read, or it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum CallClass {
    Mutating,
    ReadOnly,
    Failed,
}

impl CallClass {
    const fn from_record(entry: &LogRecord) -> Self {
        match (entry.is_failure, entry.is_read_only) {
            (true, _) => Self::Failed,
            (false, true) => Self::ReadOnly,
            (false, false) => Self::Mutating,
        }
    }
}

/// A group of which one row is kept, in this order of precedence.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum GroupKey<'a> {
    Source(&'a str),
    Action(&'a str),
    Caller(&'a str, &'a str),
    AuditEvent(AuditEventKey<&'a str>),
}

/// The key of an audit event: who did what from where, at which service, with the outcome in the log's own words. For
/// logs of any application the key includes the resource, since `get` says nothing without it. A platform's log names
/// each object read, so including the resource would make every read distinct.
type AuditEventKey<T> = (T, [Option<T>; 5], CallClass);

fn audit_event_key(entry: &LogRecord) -> Option<AuditEventKey<&str>> {
    let name = entry.principals.first().or(entry.access_key.as_ref())?;
    let column = |name: &str| entry.columns.get(name).and_then(Value::as_str);
    let of_any_application = entry.columns.contains_key("record");
    let what = [
        entry.source_ip.as_deref(),
        entry.action.as_deref(),
        entry.service.as_deref(),
        column("outcome"),
        column("resource").filter(|_| of_any_application),
    ];
    Some((name, what, CallClass::from_record(entry)))
}

fn into_owned_key((name, what, weight): AuditEventKey<&str>) -> AuditEventKey<String> {
    (
        name.to_owned(),
        what.map(|one| one.map(str::to_owned)),
        weight,
    )
}

/// Returns the groups of a row. Records without a caller, of traffic or of systems, have addresses by the thousand
/// and are grouped by action alone.
fn group_keys(entry: &LogRecord) -> Vec<GroupKey<'_>> {
    let caller = entry.access_key.as_ref().or(entry.principals.first());
    let called = caller.zip(entry.source_ip.as_ref());
    [
        called.map(|(_, source)| GroupKey::Source(source)),
        entry.action.as_deref().map(GroupKey::Action),
        called.map(|(caller, source)| GroupKey::Caller(caller, source)),
        audit_event_key(entry).map(GroupKey::AuditEvent),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Sorts the rows by precedence and truncates them to `limit`: first one row of each group, at most half of `limit`,
/// by weight; then the others by nearness to the events.
pub(super) fn select_rows(rows: &mut Vec<CandidateRow>, limit: usize) {
    rows.sort_by_key(|(distance, entry)| (*distance, entry.at));
    let first = pick_representatives(rows, limit.div_ceil(2));
    let mut placed: Vec<(usize, CandidateRow)> = rows
        .drain(..)
        .enumerate()
        .map(|(index, row)| {
            let place = first.get(&index).copied();
            (place.unwrap_or(first.len() + index), row)
        })
        .collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.truncate(limit);
    rows.extend(placed.into_iter().map(|(_, row)| row));
}

/// Returns the indices of the first rows of each group, with their order.
fn pick_representatives(rows: &[CandidateRow], most: usize) -> HashMap<usize, usize> {
    let mut best: HashMap<GroupKey<'_>, (CallClass, usize)> = HashMap::new();
    for (index, (_, entry)) in rows.iter().enumerate() {
        let row = (CallClass::from_record(entry), index);
        for group in group_keys(entry) {
            let known = best.entry(group).or_insert(row);
            *known = row.min(*known);
        }
    }
    let mut sorted: Vec<_> = best
        .into_iter()
        .map(|(group, (weight, index))| (weight, group_rank(&group), index))
        .collect();
    sorted.sort_unstable();
    let mut first = HashMap::new();
    for (_, _, index) in sorted {
        if first.len() == most {
            break;
        }
        let place = first.len();
        first.entry(index).or_insert(place);
    }
    first
}

const fn group_rank(group: &GroupKey<'_>) -> u8 {
    match group {
        GroupKey::Source(_) => 0,
        GroupKey::Action(_) => 1,
        GroupKey::Caller(..) => 2,
        GroupKey::AuditEvent(_) => 3,
    }
}

/// The distinct audit events of all rows that matched.
#[derive(Debug, Default)]
pub(super) struct AuditEventSet {
    seen: HashSet<AuditEventKey<String>>,
    /// True if some events could not be distinguished or were forgotten.
    is_incomplete: bool,
}

impl AuditEventSet {
    pub(super) fn add(&mut self, entry: &LogRecord) {
        let Some(deed) = audit_event_key(entry) else {
            self.is_incomplete = true;
            return;
        };
        self.seen.insert(into_owned_key(deed));
        // Forgotten events are unknown, so none of them counts as shown.
        if self.seen.len() > MAX_AUDIT_EVENTS {
            self.is_incomplete = true;
            self.seen.clear();
        }
    }

    /// Classifies the rows that are not among `rows`: `repeats`, `failures`, or `others`.
    pub(super) fn classify_left_out(&self, rows: &[LogRecord]) -> &'static str {
        let shown: HashSet<_> = rows
            .iter()
            .filter_map(audit_event_key)
            .map(into_owned_key)
            .collect();
        let mut hidden = self.seen.difference(&shown);
        if self.is_incomplete {
            "others"
        } else if hidden.clone().next().is_none() {
            "repeats"
        } else if hidden.all(|(_, _, weight)| *weight == CallClass::Failed) {
            "failures"
        } else {
            "others"
        }
    }
}
