//! Tests the program as people run it: input and errors, reports, configuration, help, and a kill at any point.

mod again;
mod config;
mod declared;
mod explain;
mod export;
mod feedback;
mod help;
mod input;
mod kill;
mod mutes;
pub(crate) mod removed_destination;
mod report;
mod strategy;
mod webhook;
mod workflow;
