//! Defines events of the journal. The state of a case is the fold of its events.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, serialize_rfc3339};
use serde::{Deserialize, Serialize};

use crate::catalogue::ActionTemplate;
use crate::conclusion::{Conclusion, ConclusionDraft};
use crate::exoneration::Exoneration;
use crate::limits::{Cost, TriageLimits};
use crate::plan::StepId;
use crate::previous_run::PreviousRun;
use crate::question::{AskError, Decision, PlanAnswer, Reflection, TurnAnswer};
use crate::strategy::TriageOptions;
use crate::tool::{ToolError, ToolOutput, ToolSpec};

/// Version of the journal that this engine writes. The engine also folds older versions.
pub const JOURNAL_VERSION: u32 = 1;

/// Id of a command, the same on every replay of the journal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommandId(pub String);

impl CommandId {
    /// Returns the id of the look-up of earlier cases, always the first.
    #[must_use]
    pub fn past_cases() -> Self {
        Self("call:past_cases".to_owned())
    }

    /// Returns the id of the plan question.
    #[must_use]
    pub fn plan() -> Self {
        Self("plan".to_owned())
    }

    /// Returns the id of the `turn`th question of a step, counted from 1.
    #[must_use]
    pub fn turn(step: &StepId, turn: u32) -> Self {
        Self(format!("turn:{step}:{turn}"))
    }

    /// Returns the id of the `index`th call after the `turn`th question. Turn 0 holds the calls of the plan.
    #[must_use]
    pub fn call(step: &StepId, turn: u32, index: usize) -> Self {
        Self(format!("call:{step}:{turn}:{index}"))
    }

    /// Returns the id of the `number`th decision of an adaptive case, counted from 1.
    #[must_use]
    pub fn decide(number: usize) -> Self {
        Self(format!("decide:{number}"))
    }

    /// Returns the id of the `number`th reflection, counted from 1.
    #[must_use]
    pub fn reflect(number: u32) -> Self {
        Self(format!("reflect:{number}"))
    }

    /// Returns the id of a look-up that the ledger demands. The id holds the call itself.
    #[must_use]
    pub fn lookup(call: &crate::tool::ToolCall) -> Self {
        Self(format!("lookup:{}", call.identity()))
    }

    /// Returns the call of such a look-up.
    pub(crate) fn lookup_call(&self) -> Option<crate::tool::ToolCall> {
        let (tool, arguments) = self.0.strip_prefix("lookup:")?.split_once('(')?;
        let arguments = serde_json::from_str(arguments.strip_suffix(')')?).ok()?;
        Some(crate::tool::ToolCall::new(tool, arguments))
    }

    /// Returns the id of reading the rules that may clear the alert.
    #[must_use]
    pub fn exonerate() -> Self {
        Self("exonerate".to_owned())
    }

    /// Returns the id of the conclude question.
    #[must_use]
    pub fn conclude() -> Self {
        Self("conclude".to_owned())
    }

    /// Returns the id of the second conclude question, which names the problems of its claims.
    #[must_use]
    pub fn repair_claims() -> Self {
        Self("conclude:2".to_owned())
    }

    /// Returns the id of the conclude question with the actor's values blanked.
    #[must_use]
    pub fn counterfactual() -> Self {
        Self("conclude:blanked".to_owned())
    }
}

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Kind of analyst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnalystKind {
    /// Rules without a model.
    Playbook,
    /// A language model.
    Model,
}

impl AnalystKind {
    /// Returns the word used in JSON and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Playbook => "playbook",
            Self::Model => "model",
        }
    }
}

/// Everything that a case is run with, resolved when it is opened, so that the journal alone determines its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseSetup {
    /// [`JOURNAL_VERSION`] of the writer.
    pub version: u32,
    /// Id of the case.
    pub case_id: String,
    /// Revision of the case, counted from 1.
    pub revision: u32,
    /// The alert, which is evidence E0.
    pub alert: Arc<Alert>,
    /// Name of the profile.
    pub profile: String,
    /// Kind of analyst.
    pub analyst: AnalystKind,
    /// Models in use, as `provider/name`; empty for the playbook analyst.
    pub models: Vec<String>,
    /// Limits of the case.
    pub limits: TriageLimits,
    /// Cost that is charged for a question before it is asked.
    pub reserve: Cost,
    /// Tools of the profile.
    pub tools: Arc<[ToolSpec]>,
    /// Actions that a report may advise.
    pub actions: Arc<[Arc<ActionTemplate>]>,
    /// Options of the profile for its cases.
    pub options: TriageOptions,
    /// Delimiter of data in the prompts of this case. It is random, so that nobody outside can write it.
    pub delimiter: String,
    /// Random key of the pseudonyms in this case's prompts. No model sees it.
    pub pseudonym_key: String,
    /// Hash of the prompts in use, by which a replay detects changes; empty where no model is asked.
    pub prompts_hash: String,
    /// Result of the previous run; `None` when no triage of this case ended before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_run: Option<Box<PreviousRun>>,
}

