//! Destinations: files, the standard output, Slack, and a webhook.

mod file;
mod http;
mod slack;
mod stdout;
mod webhook;

use nightshift_pipeline::{DeliveryError, Report};

pub use file::{FileDestination, Format};
pub use http::{Access, DestinationError, SecretSource};
pub use slack::{SLACK_API, SlackConfig, SlackDestination, SlackWay};
pub use stdout::StdoutDestination;
pub use webhook::{WebhookConfig, WebhookDestination};

/// The id of a report's case. It is our own, but names of files and headers are not built on trust.
fn case_id(report: &Report) -> Result<&str, DeliveryError> {
    let id = report.case_id.as_str();
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if id.is_empty() || id.len() > 100 || !id.chars().all(harmless) {
        return Err(DeliveryError::Never {
            what: format!("{id:?} is no case id that a report can be sent by"),
        });
    }
    Ok(id)
}
