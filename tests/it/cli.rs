//! Tests the program as people run it: input and errors, reports, configuration, help, and a kill at any point.

mod again;
mod config;
mod desk;
mod explain;
mod export;
mod feedback;
pub(crate) mod gone;
mod help;
mod input;
mod kill;
mod mutes;
mod report;
mod strategy;
mod webhook;
