//! Tests the guarantees of a store on a server: it survives failures of the server and of connections, and a change of
//! the password.

mod busy;
mod cluster;
mod held_up;
mod in_flight;
mod large;
mod listed;
mod looked_at;
mod migrating;
mod plans;
mod pooling;
mod proxy;
mod ranked;
mod sweeping;
mod tls;

use std::time::Duration;

use nightshift_pipeline::admission::Admission;
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::{CaseStatus, Lane};
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::maintenance::StoreMaintenance;
use nightshift_pipeline::port::{
    AcceptedAlert, AlertLedger, Cases, Inbox, StoreError, WorkNotifier,
};

use super::*;
use crate::conformance::server::{TestDatabase, connect, texts};
use crate::conformance::{DNS, MINER, arrivals, at, opened, options, whole_journal};
use crate::options::DatabasePassword;
use cluster::Cluster;
use proxy::Proxy;

const OTHERS: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid()";

async fn store(database: &TestDatabase) -> SqlStore {
    SqlStore::open_postgres(database.url(), options())
        .await
        .unwrap()
}

fn database_of(store: &SqlStore) -> &Database {
    match &store.backend {
        Backend::Postgres(database) => database,
        Backend::Sqlite(_) => panic!("a store on SQLite"),
    }
}

fn numbered(number: usize) -> Vec<Arrival> {
    let mut arrival = arrivals(MINER).remove(0);
    Arc::make_mut(&mut arrival.alert).key.id = format!("finding {number}");
    vec![arrival]
}

async fn accept(store: &SqlStore, batch: Vec<Arrival>) -> AcceptedAlert {
    store.accept(batch.into()).await.unwrap().remove(0)
}

async fn number(database: &TestDatabase, sql: &str) -> i64 {
    database.texts(sql).await[0][0].parse().unwrap()
}

#[tokio::test]
async fn f14_postgres_killed_during_intake_loses_and_repeats_nothing() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let mut patient = options();
    patient.waits.patience = Duration::from_secs(120);
    let store = SqlStore::open_postgres(&cluster.url(), patient)
        .await
        .unwrap();
    let (sender, mut begun) = tokio::sync::watch::channel(0);
    let killing = async {
        begun.wait_for(|number| *number == 5).await.unwrap();
        let cluster = cluster.clone();
        tokio::task::spawn_blocking(move || {
            cluster.kill();
            cluster.go_on();
        })
        .await
        .unwrap();
    };
    let coming = async {
        for number in 0..60 {
            accept(&store, numbered(number)).await;
            sender.send_replace(number);
        }
    };
    tokio::join!(killing, coming);
    let client = connect(&cluster.url()).await;
    let sql = "SELECT count(*), count(DISTINCT key), count(*) FILTER (WHERE outcome = 'new') FROM arrivals";
    assert_eq!(texts(&client, sql).await, [["60", "60", "60"]]);
}

#[tokio::test]
async fn f14_postgres_kill_is_reported_and_leaves_leases_uncrashed() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let mut hasty = options();
    hasty.waits.patience = Duration::ZERO;
    let store = SqlStore::open_postgres(&cluster.url(), hasty)
        .await
        .unwrap();
    accept(&store, numbered(0)).await;
    let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    cluster.kill();
    let refused = store.accept(numbered(1).into()).await;
    assert!(
        matches!(refused, Err(StoreError::Database { .. })),
        "{refused:?}"
    );
    cluster.go_on();
    // The lost connections are discovered one by one. The store needs none of them.
    let mut tries = 0;
    while store.accept(numbered(1).into()).await.is_err() {
        tries += 1;
        assert!(tries < 20, "it does not go on");
    }
    let client = connect(&cluster.url()).await;
    let sql = "UPDATE cases SET lease_until = clock_timestamp() - interval '1 second' WHERE status = 'running'";
    client.batch_execute(sql).await.unwrap();
    let again = store
        .claim_one(&claimed.lease.case_id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (again.crashes, again.lease.epoch),
        (0, 2),
        "no worker crashed"
    );
}

