//! What a store says of cases: rows, leases, sightings, dead letters.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};
use nightshift_alert::text::refang;
use nightshift_alert::{Alert, Severity};
use nightshift_engine::{EvidenceId, Leaning, Urgency, Verdict};
use serde::{Deserialize, Serialize};

use crate::{Desk, DeskStatus, Early, EvidenceEntry, PersonVerdict, Report, Shown, early_report};

/// Name of a case, short enough to be read out over a telephone: `k3f9-x2mq-7d1w`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CaseId(pub String);

impl CaseId {
    /// Letters and digits of an id: 32 that are hard to confuse (Crockford's alphabet).
    const ALPHABET: &'static [u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    /// An id of 60 of these random bits.
    #[must_use]
    pub fn from_random(bits: u64) -> Self {
        let mut text = String::with_capacity(14);
        for place in 0..12 {
            if place == 4 || place == 8 {
                text.push('-');
            }
            let index = usize::try_from((bits >> (place * 5)) & 31).unwrap_or_default();
            text.push(char::from(
                Self::ALPHABET.get(index).copied().unwrap_or(b'0'),
            ));
        }
        Self(text)
    }
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where the triage of an alert stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseStatus {
    /// Waits for a worker.
    Queued,
    /// A worker has it.
    Running,
    /// It has a verdict.
    Concluded,
    /// It could not be triaged; it can be run again.
    Failed,
    /// Somebody called it off.
    Cancelled,
}

impl CaseStatus {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Concluded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word used in JSON and the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Concluded => "concluded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether nothing more happens to it by itself.
    #[must_use]
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// Which cases a claim may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Only high and critical ones.
    Urgent,
    /// Any.
    Any,
}

/// How long a case has to have waited: while all models are down, the rules take what can wait no longer for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    /// High and critical ones.
    pub urgent: Duration,
    /// All others.
    pub others: Duration,
}

/// The right to write a case until its end; each claim has a greater epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The case.
    pub case_id: CaseId,
    /// Its revision.
    pub revision: u32,
    /// The epoch.
    pub epoch: u64,
}

/// How much there is to do, by the clock of the store.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Backlog {
    /// High and critical cases that wait for a worker.
    pub urgent: u64,
    /// All others that wait for one.
    pub others: u64,
    /// Seconds since the oldest of them was accepted, or first given back; 0 where none waits.
    pub oldest_secs: f64,
    /// The same of the high and critical ones.
    pub urgent_oldest_secs: f64,
    /// Cases that run.
    pub running: u64,
    /// Reports that a destination does not show yet and may still take.
    pub outbox: u64,
    /// Seconds since the oldest of them was wished; 0 where there is none.
    pub outbox_oldest_secs: f64,
    /// Dead letters that were not read again yet.
    pub dead_letters: u64,
}

impl Backlog {
    /// All cases that wait for a worker: what `inbox_max` is compared with.
    #[must_use]
    pub const fn waiting(&self) -> u64 {
        self.urgent + self.others
    }
}

/// A case in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseRow {
    /// The case.
    pub id: CaseId,
    /// Which triage of it is the latest.
    pub revision: u32,
    /// Where it stands.
    pub status: CaseStatus,
    /// Feed of its alert.
    pub feed: String,
    /// Key of its alert, as text.
    pub key: String,
    /// Finding type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its title.
    pub title: String,
    /// Account or project.
    pub account: Option<String>,
    /// Severity as sent.
    pub severity: Severity,
    /// Severity after triage.
    pub assessed_severity: Option<Severity>,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// Where it leans.
    pub leaning: Option<Leaning>,
    /// When the first alert of it was accepted.
    pub opened_at: DateTime<Utc>,
    /// When it was concluded.
    pub concluded_at: Option<DateTime<Utc>>,
    /// How many more times the alert came.
    pub sightings: u64,
    /// How many other alerts of a storm are told in its report.
    pub members: u64,
    /// What it cost in US dollars.
    pub usd: f64,
    /// Where it stands with people.
    pub desk: DeskStatus,
    /// Who has it.
    pub owner: Option<String>,
    /// What its alert is about: the main resource, by name where it has one.
    #[serde(default)]
    pub subject: Option<String>,
    /// When somebody should act, as its latest report says.
    #[serde(default)]
    pub urgency: Option<Urgency>,
    /// What the last person who judged it says, where that is another verdict.
    #[serde(default)]
    pub person_verdict: Option<Verdict>,
}

