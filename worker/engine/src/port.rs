//! Defines ports of the engine, as traits. Their adapters live in the crates above.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::{Indicator, IndicatorKind, Resource, Severity, serialize_rfc3339};
use serde::{Deserialize, Serialize};

use crate::conclusion::{ConclusionDraft, Verdict};
use crate::event::Event;
use crate::exoneration::Exoneration;
use crate::limits::Cost;
use crate::measurement::Measurement;
use crate::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};
use crate::tool::{CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};

/// Answer of an analyst with its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// The answer itself.
    pub value: T,
    /// Cost of the answer.
    pub cost: Cost,
    /// Model that answered, as `provider/name`; `None` when no model was asked.
    pub model: Option<String>,
}

/// Failure to answer, with the cost of the attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct NoAnswer {
    /// Reason of the failure.
    pub error: AskError,
    /// Cost of the attempts.
    pub cost: Cost,
}

impl From<AskError> for NoAnswer {
    fn from(error: AskError) -> Self {
        Self {
            error,
            cost: Cost::default(),
        }
    }
}

impl<T> Answer<T> {
    /// Creates an answer that cost nothing.
    pub fn free(value: T) -> Self {
        Self {
            value,
            cost: Cost::default(),
            model: None,
        }
    }

    /// Converts the value of the answer.
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> Answer<U> {
        Answer {
            value: to(self.value),
            cost: self.cost,
            model: self.model,
        }
    }
}

/// Answers the questions of the engine. Its answers are proposals, and the engine checks every one.
#[async_trait]
pub trait Analyst: Send + Sync {
    /// Returns whether a plan is needed, and the plan.
    ///
    /// # Errors
    ///
    /// Without an answer the engine continues without a plan.
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer>;

    /// Returns the next calls of a step, or its result.
    ///
    /// # Errors
    ///
    /// Without an answer the step fails.
    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer>;

    /// Judges the last action and chooses the next.
    ///
    /// # Errors
    ///
    /// Without an answer the case concludes from what it has.
    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer>;

    /// Returns the changes that the plan needs.
    ///
    /// # Errors
    ///
    /// Without an answer the plan does not change.
    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer>;

    /// Returns the conclusion.
    ///
    /// # Errors
    ///
    /// Without an answer the report lists what was done.
    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer>;
}

/// Tools of a profile. Arguments of calls are checked before they arrive here.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// Returns the specifications of the tools, in a stable order.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Makes one call.
    ///
    /// # Errors
    ///
    /// Returns an error when the tool gives no answer. An answer without rows is not an error.
    async fn call(&self, call: &ToolCall, context: &CallContext) -> Result<ToolOutput, ToolError>;
}

/// The rules, besides the registers, that may clear an alert: `benign_when` of playbooks and profiles. They are code,
/// not an analyst, and pure over typed fields.
pub trait Exonerator: Send + Sync {
    /// Evaluates the rules for this case.
    fn exonerate(&self, question: &ConcludeQuestion) -> ExonerationResult;
}

/// Answer of the rules for a case whose work has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExonerationResult {
    /// Facts that apply; the engine checks each.
    pub facts: Vec<Exoneration>,
    /// Questions that must be answered before clearing and are not, regardless of who made the plan. Each is a line for
    /// people.
    pub unanswered: Vec<String>,
}

/// Journal of one case at one epoch.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Appends events in one transaction.
    ///
    /// # Errors
    ///
    /// Returns an error when nothing was written: the lease is lost, or the store is unavailable.
    async fn append(&self, events: &[Event]) -> Result<(), JournalError>;

    /// Appends the last events, including the conclusion, and the deliveries that follow from it, in one transaction.
    ///
    /// # Errors
    ///
    /// Returns an error when nothing was written.
    async fn conclude(
        &self,
        events: &[Event],
        end: &crate::state::CaseState,
    ) -> Result<(), JournalError>;
}

/// Reason why nothing was written to a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another worker holds the case, or the lease has expired.
    #[error("the lease on the case is lost")]
    LeaseLost,
    /// The store rejected the write.
    #[error("the journal could not be written")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> DateTime<Utc>;
}

