//! Tests that a pooler is refused exactly if it lends connections for a transaction only.

use super::tls::told_of;
use super::*;
use crate::conformance::pooler::Pooler;

/// Settings of a pooler that lends connections for a transaction: of one connection, of several, and in turns.
const OF_TRANSACTIONS: [&str; 3] = [
    "pool_mode = transaction\ndefault_pool_size = 1",
    "pool_mode = transaction\ndefault_pool_size = 5",
    "pool_mode = transaction\ndefault_pool_size = 5\nserver_round_robin = 1",
];

/// Settings of a pooler that lends connections for a session.
const OF_SESSIONS: [&str; 2] = [
    "pool_mode = session\ndefault_pool_size = 1",
    "pool_mode = session\ndefault_pool_size = 5",
];

#[tokio::test]
async fn pool_of_transactions_is_refused_and_told_by_the_doctor() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    for settings in OF_TRANSACTIONS {
        let Some(pooler) = Pooler::before(database.url(), settings) else {
            return;
        };
        let refused = PostgresStore::open(pooler.url(), options()).await;
        let error = refused.unwrap_err();
        assert!(
            matches!(error, PostgresOpenError::SharedBackends),
            "{settings}: {error:?}"
        );
        assert!(error.is_configuration_error());
        let told = told_of(pooler.url(), options(), "store.pooler").await;
        assert_eq!(told.len(), 1, "{settings}: {told:?}");
    }
}

#[tokio::test]
async fn pool_of_sessions_is_used_like_a_server() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    for (number, settings) in OF_SESSIONS.into_iter().enumerate() {
        let Some(pooler) = Pooler::before(database.url(), settings) else {
            return;
        };
        let told = told_of(pooler.url(), options(), "store.pooler").await;
        assert_eq!(told, [""; 0], "{settings}");
        let store = PostgresStore::open(pooler.url(), options()).await.unwrap();
        accept(&store, numbered(number)).await;
    }
    let told = told_of(database.url(), options(), "store.pooler").await;
    assert_eq!(told, [""; 0], "without a pooler");
}

#[tokio::test]
async fn pool_that_no_longer_keeps_sessions_makes_the_store_unready() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let Some(pooler) = Pooler::before(database.url(), OF_SESSIONS[1]) else {
        return;
    };
    let store = PostgresStore::open(pooler.url(), options()).await.unwrap();
    assert_eq!(store.connection_problem().await, None);
    pooler.command("SET pool_mode = 'transaction'").await;
    assert_eq!(
        store.connection_problem().await,
        None,
        "asked once a minute"
    );
    let reopened = PostgresStore {
        pooler: PoolerWatch::default(),
        ..store.clone()
    };
    let problem = reopened.connection_problem().await.unwrap();
    assert!(
        problem.starts_with("a pooler lends its connections"),
        "{problem}"
    );
}
