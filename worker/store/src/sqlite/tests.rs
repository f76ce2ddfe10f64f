//! Tests the guarantees that only SQLite gives: files, locks, and the leases of dead processes and of other containers.

use nightshift_pipeline::admission::{Admission, AdmissionPolicy};
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::{CaseFilter, CaseStatus, Lane};
use nightshift_pipeline::port::{Cases, Inbox, Outbox, StoreError};

use super::*;
use crate::conformance::{MINER, arrivals, opened};
use crate::sql::case_list::list_statement;

fn options(folder: &Path) -> SqliteOptions {
    SqliteOptions {
        blobs: None,
        path: folder.join("deep/er/cases.db"),
        lease: Duration::from_secs(30),
        admission: AdmissionPolicy::default(),
    }
}

/// Opens the database as the process of this holder would.
fn open_as(folder: &Path, holder: LeaseHolder) -> SqlStore {
    let store = SqliteStore::open(&options(folder)).unwrap();
    SqlStore::from(SqliteStore { holder, ..store })
}

pub(super) fn thread_of(store: &SqlStore) -> &SqliteThread {
    match &store.backend {
        Backend::Sqlite(thread) => thread,
        Backend::Postgres(_) => panic!("a store on PostgreSQL"),
    }
}

/// Returns a process of this host that has ended.
fn ended() -> LeaseHolder {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let holder = LeaseHolder::from_pid(child.id());
    child.wait().unwrap();
    holder
}

/// Returns the first process of another container on this host.
fn of_another_container() -> LeaseHolder {
    let this = LeaseHolder::this_process().0;
    let (boot, _) = this.split_once(':').unwrap();
    LeaseHolder(format!("{boot}:1:1:1"))
}

#[tokio::test]
async fn f01_r2_the_case_of_a_dead_process_is_free_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqlStore::open_sqlite(&options(folder.path())).unwrap();
    store.accept(arrivals(MINER).into()).await.unwrap();
    let dead = open_as(folder.path(), ended());
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
    let store = SqlStore::open_sqlite(&options(folder.path())).unwrap();
    let dead = open_as(folder.path(), ended());
    let lease = Duration::from_secs(30);
    assert!(dead.acquire_lease("soc", "dead", lease).await.unwrap());
    assert!(store.acquire_lease("soc", "alive", lease).await.unwrap());
    assert!(!dead.acquire_lease("soc", "dead", lease).await.unwrap());
}

#[tokio::test]
async fn r2_case_of_another_container_is_kept_until_its_lease_ends() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqlStore::open_sqlite(&options(folder.path())).unwrap();
    store.accept(arrivals(MINER).into()).await.unwrap();
    let other = open_as(folder.path(), of_another_container());
    let theirs = other.claim(Lane::Any, 1).await.unwrap().remove(0);
    assert!(store.claim(Lane::Any, 1).await.unwrap().is_empty());
    let event = opened(&theirs.alert, "x");
    other
        .append(&theirs.lease, &[event], Charge::default())
        .await
        .unwrap();
    end_leases(&store, "lease_until - 31").await;
    let taken = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    assert_eq!((taken.crashes, taken.events.len()), (1, 1));
}

#[tokio::test]
async fn lease_from_before_a_reboot_is_void_where_boot_id_is_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqlStore::open_sqlite(&options(folder.path())).unwrap();
    store.accept(arrivals(MINER).into()).await.unwrap();
    let before = open_as(folder.path(), LeaseHolder("unknown:1:1:1".to_owned()));
    let lease = Duration::from_secs(30);
    assert!(before.acquire_lease("soc", "before", lease).await.unwrap());
    assert!(!store.acquire_lease("soc", "after", lease).await.unwrap());
    before.claim(Lane::Any, 1).await.unwrap().remove(0);
    assert!(store.claim(Lane::Any, 1).await.unwrap().is_empty());
    end_leases(&store, "lease_until + 1000000").await;
    assert!(store.acquire_lease("soc", "after", lease).await.unwrap());
    let taken = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    assert_eq!(taken.crashes, 1);
}

/// Sets the end of all leases.
async fn end_leases(store: &SqlStore, until: &'static str) {
    let end = move |connection: &Connection| {
        Ok(connection.execute_batch(&format!(
            "UPDATE cases SET lease_until = {until}; UPDATE destination_leases SET lease_until = {until}"
        ))?)
    };
    thread_of(store).run("end leases", end).await.unwrap();
}

#[tokio::test]
async fn the_destination_of_a_process_in_another_container_is_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqlStore::open_sqlite(&options(folder.path())).unwrap();
    let other = open_as(folder.path(), of_another_container());
    let lease = Duration::from_secs(30);
    assert!(other.acquire_lease("soc", "theirs", lease).await.unwrap());
    assert!(!store.acquire_lease("soc", "ours", lease).await.unwrap());
    end_leases(&store, "lease_until - 31").await;
    assert!(store.acquire_lease("soc", "ours", lease).await.unwrap());
}

