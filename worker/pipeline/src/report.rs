//! The typed report: everything that people are told about a case. Every destination and page renders this, and
//! `--format json` is this as it stands. Text in it comes from alerts, tools and analysts, and is data to a renderer.

mod build;
mod changed;
mod cleared;
mod details;
mod early;
mod instead;
mod items;
mod nothing;
mod reach;
mod records;
mod sample;
mod signals;
mod since;
mod takeover;
mod timeline;
mod times;
mod vendor;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use nightshift_alert::{
    CANARY_FEED, Class, Detail, Flag, Indicator, IndicatorKind, Outcome, Provider, Role, Severity,
    Technique, TraceContext, written_time,
};
use nightshift_engine::{
    Action, Again, AnalystKind, Cap, Confidence, Cost, Coverage, EvidenceId, Exoneration, JsonText,
    Leaning, LedgerRow, Override, Quote, Reason, Stance, StepId, StepOutcome, StepStatus,
    ToolError, UpdateRecord, Urgency, Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::CaseStatus;

pub use build::build;
pub use changed::{Because, Changed, Said, because};
pub use details::DetailLine;
pub use early::{Early, early_report};
pub use instead::{InsteadOf, Missed, NotShown, read_instead_of};
pub use records::ToldRecord;
pub use sample::sample_report;
pub use signals::Told;
pub use since::{Since, SinceWords};
pub use takeover::Takeover;
pub use times::with_plain_times;

/// Name of this shape of report; it changes when a field changes its meaning or goes.
pub const REPORT_SCHEMA: &str = "nightshift.report/1";

/// What a report says of the program that made it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sender {
    /// Its version.
    pub version: String,
}

/// Which alert a report is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertFacts {
    /// Where it was born.
    pub feed: String,
    /// Its key, as text.
    pub key: String,
    /// Finding type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The product's own title.
    pub title: String,
    /// The product's own description.
    pub description: String,
    /// Which cloud.
    pub provider: Provider,
    /// Account or project.
    pub account: Option<String>,
    /// Its name.
    pub account_name: Option<String>,
    /// Region or zone.
    pub region: Option<String>,
    /// The main resource's type.
    pub resource_type: Option<String>,
    /// What the alert is about, in a word or two.
    pub subject: Option<String>,
    /// What was done.
    pub action: Option<String>,
    /// Who made the finding, as people call it.
    #[serde(default)]
    pub product: String,
    /// Class of the finding.
    #[serde(default)]
    pub class: Class,
    /// How what it tells of ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What else the product told in fields of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
    /// What the product advises, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
    /// The finding's whole id at its product, where the key holds a shorter one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding_id: Option<String>,
    /// What its feed has done with it: `suppressed`, `archived`, …; none while it is active there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_at_feed: Option<String>,
    /// Severity as it was sent, in the product's words.
    pub severity_sent: String,
    /// First event.
    pub first_seen: Option<DateTime<Utc>>,
    /// Last event.
    pub last_seen: Option<DateTime<Utc>>,
    /// How often the product saw it.
    pub count: u64,
    /// How many more times it arrived until the case ended; the store fills it in.
    #[serde(default)]
    pub sightings: u64,
    /// How many other alerts of its storm are told here; the store fills it in.
    #[serde(default)]
    pub members: u64,
    /// Whether it is a generated sample.
    pub sample: bool,
    /// What the reader should know about how it was read.
    pub flags: Vec<Flag>,
}

/// How far it reaches, as the asset register and tags tell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reach {
    /// `production`, `test`, …
    pub environment: Option<String>,
    /// Whether it can be reached from the internet.
    pub internet_facing: Option<bool>,
    /// Who owns it.
    pub owner: Option<String>,
    /// What it does.
    pub role: Option<String>,
    /// What data it holds.
    pub data: Option<String>,
    /// Where that stands.
    pub evidence: Option<EvidenceId>,
    /// Other cases that share an actor, target or far end with this one, or are of the same finding.
    pub other_cases: Vec<String>,
    /// What is known of them, in the same order; nothing in a report of an older version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherCase>,
    /// Whether the look at earlier cases ended at its limit, so that there may be more, all of them older.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others_cut: bool,
}

/// Another case, as far as it was known when this one was looked into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherCase {
    /// Its id.
    pub case_id: String,
    /// Whether it is of the same finding.
    pub same_key: bool,
    /// Finding type.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was opened.
    #[serde(serialize_with = "written_time")]
    pub opened_at: DateTime<Utc>,
    /// Its verdict, once it has one.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// What a person decided, if one did.
    #[serde(default)]
    pub person_verdict: Option<Verdict>,
    /// The values that both cases have, by their type.
    #[serde(default)]
    pub shared: BTreeMap<IndicatorKind, BTreeSet<String>>,
}

