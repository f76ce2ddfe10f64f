//! Provides a receiver that reads HTTP requests, on which Slack's fake is built.

#[path = "../../../worker/destinations/src/webhook/stub.rs"]
#[expect(
    dead_code,
    reason = "what only the tests of worker/destinations ask for"
)]
mod stub;

pub(crate) use stub::{Post, read, say};
