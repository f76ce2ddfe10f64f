//! Tests all stores with one suite: nothing accepted is lost, a case has one writer, and a report is shown once.
//!
//! A test takes a [`Fixture`], an empty store, and runs on SQLite, on PostgreSQL, and on PostgreSQL behind a pooler that
//! lends its connections, one or five, for a transaction only. The tests on PostgreSQL run where NIGHTSHIFT_TEST_POSTGRES
//! names a server (`tests/services` starts one), and print a note where it does not.

/// Runs tests on both stores, on PostgreSQL also behind a pooler. Each test is an `async fn(Fixture)`.
macro_rules! on_both_stores {
    ($($test:ident)+) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $test() {
                super::$test($crate::conformance::Fixture::sqlite().await).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $test() {
                if let Some(fixture) = $crate::conformance::Fixture::postgres().await {
                    super::$test(fixture).await;
                }
            })+
        }
        mod on_a_pool_of_one {
            $(#[tokio::test]
            async fn $test() {
                if let Some(fixture) = $crate::conformance::Fixture::pooled(1).await {
                    super::$test(fixture).await;
                }
            })+
        }
        mod on_a_pool_of_five {
            $(#[tokio::test]
            async fn $test() {
                if let Some(fixture) = $crate::conformance::Fixture::pooled(5).await {
                    super::$test(fixture).await;
                }
            })+
        }
    };
}

mod admission;
mod backlog;
mod blobs;
mod canaries;
mod cases;
mod channel;
mod feedback;
mod goes_on;
mod inbox;
mod journals;
mod leases;
mod ledger;
mod lists;
mod models_down;
mod mutes;
mod newer;
mod outbox;
mod owed;
mod people;
pub(crate) mod pooler;
mod purge;
mod reading;
mod recheck;
mod refused;
mod reopened;
pub(crate) mod server;
mod spending;
mod unread;
mod upgrade;
mod upkeep;
mod workflow;

use std::sync::Arc;
use std::time::Duration;

use nightshift_alert::Alert;
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::admission::{Admission, AdmissionPolicy, SightingReason};
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::{CaseFilter, CaseId, CaseStatus, Lane, Lease};
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::port::{
    AcceptedAlert, CaseClosure, ClaimedCase, DeliveryError, DeliveryReceipt, StoreError,
};

use crate::options::StoreOptions;
use crate::{SqlStore, SqliteOptions, SqliteStore, Store};
pub(crate) use journals::{DNS, MINER, THEFT, arrivals, at, opened, whole_journal};
use pooler::Pooler;
use server::TestDatabase;

/// The database of a store under test.
enum TestBackend {
    Sqlite(tempfile::TempDir),
    /// A database, and the pooler in front of it.
    Postgres(Option<Pooler>, TestDatabase),
}

/// A store under test, with access to its database.
pub(crate) struct Fixture {
    pub(crate) store: Arc<dyn Store>,
    ground: TestBackend,
}

pub(crate) fn options() -> StoreOptions {
    StoreOptions::new(Duration::from_secs(30), AdmissionPolicy::default())
}

impl Fixture {
    pub(crate) async fn sqlite() -> Self {
        Self::on(TestBackend::Sqlite(tempfile::tempdir().unwrap())).await
    }

    pub(crate) async fn postgres() -> Option<Self> {
        let database = TestDatabase::new().await?;
        Some(Self::on(TestBackend::Postgres(None, database)).await)
    }

    /// Opens a store behind a pooler that lends this many connections for a transaction.
    pub(crate) async fn pooled(size: usize) -> Option<Self> {
        let database = TestDatabase::new().await?;
        let settings = format!("pool_mode = transaction\ndefault_pool_size = {size}");
        let pooler = Pooler::before(database.url(), &settings)?;
        Some(Self::on(TestBackend::Postgres(Some(pooler), database)).await)
    }

