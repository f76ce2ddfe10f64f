//! Removes data whose retention is not configurable, and erases removed rows from the files.

use std::sync::Arc;
use std::time::Duration;

use nightshift_pipeline::port::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::thread::SqliteFailure;
use super::{BUSY_TIMEOUT_MS, SqliteStore};
use crate::blobs;

const DOING: &str = "sweep the store";
const MIGRATIONS: &str =
    "SELECT 'V' || version || '__' || name FROM refinery_schema_history ORDER BY version";
/// Selects the oldest day whose costs can be merged into one row per urgency, because nobody needs the costs by case
/// any more.
const OLD_DAY: &str =
    "SELECT min(day) FROM spending WHERE case_id <> '' AND day < date('now', '-60 days')";
const ADD_DAY: &str = "INSERT INTO spending (day, case_id, urgent, usd) \
     SELECT day, '', urgent, sum(usd) FROM spending WHERE day = ?1 AND case_id <> '' GROUP BY day, urgent \
     ON CONFLICT (day, case_id, urgent) DO UPDATE SET usd = usd + excluded.usd";
const DROP_DAY: &str = "DELETE FROM spending WHERE day = ?1 AND case_id <> ''";
/// The maximum number of days in one sweep.
const MOST_DAYS: usize = 100;

impl SqliteStore {
    pub(crate) async fn migrations(&self) -> Result<Vec<String>, StoreError> {
        self.thread
            .run("read the migrations", |connection| {
                let mut statement = connection.prepare_cached(MIGRATIONS)?;
                let names = statement.query_map([], |row| row.get(0))?;
                Ok(names.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// Removes data whose retention is not configurable.
    pub(crate) async fn sweep(&self) -> Result<u64, StoreError> {
        let folded = self.thread.run(DOING, fold_spending).await;
        let swept = blobs::sweep(
            self.blobs.as_ref(),
            |most| self.loose(most),
            |keys| self.forget(keys),
        )
        .await?;
        // Blobs are swept last, whatever the result of the other steps.
        if swept > 0 {
            return Ok(swept);
        }
        folded?;
        self.erase_removed(false).await.map(|()| 0)
    }

    /// Checkpoints and truncates the WAL file, which contains removed rows. This cannot run in a transaction, so it uses
    /// its own connection. If another process reads at that moment, a later round does it.
    ///
    /// With `rewrite`, the database file is rewritten first. `secure_delete` overwrites rows where they are, but SQLite
    /// moves rows between and within pages, and leaves parts of them in the unused space of a page.
    pub(crate) async fn erase_removed(&self, rewrite: bool) -> Result<(), StoreError> {
        let path = Arc::clone(&self.path);
        let emptied = tokio::task::spawn_blocking(move || {
            let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
            if rewrite && let Err(error) = connection.execute_batch("VACUUM") {
                tracing::warn!(
                    %error, "cannot rewrite the database; parts of removed rows may remain in its file"
                );
            }
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        });
        let is_busy: bool = match emptied.await {
            Ok(done) => done.map_err(SqliteFailure::from),
            Err(_) => return Ok(()),
        }
        .map_err(|failure| failure.into_store_error("empty the log of the database"))?;
        if is_busy {
            tracing::warn!(
                "the database is read just now; what was removed stays in its log for a while"
            );
        }
        Ok(())
    }
}

fn fold_spending(connection: &Connection) -> Result<(), SqliteFailure> {
    for _ in 0..MOST_DAYS {
        let day: Option<String> = connection
            .prepare_cached(OLD_DAY)?
            .query_row([], |row| row.get(0))?;
        let Some(day) = day else {
            break;
        };
        connection.prepare_cached(ADD_DAY)?.execute([&day])?;
        connection.prepare_cached(DROP_DAY)?.execute([&day])?;
    }
    Ok(())
}
