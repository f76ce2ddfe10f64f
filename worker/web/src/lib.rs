//! The HTTP server: pages of cases, their JSON, health, readiness and metrics, Slack interactions, and the HTTP
//! intake.
//!
//! The pages are read-only and rendered on the server, without any script, so that they work on a telephone and under
//! a strict content security policy. Cases come through the ports of the pipeline; this crate knows no store and no
//! command line. Every string from an alert, a tool or an analyst is hostile and reaches a page only as `Shown`.

mod access;
mod api;
mod body;
mod config;
mod examine;
mod guard;
mod health;
mod hosts;
mod intake;
mod page;
mod query;
mod server;
mod shown;
mod site;
mod slack;
mod told;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod testing;

pub use config::{TrustedProxy, WebConfig, WebError};
pub use examine::examine;
pub use health::{MetricsText, Readiness, SourceReady, StoreReady};
pub use intake::{
    HttpConfig, HttpIntake, HttpPublisher, HttpSource, IntakeSecrets,
    PushConfig as HttpPubsubConfig, SignersKeys, SnsConfig as HttpSnsConfig, wrong_secrets,
};
pub use server::{Bound, Doors, Relieved, Server, ServerOptions};
pub use site::{DeliveryLinks, Parts};
pub use slack::{Slack, SlackAnswers, SlackDesk, SlackSecret};
