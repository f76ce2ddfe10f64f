//! The journal of a case: what happened, in order. The state of a case is the fold of its events.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, written_time};
use serde::{Deserialize, Serialize};

use crate::{
    ActionTemplate, Again, AskError, Conclusion, ConclusionDraft, Conduct, Cost, Decision,
    Exoneration, Limits, PlanAnswer, Reflection, StepId, ToolError, ToolOutput, ToolSpec,
    TurnAnswer,
};

/// Version of the journal that this engine writes; it folds this one and older ones.
pub const JOURNAL_VERSION: u32 = 1;

/// Name of a command, the same whenever the journal leads to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommandId(pub String);

impl CommandId {
    /// The look at earlier cases, always the first.
    #[must_use]
    pub fn past_cases() -> Self {
        Self("call:past_cases".to_owned())
    }

    /// The plan question.
    #[must_use]
    pub fn plan() -> Self {
        Self("plan".to_owned())
    }

    /// The `turn`th question of a step, counted from 1.
    #[must_use]
    pub fn turn(step: &StepId, turn: u32) -> Self {
        Self(format!("turn:{step}:{turn}"))
    }

    /// The `index`th call after the `turn`th question; turn 0 are the calls that the plan carried.
    #[must_use]
    pub fn call(step: &StepId, turn: u32, index: usize) -> Self {
        Self(format!("call:{step}:{turn}:{index}"))
    }

    /// The `number`th decision of an adaptive case, counted from 1.
    #[must_use]
    pub fn decide(number: usize) -> Self {
        Self(format!("decide:{number}"))
    }

    /// The `number`th reflection, counted from 1.
    #[must_use]
    pub fn reflect(number: u32) -> Self {
        Self(format!("reflect:{number}"))
    }

    /// A look-up that the ledger demands: the id tells the call itself.
    #[must_use]
    pub fn lookup(call: &crate::ToolCall) -> Self {
        Self(format!("lookup:{}", call.identity()))
    }

    /// The call of such a look-up.
    pub(crate) fn looked_up(&self) -> Option<crate::ToolCall> {
        let (tool, arguments) = self.0.strip_prefix("lookup:")?.split_once('(')?;
        let arguments = serde_json::from_str(arguments.strip_suffix(')')?).ok()?;
        Some(crate::ToolCall::new(tool, arguments))
    }

    /// The rules that may clear the alert.
    #[must_use]
    pub fn exonerate() -> Self {
        Self("exonerate".to_owned())
    }

    /// The conclude question.
    #[must_use]
    pub fn conclude() -> Self {
        Self("conclude".to_owned())
    }

    /// The conclude question again, with what was wrong with its claims.
    #[must_use]
    pub fn mend() -> Self {
        Self("conclude:2".to_owned())
    }

    /// The conclude question again, with the actor's fields blanked.
    #[must_use]
    pub fn blanked() -> Self {
        Self("conclude:blanked".to_owned())
    }
}

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnalystKind {
    /// Rules; no model is used.
    Playbook,
    /// A language model.
    Model,
}

impl AnalystKind {
    /// The word used in JSON and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Playbook => "playbook",
            Self::Model => "model",
        }
    }
}

/// Everything that a case is run with, resolved when it is opened, so that its journal alone tells its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// [`JOURNAL_VERSION`] of the writer.
    pub version: u32,
    /// The case.
    pub case_id: String,
    /// Which triage of it, counted from 1.
    pub revision: u32,
    /// The alert: E0.
    pub alert: Arc<Alert>,
    /// Name of the profile.
    pub profile: String,
    /// Who thinks.
    pub analyst: AnalystKind,
    /// The models in use, `provider/name`; none for the playbook analyst.
    pub models: Vec<String>,
    /// The caps.
    pub limits: Limits,
    /// What is charged for a question before it is asked.
    pub reserve: Cost,
    /// The tools of the profile.
    pub tools: Arc<[ToolSpec]>,
    /// The actions that a report may advise.
    pub actions: Arc<[Arc<ActionTemplate>]>,
    /// How the profile wants its cases worked on.
    #[serde(default)]
    pub conduct: Conduct,
    /// What fences data in the prompts of this case: drawn at random, so that nobody outside can write it.
    #[serde(default)]
    pub delimiter: String,
    /// What pseudonyms in the prompts of this case are made with: drawn at random too, and told to no model. Empty in
    /// journals of older versions.
    #[serde(default)]
    pub pseudonym_key: String,
    /// Hash of the prompts in use, so that a replay can tell whether they changed; empty where no model is asked.
    #[serde(default)]
    pub prompts: String,
    /// What was said of it before; none where this is its first triage that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Box<Again>>,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Outcome {
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

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventBody {
    /// The case was opened.
    Opened(Box<Opened>),
    /// A worker took it; what older epochs started and did not finish is lost, stays charged, and runs again.
    Claimed {
        /// The epoch.
        epoch: u64,
    },
    /// A command was started.
    Started {
        /// Which one.
        id: CommandId,
        /// How often it was started, this time included.
        attempt: u32,
        /// What is charged for it until it is settled.
        reserved: Cost,
    },
    /// A command ended.
    Finished {
        /// Which one.
        id: CommandId,
        /// What became of it.
        outcome: Box<Outcome>,
        /// What it cost.
        cost: Cost,
        /// Why a lesser analyst answered, where one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        degraded: Option<AskError>,
        /// The model that answered, `provider/name`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// What the rules want answered before anything is cleared, and is not. Beside the outcome, so that programs which do
        /// not know it read the rest.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unanswered: Vec<String>,
    },
    /// A command came to nothing, through no fault of the case: it will be started again.
    Withdrawn {
        /// Which one.
        id: CommandId,
        /// What it cost all the same.
        #[serde(default, skip_serializing_if = "Cost::is_nothing")]
        cost: Cost,
        /// Whether it stood in line for its model until its time was over: the model is up, and answers others.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_line: bool,
    },
    /// The active time is used up; what was started and did not finish is lost and stays charged.
    TimeUp,
    /// Somebody called the case off.
    Cancelled {
        /// Who.
        by: String,
    },
    /// The case is concluded.
    Concluded(Box<Conclusion>),
}

impl EventBody {
    /// The kinds of this version, as they are written.
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

    /// Its kind, as it is written.
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

    /// The command that it is about, if it is about one.
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
    /// When, by the clock of the driver that wrote it.
    #[serde(serialize_with = "written_time")]
    pub at: DateTime<Utc>,
    /// What.
    #[serde(flatten)]
    pub body: EventBody,
}

impl Event {
    /// An event at this time.
    #[must_use]
    pub const fn new(at: DateTime<Utc>, body: EventBody) -> Self {
        Self { at, body }
    }
}
