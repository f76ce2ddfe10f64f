//! Provides the fake of Jira Cloud, with its limits.

/// Limits from `worker/report`, which names their sources.
mod page {
    pub(super) const SUMMARY: usize = 255;
    pub(super) const DOCUMENT: usize = 32_767;
    pub(super) const LABEL: usize = 255;
}
#[path = "../../../worker/report/src/destination/jira/schema.rs"]
mod schema;
#[path = "../../../worker/report/src/destination/jira/world.rs"]
mod world;

pub(crate) use world::Site;
