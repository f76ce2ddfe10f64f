//! Delivers reports: to files, standard output, Slack, webhooks, ticket systems and PagerDuty.
//!
//! A module per destination has its protocol and its configuration. What a report says and how it is written is that of
//! `nightshift-render`; retries, order and rate are those of the delivery loop.

mod checkup;
mod file;
mod github;
mod http;
mod jira;
mod mark;
mod pagerduty;
mod policy;
mod rest;
mod servicenow;
mod slack;
mod stdout;
mod ticket;
mod ticket_config;
mod tracker;
mod webhook;

#[cfg(test)]
mod fake;
#[cfg(test)]
#[path = "../../render/src/fixture.rs"]
mod fixture;
#[cfg(test)]
mod inert;
#[cfg(test)]
mod trial;

use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;
#[cfg(test)]
use nightshift_render::TextOptions;

pub use file::{FileDestination, FileFormat};
pub use github::{GitHubConfig, GitHubDestination};
pub use http::DestinationError;
pub use jira::{JiraConfig, JiraDestination};
pub use pagerduty::{PagerDutyConfig, PagerDutyDestination};
pub use servicenow::{ResolveConfig, ServiceNowConfig, ServiceNowDestination};
pub use slack::{SlackConfig, SlackDestination};
pub use stdout::StdoutDestination;
pub use webhook::{WebhookConfig, WebhookDestination};

/// Returns the id of the report's case if it parses. Nightshift makes case ids, but file names and headers are not
/// built from unchecked text.
fn case_id(report: &Report) -> Result<&str, DeliveryError> {
    let id = report.case_id.as_str();
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if id.is_empty() || id.len() > 100 || !id.chars().all(harmless) {
        return Err(DeliveryError::Permanent {
            what: format!("{id:?} is not a valid case id"),
        });
    }
    Ok(id)
}
