//! Makes one pass over the files of a log: counts, filters, and keeps the rows that say most.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::tool::ToolError;
use serde_json::Value;

use super::envelope::{self, EnvelopePayloads};
use super::filter::LogQuery;
use super::log_record::LogRecord;
use super::records::{self, ReadOutcome};
use super::row_selection::{self, AuditEventSet, CandidateRow};
use super::vpc_flow::FlowLogLayout;
use super::{LogFormat, LogSearchConfig, cloudtrail, decompression, files, gcp_audit, json_lines};
use crate::content::{ContentSource, read_error};
use crate::tool::unavailable;

/// Size of the read buffer, in which the first line is also looked for.
const BUFFER_BYTES: usize = 64 * 1024;

/// The time before the searched time at which a file may have been last written to and still be read, since clocks
/// differ.
const CLOCK_SKEW: TimeDelta = TimeDelta::days(1);

/// Maximum number of distinct values that a summary counts; the others are counted together.
const MAX_DISTINCT: usize = 5_000;

/// The result of a pass.
#[derive(Debug, Default)]
pub(super) struct ScanResult {
    pub(super) files: usize,
    pub(super) records_scanned: u64,
    /// Lines that are no record of this format.
    pub(super) unreadable: u64,
    /// Unreadable lines that were recognised as something else: digests, other entries of the same sink.
    pub(super) other_kinds: u64,
    pub(super) records_matched: u64,
    /// Matching records that do not name their caller and only mention the principal or key.
    pub(super) mention_only: u64,
    /// Records within the searched time.
    pub(super) in_range: u64,
    /// Records without a readable time, which can be of any time.
    pub(super) without_time: u64,
    pub(super) earliest: Option<DateTime<Utc>>,
    /// The last time in the log that is not after the search. A record of next year does not make a log complete.
    pub(super) latest: Option<DateTime<Utc>>,
    /// The time when the search runs.
    pub(super) now: Option<DateTime<Utc>>,
    /// Records with a time in the future.
    pub(super) in_future: u64,
    pub(super) rows: Vec<CandidateRow>,
    pub(super) audit_events: AuditEventSet,
    pub(super) summary: ScanSummary,
    /// Messages about what could not be read.
    pub(super) problems: Vec<String>,
    /// Bytes after which the pass was stopped, if it was.
    pub(super) stopped_after_bytes: Option<u64>,
    /// Records within the searched time that report records lost by the platform.
    pub(super) gap_reports: u64,
    /// True if a flow log was searched for an instance and its records name none.
    pub(super) lacks_instance: bool,
}

/// Counts over all matching records.
#[derive(Debug, Default)]
pub(super) struct ScanSummary {
    pub(super) actions: HashMap<String, u64>,
    pub(super) principals: HashMap<String, u64>,
    pub(super) source_ips: HashMap<String, u64>,
    pub(super) destination_ips: HashMap<String, u64>,
    pub(super) errors: u64,
    pub(super) bytes: u64,
    pub(super) first: Option<DateTime<Utc>>,
    pub(super) last: Option<DateTime<Utc>>,
}

impl ScanResult {
    /// Returns the number of lines or records whose contents are unknown.
    pub(super) const fn unreadable_records(&self) -> u64 {
        self.unreadable.saturating_sub(self.other_kinds)
    }
}

impl ScanSummary {
    fn add(&mut self, entry: &LogRecord) {
        count_value(&mut self.actions, entry.action.as_deref());
        count_value(
            &mut self.principals,
            entry.principals.first().map(String::as_str),
        );
        count_value(&mut self.source_ips, entry.source_ip.as_deref());
        count_value(&mut self.destination_ips, entry.destination_ip.as_deref());
        self.errors += u64::from(entry.is_failure);
        self.bytes = self.bytes.saturating_add(entry.bytes.unwrap_or(0));
        widen_span(&mut self.first, &mut self.last, entry.at);
    }
}

