//! Parses times in registers and arguments, and computes the range that a search covers.
//!
//! A register may contain `2026-03-02T02:41:12Z` or only `2026-03-02`. A date alone starts at 00:00 UTC, and as an end
//! it lasts until the next midnight.

use chrono::{DateTime, Duration, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use nightshift_alert::Alert;

/// The number of days before the alert's first event that a search may reach back.
const MAX_LOOKBACK_DAYS: i64 = 30;

/// Default reach of a search before and after the alert's events.
const DEFAULT_MARGIN_HOURS: i64 = 24;

/// The boundary of a day that a date without a time means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DayBoundary {
    Start,
    End,
}

/// Formats with a UTC offset: of `date`, of PostgreSQL, of web servers, of Java.
const WITH_ZONE: [&str; 7] = [
    "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f %#z",
    "%Y-%m-%dT%H:%M%#z",
    "%Y-%m-%d %H:%M%#z",
    "%Y-%m-%d %H:%M %#z",
    "%d/%b/%Y:%H:%M:%S %#z",
];

/// Formats without a zone, which are read as UTC.
const WITHOUT_ZONE: [&str; 7] = [
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d %H:%M:%S%.f",
    "%d/%b/%Y:%H:%M:%S",
    "%Y%m%dT%H%M%S",
];

/// Parses RFC 3339, a date, or another common format of logs and registers. A time without a zone is UTC.
pub(crate) fn parse(text: &str, edge: DayBoundary) -> Option<DateTime<Utc>> {
    let text = text.trim().trim_matches(['[', ']']);
    if let Ok(at) =
        DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_rfc2822(text))
    {
        return Some(at.to_utc());
    }
    let plain = text.replacen(',', ".", 1);
    let in_utc = [" UTC", " GMT", "Z"]
        .iter()
        .find_map(|end| plain.strip_suffix(end));
    let plain = in_utc.map_or(plain.as_str(), str::trim_end);
    let with_zone = || {
        let mut all = WITH_ZONE.iter();
        all.find_map(|format| DateTime::parse_from_str(plain, format).ok())
    };
    let at = with_zone().map(|at| at.to_utc());
    if let Some(at) = at
        .or_else(|| parse_without_zone(plain).map(|at| at.and_utc()))
        .or_else(|| parse_in_named_zone(plain, edge))
    {
        return Some(at);
    }
    let start = NaiveDate::parse_from_str(text, "%Y-%m-%d")
        .ok()?
        .and_time(NaiveTime::MIN);
    Some(day_boundary(start, edge)?.and_utc())
}

/// Parses a time without a zone; `24:00` ends the day.
fn parse_without_zone(text: &str) -> Option<NaiveDateTime> {
    let mut all = WITHOUT_ZONE.iter();
    let at = all.find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    at.or_else(|| {
        let day = [" 24:00", "T24:00", " 24:00:00", "T24:00:00"]
            .iter()
            .find_map(|end| text.strip_suffix(end))?;
        let day = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
        Some(day.succ_opt()?.and_time(NaiveTime::MIN))
    })
}

/// Parses a time or date with the name of its zone: `2026-03-02 10:00 Europe/Berlin`. If the hour occurs twice, a
/// start means the later one and an end the earlier one.
fn parse_in_named_zone(text: &str, edge: DayBoundary) -> Option<DateTime<Utc>> {
    let (time, name) = text.rsplit_once(' ')?;
    let zone: chrono_tz::Tz = name.parse().ok()?;
    let time = time.trim_end();
    let at = match NaiveDate::parse_from_str(time, "%Y-%m-%d") {
        Ok(day) => day_boundary(day.and_time(NaiveTime::MIN), edge)?,
        Err(_) => parse_without_zone(time)?,
    };
    let at = at.and_local_timezone(zone);
    let at = match edge {
        DayBoundary::Start => at.latest(),
        DayBoundary::End => at.earliest(),
    };
    at.map(|at| at.to_utc())
}

fn day_boundary(start: NaiveDateTime, edge: DayBoundary) -> Option<NaiveDateTime> {
    match edge {
        DayBoundary::Start => Some(start),
        DayBoundary::End => start.checked_add_signed(Duration::days(1) - Duration::milliseconds(1)),
    }
}

/// The range of a search, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeRange {
    pub(crate) from: DateTime<Utc>,
    pub(crate) until: DateTime<Utc>,
}

impl TimeRange {
    /// Clamps the requested range to between 30 days before the first event and now. The default is a day before and
    /// after the events. Returns `None` for an empty range, e.g. an end before the start.
    pub(crate) fn around_events(
        since: Option<DateTime<Utc>>,
        until: Option<DateTime<Utc>>,
        alert: &Alert,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let (first, last) = alert.times.window().unwrap_or((now, now));
        let floor = saturating_sub(first, Duration::days(MAX_LOOKBACK_DAYS));
        let from =
            since.unwrap_or_else(|| saturating_sub(first, Duration::hours(DEFAULT_MARGIN_HOURS)));
        let until = until.unwrap_or_else(|| {
            last.checked_add_signed(Duration::hours(DEFAULT_MARGIN_HOURS))
                .unwrap_or(last)
        });
        let range = Self {
            from: from.max(floor),
            until: until.min(now.max(first)),
        };
        (range.from <= range.until).then_some(range)
    }

