//! What the driver is to do next.

use crate::{CommandId, Conclusion, StepId, ToolCall};

/// A question to the analyst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Is a plan needed, and which.
    Plan,
    /// The next calls of a step, or its result.
    Turn {
        /// The step.
        step: StepId,
        /// Which turn, counted from 1.
        turn: u32,
    },
    /// What came of the last action, and what next.
    Decide,
    /// Does the plan still fit.
    Reflect,
    /// What was it.
    Conclude,
    /// What was it, without claims that their evidence does not bear.
    Mend,
    /// What was it, if the actor had said nothing.
    Blanked,
}

/// One thing to do. Its id is the same whenever the journal leads to it.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Ask the analyst.
    Ask {
        /// The command's id.
        id: CommandId,
        /// The question.
        question: Question,
    },
    /// Call a tool; the arguments are checked.
    Call {
        /// The command's id.
        id: CommandId,
        /// The call.
        call: ToolCall,
    },
    /// Read the rules that may clear the alert.
    Exonerate {
        /// The command's id.
        id: CommandId,
    },
    /// Close the case.
    Conclude(Box<Conclusion>),
}

impl Command {
    /// The command's id; closing the case has none, for it is an event of its own.
    #[must_use]
    pub const fn id(&self) -> Option<&CommandId> {
        match self {
            Self::Ask { id, .. } | Self::Call { id, .. } | Self::Exonerate { id } => Some(id),
            Self::Conclude(_) => None,
        }
    }
}
