//! Defines the commands that the driver runs next.

use crate::conclusion::Conclusion;
use crate::event::CommandId;
use crate::plan::StepId;
use crate::tool::ToolCall;

/// A question to the analyst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Asks for a plan, if one is needed.
    Plan,
    /// Asks for the next calls of a step, or for its result.
    Turn {
        /// The step.
        step: StepId,
        /// Number of the turn, counted from 1.
        turn: u32,
    },
    /// Asks to judge the last action and for the next one.
    Decide,
    /// Asks whether the plan still fits.
    Reflect,
    /// Asks for the conclusion.
    Conclude,
    /// Asks for the conclusion again, without claims that their evidence does not support.
    RepairClaims,
    /// Asks for the conclusion again, with the actor's values blanked.
    Counterfactual,
}

/// One command. Its id is the same on every replay of the journal.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Asks the analyst.
    Ask {
        /// The command's id.
        id: CommandId,
        /// The question.
        question: Question,
    },
    /// Calls a tool with checked arguments.
    Call {
        /// The command's id.
        id: CommandId,
        /// The call.
        call: ToolCall,
    },
    /// Reads the rules that may clear the alert.
    Exonerate {
        /// The command's id.
        id: CommandId,
    },
    /// Closes the case.
    Conclude(Box<Conclusion>),
}

impl Command {
    /// Returns the command's id. Closing the case has none, because it is an event of its own.
    #[must_use]
    pub const fn id(&self) -> Option<&CommandId> {
        match self {
            Self::Ask { id, .. } | Self::Call { id, .. } | Self::Exonerate { id } => Some(id),
            Self::Conclude(_) => None,
        }
    }
}
