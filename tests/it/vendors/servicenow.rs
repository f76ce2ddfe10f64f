//! Provides the fake of ServiceNow, with its limits.

/// Limits from `worker/destinations`, which names their sources.
mod record {
    pub(super) const SHORT: usize = 160;
    pub(super) const LONG: usize = 4_000;
    pub(super) const CORRELATION: usize = 100;
}
#[path = "../../../worker/destinations/src/servicenow/world.rs"]
mod world;

pub(crate) use world::Instance;