/// Outcome of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum CommandOutcome {
    /// The plan question was answered.
    Planned(PlanAnswer),
    /// A turn was answered.
    Turned(TurnAnswer),
    /// A decision of an adaptive case was answered.
    Decided(Decision),
    /// A reflection was answered.
    Reflected(Reflection),
    /// The conclude question was answered.
    Drafted(Box<ConclusionDraft>),
    /// A tool answered.
    Called(ToolOutput),
    /// The rules that may clear the alert were read.
    Exonerated(Vec<Exoneration>),
    /// A tool gave no answer.
    CallFailed(ToolError),
    /// A question got no answer.
    AskFailed(AskError),
}

/// Body of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventBody {
    /// The case was opened.
    Opened(Box<CaseSetup>),
    /// A worker claimed the case. Commands that older epochs started and did not finish are lost, stay charged and
    /// run again.
    Claimed {
        /// The epoch.
        epoch: u64,
    },
    /// A command was started.
    Started {
        /// Id of the command.
        id: CommandId,
        /// Number of starts of the command, including this one.
        attempt: u32,
        /// Cost that is charged until the command is settled.
        reserved: Cost,
    },
    /// A command ended.
    Finished {
        /// Id of the command.
        id: CommandId,
        /// Outcome of the command.
        outcome: Box<CommandOutcome>,
        /// Cost of the command.
        cost: Cost,
        /// Reason why a fallback analyst answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        degraded: Option<AskError>,
        /// Model that answered, as `provider/name`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Questions of the rules that must be answered before clearing, and are not. The field is separate from the
        /// outcome, so that programs which do not know it can read the rest.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unanswered: Vec<String>,
    },
    /// A command was withdrawn through no fault of the case. It will be started again.
    Withdrawn {
        /// Id of the command.
        id: CommandId,
        /// Cost that the command incurred.
        #[serde(default, skip_serializing_if = "Cost::is_nothing")]
        cost: Cost,
        /// True if the command waited for its model until its time was over. The model is up and answers others.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_line: bool,
    },
    /// The active time is used up. Commands that did not finish are lost and stay charged.
    TimeUp,
    /// A person cancelled the case.
    Cancelled {
        /// Name of the person.
        by: String,
    },
    /// The case is concluded.
    Concluded(Box<Conclusion>),
}

impl EventBody {
    /// Stored words of the kinds of events of this version.
    pub const KINDS: &'static [&'static str] = &[
        "opened",
        "claimed",
        "started",
        "finished",
        "withdrawn",
        "time_up",
        "cancelled",
        "concluded",
    ];

    /// Returns the stored word of the event's kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Opened(_) => "opened",
            Self::Claimed { .. } => "claimed",
            Self::Started { .. } => "started",
            Self::Finished { .. } => "finished",
            Self::Withdrawn { .. } => "withdrawn",
            Self::TimeUp => "time_up",
            Self::Cancelled { .. } => "cancelled",
            Self::Concluded(_) => "concluded",
        }
    }

    /// Returns the id of the command that the event is about, if any.
    #[must_use]
    pub const fn command(&self) -> Option<&CommandId> {
        match self {
            Self::Started { id, .. } | Self::Finished { id, .. } | Self::Withdrawn { id, .. } => {
                Some(id)
            }
            _ => None,
        }
    }
}

/// An event with the driver's time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Time of the driver that wrote the event.
    #[serde(serialize_with = "serialize_rfc3339")]
    pub at: DateTime<Utc>,
    /// Body of the event.
    #[serde(flatten)]
    pub body: EventBody,
}

impl Event {
    /// Creates an event at this time.
    #[must_use]
    pub const fn new(at: DateTime<Utc>, body: EventBody) -> Self {
        Self { at, body }
    }
}
