//! Provides the HTTP server: pages of cases, their JSON, health, readiness and metrics, Slack interactions, and the
//! HTTP intake.
//!
//! The pages are read-only and rendered on the server, without any script, so that they work on a telephone and under a
//! strict content security policy. Cases come through the ports of the pipeline; this crate knows no store and no
//! command line. Every string from an alert, a tool or an analyst is hostile and reaches a page only through
//! [`nightshift_render::Line`].

mod access;
mod api;
mod app_state;
mod body;
mod config;
mod doctor;
mod health;
mod hosts;
mod intake;
mod log_throttle;
mod middleware;
mod page;
mod query;
mod server;
mod slack;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod testing;

pub use app_state::{DeliveryLinks, ServerParts};
pub use config::{TrustedProxy, WebConfig, WebError};
pub use doctor::probe;
pub use health::{MetricsText, Readiness, SourceReadiness, StoreReadiness};
pub use intake::{
    HttpConfig, HttpIntake, HttpPublisher, HttpPubsubConfig, HttpSnsConfig, HttpSource,
    IntakeSecrets, SigningKeyCache, secret_problems,
};
pub use server::{BoundServer, Listeners, Server, ServerOptions};
pub use slack::{SlackIntegration, SlackReplies, SlackWorkspace};
