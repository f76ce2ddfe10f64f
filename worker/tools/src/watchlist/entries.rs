//! Reads the entries of one list, found by hash: a list of a million lines answers as fast as one of ten.
//!
//! Text lists have one entry per line with an optional note after `#` or `;`, or the format of hosts files. CSV lists
//! have a header with a column `indicator` (or `entry`, `value`, `ioc`), and optionally `note` and `meaning`.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use ipnet::IpNet;
use nightshift_alert::IndicatorKind;

use super::entry_values::{EntryValue, parse_values};
use crate::arguments::Subject;
use crate::content::ContentSource;
use crate::pattern::parse_network;
use crate::register::Problem;

/// Maximum number of problems that are listed.
const MAX_PROBLEMS: usize = 200;

/// Names of the column that holds the entry.
pub(super) const ENTRY_COLUMNS: [&str; 4] = ["indicator", "entry", "value", "ioc"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WatchlistEntry {
    pub(super) text: String,
    pub(super) note: Option<String>,
    /// Meaning of this entry, if it differs from that of the list.
    pub(super) meaning: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct WatchlistEntries {
    names: HashMap<String, WatchlistEntry>,
    networks: HashMap<IpNet, WatchlistEntry>,
    /// Prefix lengths among `nets`, separate for the two IP versions.
    prefix_lengths: BTreeSet<(bool, u8)>,
    /// Lines that could not be used.
    pub(super) left_out: usize,
    pub(super) problems: Vec<Problem>,
}

impl WatchlistEntries {
    pub(super) fn len(&self) -> usize {
        self.names.len() + self.networks.len()
    }

    /// Returns what is wrong with a list that has lines but no usable one.
    pub(super) fn unusable_reason(&self) -> Option<String> {
        let first = self.problems.first().filter(|_| self.len() == 0)?;
        Some(format!("no line of it can be used: {first}"))
    }

    /// Returns the entries that match the value, the closest first.
    pub(super) fn find(&self, subject: &Subject) -> Vec<&WatchlistEntry> {
        match subject.kind {
            IndicatorKind::Ip => self.find_address(&subject.value),
            IndicatorKind::Domain => self.find_domain(&subject.value),
            IndicatorKind::Url => {
                let mut found = self.find_name(&subject.value);
                found.extend(self.find_name(subject.value.trim_end_matches('/')));
                let url = url::Url::parse(&subject.value).ok();
                if let Some(host) = url.as_ref().and_then(url::Url::host_str) {
                    let host = host.trim_matches(['[', ']']);
                    found.extend(self.find_address(host));
                    found.extend(self.find_domain(host));
                }
                found.dedup();
                found
            }
            IndicatorKind::Email => {
                let mut found = self.find_name(&subject.value);
                if let Some((_, domain)) = subject.value.rsplit_once('@') {
                    found.extend(self.find_domain(domain));
                }
                found
            }
            // An image from a result has no shape of its own and can be typed as a principal.
            IndicatorKind::Image | IndicatorKind::Principal => self.find_image(&subject.value),
            _ => self.find_name(&subject.value),
        }
    }

    fn find_name(&self, name: &str) -> Vec<&WatchlistEntry> {
        self.names
            .get(&name.to_ascii_lowercase())
            .into_iter()
            .collect()
    }

    /// Finds the name itself and each parent domain.
    fn find_domain(&self, name: &str) -> Vec<&WatchlistEntry> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let above = name
            .match_indices('.')
            .filter_map(|(dot, _)| name.get(dot + 1..));
        std::iter::once(name.as_str())
            .chain(above)
            .filter_map(|domain| self.names.get(domain))
            .collect()
    }

    fn find_address(&self, text: &str) -> Vec<&WatchlistEntry> {
        let Some(single) =
            parse_network(text).filter(|net| net.prefix_len() == net.max_prefix_len())
        else {
            return Vec::new();
        };
        self.prefix_lengths
            .iter()
            .rev()
            .filter(|(is_v4, _)| *is_v4 == single.addr().is_ipv4())
            .filter_map(|(_, length)| IpNet::new(single.addr(), *length).ok())
            .filter_map(|net| self.networks.get(&net.trunc()))
            .collect()
    }

    /// Finds an image as written, without its digest, and without its tag.
    fn find_image(&self, image: &str) -> Vec<&WatchlistEntry> {
        let untagged = |text: &str| match text.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => name.to_owned(),
            _ => text.to_owned(),
        };
        let (name, digest) = image.split_once('@').unwrap_or((image, ""));
        let mut wanted = vec![image.to_owned(), name.to_owned(), untagged(name)];
        wanted.push(digest.to_owned());
        wanted.dedup();
        wanted
            .iter()
            .flat_map(|name| self.find_name(name))
            .collect()
    }

    fn add(&mut self, line: u64, text: &str, note: Option<String>, meaning: Option<String>) {
        let values = match parse_values(text) {
            Ok(values) => values,
            Err(what) => return self.leave_out(line, format!("{text:?} {what}; it is left out")),
        };
        let entry = WatchlistEntry {
            text: text.to_owned(),
            note,
            meaning,
        };
        for value in values {
            let entry = || entry.clone();
            match value {
                EntryValue::Network(net) => {
                    self.prefix_lengths
                        .insert((net.addr().is_ipv4(), net.prefix_len()));
                    self.networks.entry(net).or_insert_with(entry);
                }
                EntryValue::Name(name) => {
                    self.names.entry(name).or_insert_with(entry);
                }
            }
        }
    }

    /// Reports a bad line and skips it.
    fn leave_out(&mut self, line: u64, what: String) {
        self.left_out += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem {
                line: Some(line),
                what,
            });
        }
    }
}

