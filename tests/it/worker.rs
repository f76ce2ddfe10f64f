//! Tests the worker as a process: alerts enter a source, reports are delivered, and no failure in between loses
//! anything.

pub(crate) mod blobs;
mod canary;
mod chaos;
mod circuit;
mod deliveries;
pub(crate) mod fixture;
mod killed;
mod life;
mod outage;
mod posted;
pub(crate) mod production;
mod recheck;
mod refused;
pub(crate) mod reload;
mod renamed_destination;
mod requests_during_reload;
pub(crate) mod resume;
mod sending;
mod terminal_output;
