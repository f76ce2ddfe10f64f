//! Tests the worker as a process: alerts enter a source, reports are delivered, and no failure in between loses
//! anything.

pub(crate) mod blobs;
mod canary;
mod chaos;
mod circuit;
pub(crate) mod desk;
mod gone;
mod killed;
mod life;
mod outage;
mod posted;
pub(crate) mod production;
mod recheck;
mod refused;
pub(crate) mod reload;
pub(crate) mod resume;
mod said;
mod sending;
mod shown;
mod stays;
