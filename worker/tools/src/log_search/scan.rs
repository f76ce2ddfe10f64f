//! One pass over the files of a log: counts, filters, and keeps the rows that say most.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::tool::ToolError;
use serde_json::Value;

use super::choice::{self, Deeds, Row};
use super::entry::Entry;
use super::filter::Search;
use super::records::{self, Ended};
use super::vpc_flow::Layout;
use super::wrapping::{self, Loads};
use super::{Config, LogFormat, cloudtrail, files, gcp_audit, json_lines, unpack};
use crate::content::{Content, unreadable};
use crate::tool::unavailable;

/// Size of the read buffer, in which the first line is also looked for.
const BUFFER_BYTES: usize = 64 * 1024;

/// How long before the searched time a file may have been last written to and still be read, since clocks differ.
const LATE: TimeDelta = TimeDelta::days(1);

/// Most distinct values that a summary counts; the others are counted together.
const MAX_DISTINCT: usize = 5_000;

/// The result of a pass.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) files: usize,
    pub(super) scanned: u64,
    /// Lines that are no record of this format.
    pub(super) unreadable: u64,
    /// Unreadable lines that were recognised as something else: digests, other entries of the same sink.
    pub(super) foreign: u64,
    pub(super) matched: u64,
    /// Matching records that do not name their caller and only mention the principal or key.
    pub(super) only_mentioning: u64,
    /// Records within the searched time.
    pub(super) in_time: u64,
    /// Records without a readable time, which can be of any time.
    pub(super) without_time: u64,
    pub(super) earliest: Option<DateTime<Utc>>,
    /// The last time in the log that is not after the search. A record of next year does not make a log complete.
    pub(super) latest: Option<DateTime<Utc>>,
    /// When the search runs.
    pub(super) now: Option<DateTime<Utc>>,
    /// Records with a time in the future.
    pub(super) of_later: u64,
    pub(super) rows: Vec<Row>,
    pub(super) deeds: Deeds,
    pub(super) summary: Summary,
    /// Messages about what could not be read.
    pub(super) problems: Vec<String>,
    /// Bytes after which the pass was stopped, if it was.
    pub(super) stopped_after: Option<u64>,
    /// Records within the searched time that report records lost by the platform.
    pub(super) skipping: u64,
    /// Whether a flow log was searched for an instance and its records name none.
    pub(super) lacks_instance: bool,
}

/// Counts over all matching records.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) actions: HashMap<String, u64>,
    pub(super) principals: HashMap<String, u64>,
    pub(super) source_ips: HashMap<String, u64>,
    pub(super) destination_ips: HashMap<String, u64>,
    pub(super) errors: u64,
    pub(super) bytes: u64,
    pub(super) first: Option<DateTime<Utc>>,
    pub(super) last: Option<DateTime<Utc>>,
}

impl Seen {
    /// Returns the number of lines or records whose contents are unknown.
    pub(super) const fn lost(&self) -> u64 {
        self.unreadable.saturating_sub(self.foreign)
    }
}

impl Summary {
    fn add(&mut self, entry: &Entry) {
        count(&mut self.actions, entry.action.as_deref());
        count(
            &mut self.principals,
            entry.principals.first().map(String::as_str),
        );
        count(&mut self.source_ips, entry.source_ip.as_deref());
        count(&mut self.destination_ips, entry.destination_ip.as_deref());
        self.errors += u64::from(entry.failed);
        self.bytes = self.bytes.saturating_add(entry.bytes.unwrap_or(0));
        widen(&mut self.first, &mut self.last, entry.at);
    }
}

