//! Defines the conditions of a search. A record matches when all of them hold.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use wildmatch::WildMatchPattern;

use super::log_record::LogRecord;
use crate::arguments::Subject;
use crate::timestamp::TimeRange;

/// One search.
#[derive(Debug)]
pub(super) struct LogQuery {
    pub(super) filters: LogFilters,
    pub(super) range: TimeRange,
    pub(super) now: DateTime<Utc>,
    /// The time of the alert's events. Rows nearest to it are shown.
    pub(super) events: Option<(DateTime<Utc>, DateTime<Utc>)>,
    pub(super) limit: usize,
}

/// A glob for actions, in which only `*` is special.
type ActionGlob = WildMatchPattern<'*', '\0'>;

/// Values that records must name.
#[derive(Debug, Default)]
pub(super) struct LogFilters {
    pub(super) indicators: Vec<(&'static str, Subject)>,
    /// True if the format has no fixed field for the caller. A record without such a field is then matched by its
    /// texts.
    pub(super) searches_texts: bool,
    pub(super) action: Option<(String, ActionGlob)>,
}

impl LogFilters {
    /// Sets the glob for actions, in which only `*` is special.
    pub(super) fn set_action(&mut self, text: &str) {
        self.action = Some((text.to_owned(), ActionGlob::new_case_insensitive(text)));
    }

    /// Returns the filters for the answer.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        let mut told: Map<String, Value> = self
            .indicators
            .iter()
            .map(|(name, subject)| ((*name).to_owned(), Value::from(subject.value.clone())))
            .collect();
        if let Some((action, _)) = &self.action {
            told.insert("action".to_owned(), Value::from(action.clone()));
        }
        told
    }

    pub(super) fn matches(&self, entry: &LogRecord) -> bool {
        self.indicators.iter().all(|(name, subject)| {
            names_subject(entry, name, subject)
                || (self.searches_texts
                    && lacks_field(entry, name)
                    && is_mentioned(entry, &subject.value))
        }) && self
            .action
            .as_ref()
            .is_none_or(|(_, glob)| matches_action(entry, glob))
    }

    /// Returns whether a matching record only mentions the principal or key and does not name its caller.
    pub(super) fn is_mention_only(&self, entry: &LogRecord) -> bool {
        let mut filters = self.indicators.iter();
        filters.any(|(name, _)| lacks_field(entry, name))
    }
}

/// Returns whether the record lacks every field that this filter compares.
fn lacks_field(entry: &LogRecord, filter: &str) -> bool {
    match filter {
        "principal" => entry.principals.is_empty(),
        "access_key" => entry.access_key.is_none(),
        _ => false,
    }
}

fn names_subject(entry: &LogRecord, filter: &str, subject: &Subject) -> bool {
    let value = subject.value.as_str();
    match filter {
        "ip" => {
            let wanted: Option<IpAddr> = value.parse().ok();
            let same = |text: &Option<String>| {
                let ip = text.as_deref().and_then(|text| text.parse::<IpAddr>().ok());
                ip.is_some() && ip.map(|ip| ip.to_canonical()) == wanted
            };
            same(&entry.source_ip) || same(&entry.destination_ip) || is_mentioned(entry, value)
        }
        "principal" => {
            let same = |name: &String| name.eq_ignore_ascii_case(value);
            entry.principals.iter().any(same)
        }
        "access_key" => entry.access_key.as_deref() == Some(value),
        _ => is_mentioned(entry, value),
    }
}

fn is_mentioned(entry: &LogRecord, value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    entry
        .mentions
        .iter()
        .any(|text| contains_word(&text.to_ascii_lowercase(), &value))
}

/// Returns whether `value` occurs in `text` as a whole word, both in lower case: `10.0.0.1` is not in `10.0.0.10`,
/// `logs` is not in `logs-old`.
fn contains_word(text: &str, value: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let joins = |c: char| part(c) || c == '.';
    text.match_indices(value).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let mut after = text.get(at + value.len()..).unwrap_or_default().chars();
        let next = after.next();
        // A dot continues the name unless it ends a sentence.
        let goes_on = match next {
            Some('.') => after.next().is_some_and(part),
            Some(c) => part(c),
            None => false,
        };
        !value.is_empty() && !before.is_some_and(joins) && !goes_on
    })
}

/// Returns whether the glob matches the action alone or with its service: `ListBuckets`, `s3:ListBuckets`,
/// `s3.amazonaws.com:ListBuckets`.
fn matches_action(entry: &LogRecord, glob: &ActionGlob) -> bool {
    let Some(action) = entry.action.as_deref() else {
        return false;
    };
    let service = entry.service.as_deref().unwrap_or_default();
    let short = service.split('.').next().unwrap_or_default();
    glob.matches(action)
        || glob.matches(&format!("{service}:{action}"))
        || glob.matches(&format!("{short}:{action}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole() {
        for (text, value, holds) in [
            ("connect 10.0.0.1:3333", "10.0.0.1", true),
            ("from 10.0.0.1.", "10.0.0.1", true),
            ("10.0.0.10", "10.0.0.1", false),
            ("210.0.0.1", "10.0.0.1", false),
            ("1.10.0.0.1", "10.0.0.1", false),
            ("arn:aws:s3:::logs/key", "logs", true),
            ("arn:aws:s3:::logs-old", "logs", false),
            ("s3://old.logs", "logs", false),
            ("instance/i-0abc", "i-0abc", true),
            ("é10.0.0.1é", "10.0.0.1", false),
            ("", "", false),
        ] {
            assert_eq!(contains_word(text, value), holds, "{text} {value}");
        }
    }
}
