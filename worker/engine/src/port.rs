//! What the engine needs from outside, as traits: adapters live in the crates above.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::{Indicator, IndicatorKind, Resource, Severity, written_time};
use serde::{Deserialize, Serialize};

use crate::{
    AskError, CallContext, ConcludeQuestion, ConclusionDraft, Cost, DecideQuestion, Decision,
    Event, Exoneration, Measure, PlanAnswer, PlanQuestion, ReflectQuestion, Reflection, ToolCall,
    ToolError, ToolOutput, ToolSpec, TurnAnswer, TurnQuestion, Verdict,
};

/// An answer with what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// What it cost.
    pub cost: Cost,
    /// The model that gave it, `provider/name`; none where no model was asked.
    pub model: Option<String>,
}

/// No answer, and what the tries cost all the same.
#[derive(Debug, Clone, PartialEq)]
pub struct NoAnswer {
    /// Why.
    pub error: AskError,
    /// What was spent.
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
    /// An answer that cost nothing.
    pub fn free(value: T) -> Self {
        Self {
            value,
            cost: Cost::default(),
            model: None,
        }
    }

    /// The same answer in other words.
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> Answer<U> {
        Answer {
            value: to(self.value),
            cost: self.cost,
            model: self.model,
        }
    }
}

/// Who thinks. Its answers are proposals: the engine checks every one of them.
#[async_trait]
pub trait Analyst: Send + Sync {
    /// Is a plan needed, and which.
    ///
    /// # Errors
    ///
    /// When no answer can be had; the engine then goes on with less.
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer>;

    /// The next calls of a step, or its result.
    ///
    /// # Errors
    ///
    /// When no answer can be had; the step has then failed.
    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer>;

    /// What came of the last action, and what next.
    ///
    /// # Errors
    ///
    /// When no answer can be had; the case then concludes from what it has.
    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer>;

    /// Does the plan still fit.
    ///
    /// # Errors
    ///
    /// When no answer can be had; the plan then stays as it is.
    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer>;

    /// What was it.
    ///
    /// # Errors
    ///
    /// When no answer can be had; a plain report is then made of what was done.
    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer>;
}

/// The tools of a profile. Arguments were checked when a call arrives here.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// What there is, in a stable order.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Makes one call.
    ///
    /// # Errors
    ///
    /// When the tool gives no answer. An answer without rows is no error.
    async fn call(&self, call: &ToolCall, context: &CallContext) -> Result<ToolOutput, ToolError>;
}

/// The rules that may clear an alert beside the registers: `benign_when` of playbooks and profiles. Code, not analyst;
/// pure over typed fields of what it is shown.
pub trait Exonerator: Send + Sync {
    /// What the rules say of this case.
    fn exonerate(&self, question: &ConcludeQuestion) -> Ruled;
}

/// What rules say of a case whose work has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ruled {
    /// The facts that hold; the engine checks each.
    pub facts: Vec<Exoneration>,
    /// What must have an answer before anything is cleared, and has none, whoever made the plan; a line each, for people.
    pub unanswered: Vec<String>,
}

/// The journal of one case, at one epoch.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Adds events in one transaction.
    ///
    /// # Errors
    ///
    /// When nothing was written: the lease is lost, or the store is away.
    async fn append(&self, events: &[Event]) -> Result<(), JournalError>;

    /// Adds the last events, the conclusion among them, and the deliveries it asks for, in one transaction.
    ///
    /// # Errors
    ///
    /// When nothing was written.
    async fn conclude(&self, events: &[Event], end: &crate::State) -> Result<(), JournalError>;
}

/// Why nothing was written to a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another worker has the case, or the lease has ended.
    #[error("the lease on the case is lost")]
    LeaseLost,
    /// The store did not take it.
    #[error("the journal could not be written")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// What time it is.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> DateTime<Utc>;
}

/// What to look for among earlier cases.
#[derive(Debug, Clone, PartialEq)]
pub struct PastQuery {
    /// The case that asks; it is left out.
    pub case_id: String,
    /// Key of its alert, as text.
    pub key: String,
    /// Finding type of its alert.
    pub kind: String,
    /// Its account.
    pub account: Option<String>,
    /// Values to share; only these are compared.
    pub indicators: Vec<Indicator>,
    /// All who act in its alert, or what it is done to where it names nobody: what people decided about others is left out.
    pub actors: Vec<Indicator>,
    /// No case opened before this.
    pub since: Option<DateTime<Utc>>,
    /// How many at the most.
    pub limit: usize,
}

/// An earlier case, in typed fields: no free text of it crosses into another case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastCase {
    /// The case.
    pub case_id: String,
    /// Key of its alert, as text.
    pub key: String,
    /// Whether it is the same finding.
    pub same_key: bool,
    /// Finding type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// When it was opened.
    #[serde(serialize_with = "written_time")]
    pub opened_at: DateTime<Utc>,
    /// Severity as sent.
    pub severity: Severity,
    /// `queued`, `running`, `concluded`, `failed`, `cancelled`.
    pub status: String,
    /// Verdict, once concluded. A machine's verdict clears nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What a person decided, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_verdict: Option<Verdict>,
    /// The values it shares with this one, by their type: which part each plays stands in this case's own alert.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shared: BTreeMap<IndicatorKind, BTreeSet<String>>,
    /// Tools whose steps failed there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tools: Vec<String>,
}

/// What a person decided over an earlier case, with what it can be compared by. Their words are not in it.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonDecision {
    /// The case.
    pub case_id: String,
    /// Their verdict, the newest over this case.
    pub verdict: Verdict,
    /// Who.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Finding type of the alert that they judged.
    pub kind: String,
    /// Its account.
    pub account: Option<String>,
    /// Its actors.
    pub actors: Vec<Indicator>,
    /// Its targets.
    pub targets: Vec<Indicator>,
    /// Its far ends.
    pub remotes: Vec<Indicator>,
    /// What it concerns, also of kinds that are no indicators.
    pub resources: Vec<Resource>,
    /// Its severity as sent.
    pub severity: Severity,
    /// When its events began.
    pub first_seen: Option<DateTime<Utc>>,
    /// When a person, later, called a case of one of these actors, targets or far ends a true positive. The decision clears
    /// nothing then.
    pub ended_at: Option<DateTime<Utc>>,
}

/// A look at earlier cases.
#[async_trait]
pub trait PastCases: Send + Sync {
    /// Cases that share the key or a value, the newest first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, in words.
    async fn similar(&self, query: &PastQuery) -> Result<Vec<PastCase>, String>;

    /// What a person decided last over a case of the account and finding type in which one of the actors plays the same part;
    /// the case itself counts. None: nobody has decided, or is asked.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, in words.
    async fn decided(&self, _query: &PastQuery) -> Result<Option<PersonDecision>, String> {
        Ok(None)
    }
}

/// Where measurements go. The lower floors count here; the top floor declares the metrics.
pub trait Meter: Send + Sync {
    /// Counts one measurement.
    fn count(&self, measure: &Measure);
}

/// A meter that counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMeter;

impl Meter for NoMeter {
    fn count(&self, _measure: &Measure) {}
}