impl CaseRow {
    /// The severity that lists show and are filtered by: as assessed, once the triage of the latest alert came to its
    /// end; till then what was sent counts where it is greater.
    #[must_use]
    pub fn shown_severity(&self) -> Severity {
        let assessed = self.assessed_severity.unwrap_or(self.severity);
        match self.status {
            CaseStatus::Concluded | CaseStatus::Failed => assessed,
            CaseStatus::Queued | CaseStatus::Running | CaseStatus::Cancelled => {
                assessed.max(self.severity)
            }
        }
    }

    /// The verdict that stands where running the case again was called off, in the words of lists; none where it had none.
    #[must_use]
    pub fn called_off(&self) -> Option<&'static str> {
        let verdict = self
            .verdict
            .filter(|_| self.status == CaseStatus::Cancelled)?;
        Some(match verdict {
            Verdict::TruePositive => "True positive (run again called off)",
            Verdict::BenignTruePositive => "Benign true positive (run again called off)",
            Verdict::FalsePositive => "False positive (run again called off)",
            Verdict::Inconclusive => "Inconclusive (run again called off)",
        })
    }
}

/// Which cases to list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CaseFilter {
    /// Only this status.
    pub status: Option<CaseStatus>,
    /// Only this verdict.
    pub verdict: Option<Verdict>,
    /// Only what stands so with people.
    pub desk: Option<DeskStatus>,
    /// Only those whose verdict a person disputes: the last one who judged it has another.
    pub disagreed: bool,
    /// Only what happened: generated samples are left out.
    pub without_samples: bool,
    /// Only this severity or above, as the list shows it: see [`CaseRow::shown_severity`].
    pub severity_at_least: Option<Severity>,
    /// Only this feed.
    pub feed: Option<String>,
    /// Only this account or project.
    pub account: Option<String>,
    /// Only with these letters in its title, type, key or id, great or small (of ASCII) alike; or whose alert names just
    /// this as what acted, what it was done to, or the far end.
    pub text: Option<String>,
    /// Only what stands after this case in the list: the next page.
    pub after: Option<CaseId>,
    /// How many at the most, the newest first.
    pub limit: usize,
}

impl CaseFilter {
    /// Whether all that fits is grave: open, high or critical, and cleared by nobody. There is an index of these, for a
    /// list of them is asked for with every look at the newest cases.
    #[must_use]
    pub fn is_grave(&self) -> bool {
        let waits = matches!(
            self.status,
            Some(CaseStatus::Queued | CaseStatus::Running | CaseStatus::Failed)
        );
        self.desk == Some(DeskStatus::Open)
            && self.severity_at_least >= Some(Severity::High)
            && (waits || self.verdict.is_some_and(|verdict| !verdict.is_benign()))
    }

    /// The text as values of indicators are kept: whole where it was defanged, as it stands and in small letters.
    #[must_use]
    pub fn text_as_values(&self) -> [Option<String>; 2] {
        let value = self.text.as_deref().map(|text| refang(text.trim()));
        let small = value.as_deref().map(str::to_lowercase);
        [value.map(Cow::into_owned), small]
    }
}

/// A triage that was called off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalledOff {
    /// The case.
    pub case_id: CaseId,
    /// The revision that is triaged next, because news of the case waited for the end of this one; none: the case is
    /// cancelled.
    pub next: Option<u32>,
}

/// One more arrival of an alert that has a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sighting {
    /// When it came.
    pub at: DateTime<Utc>,
    /// From where.
    pub source: String,
    /// How often the product had seen it by then.
    pub count: u64,
    /// Why it is but a sighting: `same`, `unchanged`, `older`, `too_often:…`, `at_feed:…`.
    pub note: Option<String>,
}

