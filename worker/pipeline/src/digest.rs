//! The daily digest: one post at a set hour with what came, what it was, what is open and whose, what is muted, what
//! failed, what went silent, and what it cost. Here is what it says; a destination says how.

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
    /// Cases that ended, by verdict and in the order of [`Verdict`]; failed ones are not among them.
    pub verdicts: Vec<(Verdict, u64)>,
    /// Cases that wait for people, the most severe and oldest first.
    pub open: Vec<OpenCase>,
    /// How many of these there are, those that are not named included, as [`MOST_COUNTED`] says.
    pub open_total: u64,
    /// Mutes that hold.
    pub mutes: Vec<DigestMute>,
    /// How many of these there are.
    pub mutes_total: u64,
    /// Cases whose triage failed.
    pub failed: u64,
    /// Messages that could not be read.
    pub dead_letters: u64,
    /// Reports that no destination took, by destination.
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

    /// The mutes that hold at its end.
    pub fn set_mutes(&mut self, rows: &[MuteRow]) {
        let holds = |row: &&MuteRow| row.removed_at.is_none() && row.mute.until > self.until;
        let mutes: Vec<DigestMute> = rows
            .iter()
            .filter(holds)
            .map(|row| DigestMute {
                name: row.mute.name.clone(),
                why: row.mute.why.clone(),
                until: row.mute.until,
                hid: row.hits,
            })
            .collect();
        self.mutes_total = u64::try_from(mutes.len()).unwrap_or(u64::MAX);
        self.mutes = mutes.into_iter().take(DIGEST_ROWS).collect();
    }
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

/// A mute that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestMute {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
    /// When it ends.
    pub until: DateTime<Utc>,
    /// How many alerts it has hidden, as [`MOST_COUNTED`] says.
    pub hid: u64,
}