fn count_value(counts: &mut HashMap<String, u64>, value: Option<&str>) {
    let Some(value) = value else {
        return;
    };
    if let Some(count) = counts.get_mut(value) {
        *count += 1;
        return;
    }
    let key = if counts.len() < MAX_DISTINCT {
        value
    } else {
        "(others)"
    };
    *counts.entry(key.to_owned()).or_default() += 1;
}

fn widen_span(
    first: &mut Option<DateTime<Utc>>,
    last: &mut Option<DateTime<Utc>>,
    at: Option<DateTime<Utc>>,
) {
    let Some(at) = at else {
        return;
    };
    *first = Some(first.map_or(at, |first| first.min(at)));
    *last = Some(last.map_or(at, |last| last.max(at)));
}

/// Reads the log and keeps the records that `search` matches. The scan ends early when `stop` is set.
///
/// # Errors
///
/// Fails when nothing could be read, or when nothing is a record of the format.
pub(super) fn run(
    config: &LogSearchConfig,
    search: &LogQuery,
    stop: &AtomicBool,
) -> Result<ScanResult, ToolError> {
    let mut seen = ScanResult {
        now: Some(search.now),
        ..ScanResult::default()
    };
    let since = search.range.from.checked_sub_signed(CLOCK_SKEW);
    scan_log(config, since, &mut seen, &mut |seen, entry| {
        if let Some(entry) = entry {
            keep_if_matching(seen, search, entry);
        }
        !stop.load(Ordering::Relaxed)
    })
    .map_err(unavailable)?;
    seen.lacks_instance &= search
        .filters
        .indicators
        .iter()
        .any(|(name, _)| *name == "instance");
    Ok(seen)
}

/// Returns the number of records in the log and its problems.
///
/// # Errors
///
/// Returns the same errors as [`run`].
pub(super) fn check(config: &LogSearchConfig) -> Result<(usize, Vec<String>), String> {
    let mut seen = ScanResult::default();
    let (mut is_named, mut unread_name) = (false, None);
    scan_log(config, None, &mut seen, &mut |_, entry| {
        if let Some(entry) = entry.filter(|_| !is_named) {
            is_named = !entry.principals.is_empty();
            let record = entry.columns.get("record");
            unread_name = unread_name
                .take()
                .or_else(|| json_lines::find_unmapped_principal(record?));
        }
        true
    })?;
    let mut problems = seen.problems;
    if seen.records_scanned > 0 && seen.earliest.is_none() {
        problems.push(format!(
            "no record tells a time that is read{}: a search cannot tell what is of the alert's time",
            field_hint(config, "at")
        ));
    }
    if let Some(pointer) = unread_name.filter(|_| !is_named) {
        problems.push(format!(
            "no record tells a principal that is read, though one has `{pointer}`{}",
            field_hint(config, "principal")
        ));
    }
    if seen.unreadable > 0 {
        problems.push(format!(
            "{} lines are no {} records; they are left out",
            seen.unreadable,
            config.format.as_str()
        ));
    }
    if let Some(bytes) = seen.stopped_after_bytes {
        problems.push(format!(
            "scan stopped after {bytes} bytes: later files are not searched"
        ));
    }
    Ok((
        usize::try_from(seen.records_scanned).unwrap_or(usize::MAX),
        problems,
    ))
}

fn field_hint(config: &LogSearchConfig, field: &str) -> String {
    match config.format {
        LogFormat::JsonLines => format!(" (name its place in `fields`, as `{field}`)"),
        _ => String::new(),
    }
}

type RecordVisitor<'a> = &'a mut dyn FnMut(&mut ScanResult, Option<LogRecord>) -> bool;

