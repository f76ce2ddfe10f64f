//! Implements the path of one alert: intake ▸ inbox ▸ triage ▸ outbox ▸ delivery.
//!
//! The crate has three loops and the rules between them. It contains no SQL and no vendor code: stores, sources and
//! destinations are behind the traits of `port`. The crate decides what a report says, and destinations decide how it
//! looks: see [`report::Report`].

pub mod admission;
pub mod blocking;
pub mod budget;
pub mod canary;
pub mod case;
pub mod case_workflow;
pub mod console;
pub mod delivery;
pub mod delivery_payload;
pub mod digest;
pub mod export;
pub mod feedback;
pub mod intake;
pub mod language;
pub mod loops;
pub mod maintenance;
pub mod mutes;
pub mod port;
pub mod probe;
pub mod profile;
pub mod recheck;
pub mod replay;
pub mod report;
pub mod route;
pub mod spans;
pub mod triage;
mod type_globs;