    async fn on(ground: TestBackend) -> Self {
        let store = open(&ground, options(), false).await;
        Self { store, ground }
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self.ground, TestBackend::Sqlite(_))
    }

    /// Opens the store as a second worker in another process, which outlives this one.
    pub(crate) async fn another(&self, options: StoreOptions) -> Arc<dyn Store> {
        open(&self.ground, options, true).await
    }

    /// Executes statements without the store, as another program would.
    pub(crate) async fn execute(&self, sql: &str) {
        match &self.ground {
            TestBackend::Sqlite(folder) => {
                sqlite(folder).execute_batch(sql).unwrap();
            }
            TestBackend::Postgres(_, database) => {
                let client = database.client().await;
                client.batch_execute(sql).await.unwrap();
            }
        }
    }

    /// Runs a query and returns its rows as text.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<Vec<String>> {
        match &self.ground {
            TestBackend::Sqlite(folder) => {
                let connection = sqlite(folder);
                let mut statement = connection.prepare(sql).unwrap();
                let columns = statement.column_count();
                let text = |row: &rusqlite::Row<'_>, column| match row.get_unwrap(column) {
                    rusqlite::types::Value::Null => String::new(),
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Real(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    rusqlite::types::Value::Blob(bytes) => format!("{bytes:?}"),
                };
                let rows = statement
                    .query_map([], |row| Ok((0..columns).map(|at| text(row, at)).collect()))
                    .unwrap();
                rows.collect::<Result<_, _>>().unwrap()
            }
            TestBackend::Postgres(_, database) => database.texts(sql).await,
        }
    }

    /// Returns whether this text occurs in a row, or in bytes of a file that no longer belong to a row.
    pub(crate) async fn contains(&self, text: &str) -> bool {
        match &self.ground {
            TestBackend::Sqlite(folder) => {
                let files = std::fs::read_dir(path(folder).parent().unwrap()).unwrap();
                let mut files = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
                files.any(|bytes| {
                    let mut windows = bytes.windows(text.len());
                    windows.any(|window| window == text.as_bytes())
                })
            }
            TestBackend::Postgres(..) => {
                let sql = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'";
                for table in self.texts(sql).await.concat() {
                    let sql = format!(
                        "SELECT count(*) FROM {table} AS one WHERE one::text LIKE '%{text}%' \
                             OR one::text LIKE '%{}%'",
                        hex::encode(text)
                    );
                    if self.count(&sql).await > 0 {
                        return true;
                    }
                }
                false
            }
        }
    }

    pub(crate) async fn count(&self, sql: &str) -> i64 {
        self.texts(sql).await[0][0].parse().unwrap()
    }

    /// Expires a lease.
    pub(crate) async fn expire(&self, lease: &Lease) {
        let past = if self.is_sqlite() {
            "0"
        } else {
            "clock_timestamp() - interval '1 second'"
        };
        let id = &lease.case_id.0;
        self.execute(&format!(
            "UPDATE cases SET lease_until = {past} WHERE id = '{id}'"
        ))
        .await;
    }

    pub(crate) async fn accept(&self, bytes: &[u8]) -> AcceptedAlert {
        self.store
            .accept(arrivals(bytes).into())
            .await
            .unwrap()
            .remove(0)
    }

    pub(crate) async fn take(&self, arrival: Arrival) -> AcceptedAlert {
        self.store
            .accept(Arc::new([arrival]))
            .await
            .unwrap()
            .remove(0)
    }

    pub(crate) async fn claim(&self) -> ClaimedCase {
        self.store.claim(Lane::Any, 1).await.unwrap().remove(0)
    }
}

async fn open(ground: &TestBackend, options: StoreOptions, another: bool) -> Arc<dyn Store> {
    match ground {
        TestBackend::Sqlite(folder) => {
            let store = SqliteStore::open(&SqliteOptions {
                path: path(folder),
                lease: options.lease,
                admission: options.admission,
                blobs: options.blobs,
            })
            .unwrap();
            if another {
                let parent = std::os::unix::process::parent_id();
                Arc::new(SqlStore::from(store.of_process(parent)))
            } else {
                Arc::new(SqlStore::from(store))
            }
        }
        TestBackend::Postgres(pooler, database) => {
            let url = pooler.as_ref().map_or(database.url(), Pooler::url);
            let options = StoreOptions {
                pooled: pooler.is_some(),
                ..options
            };
            Arc::new(SqlStore::open_postgres(url, options).await.unwrap())
        }
    }
}

fn path(folder: &tempfile::TempDir) -> std::path::PathBuf {
    folder.path().join("deep/er/cases.db")
}

fn sqlite(folder: &tempfile::TempDir) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(path(folder)).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection
}

pub(crate) fn case_of(accepted: &AcceptedAlert) -> CaseId {
    accepted.case_id.clone().unwrap()
}

pub(crate) async fn conclude(store: &Arc<dyn Store>, claimed: &ClaimedCase) {
    conclude_as(store, claimed, Verdict::Inconclusive).await;
}

pub(crate) async fn conclude_as(store: &Arc<dyn Store>, claimed: &ClaimedCase, verdict: Verdict) {
    conclude_with(store, claimed, |closing| {
        closing.conclusion.verdict = verdict;
    })
    .await;
}

/// Ends the triage as failed.
pub(crate) async fn fail(store: &Arc<dyn Store>, claimed: &ClaimedCase) {
    conclude_with(store, claimed, |closing| {
        closing.conclusion.verdict = Verdict::Inconclusive;
        (closing.status, closing.report.status) = (CaseStatus::Failed, CaseStatus::Failed);
    })
    .await;
}

/// Concludes a case. The function turns a whole triage into the conclusion.
pub(crate) async fn conclude_with(
    store: &Arc<dyn Store>,
    claimed: &ClaimedCase,
    change: impl FnOnce(&mut CaseClosure),
) {
    let (events, mut closing) = whole_journal(claimed);
    let times = &claimed.alert.times;
    closing.report.alert.first_seen = times.first_seen;
    closing.report.alert.last_seen = times.last_seen;
    closing.report.ledger.clear();
    change(&mut closing);
    let lease = &claimed.lease;
    store
        .append(lease, &events, Charge::default())
        .await
        .unwrap();
    store.conclude(lease, &closing).await.unwrap();
}
