//! The answer of a search: what was searched, what was found, and what the result does not show.

use std::collections::HashMap;

use nightshift_alert::{Flag, Indicator, IndicatorKind, Role};
use nightshift_engine::tool::ToolOutput;
use serde_json::{Map, Value, json};

use super::Config;
use super::choice::{self, Row};
use super::entry::Entry;
use super::filter::Search;
use super::scan::{Seen, Summary};
use crate::guard;

/// Most values listed in one count of the summary.
const MAX_COUNTED: usize = 20;

/// Most bytes of rows; the rest of an answer fits into the remainder.
const MAX_ROW_BYTES: usize = guard::MAX_OUTPUT_BYTES * 3 / 4;

/// Most problems listed in an answer.
const MAX_PROBLEMS: usize = 10;

pub(super) fn of(config: &Config, search: &Search, mut seen: Seen) -> ToolOutput {
    choice::choose(&mut seen.rows, search.limit);
    let entries = that_fit(std::mem::take(&mut seen.rows));
    let indicators = entries.iter().flat_map(indicators).collect();
    let partial = seen.stopped_after.is_some()
        || !seen.problems.is_empty()
        || seen.lost() > 0
        || seen.skipping > 0;
    let truncated = partial || (entries.len() as u64) < seen.matched;
    let left_out = match (truncated, partial) {
        (false, _) => None,
        (true, false) => Some(seen.deeds.beyond(&entries)),
        (true, true) => Some("others"),
    };
    let note = note(search, &seen, entries.len());
    let rows: Vec<Value> = entries.into_iter().map(Entry::row).collect();
    let mut output = ToolOutput::of(json!({
        "source": config.format.as_str(),
        "searched": searched(config, search, &seen),
        "rows_scanned": seen.scanned,
        "rows_matched": seen.matched,
        "rows": rows,
        "truncated": truncated,
        "left_out": left_out,
        "note": note,
        "summary": summary(&seen.summary),
    }));
    output.rows = Some(seen.matched);
    output.truncated = truncated;
    output.indicators = indicators;
    if truncated {
        output.flags.push(Flag::Truncated {
            path: "/rows".to_owned(),
        });
    }
    output
}

fn searched(config: &Config, search: &Search, seen: &Seen) -> Value {
    let mut searched = json!({
        "log": config.path.name(),
        "files": seen.files,
        "from": search.range.from,
        "until": search.range.until,
        "filters": search.filters.told(),
        "records_from": seen.earliest,
        "records_until": seen.latest,
        "records_in_time": seen.in_time,
        "unreadable_lines": seen.unreadable,
        "problems": seen.problems.iter().take(MAX_PROBLEMS).collect::<Vec<_>>(),
    });
    let counts = [
        ("without_time", seen.without_time),
        ("of_later", seen.of_later),
    ];
    for (name, count) in counts {
        if let Some(searched) = searched.as_object_mut().filter(|_| count > 0) {
            searched.insert(name.to_owned(), count.into());
        }
    }
    searched
}

/// Returns the rows in order of time. If the rows are too large, those chosen last are dropped.
fn that_fit(rows: Vec<Row>) -> Vec<Entry> {
    let mut left = MAX_ROW_BYTES;
    let mut entries: Vec<Entry> = rows
        .into_iter()
        .map(|(_, entry)| entry)
        .filter(|entry| {
            let bytes = guard::bytes(&entry.clone().row()) + 1;
            let fits = left.checked_sub(bytes);
            left = fits.unwrap_or(left);
            fits.is_some()
        })
        .collect();
    entries.sort_by_key(|entry| (entry.at.is_none(), entry.at));
    entries
}

