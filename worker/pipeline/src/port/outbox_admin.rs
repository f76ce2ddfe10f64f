//! Defines the port to pending reports of all destinations, including those that nobody serves. Reports of a name that
//! was removed from the configuration would otherwise never be delivered.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::case::CaseId;
use crate::port::StoreError;

/// Number of pending reports of a destination, counted like [`crate::case::Backlog`]: without those that were given up and
/// without updates of counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DestinationBacklog {
    /// Name of the destination.
    pub destination: String,
    pub reports: u64,
    /// Time since when the oldest report is requested.
    pub since: DateTime<Utc>,
}

/// Store of pending reports. Only the process that serves a destination gives up or forgets reports there.
#[async_trait]
pub trait OutboxAdmin: Send + Sync {
    /// Returns the destinations with pending reports, by name.
    async fn backlogs(&self) -> Result<Vec<DestinationBacklog>, StoreError>;

    /// Returns cases with reports pending at this destination, the longest requested first.
    async fn undelivered_cases(
        &self,
        destination: &str,
        most: usize,
    ) -> Result<Vec<CaseId>, StoreError>;

    /// Gives up the pending reports of these cases at this destination, and returns their number. An attempt in doubt
    /// stays in doubt: it is looked up if a route names the destination for that case again.
    async fn give_up(
        &self,
        destination: &str,
        cases: &[CaseId],
        why: &str,
    ) -> Result<u64, StoreError>;

    /// Forgets what this destination shows, so that it gets no updates of these cases. The remote ids stay known.
    async fn forget_delivered(&self, destination: &str) -> Result<(), StoreError>;
}