impl OtherCase {
    /// The first value that both cases have, and how many more there are.
    #[must_use]
    pub fn first_shared(&self) -> Option<(Indicator, usize)> {
        let all = self.shared.values().map(BTreeSet::len).sum::<usize>();
        let (kind, value) = self
            .shared
            .iter()
            .find_map(|(kind, values)| Some((*kind, values.first()?)))?;
        let first = Indicator::new(kind, value, Role::Related);
        Some((first, all.saturating_sub(1)))
    }
}

/// A finding that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingEntry {
    /// One sentence.
    pub claim: String,
    /// Whether its evidence bears it.
    pub supported: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Which way it points.
    pub stance: Stance,
    /// What proves it.
    pub evidence: Vec<Quote>,
}

/// One call of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// What it was asked.
    pub arguments: Map<String, Value>,
    /// The evidence that answers it.
    pub evidence: Option<EvidenceId>,
    /// How many rows it found.
    pub rows: Option<u64>,
    /// Why it was refused or gave no answer.
    pub error: Option<ToolError>,
}

/// A step as it ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepEntry {
    /// Its id.
    pub id: StepId,
    /// What was to be looked into.
    pub description: String,
    /// Where it stands.
    pub status: StepStatus,
    /// What it came to.
    pub outcome: Option<StepOutcome>,
    /// The tools it used.
    pub tools: Vec<String>,
    /// Its result, or why there is none.
    pub summary: String,
    /// The wave it ran in.
    pub wave: Option<u32>,
    /// Why a reflection added, changed or cancelled it.
    pub reason: Option<String>,
    /// Its calls.
    pub calls: Vec<Call>,
}

impl StepEntry {
    /// The calls that were made or refused; others were only planned.
    pub fn calls_made(&self) -> impl Iterator<Item = &Call> {
        let made = |call: &&Call| call.evidence.is_some() || call.error.is_some();
        self.calls.iter().filter(made)
    }
}

/// One line of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// When.
    pub at: DateTime<Utc>,
    /// What.
    pub what: String,
    /// Where that stands.
    pub evidence: Option<EvidenceId>,
}

/// Text in the data that talks to the analyst.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// Where it stands.
    pub evidence: EvidenceId,
    /// JSON pointer of the value.
    pub path: String,
    /// Its beginning.
    pub text: String,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceEntry {
    /// Its number.
    pub id: EvidenceId,
    /// The tool.
    pub tool: String,
    /// What it was asked.
    pub arguments: Map<String, Value>,
    /// When it answered.
    pub at: DateTime<Utc>,
    /// How many rows it found.
    pub rows: Option<u64>,
    /// Whether something was left out for its size.
    pub truncated: bool,
    /// Why it gave no answer.
    pub error: Option<ToolError>,
    /// Its answer. Of the alert (E0) only the normalised fields; the whole is stored.
    pub body: JsonText,
}

/// Everything that people are told about a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`REPORT_SCHEMA`].
    pub schema: String,
    /// The case.
    pub case_id: String,
    /// Which triage of it.
    pub revision: u32,
    /// How it ended.
    pub status: CaseStatus,
    /// What was said before; none of the first report of a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Box<Again>>,
    /// Which destinations do not show it; the store fills it in for the one that it was handed on to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub instead_of: InsteadOf,
    /// Which alert.
    pub alert: AlertFacts,
    /// The verdict.
    pub verdict: Verdict,
    /// Where it leans.
    pub leaning: Leaning,
    /// Why.
    pub reason: Reason,
    /// How sure it is.
    pub confidence: Confidence,
    /// Severity as sent.
    pub severity: Severity,
    /// Severity after triage.
    pub assessed_severity: Severity,
    /// When somebody should act.
    pub urgency: Urgency,
    /// One line: what happened to what.
    pub title: String,
    /// One or two sentences of conclusion.
    pub summary: String,
    /// What this type of finding means.
    pub meaning: String,
    /// What was found.
    pub findings: Vec<FindingEntry>,
    /// What was not seen.
    pub gaps: Vec<String>,
    /// What would decide it.
    pub would_decide: Vec<String>,
    /// What to do.
    pub actions: Vec<Action>,
    /// The plan as it ran.
    pub steps: Vec<StepEntry>,
    /// What reflections learned.
    pub insights: Vec<String>,
    /// What reflections changed, and what was refused.
    pub updates: Vec<UpdateRecord>,
    /// What happened when.
    pub timeline: Vec<TimelineEntry>,
    /// How many rows of logs it has no room for; they stand in the evidence.
    #[serde(default)]
    pub timeline_left: u32,
    /// What logs tell of the time after the alert's last event.
    #[serde(default)]
    pub since: Box<Since>,
    /// The values that play a part.
    pub indicators: Vec<Indicator>,
    /// ATT&CK techniques.
    pub techniques: Vec<Technique>,
    /// The records that cleared it.
    pub exonerations: Vec<Exoneration>,
    /// The subjects of the alert, and by which record each is covered.
    #[serde(default)]
    pub ledger: Vec<LedgerRow>,
    /// What it cost.
    pub cost: Cost,
    /// Who thought.
    pub analyst: AnalystKind,
    /// Which models; none for the playbook analyst.
    pub models: Vec<String>,
    /// Hash of the prompts that models were asked with; empty where none was to be asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompts: String,
    /// What the plan comes from.
    pub source: String,
    /// Whether a lesser analyst had to step in, or the report is plain.
    pub degraded: bool,
    /// Where rules took over from a model, if they did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takeover: Option<Takeover>,
    /// The cap that ended the work.
    pub stopped_by: Option<Cap>,
    /// Why the run failed.
    pub failed: Option<String>,
    /// Rules that overrode the analyst.
    pub overridden: Vec<Override>,
    /// Whether text in the data talks to the analyst.
    pub manipulation: bool,
    /// Where that text stands.
    #[serde(default)]
    pub signals: Vec<Signal>,
    /// Which sources were read.
    pub coverage: Coverage,
    /// How far it reaches.
    pub reach: Reach,
    /// The evidence.
    pub evidence: Vec<EvidenceEntry>,
    /// When the case was opened.
    pub opened_at: DateTime<Utc>,
    /// When it was concluded.
    pub concluded_at: DateTime<Utc>,
    /// Active time in milliseconds.
    pub took_ms: u64,
    /// The program that made it.
    pub sender: Sender,
    /// Where in somebody's trace the alert came from, if its message says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

