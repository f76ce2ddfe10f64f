//! Defines the daily digest: one post at a set hour with the day's alerts, verdicts, open cases and their owners,
//! mutes, failures, silent sources and cost. This module holds the content; destinations render it.

use std::cmp::Reverse;

use chrono::{DateTime, NaiveDate, Utc};
use nightshift_alert::Severity;
use nightshift_engine::conclusion::Verdict;
use serde::{Deserialize, Serialize};

use crate::mutes::MuteRow;

/// Maximum number of cases and of mutes that a digest names. The digest also gives the number of further ones.
pub const DIGEST_ROWS: usize = 10;
/// Upper bound of counts that may be very large. The next value means "more".
pub const MOST_COUNTED: u64 = 10_000;

/// Content of the digest of one day.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Digest {
    /// The day in its time zone. The day is the key, so that a digest is posted once.
    pub day: NaiveDate,
    /// IANA name of the time zone.
    pub timezone: String,
    pub since: DateTime<Utc>,
    pub until: DateTime<Utc>,
    /// Arrived alerts by feed.
    pub arrived: Vec<FeedDay>,
    /// Cases that ended, by the verdict of their last triage and in the order of [`Verdict`]. Failed cases are
    /// excluded.
    pub verdicts: Vec<(Verdict, u64)>,
    /// Cases that wait for people, the most severe and oldest first, without those called a wrong detection.
    pub open: Vec<OpenCase>,
    /// Number of these cases, including unnamed ones, counted up to [`MOST_COUNTED`].
    pub open_total: u64,
    /// Mutes that were in force since the beginning of the day, as [`Digest::set_mutes`] describes.
    pub mutes: Vec<DigestMute>,
    /// Number of these mutes.
    pub mutes_total: u64,
    /// Cases whose last triage failed.
    pub failed: u64,
    /// Messages that could not be read.
    pub dead_letters: u64,
    /// Reports by destination that were given up, or are still pending after a failed attempt.
    pub undelivered: Vec<(String, u64)>,
    /// Sources that delivered on earlier days but not on this one, with the time of their last delivery.
    pub silent: Vec<(String, DateTime<Utc>)>,
    /// Cost of the models in USD.
    pub cost_usd: f64,
}

impl Digest {
    /// Sorts the verdicts into reading order.
    pub fn sort_verdicts(&mut self) {
        let place = |verdict: &Verdict| Verdict::ALL.iter().position(|one| one == verdict);
        self.verdicts.sort_by_key(|(verdict, _)| place(verdict));
    }

    /// Sets the mutes that were in force at any time since the beginning, including ended and removed ones: newest
    /// first, then those of the configuration, whose time of addition is unknown.
    pub fn set_mutes(&mut self, rows: &[MuteRow]) {
        let mut held: Vec<&MuteRow> = rows.iter().filter(|row| self.was_active(row)).collect();
        held.sort_by_key(|row| Reverse(row.added_at));
        self.mutes_total = u64::try_from(held.len()).unwrap_or(u64::MAX);
        let named = held.into_iter().take(DIGEST_ROWS);
        self.mutes = named.map(DigestMute::from_row).collect();
    }

    fn was_active(&self, row: &MuteRow) -> bool {
        let begun = row
            .added_at
            .map_or(self.since, |added| added.max(self.since));
        begun < mute_end(row)
    }
}

/// Returns when the mute stopped or stops hiding alerts.
fn mute_end(row: &MuteRow) -> DateTime<Utc> {
    row.removed_at
        .map_or(row.mute.until, |removed| removed.min(row.mute.until))
}

/// Alerts of one feed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FeedDay {
    pub feed: String,
    /// Alerts that arrived.
    pub alerts: u64,
    /// Alerts that opened a case or a revision.
    pub triaged: u64,
    /// Alerts that were sightings of a case.
    pub repeated: u64,
    /// Alerts that became members of a storm and were not triaged.
    #[serde(default)]
    pub members: u64,
    /// Alerts that a mute hid.
    pub muted: u64,
    /// Alerts that were set aside for their state or class.
    pub set_aside: u64,
}