/// Returns an explanation of the counts, in particular when they are 0.
fn note(search: &Search, seen: &Seen, shown: usize) -> Option<String> {
    let mut parts = Vec::new();
    if seen.matched == 0 {
        parts.push(none_found(search, seen));
    } else if (shown as u64) < seen.matched {
        parts.push(format!(
            "{shown} of {} rows: of each caller, address and action where they fit, then nearest to the alert's events",
            seen.matched
        ));
    }
    if seen.matched > 0 && seen.without_time > 0 {
        parts.push(format!(
            "{} of {} records tell no time that is read, and may be of any",
            seen.without_time, seen.scanned
        ));
    }
    if seen.only_mentioning > 0 {
        parts.push(format!(
            "{} of {} rows tell no principal or key that is read, and mention it in a text",
            seen.only_mentioning, seen.matched
        ));
    }
    if seen.lacks_instance {
        parts.push("the records name interfaces, no instances: search by ip instead".to_owned());
    }
    if seen.skipping > 0 {
        let skipping = seen.skipping;
        parts.push(format!(
            "records that the platform skipped, told {skipping} times, may be of this"
        ));
    }
    if let Some(bytes) = seen.stopped_after {
        parts.push(format!(
            "scan stopped after {bytes} bytes: there may be more"
        ));
    }
    if seen.lost() > 0 {
        let lost = seen.lost();
        parts.push(format!(
            "unreadable in the log: {lost}, which may be of this"
        ));
    }
    if !seen.problems.is_empty() {
        parts.push(format!("not all of the log was read: {}", seen.problems.len()) + " problems");
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn none_found(search: &Search, seen: &Seen) -> String {
    let (from, until) = (search.range.from, search.range.until);
    let mut span = Vec::new();
    if let (Some(first), Some(last)) = (seen.earliest, seen.latest) {
        span.push(format!("they run from {first} to {last}"));
    }
    if seen.without_time > 0 {
        span.push(format!("{} tell no time that is read", seen.without_time));
    }
    let span = span.join(", ");
    if seen.scanned == 0 {
        return "0 rows: the log is empty, which proves nothing".to_owned();
    }
    if seen.in_time == 0 {
        return format!(
            "0 rows: none of the {} records lies between {from} and {until} ({span}), which proves nothing",
            seen.scanned
        );
    }
    format!(
        "0 rows: {} of {} records lie between {from} and {until}, none matches ({span})",
        seen.in_time, seen.scanned
    )
}

fn summary(summary: &Summary) -> Value {
    json!({
        "actions": top(&summary.actions),
        "principals": top(&summary.principals),
        "source_ips": top(&summary.source_ips),
        "destination_ips": top(&summary.destination_ips),
        "errors": summary.errors,
        "bytes": summary.bytes,
        "first": summary.first,
        "last": summary.last,
    })
}

/// Returns the most frequent values with their counts, and the number of values left out.
fn top(counts: &HashMap<String, u64>) -> Value {
    let mut sorted: Vec<(&String, &u64)> = counts.iter().collect();
    sorted.sort_by(|left, right| right.1.cmp(left.1).then(left.0.cmp(right.0)));
    let mut map: Map<String, Value> = sorted
        .iter()
        .take(MAX_COUNTED)
        .map(|(value, count)| ((*value).clone(), Value::from(**count)))
        .collect();
    let rest: u64 = sorted
        .iter()
        .skip(MAX_COUNTED)
        .map(|(_, count)| **count)
        .sum();
    if rest > 0 {
        map.insert("(others)".to_owned(), Value::from(rest));
    }
    Value::Object(map)
}

/// Returns the typed values of a row. Texts are not searched for more, since callers write them.
fn indicators(entry: &Entry) -> Vec<Indicator> {
    let typed = |kind, text: &Option<String>| {
        text.as_deref()
            .and_then(|text| Indicator::parse(kind, text, Role::Related))
    };
    let principal = entry
        .principals
        .first()
        .and_then(|name| Indicator::parse(IndicatorKind::Principal, name, Role::Related));
    [
        typed(IndicatorKind::Ip, &entry.source_ip),
        typed(IndicatorKind::Ip, &entry.destination_ip),
        typed(IndicatorKind::AccessKey, &entry.access_key),
        principal,
    ]
    .into_iter()
    .flatten()
    .collect()
}
