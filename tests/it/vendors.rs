//! Provides fakes of Slack, Jira, ServiceNow, PagerDuty and GitHub for tests of the whole program. These strict,
//! stateful fakes come from the same files as in the tests of `worker/destinations`.

#[path = "../../worker/destinations/src/fake.rs"]
#[expect(
    dead_code,
    reason = "what only the tests of worker/destinations ask for"
)]
mod fake;
mod github;
mod jira;
mod pagerduty;
mod servicenow;
mod slack;
mod trial;
mod webhook;

pub(crate) use fake::{Fake, Fault};
pub(crate) use github::Repo;
pub(crate) use jira::Site;
pub(crate) use pagerduty::Service;
pub(crate) use servicenow::Instance;
pub(crate) use slack::{CHANNEL, PostedMessage, Slack, SlackFault, TOKEN, phone_lines};
pub(crate) use trial::Tickets;
