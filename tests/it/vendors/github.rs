//! Provides the fake of GitHub issues, with their limits.

/// Limits from `worker/destinations`, which names their sources.
mod body {
    pub(super) const TITLE: usize = 256;
    pub(super) const BODY: usize = 65_536;
    pub(super) const LABEL: usize = 50;
}
#[path = "../../../worker/destinations/src/github/world.rs"]
#[expect(
    dead_code,
    reason = "what only the tests of worker/destinations ask for"
)]
mod world;

pub(crate) use world::Repo;
