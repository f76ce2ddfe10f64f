//! Queues cases that are over for another triage of the same alert.

use nightshift_pipeline::port::StoreError;

use super::PostgresStore;
use super::row::limit;

/// Triages the same alert again. It keeps its arrival time, and waits from now on.
const WITH_MODELS: &str = "WITH chosen AS ( \
         SELECT id FROM cases WHERE needs_model AND status IN ('concluded', 'failed') \
         ORDER BY severity DESC, concluded_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED \
     ), again AS ( \
         UPDATE cases SET revision = revision + 1, status = 'queued', journal_seq = 0, crashes = 0, needs_model = false, \
             revised_at = clock_timestamp(), waiting_since = clock_timestamp() \
         FROM chosen WHERE cases.id = chosen.id RETURNING cases.id, cases.revision \
     ), copied AS ( \
         INSERT INTO alerts (case_id, revision, raw_id, source, received_at, reason, alert) \
         SELECT again.id, again.revision, raw_id, source, received_at, 'models_back', alert \
         FROM again JOIN alerts ON case_id = again.id AND alerts.revision = again.revision - 1 \
     ) \
     SELECT count(*), CASE WHEN count(*) > 0 THEN pg_notify('nightshift-work', '')::text END FROM again";

impl PostgresStore {
    /// Implements [`nightshift_pipeline::port::Cases::requeue_degraded`].
    pub(super) async fn queue_for_models(&self, most: usize) -> Result<u64, StoreError> {
        let doing = "queue cases for models";
        let queued = self.retry_count(doing, WITH_MODELS, [&limit(most)]).await?;
        self.notifier.notify();
        Ok(queued)
    }
}