pub(super) fn parse(content: &ContentSource, text: &str) -> Result<WatchlistEntries, String> {
    let mut entries = WatchlistEntries::default();
    if content.extension() == "csv" {
        add_csv_rows(content, text, &mut entries)?;
    } else {
        for (line, text) in (1..).zip(text.lines()) {
            add_text_line(line, text, &mut entries);
        }
    }
    Ok(entries)
}

fn add_text_line(line: u64, text: &str, entries: &mut WatchlistEntries) {
    let (value, note) = split_note(text);
    let note = Some(note.trim().to_owned()).filter(|note| !note.is_empty());
    let words: Vec<&str> = value.split_whitespace().collect();
    match words.as_slice() {
        [] => {}
        // Hosts files block a name with these addresses. The names of the machine itself are no entries.
        ["0.0.0.0" | "127.0.0.1" | "::" | "::1", names @ ..] if !names.is_empty() => {
            for name in names.iter().filter(|name| name.contains('.')) {
                if name.parse::<IpAddr>().is_err() && !name.starts_with("localhost.") {
                    entries.add(line, name, note.clone(), None);
                }
            }
        }
        [value] => entries.add(line, value, note, None),
        _ => entries.leave_out(
            line,
            format!(
                "{:?} is more than one word: one entry per line, notes after `#`",
                value.trim()
            ),
        ),
    }
}

/// Splits an entry from its note, which begins with `#` or `;` at the start or after a space.
fn split_note(text: &str) -> (&str, &str) {
    let mut before = ' ';
    for (at, mark) in text.char_indices() {
        if matches!(mark, '#' | ';') && before.is_whitespace() {
            let (value, note) = text.split_at(at);
            return (value, note.get(1..).unwrap_or_default());
        }
        before = mark;
    }
    (text, "")
}

fn add_csv_rows(
    content: &ContentSource,
    text: &str,
    entries: &mut WatchlistEntries,
) -> Result<(), String> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let headers = reader
        .headers()
        .map_err(|error| format!("{}: {error}", content.name()))?
        .clone();
    let column = |names: &[&str]| {
        headers
            .iter()
            .position(|header| names.contains(&header.to_ascii_lowercase().as_str()))
    };
    let Some(value) = column(&ENTRY_COLUMNS) else {
        return Err(format!(
            "{}: the header line has none of the columns {}",
            content.name(),
            ENTRY_COLUMNS.join(", ")
        ));
    };
    let (note, meaning) = (column(&["note", "comment"]), column(&["meaning"]));
    for record in reader.records() {
        match record {
            Ok(record) => {
                let cell = |at: Option<usize>| {
                    at.and_then(|at| record.get(at))
                        .filter(|cell| !cell.is_empty())
                        .map(str::to_owned)
                };
                let line = record.position().map_or(0, csv::Position::line);
                let text = cell(Some(value)).unwrap_or_default();
                entries.add(line, &text, cell(note), cell(meaning));
            }
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                entries.leave_out(line, format!("{error}; the row is left out"));
            }
        }
    }
    Ok(())
}