impl Sighting {
    /// Returns why it is but a sighting, as people read it; `None` for the same alert once more.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let note = self.note.as_deref().filter(|note| *note != "same")?;
        Some(match note.split_once(':') {
            Some(("at_feed", state)) => match state.split_once(':') {
                Some((_, class)) => format!("of a class that no route wants: {class}"),
                None => format!("{state} at its feed"),
            },
            Some(("too_often", what)) => format!(
                "changed ({}), but triaged too often today",
                what.replace('_', " ")
            ),
            _ => match note {
                "unchanged" => "nothing that matters changed".to_owned(),
                "older" => "tells of an earlier state".to_owned(),
                other => other.replace('_', " "),
            },
        })
    }

    /// Returns what its feed did with it: `passed`, `archived`, `resolved`, …
    #[must_use]
    pub fn state_at_feed(&self) -> Option<&str> {
        let state = self.note.as_deref()?.strip_prefix("at_feed:")?;
        (!state.contains(':')).then_some(state)
    }
}

/// Another alert of a storm, told in the report of the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// When it came.
    pub at: DateTime<Utc>,
    /// From where.
    pub source: String,
    /// Its key, as text.
    pub key: String,
    /// Its severity, as sent.
    pub severity: Severity,
    /// Its title.
    pub title: String,
}

/// Everything that is stored about one case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseView {
    /// The case.
    pub row: CaseRow,
    /// Its alert.
    pub alert: Alert,
    /// The journal of the latest revision, as far as this version can read it.
    pub events: Vec<nightshift_engine::Event>,
    /// Why the rest of it cannot be read by this version, if so; no worker of this version goes on with the case.
    pub unreadable: Option<String>,
    /// Who called its latest triage off, if somebody did.
    pub cancelled_by: Option<String>,
    /// The report of the latest conclusion.
    pub report: Option<Report>,
    /// Further arrivals.
    pub sightings: Vec<Sighting>,
    /// Other alerts of its storm, the newest ones.
    pub members: Vec<Member>,
    /// What people said of it, the newest first.
    pub person_verdicts: Vec<PersonVerdict>,
    /// What people did with it.
    pub desk: Desk,
    /// Where reports went, or are to go.
    pub deliveries: Vec<DeliveryRow>,
}

impl CaseView {
    /// What can be told of its alert as long as there is no report: facts, values, and the alert as evidence E0 shows it.
    #[must_use]
    pub fn early_report(&self) -> Report {
        let row = &self.row;
        let early = Early {
            case_id: row.id.clone(),
            revision: row.revision,
            status: row.status,
            opened_at: row.opened_at,
            cancelled_by: self.cancelled_by.clone(),
        };
        Report {
            evidence: vec![EvidenceEntry {
                id: EvidenceId::ALERT,
                tool: "alert".to_owned(),
                arguments: serde_json::Map::new(),
                at: row.opened_at,
                rows: None,
                truncated: false,
                error: None,
                body: self.alert.told_text().without("raw"),
            }],
            ..early_report(&self.alert, early)
        }
    }
}

/// A wish that a case be shown at a destination, and how far it is fulfilled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeliveryRow {
    /// The destination's name.
    pub destination: String,
    /// The version that should be shown.
    pub wanted: u64,
    /// The newest version that is shown there, or that the destination did not want; 0 where there is none.
    pub sent: u64,
    /// Tries since the last one that succeeded.
    pub attempts: u32,
    /// What the last try said.
    pub error: Option<String>,
    /// The destination never will take it; nobody tries again before there is a new version.
    pub given_up: bool,
    /// Nobody knows how the last try ended.
    pub in_doubt: bool,
    /// What the destination calls it, once it shows it: the key of a ticket, the place of a message.
    pub remote_id: Option<String>,
    /// What it shows; none where it shows nothing.
    pub shown: Option<Shown>,
}

impl DeliveryRow {
    /// Whether the destination shows something of the case.
    #[must_use]
    pub const fn is_shown(&self) -> bool {
        // A newer version may have written what is shown in words that this one cannot read.
        self.shown.is_some() || self.remote_id.is_some()
    }

    /// Whether nothing is owed there, as the destination wanted nothing of the case so far.
    #[must_use]
    pub const fn is_unwanted(&self) -> bool {
        self.sent >= self.wanted && !self.is_shown()
    }
}

/// A message that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Its number.
    pub id: i64,
    /// Where it came from.
    pub source: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Why it could not be read.
    pub error: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// SHA-256 of all its bytes, in hex.
    pub sha256: String,
    /// The case that announces it.
    pub case_id: Option<CaseId>,
    /// When it was read again, whatever became of it then.
    pub retried_at: Option<DateTime<Utc>>,
}
