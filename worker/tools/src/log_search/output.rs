//! Builds the answer of a search: the searched logs, the rows found, and the limits of the result.

use std::collections::HashMap;

use nightshift_alert::{ContentFlag, Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::tool::ToolOutput;
use serde_json::{Map, Value, json};

use super::LogSearchConfig;
use super::filter::LogQuery;
use super::log_record::LogRecord;
use super::row_selection::{self, CandidateRow};
use super::scan::{ScanResult, ScanSummary};
use crate::output_guard;

/// Maximum number of values listed in one count of the summary.
const MAX_COUNTED: usize = 20;

/// Maximum number of bytes of rows; the rest of an answer fits into the remainder.
const MAX_ROW_BYTES: usize = output_guard::MAX_OUTPUT_BYTES * 3 / 4;

/// Maximum number of problems listed in an answer.
const MAX_PROBLEMS: usize = 10;

pub(super) fn build_output(
    config: &LogSearchConfig,
    search: &LogQuery,
    mut seen: ScanResult,
) -> ToolOutput {
    row_selection::select_rows(&mut seen.rows, search.limit);
    let entries = fit_rows(std::mem::take(&mut seen.rows));
    let indicators = entries.iter().flat_map(indicators).collect();
    let partial = seen.stopped_after_bytes.is_some()
        || !seen.problems.is_empty()
        || seen.unreadable_records() > 0
        || seen.gap_reports > 0;
    let truncated = partial || (entries.len() as u64) < seen.records_matched;
    let left_out = match (truncated, partial) {
        (false, _) => None,
        (true, false) => Some(seen.audit_events.classify_left_out(&entries)),
        (true, true) => Some("others"),
    };
    let note = explain_counts(search, &seen, entries.len());
    let rows: Vec<Value> = entries.into_iter().map(LogRecord::row).collect();
    let mut output = ToolOutput::from_body(json!({
        "source": config.format.as_str(),
        "searched": searched(config, search, &seen),
        "rows_scanned": seen.records_scanned,
        "rows_matched": seen.records_matched,
        "rows": rows,
        "truncated": truncated,
        "left_out": left_out,
        "note": note,
        "summary": summary(&seen.summary),
    }));
    output.rows = Some(seen.records_matched);
    output.truncated = truncated;
    output.indicators = indicators;
    if truncated {
        output.flags.push(ContentFlag::Truncated {
            path: "/rows".to_owned(),
        });
    }
    output
}

fn searched(config: &LogSearchConfig, search: &LogQuery, seen: &ScanResult) -> Value {
    let mut searched = json!({
        "log": config.path.name(),
        "files": seen.files,
        "from": search.range.from,
        "until": search.range.until,
        "filters": search.filters.to_json(),
        "records_from": seen.earliest,
        "records_until": seen.latest,
        "records_in_time": seen.in_range,
        "unreadable_lines": seen.unreadable,
        "problems": seen.problems.iter().take(MAX_PROBLEMS).collect::<Vec<_>>(),
    });
    let counts = [
        ("without_time", seen.without_time),
        ("of_later", seen.in_future),
    ];
    for (name, count) in counts {
        if let Some(searched) = searched.as_object_mut().filter(|_| count > 0) {
            searched.insert(name.to_owned(), count.into());
        }
    }
    searched
}

/// Returns the rows in order of time. If the rows are too large, those chosen last are dropped.
fn fit_rows(rows: Vec<CandidateRow>) -> Vec<LogRecord> {
    let mut left = MAX_ROW_BYTES;
    let mut entries: Vec<LogRecord> = rows
        .into_iter()
        .map(|(_, entry)| entry)
        .filter(|entry| {
            let bytes = output_guard::json_bytes(&entry.clone().row()) + 1;
            let fits = left.checked_sub(bytes);
            left = fits.unwrap_or(left);
            fits.is_some()
        })
        .collect();
    entries.sort_by_key(|entry| (entry.at.is_none(), entry.at));
    entries
}

/// Returns an explanation of the counts, in particular when they are 0.
fn explain_counts(search: &LogQuery, seen: &ScanResult, shown: usize) -> Option<String> {
    let mut parts = Vec::new();
    if seen.records_matched == 0 {
        parts.push(explain_no_match(search, seen));
    } else if (shown as u64) < seen.records_matched {
        parts.push(format!(
            "{shown} of {} rows: of each caller, address and action where they fit, then nearest to the alert's events",
            seen.records_matched
        ));
    }
    if seen.records_matched > 0 && seen.without_time > 0 {
        parts.push(format!(
            "{} of {} records tell no time that is read, and may be of any",
            seen.without_time, seen.records_scanned
        ));
    }
    if seen.mention_only > 0 {
        parts.push(format!(
            "{} of {} rows tell no principal or key that is read, and mention it in a text",
            seen.mention_only, seen.records_matched
        ));
    }
    if seen.lacks_instance {
        parts.push("the records name interfaces, no instances: search by ip instead".to_owned());
    }
    if seen.gap_reports > 0 {
        let skipping = seen.gap_reports;
        parts.push(format!(
            "records that the platform skipped, told {skipping} times, may be of this"
        ));
    }
    if let Some(bytes) = seen.stopped_after_bytes {
        parts.push(format!(
            "scan stopped after {bytes} bytes: there may be more"
        ));
    }
    if seen.unreadable_records() > 0 {
        let lost = seen.unreadable_records();
        parts.push(format!(
            "unreadable in the log: {lost}, which may be of this"
        ));
    }
    if !seen.problems.is_empty() {
        parts.push(format!("not all of the log was read: {}", seen.problems.len()) + " problems");
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn explain_no_match(search: &LogQuery, seen: &ScanResult) -> String {
    let (from, until) = (search.range.from, search.range.until);
    let mut span = Vec::new();
    if let (Some(first), Some(last)) = (seen.earliest, seen.latest) {
        span.push(format!("they run from {first} to {last}"));
    }
    if seen.without_time > 0 {
        span.push(format!("{} tell no time that is read", seen.without_time));
    }
    let span = span.join(", ");
    if seen.records_scanned == 0 {
        return "0 rows: the log is empty, which proves nothing".to_owned();
    }
    if seen.in_range == 0 {
        return format!(
            "0 rows: none of the {} records lies between {from} and {until} ({span}), which proves nothing",
            seen.records_scanned
        );
    }
    format!(
        "0 rows: {} of {} records lie between {from} and {until}, none matches ({span})",
        seen.in_range, seen.records_scanned
    )
}

fn summary(summary: &ScanSummary) -> Value {
    json!({
        "actions": top_counts(&summary.actions),
        "principals": top_counts(&summary.principals),
        "source_ips": top_counts(&summary.source_ips),
        "destination_ips": top_counts(&summary.destination_ips),
        "errors": summary.errors,
        "bytes": summary.bytes,
        "first": summary.first,
        "last": summary.last,
    })
}

/// Returns the most frequent values with their counts, and the number of values left out.
fn top_counts(counts: &HashMap<String, u64>) -> Value {
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
fn indicators(entry: &LogRecord) -> Vec<Indicator> {
    let typed = |kind, text: &Option<String>| {
        text.as_deref()
            .and_then(|text| Indicator::parse(kind, text, IndicatorRole::Related))
    };
    let principal = entry
        .principals
        .first()
        .and_then(|name| Indicator::parse(IndicatorKind::Principal, name, IndicatorRole::Related));
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