    /// Returns whether the interval overlaps the range.
    pub(crate) fn overlaps(self, (start, end): (DateTime<Utc>, DateTime<Utc>)) -> bool {
        self.from <= end && start <= self.until
    }
}

fn saturating_sub(at: DateTime<Utc>, by: Duration) -> DateTime<Utc> {
    at.checked_sub_signed(by).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn at(text: &str) -> DateTime<Utc> {
        parse(text, DayBoundary::Start).unwrap()
    }

    #[test]
    fn a_date_alone_spans_its_day() {
        assert_eq!(at("2026-03-02"), at("2026-03-02T00:00:00Z"));
        assert_eq!(
            parse("2026-03-02", DayBoundary::End).unwrap(),
            at("2026-03-02T23:59:59.999Z")
        );
        assert_eq!(at("2026-03-02 10:00"), at("2026-03-02T11:00:00+01:00"));
        assert_eq!(parse("next week", DayBoundary::Start), None);
    }

    #[test]
    fn a_time_is_read_as_logs_spell_it() {
        for text in [
            "2026-11-23T01:30:00+0000",
            "2026-11-23T03:30:00.000+0200",
            "2026-11-23 01:30:00,000",
            "2026-11-23 01:30:00.000 UTC",
            "2026-11-23 01:30:00 +0000 UTC",
            "2026-11-23 03:30:00+02",
            "23/Nov/2026:01:30:00 +0000",
            "[22/Nov/2026:20:30:00 -0500]",
            "Mon, 23 Nov 2026 01:30:00 GMT",
            "2026/11/23 01:30:00",
            "20261123T013000Z",
        ] {
            assert_eq!(
                parse(text, DayBoundary::Start),
                Some(at("2026-11-23T01:30:00Z")),
                "{text}"
            );
        }
        for text in [
            "Nov 23 01:30:00",
            "11/23/2026 01:30:00",
            "01:30",
            "UTC",
            "Z",
            "",
        ] {
            assert_eq!(parse(text, DayBoundary::Start), None, "{text}");
        }
    }

    #[test]
    fn keepers_write_times_without_seconds_and_with_zones() {
        for (text, expected) in [
            ("2026-03-02T10:00", "2026-03-02T10:00:00Z"),
            ("2026-03-02T10:00Z", "2026-03-02T10:00:00Z"),
            ("2026-03-02T10:00+01:00", "2026-03-02T09:00:00Z"),
            ("2026-03-02 10:00 +0100", "2026-03-02T09:00:00Z"),
            ("2026-03-02 10:00 Europe/Berlin", "2026-03-02T09:00:00Z"),
            ("2026-07-02T10:00 Europe/Berlin", "2026-07-02T08:00:00Z"),
            ("2026-03-02 24:00", "2026-03-03T00:00:00Z"),
            ("2026-03-02T24:00 Europe/Berlin", "2026-03-02T23:00:00Z"),
            ("2026-03-02 Europe/Berlin", "2026-03-01T23:00:00Z"),
            // The hour occurs twice: a start means the later one.
            ("2026-10-25 02:30 Europe/Berlin", "2026-10-25T01:30:00Z"),
        ] {
            assert_eq!(
                parse(text, DayBoundary::Start),
                Some(at(expected)),
                "{text}"
            );
        }
        let end = parse("2026-03-02 Europe/Berlin", DayBoundary::End);
        assert_eq!(end, Some(at("2026-03-02T22:59:59.999Z")));
        for text in ["2026-03-02 10:00 Nowhere/Town", "2026-03-02 25:00", "24:00"] {
            assert_eq!(parse(text, DayBoundary::Start), None, "{text}");
        }
    }

    #[test]
    fn a_search_is_clamped_to_thirty_days_before_and_to_now() {
        let alert = testing::alert();
        let (first, last) = alert.times.window().unwrap();
        let now = last + Duration::hours(2);
        let usual = TimeRange::around_events(None, None, &alert, now).unwrap();
        assert_eq!(usual.from, first - Duration::hours(24));
        assert_eq!(usual.until, now);
        let wide =
            TimeRange::around_events(Some(at("1990-01-01")), Some(at("2190-01-01")), &alert, now)
                .unwrap();
        assert_eq!(wide.from, first - Duration::days(30));
        assert_eq!(wide.until, now);
        assert_eq!(
            TimeRange::around_events(Some(now), Some(first), &alert, now),
            None
        );
        let (from, until, bit) = (usual.from, usual.until, Duration::milliseconds(1));
        assert!(usual.overlaps((from, from)) && usual.overlaps((until, until)));
        assert!(usual.overlaps((from - bit, from)) && usual.overlaps((until, until + bit)));
        assert!(usual.overlaps((from - bit, until + bit)));
        assert!(!usual.overlaps((from - bit, from - bit)));
        assert!(!usual.overlaps((until + bit, until + bit)));
    }
}