/// Reads the log. With a time, only files of an oversized log that were written since then are read.
fn scan_log(
    config: &LogSearchConfig,
    since: Option<DateTime<Utc>>,
    seen: &mut ScanResult,
    each: RecordVisitor<'_>,
) -> Result<(), String> {
    seen.lacks_instance = config.format == LogFormat::VpcFlow;
    let mut left = config.max_scan_bytes;
    match &config.path {
        ContentSource::Text { text, .. } => {
            seen.files = 1;
            scan_reader(config, text.as_bytes(), seen, each).map_err(|error| error.to_string())?;
        }
        ContentSource::Path(path) => {
            let mut found = files::find_log_files(path)?;
            if let Some(since) = since {
                found.skip_older(since.into(), config.max_scan_bytes);
            }
            found.limit_count();
            seen.problems = found.problems;
            for path in found.paths {
                if left == 0 {
                    seen.stopped_after_bytes = Some(config.max_scan_bytes);
                    break;
                }
                if !scan_file(config, &path, &mut left, seen, each) {
                    break;
                }
            }
            if seen.files == 0 && seen.records_scanned == 0 {
                return Err(seen.problems.join("; "));
            }
        }
    }
    if seen.records_scanned == 0 && seen.unreadable > 0 {
        return Err(format!(
            "{} has no {} record ({} lines read); check `path` and `format`",
            config.path.name(),
            config.format.as_str(),
            seen.unreadable
        ));
    }
    Ok(())
}

/// Reads one file and returns whether to continue. A file that cannot be read to its end is reported.
fn scan_file(
    config: &LogSearchConfig,
    path: &Path,
    left: &mut u64,
    seen: &mut ScanResult,
    each: RecordVisitor<'_>,
) -> bool {
    let mut goes_on = true;
    let read = decompression::for_each_part(path, &mut |part| {
        if *left == 0 {
            seen.stopped_after_bytes = Some(config.max_scan_bytes);
            return Ok(false);
        }
        let mut bounded = part.take(*left);
        let before = seen.unreadable;
        let reader = BufReader::with_capacity(BUFFER_BYTES, &mut bounded);
        let ended = scan_reader(config, reader, seen, each);
        *left = bounded.limit();
        let mut beyond = [0];
        if *left == 0 && bounded.into_inner().read(&mut beyond)? > 0 {
            seen.stopped_after_bytes = Some(config.max_scan_bytes);
            // The file has the whole record at the cut.
            seen.unreadable = seen.unreadable.saturating_sub(1).max(before);
        }
        goes_on = !ended?.stopped;
        Ok(goes_on)
    });
    match read {
        Ok(()) => seen.files += 1,
        Err(error) => seen.problems.push(read_error(path, &error)),
    }
    goes_on
}

/// The properties that distinguish records of a JSON format from other contents of its files.
struct JsonRecordFormat {
    parse: fn(&LogSearchConfig, &Value) -> Option<LogRecord>,
    list_keys: &'static [&'static str],
    /// Returns whether a value that is no record cannot contain one either.
    is_foreign: fn(&Value) -> bool,
}

fn json_record_format(format: LogFormat) -> Option<JsonRecordFormat> {
    Some(match format {
        LogFormat::VpcFlow => return None,
        LogFormat::Cloudtrail => JsonRecordFormat {
            parse: |_, record| cloudtrail::parse_record(record),
            list_keys: cloudtrail::LIST_KEYS,
            is_foreign: |record| {
                cloudtrail::is_insight_event(record)
                    || !(cloudtrail::looks_like_record(record)
                        || envelope::mentions_field(record, cloudtrail::EVENT_NAME_FIELD))
            },
        },
        LogFormat::GcpAudit => JsonRecordFormat {
            parse: |_, record| gcp_audit::parse_record(record),
            list_keys: gcp_audit::LIST_KEYS,
            is_foreign: |record| !envelope::mentions_field(record, gcp_audit::PAYLOAD_FIELD),
        },
        LogFormat::JsonLines => JsonRecordFormat {
            parse: |config, record| json_lines::parse_record(record, &config.fields),
            list_keys: json_lines::LIST_KEYS,
            is_foreign: Value::is_object,
        },
    })
}

