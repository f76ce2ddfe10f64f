//! Defines the types with which a store describes cases: rows, leases, sightings, dead letters.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};
use nightshift_alert::text::refang;
use nightshift_alert::{Alert, Severity};
use nightshift_engine::conclusion::{Leaning, Urgency, Verdict};
use nightshift_engine::evidence::EvidenceId;
use serde::{Deserialize, Serialize};

use crate::case_workflow::{CaseWorkflow, WorkflowStatus};
use crate::delivery_payload::DeliveredReport;
use crate::feedback::PersonVerdict;
use crate::language::Language;
use crate::report::{EarlyReportInput, EvidenceEntry, Report, early_report};

/// Id of a case, short enough to be read out over a telephone: `k3f9-x2mq-7d1w`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CaseId(pub String);

impl CaseId {
    /// The 32 letters and digits of an id, which are hard to confuse (Crockford's alphabet).
    const ALPHABET: &'static [u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    /// Returns an id made of the lower 60 of these random bits.
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

/// Status of the triage of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseStatus {
    /// The case waits for a worker.
    Queued,
    /// A worker holds the case.
    Running,
    /// The case has a verdict.
    Concluded,
    /// The case could not be triaged. It can be run again.
    Failed,
    /// A person cancelled the triage.
    Cancelled,
}

impl CaseStatus {
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Concluded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Returns the word used in JSON and the database.
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

    /// Returns the status for this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Returns whether the triage has ended.
    #[must_use]
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// Cases that a claim may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Only high and critical cases.
    Urgent,
    /// All cases.
    Any,
}

/// Minimum waiting times. While all models are down, rules triage the cases that have waited this long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutageWait {
    /// Waiting time of high and critical cases.
    pub urgent: Duration,
    /// Waiting time of all other cases.
    pub others: Duration,
}

/// The right of one worker to write a case until a time. Each claim has a greater epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub case_id: CaseId,
    pub revision: u32,
    pub epoch: u64,
}

/// Amount of pending work, by the clock of the store.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Backlog {
    /// High and critical cases that wait for a worker.
    pub urgent: u64,
    /// Other cases that wait for a worker.
    pub others: u64,
    /// Seconds since the oldest waiting case was accepted or first released; 0 if none waits.
    pub oldest_secs: f64,
    /// Seconds since the oldest waiting high or critical case was accepted or first released; 0 if none waits.
    pub urgent_oldest_secs: f64,
    /// Running cases.
    pub running: u64,
    /// Reports that a destination does not show yet and may still take.
    pub outbox: u64,
    /// Seconds since the oldest of these reports was requested; 0 if there is none.
    pub outbox_oldest_secs: f64,
    /// Dead letters that were not read again yet.
    pub dead_letters: u64,
}

impl Backlog {
    /// Returns the number of cases that wait for a worker, which is compared with `inbox_max`.
    #[must_use]
    pub const fn waiting(&self) -> u64 {
        self.urgent + self.others
    }
}

/// A case in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseRow {
    pub id: CaseId,
    /// The latest triage of the case.
    pub revision: u32,
    pub status: CaseStatus,
    /// Feed of the alert.
    pub feed: String,
    /// Key of the alert, as text.
    pub key: String,
    /// Finding type.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    /// Account or project.
    pub account: Option<String>,
    /// Severity as sent.
    pub severity: Severity,
    /// Severity after triage.
    pub assessed_severity: Option<Severity>,
    pub verdict: Option<Verdict>,
    pub leaning: Option<Leaning>,
    /// Time when the first alert of the case was accepted.
    pub opened_at: DateTime<Utc>,
    pub concluded_at: Option<DateTime<Utc>>,
    /// Number of further arrivals of the alert.
    pub sightings: u64,
    /// Number of other alerts of a storm in the report of this case.
    pub members: u64,
    /// Cost in US dollars.
    pub usd: f64,
    /// Status of the case workflow.
    pub desk: WorkflowStatus,
    /// Person to whom the case is assigned.
    pub owner: Option<String>,
    /// The main resource of the alert, by name if it has one.
    #[serde(default)]
    pub subject: Option<String>,
    /// Urgency according to the latest report.
    #[serde(default)]
    pub urgency: Option<Urgency>,
    /// Verdict of the last person who judged the case, if it differs.
    #[serde(default)]
    pub person_verdict: Option<Verdict>,
}

