//! Provides the fake of PagerDuty's Events API, with its limits.

/// Limits from `worker/destinations`, which names their sources.
mod event {
    pub(super) const SUMMARY: usize = 1_024;
    pub(super) const EVENT_BYTES: usize = 512 * 1024;
}
mod config {
    pub(super) const SEVERITIES: [&str; 4] = ["critical", "error", "warning", "info"];
}
#[path = "../../../worker/destinations/src/pagerduty/world.rs"]
mod world;

pub(crate) use world::Service;
