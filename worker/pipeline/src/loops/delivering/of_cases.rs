//! Shows the reports of some cases for a command that somebody waits for. It uses the rules of the loop, so that
//! nothing is posted twice beside a worker and no other case is sent.

use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::Delivering;
use crate::case::CaseId;
use crate::loops::pause;
use crate::port::{Due, StoreError};
use crate::spans;

/// Reports that are read. A report behind more than these is left to a worker.
const MOST_READ: usize = 1_000;

impl Delivering {
    /// Shows these cases as far as they are due, and returns how many were attempted. Returns `None` if some are due
    /// but another process serves the destination and shows them.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written. Reports that were not shown stay due.
    pub async fn show_cases(
        &self,
        cases: &[CaseId],
        stop: &CancellationToken,
    ) -> Result<Option<usize>, StoreError> {
        let span = spans::of_destination(self.destination.name());
        self.show_due(cases, stop).instrument(span).await
    }

    async fn show_due(
        &self,
        cases: &[CaseId],
        stop: &CancellationToken,
    ) -> Result<Option<usize>, StoreError> {
        if self.due_of(cases).await?.is_empty() {
            return Ok(Some(0));
        }
        if !self.serves().await? {
            return Ok(None);
        }
        let tried = self.try_each(cases, stop).await;
        self.leave().await;
        tried.map(Some)
    }

    async fn try_each(
        &self,
        cases: &[CaseId],
        stop: &CancellationToken,
    ) -> Result<usize, StoreError> {
        let mut tried = 0;
        let mut has_sent = false;
        // The list is read again, because the process that served the destination before may have shown some.
        for one in self.due_of(cases).await? {
            let is_wanted = self.destination.wants(&one.showing);
            if has_sent && is_wanted {
                pause(self.destination.pace(), stop).await;
            }
            if self.in_turn(one, stop).await?.is_none() {
                break;
            }
            tried += 1;
            has_sent |= is_wanted;
        }
        Ok(tried)
    }

    async fn due_of(&self, cases: &[CaseId]) -> Result<Vec<Due>, StoreError> {
        let mut due = self.outbox.due(self.destination.name(), MOST_READ).await?;
        due.retain(|one| cases.contains(&one.case_id));
        Ok(due)
    }
}