#[tokio::test]
async fn the_last_handle_closes_the_file_and_its_log_is_gone_with_it() {
    static OF_THIS_TEST: open::OpenConnections = open::OpenConnections::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let log = folder.path().join("cases.db-wal");
    let thread = SqliteThread::start(connect(&path).unwrap(), &OF_THIS_TEST).unwrap();
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
    let _store = SqlStore::open_sqlite(&options(folder.path())).unwrap();
    assert!(!wait_until_closed(Duration::ZERO));
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
    let store = SqlStore::open_sqlite(&options(folder.path())).unwrap();
    thread_of(&store)
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

/// Returns the query plan of a statement, for an empty database.
async fn plan(store: &SqlStore, sql: String) -> String {
    let explain = move |connection: &Connection| {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        let rows = statement.raw_query().mapped(|row| row.get::<_, String>(3));
        Ok(rows.collect::<Result<Vec<_>, _>>()?.join("\n"))
    };
    thread_of(store).run("explain", explain).await.unwrap()
}

#[tokio::test]
async fn what_is_rare_is_found_without_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqlStore::open_sqlite(&options(folder.path())).unwrap();
    let all = CaseFilter::default();
    let failed = CaseFilter {
        status: Some(CaseStatus::Failed),
        ..all.clone()
    };
    let canaries = CaseFilter {
        feed: Some("canary".into()),
        ..all.clone()
    };
    let disagreed = CaseFilter {
        disagreed: true,
        ..all
    };
    for (filter, index) in [
        (failed, "SCAN cases USING INDEX cases_failed"),
        (canaries, "SEARCH cases USING INDEX cases_storm"),
        (
            disagreed,
            "SEARCH cases USING INDEX sqlite_autoindex_cases_1",
        ),
    ] {
        let plan = plan(&store, list_statement(&filter).sqlite().to_owned()).await;
        assert!(plan.contains(index), "{plan}");
    }
    let find = crate::sql::cases::FIND.sqlite().to_owned();
    let found = plan(&store, find).await;
    assert!(
        found.contains("SEARCH cases USING INDEX sqlite_autoindex_cases_1"),
        "{found}"
    );
    let decided = plan(&store, crate::sql::feedback::DECISION.sqlite().to_owned()).await;
    assert!(decided.contains("person_verdicts_similar"), "{decided}");
    let plan = plan(&store, crate::sql::digest::OPEN_CASES.sqlite().to_owned()).await;
    assert!(plan.contains("cases_waiting_for_people"), "{plan}");
    assert!(!plan.contains("TEMP B-TREE"), "{plan}");
}

#[test]
fn new_database_is_migrated_once_however_many_open_it() {
    const TOGETHER: usize = 8;
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let start = std::sync::Barrier::new(TOGETHER);
        let open = || {
            start.wait();
            SqliteStore::open(&options(folder.path())).map(drop)
        };
        std::thread::scope(|scope| {
            let opened: Vec<_> = (0..TOGETHER).map(|_| scope.spawn(open)).collect();
            for one in opened {
                one.join().unwrap().unwrap();
            }
        });
        let connection = Connection::open(options(folder.path()).path).unwrap();
        let sql = "SELECT count(*) FROM refinery_schema_history";
        let applied: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(
            usize::try_from(applied),
            Ok(runner().get_migrations().len())
        );
    }
}

/// Returns the permission bits of a file or folder.
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn new_files_and_folders_are_for_our_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path());
    let blobs = crate::BlobOptions {
        least_bytes: 1,
        ..crate::BlobOptions::new(format!("file:{}", folder.path().join("a/blobs").display()))
    };
    options.blobs = Some(BlobStore::open(&blobs).unwrap());
    let store = SqliteStore::open(&options).unwrap();
    store.accept(arrivals(MINER).into()).await.unwrap();
    for name in ["cases.db", "cases.db-wal", "cases.db-shm"] {
        assert_eq!(
            mode(&folder.path().join("deep/er").join(name)),
            0o600,
            "{name}"
        );
    }
    for name in ["deep", "deep/er", "a", "a/blobs"] {
        assert_eq!(mode(&folder.path().join(name)), 0o700, "{name}");
    }
}

#[test]
fn file_that_was_there_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let there = SqliteOptions {
        path: path.clone(),
        ..options(folder.path())
    };
    let _store = SqliteStore::open(&there).unwrap();
    assert_eq!(mode(&path), 0o640);
}

#[tokio::test]
async fn case_does_not_wait_for_a_clock_that_was_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqlStore::open_sqlite(&options(folder.path())).unwrap();
    store.accept(arrivals(MINER).into()).await.unwrap();
    let quarter = Duration::from_secs(900);
    let waited = nightshift_pipeline::case::OutageWait {
        urgent: quarter,
        others: quarter,
    };
    let overdue = async || store.claim_overdue(Lane::Any, 1, waited).await.unwrap();
    assert!(overdue().await.is_empty(), "it has just come");
    // These rows look as if the clock had been years ahead and was corrected.
    let ahead = |connection: &Connection| {
        let sql = "UPDATE cases SET waiting_since = '2999-01-01T00:00:00.000000Z'";
        Ok(connection.execute_batch(sql)?)
    };
    thread_of(&store)
        .run("set the clock back", ahead)
        .await
        .unwrap();
    assert_eq!(overdue().await.len(), 1);
}
