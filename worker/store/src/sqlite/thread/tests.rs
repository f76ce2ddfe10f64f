//! Tests a group of requests when one of them fills the disk.

use std::sync::Arc;
use std::time::Duration;

use nightshift_pipeline::admission::AdmissionPolicy;
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::Lane;
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::port::{Cases, ClaimedCase, Inbox};

use super::*;
use crate::conformance::{MINER, arrivals, whole_journal};
use crate::sql::SqlStore;
use crate::sqlite::SqliteOptions;
use crate::sqlite::tests::thread_of;

/// More bytes than SQLite keeps in memory for a transaction, so it writes to disk within the statement.
const LARGE_BYTES: usize = 3 * 1024 * 1024;
/// The number of free pages of 4 KiB, enough for a journal.
const ROOM: u32 = 200;

/// Creates a store with a running case and little free space.
async fn nearly_full(folder: &tempfile::TempDir) -> (SqlStore, ClaimedCase) {
    let store = SqlStore::open_sqlite(&SqliteOptions {
        path: folder.path().join("cases.db"),
        lease: Duration::from_secs(30),
        admission: AdmissionPolicy::default(),
        blobs: None,
    })
    .unwrap();
    store.accept(arrivals(MINER).into()).await.unwrap();
    let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    let limit = |connection: &Connection| {
        let pages: u32 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
        let limit = pages + ROOM;
        connection.pragma_update_and_check(None, "max_page_count", limit, |_| Ok(()))?;
        Ok(())
    };
    thread_of(&store)
        .run("limit its size", limit)
        .await
        .unwrap();
    (store, claimed)
}

/// Returns an alert that does not fit.
fn large() -> Arc<[Arrival]> {
    let mut large = arrivals(MINER);
    for arrival in &mut large {
        arrival.raw = vec![b' '; LARGE_BYTES].into();
    }
    large.into()
}

/// Blocks the thread, so that requests in the meantime form a group with this one.
async fn hold(store: &SqlStore, held: mpsc::Receiver<()>) -> Result<(), StoreError> {
    let wait = move |_: &Connection| {
        held.recv().unwrap();
        Ok(())
    };
    thread_of(store).run("hold up", wait).await
}

#[tokio::test]
async fn f18_what_a_group_did_before_the_disk_was_full_is_done_once() {
    let folder = tempfile::tempdir().unwrap();
    let (store, claimed) = nearly_full(&folder).await;
    let (events, _) = whole_journal(&claimed);
    let (let_go, held) = mpsc::channel();
    let (first, refused, appended, ()) = tokio::join!(
        biased;
        hold(&store, held),
        store.accept(large()),
        store.append(&claimed.lease, &events, Charge::default()),
        async { let_go.send(()).unwrap() },
    );
    assert!(matches!(first, Err(StoreError::Database { .. })));
    let why = refused.unwrap_err();
    assert!(
        matches!(&why, StoreError::Database { cause, .. } if cause.to_string().contains("full")),
        "{why:?}"
    );
    appended.unwrap();
    let view = store.view(&claimed.lease.case_id.0).await.unwrap();
    assert_eq!(view.events.len(), events.len(), "each once");
    assert!(view.sightings.is_empty(), "nothing of what was refused");
}

#[tokio::test]
async fn f18_nothing_is_committed_of_a_group_that_is_told_it_failed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = nearly_full(&folder).await;
    let add = |name: &'static str| {
        let add = move |connection: &Connection| {
            let sql = "INSERT INTO digests (destination, day, begun_at) VALUES (?1, 'd', 't')";
            Ok(connection.execute(sql, [name])?)
        };
        thread_of(&store).run("add a row", add)
    };
    let (let_go, held) = mpsc::channel();
    let (first, before, refused, after, ()) = tokio::join!(
        biased;
        hold(&store, held),
        add("before"),
        store.accept(large()),
        add("after"),
        async { let_go.send(()).unwrap() },
    );
    assert!(first.is_err() && before.is_err() && refused.is_err());
    let read = |connection: &Connection| {
        let mut statement = connection.prepare("SELECT destination FROM digests")?;
        let names = statement.query_map([], |row| row.get(0))?;
        Ok(names.collect::<Result<Vec<String>, _>>()?)
    };
    let kept = thread_of(&store).run("read", read).await.unwrap();
    assert_eq!(after.unwrap(), 1, "it is in a transaction of its own");
    assert_eq!(kept, ["after"]);
}

#[tokio::test]
async fn full_disk_is_known_after_a_write_that_found_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = nearly_full(&folder).await;
    assert!(!store.is_disk_full());
    store.accept(large()).await.unwrap_err();
    assert!(store.is_disk_full());
}