/// A case that waits for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCase {
    pub case_id: String,
    /// A line that says what happened to which resource.
    pub title: String,
    pub verdict: Option<Verdict>,
    /// Severity after triage.
    pub severity: Severity,
    pub since: DateTime<Utc>,
    pub owner: Option<String>,
}

/// A mute that is or was in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestMute {
    pub name: String,
    pub why: String,
    /// Time when the mute ends or ended, or was removed before that.
    pub until: DateTime<Utc>,
    /// Number of hidden alerts, counted up to [`MOST_COUNTED`].
    pub hid: u64,
}

impl DigestMute {
    fn from_row(row: &MuteRow) -> Self {
        Self {
            name: row.mute.name.clone(),
            why: row.mute.why.clone(),
            until: mute_end(row),
            hid: row.hits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Mute;
    use crate::route::Match;

    fn at(text: &str) -> DateTime<Utc> {
        format!("2026-11-{text}:00Z").parse().unwrap()
    }

    fn row(name: &str, added: Option<&str>, until: &str, removed: Option<&str>) -> MuteRow {
        MuteRow {
            mute: Mute {
                name: name.into(),
                when: Match::default(),
                severity: Severity::Medium,
                until: at(until),
                why: "a scan".into(),
                by: "ana".into(),
            },
            configured: added.is_none(),
            added_at: added.map(at),
            removed_at: removed.map(at),
            hits: 3,
            last_hit: None,
        }
    }

    /// Returns names and end times of the mutes of a day, and their number.
    fn named(rows: &[MuteRow]) -> (Vec<(String, DateTime<Utc>)>, u64) {
        let mut digest = Digest {
            since: at("19T09:00"),
            until: at("20T09:00"),
            ..Digest::default()
        };
        digest.set_mutes(rows);
        let mutes = digest.mutes.into_iter().map(|mute| (mute.name, mute.until));
        (mutes.collect(), digest.mutes_total)
    }

    #[test]
    fn digest_names_a_mute_on_each_day_it_held_even_if_over() {
        let rows = [
            row("configured", None, "30T00:00", None),
            row("of-the-configuration-and-over", None, "19T09:00", None),
            row("over-before", Some("18T01:00"), "19T09:00", None),
            row(
                "removed-before",
                Some("18T02:00"),
                "30T00:00",
                Some("19T09:00"),
            ),
            row("long", Some("18T03:00"), "30T00:00", None),
            row("over", Some("18T04:00"), "19T09:01", None),
            row("an-hour-at-night", Some("19T23:00"), "20T00:00", None),
            row("removed", Some("20T01:00"), "30T00:00", Some("20T01:30")),
            row(
                "removed-when-over",
                Some("20T02:00"),
                "20T03:00",
                Some("20T05:00"),
            ),
            row("never-held", Some("20T04:00"), "20T03:59", None),
        ];
        let (mutes, total) = named(&rows);
        let mutes: Vec<_> = mutes
            .iter()
            .map(|(name, until)| (name.as_str(), *until))
            .collect();
        let wanted = [
            ("removed-when-over", at("20T03:00")),
            ("removed", at("20T01:30")),
            ("an-hour-at-night", at("20T00:00")),
            ("over", at("19T09:01")),
            ("long", at("30T00:00")),
            ("configured", at("30T00:00")),
        ];
        assert_eq!(mutes, wanted);
        assert_eq!(total, 6);
    }

    #[test]
    fn the_newest_mutes_are_those_that_are_named() {
        let old = (0..DIGEST_ROWS).map(|number| {
            let added = format!("18T01:{number:02}");
            row(&format!("old-{number}"), Some(&added), "30T00:00", None)
        });
        let configured = row("configured", None, "30T00:00", None);
        let mut rows: Vec<_> = std::iter::once(configured).chain(old).collect();
        rows.push(row("new", Some("20T08:59"), "20T12:00", None));
        let (mutes, total) = named(&rows);
        assert_eq!((mutes.len(), total), (DIGEST_ROWS, 12));
        assert_eq!(mutes[0].0, "new");
        assert_eq!(mutes.last().unwrap().0, "old-1", "the oldest is not");
    }
}
