//! Writes reports and digests as blocks of Slack: the main message of a case, which fits on a phone, and its thread.
//!
//! Posting and editing belong to the destination. Source: <https://docs.slack.dev/reference/block-kit>.

pub mod blocks;
mod buttons;
mod change;
pub mod digest;
mod limits;
mod phone;
pub mod rich;
pub mod thread;