fn scan_reader(
    config: &LogSearchConfig,
    reader: impl io::BufRead,
    seen: &mut ScanResult,
    each: RecordVisitor<'_>,
) -> io::Result<ReadOutcome> {
    let Some(records) = json_record_format(config.format) else {
        return scan_flow_log(reader, seen, each);
    };
    let ended = records::read_json(reader, records.list_keys, &mut |value| {
        if let Some(entry) = (records.parse)(config, &value) {
            return count_record(seen, Some(entry), each);
        }
        let loads = EnvelopePayloads::from_value(&value);
        let within: Vec<LogRecord> = loads
            .values
            .iter()
            .filter_map(|load| (records.parse)(config, load))
            .collect();
        // A part of an envelope that is no record may be an unreadable one.
        let lost = match within.is_empty() {
            true => !value.is_object() || !(records.is_foreign)(&value),
            false => has_unread_records(&loads.values, within.len(), &records),
        };
        let lost = lost || (loads.malformed > 0 && config.format != LogFormat::JsonLines);
        if within.is_empty() || lost {
            seen.other_kinds += u64::from(!lost);
            if !count_record(seen, None, each) {
                return false;
            }
        }
        within
            .into_iter()
            .all(|entry| count_record(seen, Some(entry), each))
    })?;
    seen.unreadable += ended.malformed;
    Ok(ended)
}

/// Returns whether an envelope seems to contain records that were not read.
fn has_unread_records(loads: &[Value], read: usize, records: &JsonRecordFormat) -> bool {
    let innermost = loads.iter().filter(|load| {
        EnvelopePayloads::from_value(load).is_empty() && !(records.is_foreign)(load)
    });
    innermost.count() > read
}

fn scan_flow_log(
    reader: impl io::BufRead,
    seen: &mut ScanResult,
    each: RecordVisitor<'_>,
) -> io::Result<ReadOutcome> {
    let mut layout = FlowLogLayout::default();
    let ended = records::read_lines(reader, &mut |line| {
        if let Some(named) = FlowLogLayout::from_header(line) {
            layout = named;
            return true;
        }
        if layout.has_field("instance-id") {
            seen.lacks_instance = false;
        }
        count_record(seen, layout.parse_record(line), each)
    })?;
    seen.unreadable += ended.malformed;
    Ok(ended)
}

fn count_record(seen: &mut ScanResult, entry: Option<LogRecord>, each: RecordVisitor<'_>) -> bool {
    let entry = entry.map(LogRecord::with_canonical_addresses);
    if let Some(entry) = &entry {
        seen.records_scanned += 1;
        let of_later = entry.at.zip(seen.now).is_some_and(|(at, now)| at > now);
        seen.in_future += u64::from(of_later);
        let at = entry.at.filter(|_| !of_later);
        widen_span(&mut seen.earliest, &mut seen.latest, at);
    } else {
        seen.unreadable += 1;
    }
    each(seen, entry)
}

fn keep_if_matching(seen: &mut ScanResult, search: &LogQuery, mut entry: LogRecord) {
    // A record without a time could be of any time, so the record is kept and listed last.
    match entry.span() {
        Some(span) if !search.range.overlaps(span) => return,
        Some(_) => seen.in_range += 1,
        None => seen.without_time += 1,
    }
    seen.gap_reports += u64::from(entry.reports_gap);
    if !search.filters.matches(&entry) {
        return;
    }
    seen.mention_only += u64::from(search.filters.is_mention_only(&entry));
    // The mentions were needed only for filtering and are most of a record's size.
    entry.mentions = Vec::new();
    seen.records_matched += 1;
    seen.summary.add(&entry);
    seen.audit_events.add(&entry);
    let distance = distance(entry.span(), search.events);
    seen.rows.push((distance, entry));
    if seen.rows.len() >= 4 * search.limit.max(16) {
        row_selection::select_rows(&mut seen.rows, search.limit);
    }
}

/// Returns the seconds between two intervals.
fn distance(
    span: Option<(DateTime<Utc>, DateTime<Utc>)>,
    events: Option<(DateTime<Utc>, DateTime<Utc>)>,
) -> u64 {
    let Some((start, end)) = span else {
        return u64::MAX;
    };
    let Some((first, last)) = events else {
        return 0;
    };
    let away = (first - end).max(start - last).num_seconds();
    u64::try_from(away).unwrap_or(0)
}
