//! What only SQLite promises: files, locks, and the leases of dead processes.

use nightshift_pipeline::{
    Admission, AdmissionPolicy, Cases, Charge, Inbox, Lane, Outbox, Places, StoreError,
};

use super::*;
use crate::conformance::{MINER, arrivals, opened};

fn options(folder: &Path) -> SqliteOptions {
    SqliteOptions {
        blobs: None,
        path: folder.join("deep/er/cases.db"),
        lease: Duration::from_secs(30),
        admission: AdmissionPolicy::default(),
    }
}

#[tokio::test]
async fn f01_r2_the_case_of_a_dead_process_is_free_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&options(folder.path())).unwrap();
    store.accept(arrivals(MINER).into()).await.unwrap();
    let mut dead = SqliteStore::open(&options(folder.path())).unwrap();
    dead.holder = Holder("another-boot:1:1".to_owned());
    let lost = dead.claim(Lane::Any, 1).await.unwrap().remove(0);
    dead.append(&lost.lease, &[opened(&lost.alert, "x")], Charge::default())
        .await
        .unwrap();
    let taken = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    assert_eq!(taken.lease.epoch, lost.lease.epoch + 1);
    assert_eq!((taken.crashes, taken.events.len()), (1, 1));
}

#[tokio::test]
async fn f01_the_destination_of_a_dead_process_is_free_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&options(folder.path())).unwrap();
    let mut dead = store.clone();
    dead.holder = Holder("another-boot:1:1".to_owned());
    let lease = Duration::from_secs(30);
    assert!(dead.serve("soc", "dead", lease).await.unwrap());
    assert!(store.serve("soc", "alive", lease).await.unwrap());
    assert!(!dead.serve("soc", "dead", lease).await.unwrap());
}

#[tokio::test]
async fn the_last_handle_closes_the_file_and_its_log_is_gone_with_it() {
    static OF_THIS_TEST: open::Open = open::Open::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let log = folder.path().join("cases.db-wal");
    let thread = Thread::start(connect(&path).unwrap(), &OF_THIS_TEST).unwrap();
    let other = thread.clone();
    let make = |connection: &Connection| Ok(connection.execute_batch("CREATE TABLE t (x)")?);
    thread.run("make a table", make).await.unwrap();
    drop(thread);
    assert!(log.exists());
    assert!(!OF_THIS_TEST.none_within(Duration::ZERO), "one is left");
    drop(other);
    assert!(OF_THIS_TEST.none_within(Duration::from_secs(60)));
    assert!(!log.exists());
    let copy = folder.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    let copy = Connection::open(copy).unwrap();
    copy.execute_batch("SELECT x FROM t").unwrap();
}

#[test]
fn a_store_counts_as_open() {
    let folder = tempfile::tempdir().unwrap();
    let _store = SqliteStore::open(&options(folder.path())).unwrap();
    assert!(!closed_within(Duration::ZERO));
}

#[test]
fn a_file_that_is_no_database_is_told_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "these are my notes, more than sixteen bytes of them").unwrap();
    let error = SqliteStore::open(&SqliteOptions {
        blobs: None,
        path: path.clone(),
        ..options(folder.path())
    })
    .unwrap_err();
    assert!(error.to_string().contains("notes.txt"), "{error}");
    assert_eq!(
        std::fs::read(&path).unwrap().len(),
        51,
        "and it is left as it was"
    );
}

#[tokio::test]
async fn f18_a_locked_database_takes_nothing_and_goes_on_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&options(folder.path())).unwrap();
    store
        .thread
        .run("wait for nobody", |connection| {
            Ok(connection.busy_timeout(Duration::ZERO)?)
        })
        .await
        .unwrap();
    let other = Connection::open(options(folder.path()).path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.accept(arrivals(MINER).into()).await;
    assert!(
        matches!(refused, Err(StoreError::Database { .. })),
        "{refused:?}"
    );
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(
        store.accept(arrivals(MINER).into()).await.unwrap()[0].admission,
        Admission::New
    );
}

#[tokio::test]
async fn f32_what_an_earlier_version_stored_has_its_place_after_the_migration() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let mut connection = connect(&options.path).unwrap();
    migrations::migrations::runner()
        .set_target(refinery::Target::Version(1))
        .run(&mut connection)
        .unwrap();
    connection
        .execute_batch(
            "INSERT INTO cases (id, key, feed, type, title, severity, content, status, revision, opened_at, touched_at)
             VALUES ('a', 'k', 'guardduty', 't', 'title', 2, 'c', 'queued', 2, '2026-03-02T00:00:00Z', '2026-03-02T00:00:00Z');
             INSERT INTO raw_messages VALUES (7, 's', '2026-03-02T00:00:00Z', 0, '', x'');
             INSERT INTO alerts VALUES ('a', 1, 7, 's', '2026-03-02T00:00:00Z', '{}');
             INSERT INTO alerts VALUES ('a', 2, NULL, 's', '2026-03-02T00:01:00Z', '{}');
             INSERT INTO sightings VALUES (1, 'a', NULL, 's', '2026-03-02T00:02:00Z', 1, 'c');
             INSERT INTO dead_letters VALUES (1, 's', '2026-03-02T00:00:00Z', 'cut', 0, '', 7, 'a');",
        )
        .unwrap();
    drop(connection);
    let store = SqliteStore::open(&options).unwrap();
    let places = store.places().await.unwrap();
    let counts: Vec<_> = places
        .iter()
        .map(|one| (one.place.as_str(), one.alerts))
        .collect();
    assert_eq!(counts, [("case", 1), ("dead_letter", 1), ("sighting", 1)]);
    let backlog = store.backlog().await.unwrap();
    assert_eq!((backlog.others, backlog.dead_letters), (1, 1));
    assert!(backlog.oldest_secs > 0.0, "it waits since it came");
}
