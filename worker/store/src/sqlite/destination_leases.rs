//! Stores the leases of destinations. As for cases, a dead process holds none.

use std::time::Duration;

use nightshift_pipeline::port::StoreError;
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use super::host::{LeaseHolder, uptime_secs};
use super::thread::SqliteFailure;

const LEASE: &str =
    "SELECT holder, process, lease_until FROM destination_leases WHERE destination = ?1";
const ACQUIRE: &str = "INSERT INTO destination_leases (destination, holder, process, lease_until) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (destination) DO UPDATE \
     SET holder = excluded.holder, process = excluded.process, lease_until = excluded.lease_until";

impl SqliteStore {
    /// Implements [`nightshift_pipeline::port::Outbox::acquire_lease`].
    pub(crate) async fn acquire_lease(
        &self,
        destination: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let (destination, holder) = (destination.to_owned(), holder.to_owned());
        let process = self.holder.0.clone();
        self.thread
            .run("acquire the lease of a destination", move |connection| {
                let (now, lease_secs) = (uptime_secs(), lease.as_secs_f64());
                if !is_free(connection, &destination, &holder, (now, lease_secs))? {
                    return Ok(false);
                }
                let values = params![destination, holder, process, now + lease_secs];
                connection.prepare_cached(ACQUIRE)?.execute(values)?;
                Ok(true)
            })
            .await
    }
}

/// Returns whether this holder may serve a destination: nobody else does, or that lease has expired, or its process is
/// gone.
fn is_free(
    connection: &Connection,
    destination: &str,
    holder: &str,
    (now, lease_secs): (f64, f64),
) -> Result<bool, SqliteFailure> {
    let lease: Option<(String, String, f64)> = connection
        .prepare_cached(LEASE)?
        .query_row([destination], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    Ok(lease.is_none_or(|(name, process, until)| {
        name == holder || until < now || until > LeaseHolder(process).latest(now, lease_secs)
    }))
}
