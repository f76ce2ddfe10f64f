//! The rendered report: what people see of a case, made from the typed [`nightshift_pipeline::Report`].
//!
//! A report becomes a document (what is said, in which order), and a writer gives the document its looks: [`text`] for
//! the terminal, [`markdown`] for files and tickets. [`json`] is for machines and is the report as it stands. Every string
//! that came from an alert, a tool or an analyst is hostile: none gets into a document but through
//! [`nightshift_alert::text::plain`]. Nothing is judged or computed here that the report does not already say.

mod destination;
mod document;
mod json;
mod line;
mod links;
mod markdown;
mod text;
mod words;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod hostile;

pub use destination::{
    Access, DestinationError, FileDestination, Format, GitHubConfig, GitHubDestination, JiraConfig,
    JiraDestination, PagerDutyConfig, PagerDutyDestination, SLACK_API, SecretSource,
    ServiceNowConfig, ServiceNowDestination, ServiceNowResolve, SlackConfig, SlackDestination,
    SlackWay, StdoutDestination, TicketPolicy, WebhookConfig, WebhookDestination,
};
pub use json::json;
pub use links::{Links, console};
pub use markdown::{markdown, markdown_in};
pub use nightshift_pipeline::Language;
pub use text::{TextOptions, text};
