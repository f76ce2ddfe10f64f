//! Defines the typed report, which holds everything that people see of a case. Every destination and page renders this
//! type, and `--format json` prints it unchanged. Its texts come from alerts, tools and analysts, and renderers must
//! treat them as data.

mod assessment_change;
mod blast_radius;
mod build;
mod cleared;
mod details;
mod early;
mod empty_sections;
mod failover;
mod items;
mod later_activity;
mod records;
mod sample;
mod signals;
mod takeover;
mod timeline;
mod times;
mod vendor;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use nightshift_alert::JsonText;
use nightshift_alert::{
    CANARY_FEED, CloudProvider, ContentFlag, Detail, FindingClass, Indicator, IndicatorKind,
    IndicatorRole, Outcome, Severity, Technique, TraceContext, serialize_rfc3339,
};
use nightshift_engine::catalogue::Action;
use nightshift_engine::conclusion::{
    Confidence, Leaning, SourceCoverage, Urgency, Verdict, VerdictOverride, VerdictReason,
};
use nightshift_engine::event::AnalystKind;
use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::exoneration::Exoneration;
use nightshift_engine::finding::{FindingStance, Quote};
use nightshift_engine::ledger_row::LedgerRow;
use nightshift_engine::limits::{BudgetCap, Cost};
use nightshift_engine::plan::{PlanUpdateRecord, StepId, StepOutcome, StepStatus};
use nightshift_engine::previous_run::PreviousRun;
use nightshift_engine::tool::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::case::CaseStatus;

pub use assessment_change::{Assessment, AssessmentChange, RevisionCause, revision_causes};
pub use build::{build, steps_so_far};
pub use details::DetailLine;
pub use early::{EarlyReportInput, early_report};
pub use failover::{FailoverReason, FailoverSource, FailoverSources, parse_failover_sources};
pub use later_activity::{LaterActivity, LaterActivityText};
pub use records::GroupedRecord;
pub use sample::sample_report;
pub use signals::GroupedSignal;
pub use takeover::Takeover;
pub use times::with_plain_times;

/// Name and version of this report format. It changes when a field is removed or changes its meaning.
pub const REPORT_SCHEMA: &str = "nightshift.report/1";

/// The program that made a report, as the report names it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReportProducer {
    pub version: String,
}

/// The alert that a report is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertFacts {
    /// Feed of the alert.
    pub feed: String,
    /// Key of the alert, as text.
    pub key: String,
    /// Finding type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Title that the product gave.
    pub title: String,
    /// Description that the product gave.
    pub description: String,
    /// Cloud of the alert.
    pub provider: CloudProvider,
    /// Account or project.
    pub account: Option<String>,
    /// Name of the account or project.
    pub account_name: Option<String>,
    pub region: Option<String>,
    /// Type of the main resource.
    pub resource_type: Option<String>,
    /// The main resource in a word or two.
    pub subject: Option<String>,
    /// Action that the alert reports.
    pub action: Option<String>,
    /// Name of the product that made the finding, for people.
    #[serde(default)]
    pub product: String,
    #[serde(default)]
    pub class: FindingClass,
    /// Outcome of the reported action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Further typed facts of the alert.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
    /// Remediation that the product advises, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
    /// Full id of the finding at its product, if the key has a shorter one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding_id: Option<String>,
    /// State at the feed: `suppressed`, `archived`, …; `None` while the alert is active there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_at_feed: Option<String>,
    /// Severity as it was sent, in the product's words.
    pub severity_sent: String,
    /// Time of the first event.
    pub first_seen: Option<DateTime<Utc>>,
    /// Time of the last event.
    pub last_seen: Option<DateTime<Utc>>,
    /// Count that the product reported.
    pub count: u64,
    /// Number of further arrivals until the case ended. The store fills it in.
    #[serde(default)]
    pub sightings: u64,
    /// Number of further alerts of the storm in this report. The store fills it in.
    #[serde(default)]
    pub members: u64,
    /// True if the alert is a generated sample.
    pub sample: bool,
    /// Notes for the reader on how the alert was read.
    pub flags: Vec<ContentFlag>,
}

/// Reach of the alert according to the asset register and tags.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BlastRadius {
    /// Environment of the resource: `production`, `test`, …
    pub environment: Option<String>,
    /// True if the resource can be reached from the internet, or `None` if that is not known.
    pub internet_facing: Option<bool>,
    /// Owner of the resource.
    pub owner: Option<String>,
    /// Role of the resource.
    pub role: Option<String>,
    /// Data that the resource holds.
    pub data: Option<String>,
    /// Evidence of these facts.
    pub evidence: Option<EvidenceId>,
    /// Ids of other cases that share an actor, target or far end with this one, or are of the same finding.
    pub other_cases: Vec<String>,
    /// Facts about these cases, in the same order. The list is empty in a report of an older version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherCase>,
    /// True if the search for earlier cases ended at its limit, so that there may be more, all of them older.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others_cut: bool,
}

