//! Defines the minutes by which an event may lie outside the window of a row.

use nightshift_engine::exoneration::MAX_SLACK_MINS;
use nightshift_engine::tool::ToolOutput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Minutes of slack at both ends of a window, since clocks differ and feeds round times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u8")]
pub struct SlackMins(#[schemars(range(max = 15))] u8);

impl Default for SlackMins {
    fn default() -> Self {
        Self(5)
    }
}

impl TryFrom<u8> for SlackMins {
    type Error = String;

    fn try_from(mins: u8) -> Result<Self, String> {
        match mins {
            0..=MAX_SLACK_MINS => Ok(Self(mins)),
            _ => Err(format!(
                "`slack_mins` is {mins}: at most {MAX_SLACK_MINS} minutes; let the row's window be longer instead"
            )),
        }
    }
}

impl SlackMins {
    /// Sets the slack on the exonerations of an answer.
    pub(crate) fn apply(self, mut output: ToolOutput) -> ToolOutput {
        for record in &mut output.exonerations {
            record.slack_mins = self.0;
        }
        output
    }
}
