//! The worker, as a process: alerts go into a source, reports come out, and whatever happens to it between loses nothing.

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