/// Another case, as it was known when this one was triaged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherCase {
    pub case_id: String,
    /// True if the case is of the same finding.
    pub same_key: bool,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(serialize_with = "serialize_rfc3339")]
    pub opened_at: DateTime<Utc>,
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// Verdict of a person, if any.
    #[serde(default)]
    pub person_verdict: Option<Verdict>,
    /// Values that both cases have, by type.
    #[serde(default)]
    pub shared: BTreeMap<IndicatorKind, BTreeSet<String>>,
}

impl OtherCase {
    /// Returns the first value that both cases have, and how many more there are.
    #[must_use]
    pub fn first_shared(&self) -> Option<(Indicator, usize)> {
        let all = self.shared.values().map(BTreeSet::len).sum::<usize>();
        let (kind, value) = self
            .shared
            .iter()
            .find_map(|(kind, values)| Some((*kind, values.first()?)))?;
        let first = Indicator::new(kind, value, IndicatorRole::Related);
        Some((first, all.saturating_sub(1)))
    }
}

/// A finding that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingEntry {
    /// Claim in one sentence.
    pub claim: String,
    /// True if the evidence supports the claim.
    pub supported: bool,
    /// Reason why the claim is not supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Direction in which the finding points.
    pub stance: FindingStance,
    /// Quotes that support the claim.
    pub evidence: Vec<Quote>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepCall {
    pub tool: String,
    /// Arguments of the call.
    pub arguments: Map<String, Value>,
    /// Evidence with the answer.
    pub evidence: Option<EvidenceId>,
    /// Number of rows that the call found.
    pub rows: Option<u64>,
    /// Error of a call that was refused or got no answer.
    pub error: Option<ToolError>,
}

impl StepCall {
    /// Returns whether the call was made or refused. Other calls were only planned.
    #[must_use]
    pub const fn is_made(&self) -> bool {
        self.evidence.is_some() || self.error.is_some()
    }
}

/// A step in its final state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepEntry {
    pub id: StepId,
    /// Objective of the step.
    pub description: String,
    pub status: StepStatus,
    pub outcome: Option<StepOutcome>,
    /// Tools that the step used.
    pub tools: Vec<String>,
    /// Result of the step, or why there is none.
    pub summary: String,
    /// Wave in which the step ran.
    pub wave: Option<u32>,
    /// Reason why a reflection added, changed or cancelled the step.
    pub reason: Option<String>,
    pub calls: Vec<StepCall>,
}

impl StepEntry {
    /// Returns the calls that were made or refused.
    pub fn calls_made(&self) -> impl Iterator<Item = &StepCall> {
        self.calls.iter().filter(|call| call.is_made())
    }
}

/// One line of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// Time of the event.
    pub at: DateTime<Utc>,
    /// Text of the line.
    pub what: String,
    /// Evidence of the line.
    pub evidence: Option<EvidenceId>,
}

/// Text in the data that addresses the analyst.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectionSignal {
    /// Evidence that contains the text.
    pub evidence: EvidenceId,
    /// JSON pointer of the value.
    pub path: String,
    /// Beginning of the text.
    pub text: String,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceEntry {
    /// Number of the evidence.
    pub id: EvidenceId,
    /// Tool that answered.
    pub tool: String,
    /// Arguments of the call.
    pub arguments: Map<String, Value>,
    /// Time of the answer.
    pub at: DateTime<Utc>,
    /// Number of rows that the call found.
    pub rows: Option<u64>,
    /// True if rows or fields were left out because of their size.
    pub truncated: bool,
    /// Error of a call without an answer.
    pub error: Option<ToolError>,
    /// The answer. For the alert (E0) it holds only the normalised fields; the store has the whole alert.
    pub body: JsonText,
}

