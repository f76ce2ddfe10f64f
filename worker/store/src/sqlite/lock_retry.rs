//! Retries writes of a running case for as long as its lease may last. Nobody else has its results, and producing them
//! again would cost money. Locks of other processes and a full disk are therefore waited out. A failed attempt is
//! rolled back, so a retry writes nothing twice, and it checks the lease again.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use nightshift_pipeline::port::StoreError;
use tokio::time::Instant;

use super::thread::{SqliteFailure, SqliteThread, TransactionError};
use crate::failure::Remedy;
use crate::sql::{Tx, at_once};

/// The shortest wait between two attempts. It grows up to the longest.
const SHORTEST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

impl SqliteThread {
    /// Implements [`crate::sql::Backend::write_running`].
    pub(crate) async fn write_running<T: Send + 'static>(
        &self,
        doing: &'static str,
        patience: Duration,
        work: impl AsyncFn(Tx<'_>) -> Result<T, SqliteFailure> + Send + Sync + 'static,
    ) -> Result<T, StoreError> {
        let work = Arc::new(work);
        let mut give_up_at = None;
        let mut waits = ExponentialBuilder::new()
            .with_min_delay(SHORTEST_WAIT)
            .with_max_delay(LONGEST_WAIT)
            .with_jitter()
            .without_max_times()
            .build();
        loop {
            let work = Arc::clone(&work);
            let attempt = self.transaction(doing, move |connection| {
                at_once(work(Tx::Sqlite(connection)))
            });
            let (error, may_pass) = match attempt.await {
                Ok(done) => return Ok(done),
                Err(TransactionError::Failed(failure)) => {
                    let may_pass = failure.remedy() == Remedy::Later;
                    (failure.into_store_error(doing), may_pass)
                }
                Err(TransactionError::Store(error)) => (error, true),
            };
            let now = Instant::now();
            if !may_pass || now >= *give_up_at.get_or_insert(now + patience) {
                return Err(error);
            }
            let wait = waits.next().unwrap_or(LONGEST_WAIT);
            tracing::debug!(doing, %error, ?wait, "the store tries again");
            tokio::time::sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use nightshift_pipeline::admission::AdmissionPolicy;
    use nightshift_pipeline::budget::Charge;
    use nightshift_pipeline::case::Lane;
    use nightshift_pipeline::port::{Cases, Inbox};

    use rusqlite::Connection;

    use super::*;
    use crate::conformance::{MINER, arrivals, whole_journal};
    use crate::sql::SqlStore;
    use crate::sqlite::SqliteOptions;
    use crate::sqlite::tests::thread_of;

    #[tokio::test]
    async fn f17_writes_of_a_running_case_wait_for_a_foreign_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.db");
        let store = SqlStore::open_sqlite(&SqliteOptions {
            path: path.clone(),
            lease: Duration::from_secs(30),
            admission: AdmissionPolicy::default(),
            blobs: None,
        })
        .unwrap();
        store.accept(arrivals(MINER).into()).await.unwrap();
        let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
        let (events, closing) = whole_journal(&claimed);
        let hasty = thread_of(&store).run("wait for nobody", |connection| {
            Ok(connection.busy_timeout(Duration::ZERO)?)
        });
        hasty.await.unwrap();
        let other = Connection::open(path).unwrap();
        let locked = async || {
            // By then, all earlier requests have been answered with an error.
            let refused = store.accept(arrivals(MINER).into()).await;
            assert!(
                matches!(refused, Err(StoreError::Database { .. })),
                "{refused:?}"
            );
            other.execute_batch("ROLLBACK").unwrap();
        };
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let writing = store.append(&claimed.lease, &events, Charge::default());
        let (written, ()) = tokio::join!(biased; writing, locked());
        written.unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let concluding = store.conclude(&claimed.lease, &closing);
        let (concluded, ()) = tokio::join!(biased; concluding, locked());
        concluded.unwrap();
        let view = store.view(&claimed.lease.case_id.0).await.unwrap();
        assert_eq!(view.events.len(), 5, "each once");
    }
}
