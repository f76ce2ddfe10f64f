//! The choice of rows when more match than an answer may hold.
//!
//! Ordinary calls around the events would otherwise hide the call that matters: a stolen key used from another
//! address, or the one mutating call among a thousand reads. So up to half of the rows are the first of each kind;
//! the rows nearest to the events fill the rest.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::entry::Entry;

/// Most distinct audit events that are remembered.
const MAX_DEEDS: usize = 5_000;

/// A row with its distance in seconds from the events.
pub(super) type Row = (u64, Entry);

/// How much a row says, the most first: may have changed something, only read, failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Weight {
    Wrote,
    Read,
    Failed,
}

impl Weight {
    const fn of(entry: &Entry) -> Self {
        match (entry.failed, entry.reads) {
            (true, _) => Self::Failed,
            (false, true) => Self::Read,
            (false, false) => Self::Wrote,
        }
    }
}

/// A group of which one row is kept, in this order of precedence.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Group<'a> {
    Source(&'a str),
    Action(&'a str),
    Caller(&'a str, &'a str),
    Deed(Deed<&'a str>),
}

/// Who did what from where, at which service, and the outcome in the log's own words. For logs of any application the
/// resource is included, since `get` says nothing without it. A platform's log names each object read, so including
/// the resource would make every read distinct.
type Deed<T> = (T, [Option<T>; 5], Weight);

fn deed(entry: &Entry) -> Option<Deed<&str>> {
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
    Some((name, what, Weight::of(entry)))
}

fn owned((name, what, weight): Deed<&str>) -> Deed<String> {
    (
        name.to_owned(),
        what.map(|one| one.map(str::to_owned)),
        weight,
    )
}

/// Returns the groups of a row. Records without a caller, of traffic or of systems, have addresses by the thousand
/// and are grouped by action alone.
fn groups(entry: &Entry) -> Vec<Group<'_>> {
    let caller = entry.access_key.as_ref().or(entry.principals.first());
    let called = caller.zip(entry.source_ip.as_ref());
    [
        called.map(|(_, source)| Group::Source(source)),
        entry.action.as_deref().map(Group::Action),
        called.map(|(caller, source)| Group::Caller(caller, source)),
        deed(entry).map(Group::Deed),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Sorts the rows by precedence and truncates them to `limit`: first one row of each group, at most half of `limit`,
/// by weight; then the others by nearness to the events.
pub(super) fn choose(rows: &mut Vec<Row>, limit: usize) {
    rows.sort_by_key(|(distance, entry)| (*distance, entry.at));
    let first = firsts(rows, limit.div_ceil(2));
    let mut placed: Vec<(usize, Row)> = rows
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
fn firsts(rows: &[Row], most: usize) -> HashMap<usize, usize> {
    let mut best: HashMap<Group<'_>, (Weight, usize)> = HashMap::new();
    for (index, (_, entry)) in rows.iter().enumerate() {
        let row = (Weight::of(entry), index);
        for group in groups(entry) {
            let known = best.entry(group).or_insert(row);
            *known = row.min(*known);
        }
    }
    let mut sorted: Vec<_> = best
        .into_iter()
        .map(|(group, (weight, index))| (weight, rank(&group), index))
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

const fn rank(group: &Group<'_>) -> u8 {
    match group {
        Group::Source(_) => 0,
        Group::Action(_) => 1,
        Group::Caller(..) => 2,
        Group::Deed(_) => 3,
    }
}

/// The distinct audit events of all rows that matched.
#[derive(Debug, Default)]
pub(super) struct Deeds {
    seen: HashSet<Deed<String>>,
    /// Whether some events could not be distinguished or were forgotten.
    lost: bool,
}

impl Deeds {
    pub(super) fn add(&mut self, entry: &Entry) {
        let Some(deed) = deed(entry) else {
            self.lost = true;
            return;
        };
        self.seen.insert(owned(deed));
        // Forgotten events are unknown, so none of them counts as shown.
        if self.seen.len() > MAX_DEEDS {
            self.lost = true;
            self.seen.clear();
        }
    }

    /// Classifies the rows that are not among `rows`: `repeats`, `failures`, or `others`.
    pub(super) fn beyond(&self, rows: &[Entry]) -> &'static str {
        let shown: HashSet<_> = rows.iter().filter_map(deed).map(owned).collect();
        let mut hidden = self.seen.difference(&shown);
        if self.lost {
            "others"
        } else if hidden.clone().next().is_none() {
            "repeats"
        } else if hidden.all(|(_, _, weight)| *weight == Weight::Failed) {
            "failures"
        } else {
            "others"
        }
    }
}
