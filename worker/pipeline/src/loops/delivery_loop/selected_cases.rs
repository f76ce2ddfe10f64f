//! Shows the reports of some cases for a command that a person waits for. It uses the rules of the loop, so that
//! nothing is posted twice beside a worker and no other case is sent.

use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::DeliveryLoop;
use crate::case::CaseId;
use crate::loops::pause;
use crate::port::{PendingDelivery, StoreError};
use crate::spans;

/// Maximum number of reports that are read. A report behind more than these is left to a worker.
const MAX_SCANNED: usize = 1_000;

impl DeliveryLoop {
    /// Shows these cases as far as they are due, and returns how many were attempted. Returns `None` if some are due
    /// but another process serves the destination and shows them.
    ///
    /// # Errors
    ///
    /// Returns an error when the store cannot be read or written. Reports that were not shown stay due.
    pub async fn deliver_cases(
        &self,
        cases: &[CaseId],
        stop: &CancellationToken,
    ) -> Result<Option<usize>, StoreError> {
        let span = spans::destination_span(self.destination.name());
        self.deliver_due_of(cases, stop).instrument(span).await
    }

    async fn deliver_due_of(
        &self,
        cases: &[CaseId],
        stop: &CancellationToken,
    ) -> Result<Option<usize>, StoreError> {
        if self.due_deliveries_of(cases).await?.is_empty() {
            return Ok(Some(0));
        }
        if !self.acquire_lease().await? {
            return Ok(None);
        }
        let tried = self.attempt_each(cases, stop).await;
        self.release_lease().await;
        tried.map(Some)
    }

    async fn attempt_each(
        &self,
        cases: &[CaseId],
        stop: &CancellationToken,
    ) -> Result<usize, StoreError> {
        let mut tried = 0;
        let mut has_sent = false;
        // The list is read again, because the process that served the destination before may have shown some.
        for one in self.due_deliveries_of(cases).await? {
            let is_wanted = self.destination.wants(&one.payload);
            if has_sent && is_wanted {
                pause(self.destination.send_interval(), stop).await;
            }
            if self.deliver_under_lease(one, stop).await?.is_none() {
                break;
            }
            tried += 1;
            has_sent |= is_wanted;
        }
        Ok(tried)
    }

    async fn due_deliveries_of(
        &self,
        cases: &[CaseId],
    ) -> Result<Vec<PendingDelivery>, StoreError> {
        let mut due = self
            .outbox
            .due_deliveries(self.destination.name(), MAX_SCANNED)
            .await?;
        due.retain(|one| cases.contains(&one.case_id));
        Ok(due)
    }
}
