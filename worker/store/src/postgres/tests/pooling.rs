//! Tests that a pooler which lends connections for a transaction only is refused, unless the store knows of it, and that
//! the store then leaves nothing on a connection. The conformance suite runs behind such a pooler, too.

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
        let refused = SqlStore::open_postgres(pooler.url(), options()).await;
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
        let store = SqlStore::open_postgres(pooler.url(), options())
            .await
            .unwrap();
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
    let reopened = SqlStore::from(PostgresStore {
        pooler: PoolerWatch::default(),
        ..store.clone()
    });
    let problem = reopened.connection_problem().await.unwrap();
    assert!(
        problem.starts_with("a pooler lends its connections"),
        "{problem}"
    );
}

fn pooled() -> StoreOptions {
    StoreOptions {
        pooled: true,
        ..options()
    }
}

#[tokio::test]
async fn pooled_store_leaves_nothing_on_a_connection() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let Some(pooler) = Pooler::before(database.url(), OF_TRANSACTIONS[0]) else {
        return;
    };
    let store = SqlStore::open_postgres(pooler.url(), pooled())
        .await
        .unwrap();
    let id = accept(&store, arrivals(MINER)).await.case_id.unwrap();
    let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    let (events, closing) = whole_journal(&claimed);
    let lease = &claimed.lease;
    store
        .append(lease, &events, Charge::default())
        .await
        .unwrap();
    store.renew(std::slice::from_ref(lease)).await.unwrap();
    store.conclude(lease, &closing).await.unwrap();
    store.view(&id.0).await.unwrap();
    store.backlog().await.unwrap();
    store.wait_for_work(0).await;
    // The pool has one connection, so this is the connection that the store used.
    let left = "SELECT (SELECT count(*) FROM pg_prepared_statements), \
         (SELECT count(*) FROM pg_settings WHERE source = 'session' AND name LIKE '%timeout'), \
         (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = \
             (SELECT oid FROM pg_database WHERE datname = current_database())), \
         (SELECT count(*) FROM pg_listening_channels())";
    let client = connect(pooler.url()).await;
    assert_eq!(texts(&client, left).await, [["0", "0", "0", "0"]]);
}

#[tokio::test]
async fn f17_statements_of_a_pooled_store_have_timeouts() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let Some(pooler) = Pooler::before(database.url(), OF_TRANSACTIONS[1]) else {
        return;
    };
    let mut hasty = pooled();
    hasty.waits.lock = Duration::from_millis(100);
    let store = SqlStore::open_postgres(pooler.url(), hasty).await.unwrap();
    let other = database.client().await;
    let lock = "BEGIN; LOCK TABLE cases IN ACCESS EXCLUSIVE MODE";
    other.batch_execute(lock).await.unwrap();
    // The first request is one transaction of many statements, the second one is a single statement.
    let refused = store.accept(arrivals(MINER).into()).await;
    assert!(
        matches!(refused, Err(StoreError::Database { .. })),
        "{refused:?}"
    );
    let error =
        nightshift_engine::error_chain::format_error_chain(&store.waiting().await.unwrap_err());
    assert!(error.contains("lock timeout"), "{error}");
    other.batch_execute("ROLLBACK").await.unwrap();
    let accepted = accept(&store, arrivals(MINER)).await;
    assert_eq!(accepted.admission, Admission::New);
}

#[tokio::test]
async fn pooled_store_hears_of_work_past_the_pooler() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let Some(pooler) = Pooler::before(database.url(), OF_TRANSACTIONS[0]) else {
        return;
    };
    let mut direct = pooled();
    direct.notify_url = Some(database.url().to_owned());
    let store = SqlStore::open_postgres(pooler.url(), direct).await.unwrap();
    let other = SqlStore::open_postgres(pooler.url(), pooled())
        .await
        .unwrap();
    let heard = store.wait_for_work(0).await;
    accept(&other, arrivals(MINER)).await;
    assert!(store.wait_for_work(heard).await > heard, "it is told");
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    other.wait_for_work(0).await;
    assert_eq!(number(&database, listening).await, 1, "the other one looks");
}

#[tokio::test]
async fn settings_that_a_pooler_would_drop_are_refused() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let Some(pooler) = Pooler::before(database.url(), OF_TRANSACTIONS[1]) else {
        return;
    };
    let mut shared = pooled();
    shared.notify_url = Some(pooler.url().to_owned());
    let told = told_of(
        pooler.url(),
        StoreOptions {
            notify_url: shared.notify_url.clone(),
            ..pooled()
        },
        "store.pooler",
    );
    assert!(told.await.concat().contains("notify_url leads to a pooler"));
    let refused = SqlStore::open_postgres(pooler.url(), shared).await;
    assert!(matches!(
        refused,
        Err(PostgresOpenError::SharedNotifications)
    ));
    let with_options = format!("{}&options=-c%20search_path%3Dours", pooler.url());
    let refused = SqlStore::open_postgres(&with_options, pooled()).await;
    assert!(matches!(refused, Err(PostgresOpenError::PooledOptions)));
}

#[tokio::test]
async fn f32_migration_behind_a_pooler_is_run_by_one_of_many() {
    for settings in OF_TRANSACTIONS {
        let Some(database) = TestDatabase::empty().await else {
            return;
        };
        let Some(pooler) = Pooler::before(database.url(), settings) else {
            return;
        };
        let stores = (0..4).map(|_| SqlStore::open_postgres(pooler.url(), pooled()));
        let stores = futures_util::future::try_join_all(stores).await.unwrap();
        for store in &stores {
            assert_eq!(store.migrations().await.unwrap(), ["V1__schema"]);
        }
    }
}