/// Everything that people see of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`REPORT_SCHEMA`].
    pub schema: String,
    pub case_id: String,
    /// Triage of the case.
    pub revision: u32,
    /// Final status.
    pub status: CaseStatus,
    /// Contents of the previous report; `None` in the first report of a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Box<PreviousRun>>,
    /// Destinations that do not show the report. The store fills it in for the destination that took over.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub instead_of: FailoverSources,
    /// Facts of the alert.
    pub alert: AlertFacts,
    pub verdict: Verdict,
    pub leaning: Leaning,
    /// Reason for the verdict.
    pub reason: VerdictReason,
    /// Confidence in the verdict.
    pub confidence: Confidence,
    pub severity: Severity,
    /// Severity after triage.
    pub assessed_severity: Severity,
    pub urgency: Urgency,
    /// One line: what happened to which resource.
    pub title: String,
    /// One or two sentences of conclusion.
    pub summary: String,
    /// Meaning of this finding type.
    pub meaning: String,
    pub findings: Vec<FindingEntry>,
    /// Facts that were not looked up or not answered whole.
    pub gaps: Vec<String>,
    /// The facts that would decide an inconclusive case.
    pub would_decide: Vec<String>,
    /// Advised actions.
    pub actions: Vec<Action>,
    /// The plan as it ran.
    pub steps: Vec<StepEntry>,
    /// Insights of reflections.
    pub insights: Vec<String>,
    /// Changes that reflections made, and those that were refused.
    pub updates: Vec<PlanUpdateRecord>,
    /// Events in order of time.
    pub timeline: Vec<TimelineEntry>,
    /// Number of log rows that did not fit. The evidence has them.
    #[serde(default)]
    pub timeline_left: u32,
    /// The activity that logs show for the time after the alert's last event.
    #[serde(default)]
    pub since: Box<LaterActivity>,
    /// Values that play a part in the case.
    pub indicators: Vec<Indicator>,
    /// ATT&CK techniques.
    pub techniques: Vec<Technique>,
    /// Records that cleared the alert.
    pub exonerations: Vec<Exoneration>,
    /// Subjects of the alert, each with the record that covers it.
    #[serde(default)]
    pub ledger: Vec<LedgerRow>,
    /// Cost of the case.
    pub cost: Cost,
    /// Kind of analyst.
    pub analyst: AnalystKind,
    /// Models that were used; empty for the playbook analyst.
    pub models: Vec<String>,
    /// Hash of the prompts; empty if no model was to be asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompts: String,
    /// Origin of the plan.
    pub source: String,
    /// True if the fallback analyst took over, or the report is a plain one.
    pub degraded: bool,
    /// The point at which rules took over from a model, if they did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takeover: Option<Takeover>,
    /// Cap that ended the work.
    pub stopped_by: Option<BudgetCap>,
    /// Reason why the run failed.
    pub failed: Option<String>,
    /// Rules that overrode the analyst.
    pub overridden: Vec<VerdictOverride>,
    /// True if text in the data addresses the analyst.
    pub manipulation: bool,
    /// Places of such text.
    #[serde(default)]
    pub signals: Vec<InjectionSignal>,
    /// Sources that were read.
    pub coverage: SourceCoverage,
    pub reach: BlastRadius,
    pub evidence: Vec<EvidenceEntry>,
    pub opened_at: DateTime<Utc>,
    pub concluded_at: DateTime<Utc>,
    /// Active time in milliseconds.
    pub took_ms: u64,
    /// The program that made the report.
    pub sender: ReportProducer,
    /// Trace context of the alert's message, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

impl Report {
    /// Returns the parts of the header in the order of `report.md`: marks, urgency, verdict with its leaning,
    /// severity.
    #[must_use]
    pub fn verdict_text(&self) -> String {
        match (self.verdict, self.leaning) {
            (Verdict::Inconclusive, Leaning::Malicious) => {
                "Inconclusive, leans malicious".to_owned()
            }
            (Verdict::Inconclusive, Leaning::Benign) => "Inconclusive, leans benign".to_owned(),
            (verdict, _) => verdict.title().to_owned(),
        }
    }

    /// Returns the beginning of the hash of the prompts, enough for people to compare, or `None` if there is no hash.
    #[must_use]
    pub fn prompts_in_short(&self) -> Option<&str> {
        let short = self.prompts.get(..8).unwrap_or(&self.prompts);
        (!short.is_empty()).then_some(short)
    }

    /// Returns whether the report is about a canary.
    #[must_use]
    pub fn is_canary(&self) -> bool {
        self.alert.feed == CANARY_FEED
    }

    /// Returns whether rules replaced models of which none answered.
    #[must_use]
    pub fn no_model_answered(&self) -> bool {
        self.analyst == AnalystKind::Model && self.degraded && self.models.is_empty()
    }

    /// Returns whether only rules worked on the case.
    #[must_use]
    pub fn is_by_rules_alone(&self) -> bool {
        self.analyst == AnalystKind::Playbook || self.no_model_answered()
    }

    /// Returns whether rules made the conclusion, even if a model made the plan.
    #[must_use]
    pub fn is_concluded_by_rules(&self) -> bool {
        self.is_by_rules_alone() || self.takeover.as_ref().is_some_and(|one| one.concluded)
    }

    /// Returns the number of steps that were worked on.
    #[must_use]
    pub fn steps_ran(&self) -> usize {
        let ran = |step: &&StepEntry| matches!(step.status, StepStatus::Done | StepStatus::Failed);
        self.steps.iter().filter(ran).count()
    }

    /// Returns the marks that apply: `[CANARY]`, `[SAMPLE]`, `[PLAYBOOK]`, `[PARTIAL]`.
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

    /// Returns the direction of the findings that support the verdict or the leaning.
    #[must_use]
    pub fn bearing(&self) -> FindingStance {
        if self.verdict.is_benign() || self.leaning == Leaning::Benign {
            FindingStance::Against
        } else {
            FindingStance::For
        }
    }

    /// Returns the supported findings that point in this direction.
    pub fn proven(&self, stance: FindingStance) -> impl Iterator<Item = &FindingEntry> {
        self.findings
            .iter()
            .filter(move |finding| finding.supported && finding.stance == stance)
    }
}
