//! The path of one alert: intake ▸ inbox ▸ triage ▸ outbox ▸ delivery.
//!
//! The crate has three loops and the rules between them. It contains no SQL and no vendor code: stores, sources and
//! destinations are behind the traits of `port`. The crate decides what a report says, and destinations decide how it
//! looks: see [`Report`].

pub mod admission;
pub mod budget;
pub mod canary;
pub mod case;
pub mod console;
pub mod delivery;
pub mod desk;
pub mod digest;
pub mod export;
pub mod feedback;
pub mod intake;
pub mod language;
pub mod look;
pub mod loops;
pub mod muted;
mod naming;
pub mod port;
pub mod probe;
pub mod profile;
pub mod recheck;
pub mod replay;
pub mod report;
pub mod route;
pub mod showing;
pub mod spans;
pub mod triage;
pub mod upkeep;
