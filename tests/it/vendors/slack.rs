//! Provides the fake of Slack.

#[path = "../../../worker/report/src/destination/slack/stub.rs"]
#[expect(dead_code, reason = "what only the tests of worker/report ask for")]
mod stub;

pub(crate) use stub::phone::lines as phone_lines;
pub(crate) use stub::{CHANNEL, PostedMessage, Slack, SlackFault, TOKEN};
