//! Provides the fake of Jira Cloud, with its limits.

/// Limits from `worker/destinations`, which names their sources.
mod page {
    pub(super) const SUMMARY: usize = 255;
    pub(super) const DOCUMENT: usize = 32_767;
    pub(super) const LABEL: usize = 255;
}
#[path = "../../../worker/destinations/src/jira/schema.rs"]
mod schema;
#[path = "../../../worker/destinations/src/jira/world.rs"]
mod world;

pub(crate) use world::Site;