impl Report {
    /// The header's parts in the order of `report.md`: marks, urgency, verdict with its leaning, severity.
    #[must_use]
    pub fn verdict_words(&self) -> String {
        match (self.verdict, self.leaning) {
            (Verdict::Inconclusive, Leaning::Malicious) => {
                "Inconclusive, leans malicious".to_owned()
            }
            (Verdict::Inconclusive, Leaning::Benign) => "Inconclusive, leans benign".to_owned(),
            (verdict, _) => verdict.title().to_owned(),
        }
    }

    /// As much of the hash of its prompts as tells two of them apart for people; none where there is none.
    #[must_use]
    pub fn prompts_in_short(&self) -> Option<&str> {
        let short = self.prompts.get(..8).unwrap_or(&self.prompts);
        (!short.is_empty()).then_some(short)
    }

    /// Whether it is of a canary of our own.
    #[must_use]
    pub fn is_canary(&self) -> bool {
        self.alert.feed == CANARY_FEED
    }

    /// Whether rules had to do for models of which none answered.
    #[must_use]
    pub fn no_model_answered(&self) -> bool {
        self.analyst == AnalystKind::Model && self.degraded && self.models.is_empty()
    }

    /// Whether rules alone thought.
    #[must_use]
    pub fn is_by_rules_alone(&self) -> bool {
        self.analyst == AnalystKind::Playbook || self.no_model_answered()
    }

    /// Whether the conclusion is that of rules, whoever made the plan.
    #[must_use]
    pub fn is_concluded_by_rules(&self) -> bool {
        self.is_by_rules_alone() || self.takeover.as_ref().is_some_and(|one| one.concluded)
    }

    /// How many of its steps were worked on.
    #[must_use]
    pub fn steps_ran(&self) -> usize {
        let ran = |step: &&StepEntry| matches!(step.status, StepStatus::Done | StepStatus::Failed);
        self.steps.iter().filter(ran).count()
    }

    /// `[CANARY]`, `[SAMPLE]`, `[PLAYBOOK]`, `[PARTIAL]` where true.
    #[must_use]
    pub fn marks(&self) -> Vec<&'static str> {
        let partial = self.stopped_by.is_some() || self.failed.is_some();
        [
            (self.is_canary(), "[CANARY]"),
            (self.alert.sample && !self.is_canary(), "[SAMPLE]"),
            (self.is_concluded_by_rules(), "[PLAYBOOK]"),
            (partial, "[PARTIAL]"),
        ]
        .into_iter()
        .filter_map(|(is_true, mark)| is_true.then_some(mark))
        .collect()
    }

    /// Which way the findings point that bear the verdict or the leaning.
    #[must_use]
    pub fn bearing(&self) -> Stance {
        if self.verdict.is_benign() || self.leaning == Leaning::Benign {
            Stance::Against
        } else {
            Stance::For
        }
    }

    /// Findings that are borne and point this way.
    pub fn proven(&self, stance: Stance) -> impl Iterator<Item = &FindingEntry> {
        self.findings
            .iter()
            .filter(move |finding| finding.supported && finding.stance == stance)
    }
}