impl CaseRow {
    /// Returns the severity that lists show and filter by: as assessed, once the triage of the latest alert has
    /// ended. Until then a greater sent severity counts.
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

    /// Returns the standing verdict if a rerun of the case was cancelled, in the words of lists, or `None` if there
    /// was no verdict.
    #[must_use]
    pub fn cancelled_verdict(&self) -> Option<&'static str> {
        let verdict = self
            .verdict
            .filter(|_| self.status == CaseStatus::Cancelled)?;
        Some(match verdict {
            Verdict::TruePositive => "True positive (rerun cancelled)",
            Verdict::BenignTruePositive => "Benign true positive (run again called off)",
            Verdict::FalsePositive => "False positive (run again called off)",
            Verdict::Inconclusive => "Inconclusive (run again called off)",
        })
    }
}

/// Filter of a list of cases.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CaseFilter {
    pub status: Option<CaseStatus>,
    pub verdict: Option<Verdict>,
    /// Only cases with this workflow status.
    pub workflow_status: Option<WorkflowStatus>,
    /// Only cases whose verdict is disputed by the last person who judged them.
    pub disagreed: bool,
    /// Excludes generated samples.
    pub without_samples: bool,
    /// Only this severity or above, according to [`CaseRow::shown_severity`].
    pub severity_at_least: Option<Severity>,
    pub feed: Option<String>,
    pub account: Option<String>,
    /// Only cases with this text in title, type, key or id (ASCII case is ignored), or whose alert has an actor,
    /// target or far end with exactly this value.
    pub text: Option<String>,
    /// Only cases that follow this case in the list: the next page.
    pub after: Option<CaseId>,
    /// Most cases to return, newest first.
    pub limit: usize,
}

impl CaseFilter {
    /// Returns whether the filter matches only open, high or critical cases that are not cleared. Such lists have an
    /// index, because each view of the newest cases requests one.
    #[must_use]
    pub fn is_high_priority(&self) -> bool {
        let waits = matches!(
            self.status,
            Some(CaseStatus::Queued | CaseStatus::Running | CaseStatus::Failed)
        );
        self.workflow_status == Some(WorkflowStatus::Open)
            && self.severity_at_least >= Some(Severity::High)
            && (waits || self.verdict.is_some_and(|verdict| !verdict.is_benign()))
    }

    /// Returns the text in the forms in which indicator values are stored: refanged, as it stands and in lower case.
    #[must_use]
    pub fn text_as_values(&self) -> [Option<String>; 2] {
        let value = self.text.as_deref().map(|text| refang(text.trim()));
        let small = value.as_deref().map(str::to_lowercase);
        [value.map(Cow::into_owned), small]
    }
}

/// A cancelled triage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancellation {
    pub case_id: CaseId,
    /// Revision that is triaged next because changes waited for the end of this triage. `None` if the case is
    /// cancelled.
    pub next: Option<u32>,
}

/// A further arrival of an alert that has a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sighting {
    /// Time of arrival.
    pub at: DateTime<Utc>,
    /// Name of the source.
    pub source: String,
    /// Count that the product reported.
    pub count: u64,
    /// Reason why the arrival is only a sighting: `same`, `unchanged`, `older`, `too_often:…`, `at_feed:…`.
    pub note: Option<String>,
}

impl Sighting {
    /// Returns the reason in words for people, or `None` for an unchanged alert.
    #[must_use]
    pub fn description(&self, language: Language) -> Option<String> {
        let note = self.note.as_deref().filter(|note| *note != "same")?;
        let with = |en: &'static str, ja: &'static str, value: &str| {
            language.pick(en, ja).replace("{}", value)
        };
        Some(match note.split_once(':') {
            Some(("at_feed", state)) => match state.split_once(':') {
                Some((_, class)) => with(
                    "set aside: no route names class {}",
                    "対象外: クラス {} を求めるルートがありません",
                    class,
                ),
                None => with("{} at its feed", "フィード側の状態: {}", state),
            },
            Some(("too_often", what)) => with(
                "changed ({}), but triaged too often today",
                "変更あり（{}）。本日のトリアージ回数の上限に達しています",
                &what.replace('_', " "),
            ),
            _ => match note {
                "unchanged" => language
                    .pick("no material change", "重要な変更なし")
                    .to_owned(),
                "older" => language
                    .pick("reports an earlier state", "以前の状態の報告")
                    .to_owned(),
                other => other.replace('_', " "),
            },
        })
    }

