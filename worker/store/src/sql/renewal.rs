//! Renews leases. On PostgreSQL, neither another row nor a single connection can block a renewal.

use std::collections::BTreeMap;
use std::time::Duration;

use nightshift_pipeline::case::Lease;
use nightshift_pipeline::port::StoreError;

use super::claim::lease_columns;
use super::{LeaseTerms, SqlStore, Statement, Tx, statement, values};
use crate::failure::Failure;
use crate::sqlite::uptime_secs;

static RENEW: Statement = statement!("renewal/renew.postgres.sql");
static RENEW_ONE: Statement = statement!("renewal/renew_one.sqlite.sql");

/// The number of attempts for locked rows until the next renewal. A write locks its case for some milliseconds.
const ROUNDS: usize = 5;
const BETWEEN_ROUNDS: Duration = Duration::from_millis(100);

/// The cases whose leases were not renewed, and whether each is lost. The others are locked.
type NotRenewed = BTreeMap<String, bool>;

impl SqlStore {
    /// Implements [`nightshift_pipeline::port::Cases::renew`].
    pub(super) async fn renew_leases(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        let (mut left, mut lost) = (leases.to_vec(), Vec::new());
        for round in 0..ROUNDS {
            if round > 0 {
                tokio::time::sleep(BETWEEN_ROUNDS).await;
            }
            let not_renewed = self.renew_unlocked(&left).await?;
            let select = |is_lost| {
                let found = |one: &&Lease| not_renewed.get(&one.case_id.0) == Some(&is_lost);
                left.iter().filter(found).cloned().collect::<Vec<_>>()
            };
            lost.extend(select(true));
            left = select(false);
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

    async fn renew_unlocked(&self, leases: &[Lease]) -> Result<NotRenewed, StoreError> {
        let (leases, terms) = (leases.to_vec(), self.leases.clone());
        let renew = async move |tx: Tx<'_>| match tx {
            Tx::Postgres(_) => renew(tx, &leases, &terms).await,
            Tx::Sqlite(_) => renew_each(tx, &leases, &terms).await,
        };
        let lease = self.leases.duration;
        self.backend.renew("renew leases", lease, renew).await
    }
}

async fn renew(tx: Tx<'_>, leases: &[Lease], terms: &LeaseTerms) -> Result<NotRenewed, Failure> {
    let (ids, epochs) = lease_columns(leases);
    let values = values![ids, epochs, terms.duration.as_secs_f64()];
    let rows = tx.all(&RENEW, values).await?;
    rows.iter()
        .map(|row| Ok((row.get("id")?, row.get("is_lost")?)))
        .collect()
}

async fn renew_each(
    tx: Tx<'_>,
    leases: &[Lease],
    terms: &LeaseTerms,
) -> Result<NotRenewed, Failure> {
    let now = uptime_secs();
    let until = now + terms.duration.as_secs_f64();
    let mut not_renewed = NotRenewed::new();
    for lease in leases {
        let id = &lease.case_id.0;
        let values = values![id, lease.epoch, &terms.holder, until, now];
        if tx.execute(&RENEW_ONE, values).await? == 0 {
            not_renewed.insert(id.clone(), true);
        }
    }
    Ok(not_renewed)
}