/// Query for earlier cases.
#[derive(Debug, Clone, PartialEq)]
pub struct PastQuery {
    /// Case that asks, which is left out of the results.
    pub case_id: String,
    /// Alert key as text.
    pub key: String,
    /// Finding type of the alert.
    pub kind: String,
    /// Account of the alert.
    pub account: Option<String>,
    /// Values to compare; no others are compared.
    pub indicators: Vec<Indicator>,
    /// Actors of the alert, or its targets when it names no actor. Decisions of people about others are left out.
    pub actors: Vec<Indicator>,
    /// Distinct words of the alert's title and description.
    pub words: Vec<String>,
    /// Earliest opening time of a case.
    pub since: Option<DateTime<Utc>>,
    /// Maximum number of results.
    pub limit: usize,
}

/// Earlier case in typed fields. None of its free text reaches another case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastCase {
    /// Id of the case.
    pub case_id: String,
    /// Alert key as text.
    pub key: String,
    /// True if both cases are about the same finding.
    pub same_key: bool,
    /// Finding type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Time when the case was opened.
    #[serde(serialize_with = "serialize_rfc3339")]
    pub opened_at: DateTime<Utc>,
    /// Severity that the feed sent.
    pub severity: Severity,
    /// Status: `queued`, `running`, `concluded`, `failed`, `cancelled`.
    pub status: String,
    /// Verdict of a concluded case. A machine's verdict clears nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Verdict of a person, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_verdict: Option<Verdict>,
    /// Values that both cases share, by type. Their roles are those of this case's own alert.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shared: BTreeMap<IndicatorKind, BTreeSet<String>>,
    /// Tools whose steps failed in that case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tools: Vec<String>,
    /// Percentage of this alert's words that the report of that case has, for a case that was found by its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<u8>,
}

/// A person's decision on an earlier case, with the fields to compare. The person's text is not included.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonDecision {
    /// Id of the case.
    pub case_id: String,
    /// The newest verdict of a person on this case.
    pub verdict: Verdict,
    /// Name of the person.
    pub by: String,
    /// Time of the decision.
    pub at: DateTime<Utc>,
    /// Finding type of the judged alert.
    pub kind: String,
    /// Account of the judged alert.
    pub account: Option<String>,
    /// Actors of the judged alert.
    pub actors: Vec<Indicator>,
    /// Targets of the judged alert.
    pub targets: Vec<Indicator>,
    /// Far ends of the judged alert.
    pub remotes: Vec<Indicator>,
    /// Resources of the judged alert, including kinds that are not indicators.
    pub resources: Vec<Resource>,
    /// Severity that the feed sent.
    pub severity: Severity,
    /// Start of the judged alert's events.
    pub first_seen: Option<DateTime<Utc>>,
    /// Time when a person later judged a case of one of these actors, targets or far ends a true positive. The
    /// decision then clears nothing.
    pub ended_at: Option<DateTime<Utc>>,
}

/// Look-ups of earlier cases.
#[async_trait]
pub trait PastCases: Send + Sync {
    /// Returns cases that share the key or a value, newest first.
    ///
    /// # Errors
    ///
    /// Describes why the store cannot be read.
    async fn similar_cases(&self, query: &PastQuery) -> Result<Vec<PastCase>, String>;

    /// Returns cases whose reports have many of the query's words, the most similar first, without regard to keys and
    /// values. Returns none where texts are not compared.
    ///
    /// # Errors
    ///
    /// Describes why the store cannot be read.
    async fn cases_by_words(&self, _query: &PastQuery) -> Result<Vec<PastCase>, String> {
        Ok(Vec::new())
    }

    /// Returns a person's last decision on a case of the account and finding type in which one of the actors has the
    /// same role, including the case itself. Returns `None` without a decision, or where none is looked up.
    ///
    /// # Errors
    ///
    /// Describes why the store cannot be read.
    async fn last_person_decision(
        &self,
        _query: &PastQuery,
    ) -> Result<Option<PersonDecision>, String> {
        Ok(None)
    }
}

/// Receiver of measurements. The lower layers count here, and the top layer declares the metrics.
pub trait Meter: Send + Sync {
    /// Counts one measurement.
    fn count(&self, measure: &Measurement);
}

/// Meter that ignores all measurements.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMeter;

impl Meter for NoMeter {
    fn count(&self, _measure: &Measurement) {}
}