    /// Returns the state at the feed: `passed`, `archived`, `resolved`, …
    #[must_use]
    pub fn state_at_feed(&self) -> Option<&str> {
        let state = self.note.as_deref()?.strip_prefix("at_feed:")?;
        (!state.contains(':')).then_some(state)
    }
}

/// A further alert of a storm, shown in the report of the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StormMember {
    /// Time of arrival.
    pub at: DateTime<Utc>,
    pub source: String,
    pub key: String,
    pub severity: Severity,
    pub title: String,
}

/// All stored data of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseView {
    pub row: CaseRow,
    pub alert: Alert,
    /// Journal of the latest revision, as far as this version can read it.
    pub events: Vec<nightshift_engine::event::Event>,
    /// Reason why this version cannot read the rest of the journal. No worker of this version continues such a case.
    pub unreadable: Option<String>,
    /// Person who cancelled the latest triage.
    pub cancelled_by: Option<String>,
    /// Report of the latest conclusion.
    pub report: Option<Report>,
    pub sightings: Vec<Sighting>,
    /// The newest other alerts of the storm.
    pub members: Vec<StormMember>,
    /// Verdicts of people, newest first.
    pub person_verdicts: Vec<PersonVerdict>,
    /// State of the case workflow.
    pub workflow: CaseWorkflow,
    /// Deliveries to destinations, including pending ones.
    pub deliveries: Vec<DeliveryRow>,
}

impl CaseView {
    /// Returns what is known of the alert before there is a report: facts, values, and the alert as evidence E0.
    #[must_use]
    pub fn early_report(&self) -> Report {
        let row = &self.row;
        let early = EarlyReportInput {
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
                body: self.alert.to_json_text().without("raw"),
            }],
            ..early_report(&self.alert, early)
        }
    }
}

/// One delivery: the wish that a case be shown at a destination, and its progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeliveryRow {
    pub destination: String,
    /// Version that the destination should show.
    pub wanted: u64,
    /// Newest version that the destination shows or did not want; 0 if there is none.
    pub sent: u64,
    /// Attempts since the last success.
    pub attempts: u32,
    /// Error of the last attempt.
    pub error: Option<String>,
    /// The destination will never take this version. There are no further attempts until a newer version.
    pub given_up: bool,
    /// The result of the last attempt is unknown.
    pub in_doubt: bool,
    /// Remote id, such as the key of a ticket or the position of a message.
    pub remote_id: Option<String>,
    /// The report that the destination shows, or `None` if it shows nothing.
    pub shown: Option<DeliveredReport>,
}

impl DeliveryRow {
    /// Returns whether the destination shows anything of the case.
    #[must_use]
    pub const fn is_shown(&self) -> bool {
        // A newer version may have stored `shown` in a form that this version cannot read.
        self.shown.is_some() || self.remote_id.is_some()
    }

    /// Returns whether nothing is pending because the destination wanted no report of the case so far.
    #[must_use]
    pub const fn is_unwanted(&self) -> bool {
        self.sent >= self.wanted && !self.is_shown()
    }
}

/// A message that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Number of the dead letter.
    pub id: i64,
    /// Name of the source.
    pub source: String,
    /// Time of arrival.
    pub at: DateTime<Utc>,
    /// Reason why the message could not be read.
    pub error: String,
    pub size_bytes: u64,
    /// SHA-256 of all bytes, in hex.
    pub sha256: String,
    /// The case that announces the dead letter.
    pub case_id: Option<CaseId>,
    /// Time when the dead letter was read again, with any result.
    pub retried_at: Option<DateTime<Utc>>,
}
