//! Provides the fake of Slack.

#[path = "../../../worker/destinations/src/slack/stub.rs"]
#[expect(
    dead_code,
    reason = "what only the tests of worker/destinations ask for"
)]
mod stub;

pub(crate) use stub::phone::lines as phone_lines;
pub(crate) use stub::{CHANNEL, PostedMessage, Slack, SlackFault, TOKEN};