#[tokio::test]
async fn f16_connection_cut_after_commit_is_found_out_by_key() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let proxy = Proxy::before(database.url()).await;
    let store = SqlStore::open_postgres(&proxy.url, options())
        .await
        .unwrap();
    // The statements are prepared before, so the cut hits the answer to the request itself.
    accept(&store, arrivals(DNS)).await;
    let dns = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    let event = opened(&dns.alert, "x");
    store
        .append(&dns.lease, &[event], Charge::default())
        .await
        .unwrap();

    proxy.cut_at("COMMIT\0");
    let accepted = accept(&store, arrivals(MINER)).await;
    assert_eq!((accepted.admission, proxy.cuts()), (Admission::New, 1));
    assert_eq!(number(&database, "SELECT count(*) FROM arrivals").await, 2);
    proxy.cut_at("COMMIT\0");
    let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    assert_eq!((claimed.lease.epoch, proxy.cuts()), (1, 2));
    let (events, closing) = whole_journal(&claimed);
    store
        .append(&dns.lease, &[], Charge::default())
        .await
        .unwrap();
    proxy.cut_at("COMMIT\0");
    store
        .append(&claimed.lease, &events, Charge::default())
        .await
        .unwrap();
    assert_eq!(proxy.cuts(), 3);
    proxy.cut_at("COMMIT\0");
    store.conclude(&claimed.lease, &closing).await.unwrap();
    assert_eq!(proxy.cuts(), 4);
    let id = &claimed.lease.case_id.0;
    let sql = format!("SELECT count(*) FROM journal WHERE case_id = '{id}'");
    assert_eq!(number(&database, &sql).await, 5);
    assert_eq!(
        number(&database, "SELECT sum(wanted_version) FROM deliveries").await,
        1
    );
}

#[tokio::test]
async fn f16_requests_of_people_apply_once_when_the_answer_is_lost() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let proxy = Proxy::before(database.url()).await;
    let store = SqlStore::open_postgres(&proxy.url, options())
        .await
        .unwrap();
    let id = accept(&store, arrivals(MINER)).await.case_id.unwrap();
    proxy.cut_at("COMMIT\0");
    let called_off = store.cancel(&id.0, "ana", at(9)).await;
    assert_eq!((called_off.unwrap().next, proxy.cuts()), (None, 1));
    proxy.cut_at("COMMIT\0");
    assert_eq!(store.retry(&id.0).await.unwrap(), id);
    assert_eq!(proxy.cuts(), 2);
    let row = store.view(&id.0).await.unwrap().row;
    assert_eq!((row.revision, row.status), (2, CaseStatus::Queued));
}

#[tokio::test]
async fn f17_a_locked_table_ends_in_a_timeout_and_then_all_goes_on() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let mut hasty = options();
    hasty.waits.lock = Duration::from_millis(100);
    let store = SqlStore::open_postgres(database.url(), hasty)
        .await
        .unwrap();
    let other = database.client().await;
    other
        .batch_execute("BEGIN; LOCK TABLE cases IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let refused = store.accept(arrivals(MINER).into()).await;
    assert!(
        matches!(refused, Err(StoreError::Database { .. })),
        "{refused:?}"
    );
    assert!(store.claim(Lane::Any, 1).await.is_err());
    other.batch_execute("ROLLBACK").await.unwrap();
    let accepted = accept(&store, arrivals(MINER)).await;
    assert_eq!(accepted.admission, Admission::New);
    assert_eq!(store.claim(Lane::Any, 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn f17_a_batch_that_takes_too_long_goes_in_parts() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let mut hasty = options();
    hasty.waits.statement = Duration::from_secs(1);
    hasty.waits.patience = Duration::ZERO;
    let store = SqlStore::open_postgres(database.url(), hasty)
        .await
        .unwrap();
    // More than five rows at once take forever.
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF (SELECT count(*) FROM news) > 5 THEN PERFORM pg_sleep(60); END IF; RETURN NULL; END $$; \
         CREATE TRIGGER slow AFTER INSERT ON arrivals REFERENCING NEW TABLE AS news \
             FOR EACH STATEMENT EXECUTE FUNCTION slow()";
    database.client().await.batch_execute(slow).await.unwrap();
    let batch: Vec<_> = (0..10).flat_map(numbered).collect();
    let accepted = store.accept(batch.into()).await.unwrap();
    assert_eq!(accepted.len(), 10);
    let new = accepted.iter().all(|one| one.admission == Admission::New);
    assert!(new, "{accepted:?}");
    // A single alert that takes too long is not at fault. The caller gets an error, and the alert is delivered again.
    let slower = "CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             PERFORM pg_sleep(60); RETURN NULL; END $$";
    database.client().await.batch_execute(slower).await.unwrap();
    let refused = store.accept(numbered(99).into()).await;
    assert!(
        matches!(refused, Err(StoreError::Database { .. })),
        "{refused:?}"
    );
    assert_eq!(
        number(&database, "SELECT count(*) FROM dead_letters").await,
        0
    );
}

#[tokio::test]
async fn f16_cancel_during_an_ambiguous_claim_spoils_no_other_case() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let proxy = Proxy::before(database.url()).await;
    let store = SqlStore::open_postgres(&proxy.url, options())
        .await
        .unwrap();
    let ids: Vec<_> = [0, 1, 2].map(numbered).into_iter().flatten().collect();
    let ids = store.accept(ids.into()).await.unwrap();
    let gone = ids[1].case_id.clone().unwrap();
    // The trigger runs within the commit of the claim, as if a person cancelled the case right after it.
    let cancel = format!(
        "CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             UPDATE cases SET status = 'cancelled' WHERE id = '{gone}' AND status = 'running'; RETURN NULL; END $$; \
         CREATE CONSTRAINT TRIGGER gone AFTER UPDATE ON cases DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW EXECUTE FUNCTION gone()"
    );
    database
        .client()
        .await
        .batch_execute(&cancel)
        .await
        .unwrap();
    // The statements are prepared before, so the cut hits the answer to the request itself.
    assert!(store.claim(Lane::Any, 0).await.unwrap().is_empty());
    proxy.cut_at("COMMIT\0");
    let claimed = store.claim(Lane::Any, 3).await.unwrap();
    let claimed: Vec<_> = claimed.iter().map(|one| &one.lease.case_id).collect();
    assert_eq!((claimed.len(), proxy.cuts()), (2, 1), "{claimed:?}");
    assert!(!claimed.contains(&&gone));
    let running = "SELECT count(*) FROM cases WHERE status = 'running'";
    assert_eq!(number(&database, running).await, 2);
}

#[tokio::test]
async fn f18_backends_terminated_are_replaced_and_nobody_notices() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    let heard = store.wait_for_work(0).await;
    for round in 0..5 {
        let batch = (0..4).map(|one| store.accept(numbered(10 * round + one).into()));
        futures_util::future::try_join_all(batch).await.unwrap();
        assert!(number(&database, OTHERS).await > 0);
    }
    assert_eq!(number(&database, "SELECT count(*) FROM cases").await, 20);
    assert!(store.wait_for_work(heard).await > heard, "it listens again");
}

