//! Detects poolers that lend a connection of the server for one transaction only, such as PgBouncer in its mode
//! `transaction`, RDS Proxy and Supavisor. Behind them, prepared statements, settings of a session and `LISTEN` reach a
//! connection of somebody else. Poolers that lend a connection for a whole session are not detected, because nothing is
//! lost behind them.

use std::sync::Arc;
use std::time::Duration;

use nightshift_engine::error_chain::format_error_chain;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_postgres::{Client, Error};

use super::PostgresOpenError;
use super::connect::Connector;
use super::database::Database;

/// Names the server process behind a connection. Two servers may use the same process id, but not with the same start.
const BACKEND: &str =
    "SELECT concat_ws(' ', pid, backend_start) FROM pg_stat_activity WHERE pid = pg_backend_pid()";
/// The time after which a second connection is assumed to wait for the backend of the first one.
const NO_ANSWER: Duration = Duration::from_secs(1);
/// The remedy for a pooler that lends connections for a transaction.
pub(super) const REMEDY: &str = "write the address of the server itself or of a pool of sessions into [store] url, or set \
     [store] pooled = true";
/// The number of rounds. A pooler that picks its connections at random may keep them apart in one.
const ROUNDS: usize = 3;
/// The time for which an answer to readiness counts.
const WATCH_PERIOD: Duration = Duration::from_secs(60);

/// Looks now and then whether a pooler was put in front of the server of an open store.
#[derive(Debug, Clone, Default)]
pub(super) struct PoolerWatch {
    /// The time of the last look, and whether backends were shared.
    last: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl PoolerWatch {
    /// Returns whether connections of the pool share their backends. The answer is at most a minute old. A failure to
    /// ask is no sign of that.
    pub(super) async fn is_shared(&self, database: &Database) -> bool {
        let mut last = self.last.lock().await;
        match *last {
            Some((at, is_shared)) if at.elapsed() < WATCH_PERIOD => is_shared,
            _ => {
                let is_shared = database.shares_backends().await.unwrap_or(false);
                *last = Some((Instant::now(), is_shared));
                is_shared
            }
        }
    }
}

/// Returns an error if the connections of this address share their backends. A server that does not answer within
/// `patience` is left to the caller's next request.
pub(super) async fn refuse_shared_backends(
    connector: &Connector,
    patience: Duration,
) -> Result<(), PostgresOpenError> {
    match tokio::time::timeout(patience, probe(connector)).await {
        Ok(Ok(true)) => Err(PostgresOpenError::SharedBackends),
        Ok(Ok(false)) | Err(_) => Ok(()),
        Ok(Err(error)) => Err(PostgresOpenError::Connect(
            format_error_chain(&error).into(),
        )),
    }
}

/// Returns an error if the address for notifications leads to such a pooler. A server that is away is left to the
/// listener, because the store works without notifications.
pub(super) async fn refuse_shared_notifications(
    connector: &Connector,
    patience: Duration,
) -> Result<(), PostgresOpenError> {
    match tokio::time::timeout(patience, probe(connector)).await {
        Ok(Ok(true)) => Err(PostgresOpenError::SharedNotifications),
        _ => Ok(()),
    }
}

/// Opens two connections and returns whether they share their backends.
async fn probe(connector: &Connector) -> Result<bool, Error> {
    let (first, _first_task) = connector.open_driven().await?;
    match connector.open_driven().await {
        Ok((second, _second_task)) => shares_backends(&first, &second).await,
        // The limit of connections is reached. The first one works.
        Err(_) => Ok(false),
    }
}

/// Returns whether two open connections share their backends. Either symptom proves that: both have the same backend,
/// or one of them has another backend than before. A slow answer alone proves nothing.
pub(super) async fn shares_backends(first: &Client, second: &Client) -> Result<bool, Error> {
    for _ in 0..ROUNDS {
        match backends_of_round(first, second).await? {
            Some(backends) if backends.is_shared() => return Ok(true),
            Some(_) => {}
            // The first connection is in no transaction and still keeps its backend: the pool is one of sessions, or
            // the server is too busy to tell.
            None => return Ok(false),
        }
    }
    Ok(false)
}

/// The backends of two connections in one round.
struct ObservedBackends {
    first: String,
    /// The backends of the second connection, in the order in which they answered.
    second: [String; 3],
}

impl ObservedBackends {
    /// Returns whether a backend served both connections, or the second one had more than one.
    fn is_shared(&self) -> bool {
        let [before, ..] = &self.second;
        self.second
            .iter()
            .any(|backend| backend == &self.first || backend != before)
    }
}

/// Asks the second connection once during a transaction of the first one, and twice after it. Returns `None` if the
/// second connection gets no answer at all.
///
/// In a pool of one, the answer comes when the transaction ends, from the same backend. In a larger pool it comes from
/// another backend. The next answer then comes from the backend of the first connection if the pool reuses its last
/// connection, and the one after that from yet another backend if the pool takes turns.
async fn backends_of_round(
    first: &Client,
    second: &Client,
) -> Result<Option<ObservedBackends>, Error> {
    first.batch_execute("BEGIN").await?;
    let of_first = backend(first).await?;
    let mut asked = std::pin::pin!(backend(second));
    let during = tokio::time::timeout(NO_ANSWER, &mut asked).await;
    first.batch_execute("COMMIT").await?;
    let during = match during {
        Ok(answer) => answer?,
        Err(_) => match tokio::time::timeout(NO_ANSWER, asked).await {
            Ok(answer) => answer?,
            Err(_) => return Ok(None),
        },
    };
    Ok(Some(ObservedBackends {
        first: of_first,
        second: [during, backend(second).await?, backend(second).await?],
    }))
}

/// Asks for the backend by a statement without a name, which works behind every pooler.
async fn backend(client: &Client) -> Result<String, Error> {
    client.query_typed_one(BACKEND, &[]).await?.try_get(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_common_or_another_backend_is_a_proof() {
        for (second, is_shared) in [
            // Two connections of an ordinary server, however slow it is.
            (["2", "2", "2"], false),
            // A pool of one.
            (["1", "1", "1"], true),
            // A larger pool that reuses its last connection.
            (["2", "1", "1"], true),
            // A larger pool that takes turns.
            (["2", "2", "1"], true),
            (["2", "3", "4"], true),
        ] {
            let observed = ObservedBackends {
                first: "1".to_owned(),
                second: second.map(str::to_owned),
            };
            assert_eq!(observed.is_shared(), is_shared, "{second:?}");
        }
    }
}
