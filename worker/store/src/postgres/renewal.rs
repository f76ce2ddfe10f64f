//! Renews leases. Neither another row nor a single connection can block a renewal.

use std::collections::BTreeMap;
use std::time::Duration;

use nightshift_pipeline::case::Lease;
use nightshift_pipeline::port::StoreError;

use super::PostgresStore;
use super::claim::columns;
use super::database::{RetryAttempts, within_at_most};
use super::failure::PostgresFailure;

/// Skips locked rows, so that they do not block the others. Returns the leases that were not renewed, and whether each
/// is lost.
const RENEW: &str = "WITH ours AS ( \
         SELECT cases.id FROM cases JOIN unnest($1::text[], $2::bigint[]) AS lease (id, leased_epoch) \
             ON cases.id = lease.id AND epoch = leased_epoch \
         WHERE status = 'running' AND lease_until > clock_timestamp() FOR NO KEY UPDATE OF cases SKIP LOCKED \
     ), renewed AS ( \
         UPDATE cases SET leased_at = clock_timestamp(), lease_until = clock_timestamp() + make_interval(secs => $3) \
         FROM ours WHERE cases.id = ours.id RETURNING cases.id \
     ) \
     SELECT lease.id, NOT EXISTS (SELECT FROM cases WHERE cases.id = lease.id AND epoch = leased_epoch \
         AND status = 'running' AND lease_until > clock_timestamp()) \
     FROM unnest($1::text[], $2::bigint[]) AS lease (id, leased_epoch) \
     WHERE NOT EXISTS (SELECT FROM renewed WHERE renewed.id = lease.id)";
const DOING: &str = "renew leases";
/// The number of attempts for locked rows until the next renewal. A write locks its case for some milliseconds.
const ROUNDS: usize = 5;
const BETWEEN_ROUNDS: Duration = Duration::from_millis(100);

impl PostgresStore {
    /// Implements [`nightshift_pipeline::port::Cases::renew`].
    pub(super) async fn renew_all(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        let (mut left, mut lost) = (leases.to_vec(), Vec::new());
        for round in 0..ROUNDS {
            if round > 0 {
                tokio::time::sleep(BETWEEN_ROUNDS).await;
            }
            let not_renewed = self.renew_some(&left).await?;
            let of = |is_lost| {
                let found = |one: &&Lease| not_renewed.get(&one.case_id.0) == Some(&is_lost);
                left.iter().filter(found).cloned().collect::<Vec<_>>()
            };
            lost.extend(of(true));
            left = of(false);
            if left.is_empty() {
                return Ok(lost);
            }
        }
        tracing::debug!(
            cases = left.len(),
            "leases are renewed later: their cases are locked"
        );
        Ok(lost)
    }

    /// Retries until the next renewal is due, each time on another connection. If one connection gets no answer, others
    /// may still work before the leases expire.
    async fn renew_some(&self, leases: &[Lease]) -> Result<BTreeMap<String, bool>, StoreError> {
        let (ids, epochs) = &columns(leases.iter());
        let mut tries = RetryAttempts::for_running_case(DOING, self.lease / 3);
        loop {
            let one = async {
                let session = self.database.session(&[]).await?;
                let rows = session.rows(RENEW, [ids, epochs, &self.lease_secs]).await?;
                session.done();
                rows.iter()
                    .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
                    .collect::<Result<_, PostgresFailure>>()
            };
            match within_at_most(self.lease / 6, one).await {
                Ok(not_renewed) => return Ok(not_renewed),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }
}