#[tokio::test]
async fn f33_a_password_that_changed_is_read_again() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let admin = database.client().await;
    let role = format!("r{}", uuid::Uuid::new_v4().simple());
    let say = async |sql: String| admin.batch_execute(&sql).await.unwrap();
    say(format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'one'; GRANT pg_read_all_data, pg_write_all_data TO {role}"
    ))
    .await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "one\n").unwrap();
    let mut url = url::Url::parse(database.url()).unwrap();
    url.set_username(&role).unwrap();
    url.set_password(None).unwrap();
    let mut options = options();
    options.password = Some(DatabasePassword::file(file.path()));
    // This role must not change the schema. Another role runs the migrations.
    let store = SqlStore::open_postgres(url.as_str(), options)
        .await
        .unwrap();
    accept(&store, numbered(0)).await;
    say(format!("ALTER ROLE {role} PASSWORD 'two'")).await;
    accept(&store, numbered(1)).await;
    std::fs::write(file.path(), "two\n").unwrap();
    say(OTHERS.to_owned()).await;
    accept(&store, numbered(2)).await;
    assert_eq!(number(&database, "SELECT count(*) FROM cases").await, 3);
    drop(store);
    say(format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}

#[tokio::test]
async fn f32_migration_is_run_by_one_of_many() {
    let Some(database) = TestDatabase::empty().await else {
        return;
    };
    let stores = (0..4).map(|_| SqlStore::open_postgres(database.url(), options()));
    let stores = futures_util::future::try_join_all(stores).await.unwrap();
    for store in &stores {
        assert_eq!(store.migrations().await.unwrap(), ["V1__schema"]);
    }
}

#[tokio::test]
async fn steps_of_a_plan_are_shown_before_the_case_ends() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    accept(&store, arrivals(MINER)).await;
    let sql = "INSERT INTO journal (case_id, revision, seq, epoch, at, kind, command, event) SELECT id, 1, 1, 1, now(),
         'finished', 'plan', '{\"outcome\": {\"kind\": \"planned\", \"value\": {\"steps\": [{\"description\": \"look\"}]}}}' FROM cases";
    database.client().await.batch_execute(sql).await.unwrap();
    let steps = database
        .texts("SELECT step, description, status FROM steps")
        .await;
    assert_eq!(steps, [["s1", "look", "open"]]);
}