fn count(counts: &mut HashMap<String, u64>, value: Option<&str>) {
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

fn widen(
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

/// Reads the log and keeps the records that `search` matches. Ends early when `stop` is set.
///
/// # Errors
///
/// Fails when nothing could be read, or when nothing is a record of the format.
pub(super) fn run(config: &Config, search: &Search, stop: &AtomicBool) -> Result<Seen, ToolError> {
    let mut seen = Seen {
        now: Some(search.now),
        ..Seen::default()
    };
    let since = search.range.from.checked_sub_signed(LATE);
    pass(config, since, &mut seen, &mut |seen, entry| {
        if let Some(entry) = entry {
            keep(seen, search, entry);
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
/// Same as [`run`].
pub(super) fn check(config: &Config) -> Result<(usize, Vec<String>), String> {
    let mut seen = Seen::default();
    let (mut is_named, mut unread_name) = (false, None);
    pass(config, None, &mut seen, &mut |_, entry| {
        if let Some(entry) = entry.filter(|_| !is_named) {
            is_named = !entry.principals.is_empty();
            let record = entry.columns.get("record");
            unread_name = unread_name
                .take()
                .or_else(|| json_lines::unread_name(record?));
        }
        true
    })?;
    let mut problems = seen.problems;
    if seen.scanned > 0 && seen.earliest.is_none() {
        problems.push(format!(
            "no record tells a time that is read{}: a search cannot tell what is of the alert's time",
            set_field(config, "at")
        ));
    }
    if let Some(pointer) = unread_name.filter(|_| !is_named) {
        problems.push(format!(
            "no record tells a principal that is read, though one has `{pointer}`{}",
            set_field(config, "principal")
        ));
    }
    if seen.unreadable > 0 {
        problems.push(format!(
            "{} lines are no {} records; they are left out",
            seen.unreadable,
            config.format.as_str()
        ));
    }
    if let Some(bytes) = seen.stopped_after {
        problems.push(format!(
            "scan stopped after {bytes} bytes: later files are not searched"
        ));
    }
    Ok((
        usize::try_from(seen.scanned).unwrap_or(usize::MAX),
        problems,
    ))
}

fn set_field(config: &Config, field: &str) -> String {
    match config.format {
        LogFormat::JsonLines => format!(" (name its place in `fields`, as `{field}`)"),
        _ => String::new(),
    }
}

type Each<'a> = &'a mut dyn FnMut(&mut Seen, Option<Entry>) -> bool;

/// Reads the log. With a time, only files of an oversized log that were written since then are read.
fn pass(
    config: &Config,
    since: Option<DateTime<Utc>>,
    seen: &mut Seen,
    each: Each<'_>,
) -> Result<(), String> {
    seen.lacks_instance = config.format == LogFormat::VpcFlow;
    let mut left = config.max_scan_bytes;
    match &config.path {
        Content::Text { text, .. } => {
            seen.files = 1;
            one(config, text.as_bytes(), seen, each).map_err(|error| error.to_string())?;
        }
        Content::Path(path) => {
            let mut found = files::find(path)?;
            if let Some(since) = since {
                found.pass_over_older(since.into(), config.max_scan_bytes);
            }
            found.bound();
            seen.problems = found.problems;
            for path in found.paths {
                if left == 0 {
                    seen.stopped_after = Some(config.max_scan_bytes);
                    break;
                }
                if !file(config, &path, &mut left, seen, each) {
                    break;
                }
            }
            if seen.files == 0 && seen.scanned == 0 {
                return Err(seen.problems.join("; "));
            }
        }
    }
    if seen.scanned == 0 && seen.unreadable > 0 {
        return Err(format!(
            "{} holds no {} record: {} lines were tried; check `path` and `format`",
            config.path.name(),
            config.format.as_str(),
            seen.unreadable
        ));
    }
    Ok(())
}

/// Reads one file and returns whether to continue. A file that cannot be read to its end is reported.
fn file(config: &Config, path: &Path, left: &mut u64, seen: &mut Seen, each: Each<'_>) -> bool {
    let mut goes_on = true;
    let read = unpack::parts(path, &mut |part| {
        if *left == 0 {
            seen.stopped_after = Some(config.max_scan_bytes);
            return Ok(false);
        }
        let mut bounded = part.take(*left);
        let before = seen.unreadable;
        let reader = BufReader::with_capacity(BUFFER_BYTES, &mut bounded);
        let ended = one(config, reader, seen, each);
        *left = bounded.limit();
        let mut beyond = [0];
        if *left == 0 && bounded.into_inner().read(&mut beyond)? > 0 {
            seen.stopped_after = Some(config.max_scan_bytes);
            // The file has the whole record at the cut.
            seen.unreadable = seen.unreadable.saturating_sub(1).max(before);
        }
        goes_on = !ended?.stopped;
        Ok(goes_on)
    });
    match read {
        Ok(()) => seen.files += 1,
        Err(error) => seen.problems.push(unreadable(path, &error)),
    }
    goes_on
}

/// How records of a JSON format are distinguished from other contents of its files.
struct Records {
    parse: fn(&Config, &Value) -> Option<Entry>,
    lists: &'static [&'static str],
    /// Returns whether a value that is no record cannot contain one either.
    is_foreign: fn(&Value) -> bool,
}

fn records_of(format: LogFormat) -> Option<Records> {
    Some(match format {
        LogFormat::VpcFlow => return None,
        LogFormat::Cloudtrail => Records {
            parse: |_, record| cloudtrail::entry(record),
            lists: cloudtrail::LISTS,
            is_foreign: |record| {
                cloudtrail::is_another_kind(record)
                    || !(cloudtrail::seems_a_record(record)
                        || wrapping::mentions_field(record, cloudtrail::NAME))
            },
        },
        LogFormat::GcpAudit => Records {
            parse: |_, record| gcp_audit::entry(record),
            lists: gcp_audit::LISTS,
            is_foreign: |record| !wrapping::mentions_field(record, gcp_audit::PAYLOAD),
        },
        LogFormat::JsonLines => Records {
            parse: |config, record| json_lines::entry(record, &config.fields),
            lists: json_lines::LISTS,
            is_foreign: Value::is_object,
        },
    })
}

fn one(
    config: &Config,
    reader: impl io::BufRead,
    seen: &mut Seen,
    each: Each<'_>,
) -> io::Result<Ended> {
    let Some(records) = records_of(config.format) else {
        return flows(reader, seen, each);
    };
    let ended = records::json(reader, records.lists, &mut |value| {
        if let Some(entry) = (records.parse)(config, &value) {
            return note(seen, Some(entry), each);
        }
        let loads = Loads::of(&value);
        let within: Vec<Entry> = loads
            .values
            .iter()
            .filter_map(|load| (records.parse)(config, load))
            .collect();
        // A part of an envelope that is no record may be an unreadable one.
        let lost = match within.is_empty() {
            true => !value.is_object() || !(records.is_foreign)(&value),
            false => holds_more(&loads.values, within.len(), &records),
        };
        let lost = lost || (loads.broken > 0 && config.format != LogFormat::JsonLines);
        if within.is_empty() || lost {
            seen.foreign += u64::from(!lost);
            if !note(seen, None, each) {
                return false;
            }
        }
        within
            .into_iter()
            .all(|entry| note(seen, Some(entry), each))
    })?;
    seen.unreadable += ended.broken;
    Ok(ended)
}

/// Returns whether an envelope seems to contain records that were not read.
fn holds_more(loads: &[Value], read: usize, records: &Records) -> bool {
    let innermost = loads
        .iter()
        .filter(|load| Loads::of(load).is_empty() && !(records.is_foreign)(load));
    innermost.count() > read
}

fn flows(reader: impl io::BufRead, seen: &mut Seen, each: Each<'_>) -> io::Result<Ended> {
    let mut layout = Layout::default();
    let ended = records::lines(reader, &mut |line| {
        if let Some(named) = Layout::from_header(line) {
            layout = named;
            return true;
        }
        if layout.has("instance-id") {
            seen.lacks_instance = false;
        }
        note(seen, layout.entry(line), each)
    })?;
    seen.unreadable += ended.broken;
    Ok(ended)
}

fn note(seen: &mut Seen, entry: Option<Entry>, each: Each<'_>) -> bool {
    let entry = entry.map(Entry::canonical);
    if let Some(entry) = &entry {
        seen.scanned += 1;
        let of_later = entry.at.zip(seen.now).is_some_and(|(at, now)| at > now);
        seen.of_later += u64::from(of_later);
        let at = entry.at.filter(|_| !of_later);
        widen(&mut seen.earliest, &mut seen.latest, at);
    } else {
        seen.unreadable += 1;
    }
    each(seen, entry)
}

fn keep(seen: &mut Seen, search: &Search, mut entry: Entry) {
    // A record without a time could be of any time, so the record is kept and listed last.
    match entry.span() {
        Some(span) if !search.range.overlaps(span) => return,
        Some(_) => seen.in_time += 1,
        None => seen.without_time += 1,
    }
    seen.skipping += u64::from(entry.skips);
    if !search.filters.match_entry(&entry) {
        return;
    }
    seen.only_mentioning += u64::from(search.filters.only_mentioned_in(&entry));
    // The mentions were needed only for filtering and are most of a record's size.
    entry.mentions = Vec::new();
    seen.matched += 1;
    seen.summary.add(&entry);
    seen.deeds.add(&entry);
    let distance = distance(entry.span(), search.events);
    seen.rows.push((distance, entry));
    if seen.rows.len() >= 4 * search.limit.max(16) {
        choice::choose(&mut seen.rows, search.limit);
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
