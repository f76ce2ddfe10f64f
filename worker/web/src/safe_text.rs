//! Defines text that is safe on a page. Foreign text is cleaned by `plain`; the template then escapes it.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use nightshift_alert::text::sanitize;
use nightshift_pipeline::report::with_plain_times;
use serde::Serialize;

/// Maximum number of characters of a foreign sentence.
const MAX_SENTENCE_CHARS: usize = 500;
/// Maximum number of characters of a foreign name.
const MAX_NAME_CHARS: usize = 120;

/// Text that is safe to show once it is escaped.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct SafeText(String);

impl SafeText {
    /// Cleans foreign text and shortens it to this many characters.
    pub(crate) fn from_foreign(text: &str, max_chars: usize) -> Self {
        Self(sanitize(text, max_chars))
    }

    /// Cleans a foreign sentence.
    pub(crate) fn sentence(text: &str) -> Self {
        Self::from_foreign(&with_plain_times(text), MAX_SENTENCE_CHARS)
    }

    /// Cleans a foreign name.
    pub(crate) fn name(text: &str) -> Self {
        Self::from_foreign(text, MAX_NAME_CHARS)
    }

    /// Cleans a foreign name, if there is one.
    pub(crate) fn optional_name(text: Option<&String>) -> Option<Self> {
        let shown = Self::name(text?);
        (!shown.0.is_empty()).then_some(shown)
    }

    /// Returns the name of a person where there is little room: the part in brackets of `slack:U1 (ana)`.
    pub(crate) fn person(by: &str) -> Self {
        let chosen = by.strip_suffix(')').and_then(|by| by.split_once(" ("));
        Self::name(chosen.map_or(by, |(_, chosen)| chosen))
    }

    /// Wraps Nightshift's own words, numbers, times, and other `Shown` values.
    pub(crate) fn from_own(words: fmt::Arguments<'_>) -> Self {
        Self(words.to_string())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A time for people and for programs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DisplayTime {
    iso: String,
    text: String,
    ago: String,
}

impl DisplayTime {
    pub(crate) fn new(at: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        Self {
            iso: at.to_rfc3339_opts(SecondsFormat::Secs, true),
            text: at.format("%Y-%m-%d %H:%M:%S").to_string(),
            ago: ago(at, now),
        }
    }
}

/// Returns `12 min ago`, or a text that the time is ahead of this machine's clock.
fn ago(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let after = if at > now { "ahead" } else { "ago" };
    format!("{} {after}", span(at, now))
}

/// Returns the difference in the largest fitting unit.
fn span(one: DateTime<Utc>, other: DateTime<Utc>) -> String {
    match (other - one).num_seconds().unsigned_abs() {
        secs @ 0..60 => format!("{secs} s"),
        secs @ 60..7_200 => format!("{} min", secs / 60),
        secs @ 7_200..172_800 => format!("{} h", secs / 3_600),
        secs => format!("{} days", secs / 86_400),
    }
}

/// Returns `0.4 s`, `12 s`, or `3 min 20 s`.
pub(crate) fn duration_text(ms: u64) -> SafeText {
    match ms {
        0..10_000 => SafeText::from_own(format_args!("{}.{} s", ms / 1_000, ms % 1_000 / 100)),
        10_000..120_000 => SafeText::from_own(format_args!("{} s", ms / 1_000)),
        _ => SafeText::from_own(format_args!(
            "{} min {} s",
            ms / 60_000,
            ms % 60_000 / 1_000
        )),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn spans_of_time_read_as_people_say_them() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let before = |secs| DisplayTime::new(now - TimeDelta::seconds(secs), now).ago;
        assert_eq!(before(59), "59 s ago");
        assert_eq!(before(720), "12 min ago");
        assert_eq!(before(400_000), "4 days ago");
        assert_eq!(before(-300), "5 min ahead");
        assert_eq!(duration_text(420).0, "0.4 s");
        assert_eq!(duration_text(200_000).0, "3 min 20 s");
    }

    #[test]
    fn a_person_is_called_by_name() {
        let called = |by| SafeText::person(by).0;
        assert_eq!(called("slack:U1 (ana b)"), "ana b");
        assert_eq!(called("ana"), "ana");
        assert_eq!(called("slack:U1"), "slack:U1");
        assert_eq!(called("(@here)"), "((at)here)");
    }

    #[test]
    fn a04_a06_a22_foreign_text_is_plain() {
        let shown = SafeText::sentence("https://evil.com\n<!channel> \u{1b}[31m\u{202e}x");
        assert_eq!(shown.0, "hxxps://evil[.]com <(!)channel> x");
    }
}
