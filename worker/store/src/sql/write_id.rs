//! Identifies a write, so that it applies once although it is repeated after a lost answer.

use uuid::Uuid;

use super::{Statement, Tx, statement, values};
use crate::failure::Failure;

static BEGIN: Statement = statement!("write_id/begin.postgres.sql");
static IS_COMMITTED: Statement = statement!("write_id/is_committed.postgres.sql");

/// The id of a write. PostgreSQL keeps the last one of each case; SQLite repeats nothing.
#[derive(Debug, Clone)]
pub(super) struct WriteId(String);

impl WriteId {
    /// Creates a unique id.
    pub(super) fn random() -> Self {
        Self(Uuid::new_v4().to_string())
    }

    /// Returns the id as a parameter of a statement.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Locks the case until the end of the transaction. Returns false if an earlier attempt did this write.
    pub(super) async fn begin(&self, tx: Tx<'_>, case_id: &str) -> Result<bool, Failure> {
        match tx {
            Tx::Postgres(_) => Ok(tx.execute(&BEGIN, values![case_id, &self.0]).await? > 0),
            Tx::Sqlite(_) => Ok(true),
        }
    }

    /// Returns whether an earlier attempt did this write, if no other write followed.
    pub(super) async fn is_committed(&self, tx: Tx<'_>, case_id: &str) -> Result<bool, Failure> {
        match tx {
            Tx::Postgres(_) => {
                let row = tx
                    .optional(&IS_COMMITTED, values![case_id, &self.0])
                    .await?;
                Ok(row.is_some())
            }
            Tx::Sqlite(_) => Ok(false),
        }
    }
}
