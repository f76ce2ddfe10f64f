//! The daily digest: one post at a set hour with what came, what it was, what is open and whose, what is muted, what
//! failed, what went silent, and what it cost. Here is what it says; a destination says how.

use std::cmp::Reverse;

use chrono::{DateTime, NaiveDate, Utc};
use nightshift_alert::Severity;
use nightshift_engine::Verdict;
use serde::{Deserialize, Serialize};

use crate::MuteRow;

/// Most cases and mutes that a digest names; how many more there are is told.
pub const DIGEST_ROWS: usize = 10;
/// Up to how many of what may be very many are counted; one more stands for all that there may be more.
pub const MOST_COUNTED: u64 = 10_000;

/// What a day brought.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Digest {
    /// The day that it is of, in its time zone: its key, so that it is posted once.
    pub day: NaiveDate,
    /// IANA name of the time zone.
    pub timezone: String,
    /// From when.
    pub since: DateTime<Utc>,
    /// Until when.
    pub until: DateTime<Utc>,
    /// What came, by feed.
    pub arrived: Vec<FeedDay>,
    /// Cases that ended, each as it did last, by verdict and in the order of [`Verdict`]; failed ones are not among them.
    pub verdicts: Vec<(Verdict, u64)>,
    /// Cases that wait for people, the most severe and oldest first; none that they called a wrong detection.
    pub open: Vec<OpenCase>,
    /// How many of these there are, those that are not named included, as [`MOST_COUNTED`] says.
    pub open_total: u64,
    /// Mutes that hold, or did since it begins, as [`Digest::set_mutes`] says.
    pub mutes: Vec<DigestMute>,
    /// How many of these there are.
    pub mutes_total: u64,
    /// Cases whose triage failed, the last one where there were more.
    pub failed: u64,
    /// Messages that could not be read.
    pub dead_letters: u64,
    /// Reports that no destination took, by destination: given up, or owed still after a try that failed.
    pub undelivered: Vec<(String, u64)>,
    /// Sources that delivered on the days before and not on this one, and when they did last.
    pub silent: Vec<(String, DateTime<Utc>)>,
    /// What the models cost, in USD.
    pub cost_usd: f64,
}

impl Digest {
    /// Puts the verdicts into the order in which people read them.
    pub fn in_order(&mut self) {
        let place = |verdict: &Verdict| Verdict::ALL.iter().position(|one| one == verdict);
        self.verdicts.sort_by_key(|(verdict, _)| place(verdict));
    }

    /// The mutes that held at any time since it begins, also where they ended or were removed: the newest first, and then
    /// those of the configuration, of which nobody knows when they were added.
    pub fn set_mutes(&mut self, rows: &[MuteRow]) {
        let mut held: Vec<&MuteRow> = rows.iter().filter(|row| self.is_held(row)).collect();
        held.sort_by_key(|row| Reverse(row.added_at));
        self.mutes_total = u64::try_from(held.len()).unwrap_or(u64::MAX);
        let named = held.into_iter().take(DIGEST_ROWS);
        self.mutes = named.map(DigestMute::of).collect();
    }

    fn is_held(&self, row: &MuteRow) -> bool {
        let begun = row
            .added_at
            .map_or(self.since, |added| added.max(self.since));
        begun < end(row)
    }
}

/// When a mute hides nothing any more.
fn end(row: &MuteRow) -> DateTime<Utc> {
    row.removed_at
        .map_or(row.mute.until, |removed| removed.min(row.mute.until))
}

/// What came from a feed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FeedDay {
    /// The feed.
    pub feed: String,
    /// Alerts that arrived.
    pub alerts: u64,
    /// How many of them opened a case or had one triaged again.
    pub triaged: u64,
    /// How many were sightings of a case.
    pub repeated: u64,
    /// How many were told with another of their storm, and looked at by nobody.
    #[serde(default)]
    pub members: u64,
    /// How many a mute hid.
    pub muted: u64,
    /// How many were set aside for their state or class.
    pub set_aside: u64,
}

/// A case that waits for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCase {
    /// The case.
    pub case_id: String,
    /// What happened to what.
    pub title: String,
    /// Its verdict; none where its triage failed.
    pub verdict: Option<Verdict>,
    /// Severity after triage.
    pub severity: Severity,
    /// Since when.
    pub since: DateTime<Utc>,
    /// Who has it.
    pub owner: Option<String>,
}

/// A mute that holds, or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestMute {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
    /// When it ends, or ended: where it was removed before, then.
    pub until: DateTime<Utc>,
    /// How many alerts it has hidden, as [`MOST_COUNTED`] says.
    pub hid: u64,
}

impl DigestMute {
    fn of(row: &MuteRow) -> Self {
        Self {
            name: row.mute.name.clone(),
            why: row.mute.why.clone(),
            until: end(row),
            hid: row.hits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Match, Mute};

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

    /// The names of the mutes of a day, and until when each holds.
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
    fn a_mute_is_named_on_each_day_on_which_it_held_also_where_it_is_over() {
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
