//! Kills a worker before and after each of its commits. Nothing is lost, nothing is posted twice, and no finished call
//! is made again (row F1 of the faults).
//!
//! The loops are the real ones over a real store; a killed worker is one whose tasks have stopped. `resume` and
//! `production` test SIGKILL of the process.

mod fixture;
mod killer;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use nightshift_engine::event::EventBody;
use nightshift_pipeline::admission::AdmissionPolicy;
use nightshift_pipeline::case::CaseStatus;
use nightshift_store::{SqlStore, SqliteOptions, Store, StoreOptions};

use fixture::{KillFixture, LEASE};
use killer::{KillPoint, Killer, WorkerAction};

/// The least number of journal appends that two playbook cases make.
const APPENDS: usize = 8;
/// The lease in tests that count crashes. It is longer, because a lease that ends on a busy machine counts as a
/// crash.
const CRASHED: Duration = Duration::from_secs(3);
/// The number of fixtures that run at the same time.
const TOGETHER: usize = 4;

/// Returns every point where a worker can be killed.
fn everywhere() -> Vec<(WorkerAction, KillPoint)> {
    let appends = (1..=APPENDS).map(WorkerAction::Append);
    let deeds = [
        WorkerAction::Accept,
        WorkerAction::Claim,
        WorkerAction::Conclude,
        WorkerAction::Post,
    ];
    deeds
        .into_iter()
        .chain(appends)
        .flat_map(|deed| [(deed, KillPoint::Before), (deed, KillPoint::After)])
        .collect()
}

/// Kills a worker at this point, lets the next one finish, and checks the invariants.
async fn story(store: Arc<dyn Store>, deed: WorkerAction, side: KillPoint) {
    let at = format!("{side:?} {deed:?}");
    let world = KillFixture::new(store);
    assert!(
        world.run_worker(Killer::at(deed, side)).await,
        "{at} never came"
    );
    let finished = world.finished().await;
    let before = world.calls.lock().unwrap().len();
    assert!(!world.run_worker(Killer::default()).await);

    let calls = world.calls.lock().unwrap().clone();
    let again: Vec<_> = calls[before..]
        .iter()
        .filter(|made| finished.contains(made))
        .collect();
    assert!(again.is_empty(), "{at}: made again: {again:#?}");
    assert!(world.broker.is_empty(), "{at}: not settled");
    let cases = world.cases().await;
    assert_eq!(cases.len(), 2, "{at}: {cases:#?}");
    for case in &cases {
        assert_eq!(
            (case.status, case.revision),
            (CaseStatus::Concluded, 1),
            "{at}"
        );
        let view = world.store.view(&case.id.0).await.unwrap();
        let mut ended = BTreeSet::new();
        for event in &view.events {
            let Some(id) = event.body.command() else {
                continue;
            };
            assert!(!ended.contains(id), "{at}: {id:?} goes on after its end");
            if matches!(event.body, EventBody::Finished { .. }) {
                ended.insert(id.clone());
            }
        }
    }
    let posts = world.posts.lock().unwrap().clone();
    assert_eq!(posts.len(), 2, "{at}: {posts:?}");
    assert!(posts.values().all(|times| *times == 1), "{at}: {posts:?}");
}

/// Opens a store on SQLite and returns it with its folder.
fn sqlite() -> (tempfile::TempDir, Arc<dyn Store>) {
    sqlite_with(LEASE)
}

fn sqlite_with(lease: Duration) -> (tempfile::TempDir, Arc<dyn Store>) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqlStore::open_sqlite(&SqliteOptions {
        blobs: None,
        path: folder.path().join("cases.db"),
        lease,
        admission: AdmissionPolicy::default(),
    });
    (folder, Arc::new(store.unwrap()))
}

async fn postgresql() -> Arc<dyn Store> {
    postgresql_with(LEASE).await
}

async fn postgresql_with(lease: Duration) -> Arc<dyn Store> {
    let url = super::production::database().await;
    let options = StoreOptions::new(lease, AdmissionPolicy::default());
    Arc::new(SqlStore::open_postgres(&url, options).await.unwrap())
}

/// Makes the store unavailable for longer than a lease, more often than a case may crash.
async fn outages(store: Arc<dyn Store>) {
    let world = KillFixture::new(store);
    assert!(!world.run_worker(Killer::with_outages(4)).await);
    let cases = world.cases().await;
    assert!(
        cases
            .iter()
            .all(|case| case.status == CaseStatus::Concluded),
        "{cases:#?}"
    );
}

/// Lets one case crash every worker that triages it, while another case waits.
async fn poisoned(store: Arc<dyn Store>) {
    let world = KillFixture::new(store);
    world.take_in().await;
    let suspect = world.cases().await.remove(0).id;
    let mut crashes = 0;
    while world.run_worker(Killer::of_case(&suspect)).await {
        crashes += 1;
        assert!(crashes <= 3, "nobody gives it up");
    }
    assert_eq!(crashes, 3);
    let cases = world.cases().await;
    assert_eq!(cases.len(), 2);
    for case in &cases {
        let status = match case.id == suspect {
            true => CaseStatus::Failed,
            false => CaseStatus::Concluded,
        };
        assert_eq!((case.status, case.revision), (status, 1), "{cases:#?}");
    }
    let view = world.store.view(&suspect.0).await.unwrap();
    assert!(view.report.is_some());
    let verified = nightshift_engine::verify::verify(&view.events);
    assert_eq!(verified.violations, []);
    let conclusion = verified.state.conclusion.unwrap();
    let failed = conclusion.failed.unwrap();
    assert!(failed.contains("3 workers were lost"), "{failed}");
    let posts = world.posts.lock().unwrap().clone();
    assert_eq!(posts.get(&suspect.0), Some(&1), "{posts:?}");

    // The cause is fixed, and the next revision starts without counted crashes.
    world.store.retry(&suspect.0).await.unwrap();
    assert!(!world.run_worker(Killer::default()).await);
    let view = world.store.view(&suspect.0).await.unwrap();
    assert_eq!(
        (view.row.status, view.row.revision),
        (CaseStatus::Concluded, 2)
    );
}

#[tokio::test]
async fn f05_case_that_crashes_three_workers_fails_once_on_sqlite() {
    let (_folder, store) = sqlite_with(CRASHED);
    poisoned(store).await;
}

#[cfg_attr(not(has_services), ignore = "needs PostgreSQL: run tests/services")]
#[tokio::test]
async fn f05_case_that_crashes_three_workers_fails_once_on_postgresql() {
    poisoned(postgresql_with(CRASHED).await).await;
}

#[tokio::test]
async fn f01_a_kill_at_any_commit_loses_and_repeats_nothing_on_sqlite() {
    let stories = everywhere().into_iter().map(|(deed, side)| async move {
        let (_folder, store) = sqlite();
        story(store, deed, side).await;
    });
    let stories = futures_util::stream::iter(stories).buffer_unordered(TOGETHER);
    stories.collect::<Vec<()>>().await;
}

#[cfg_attr(not(has_services), ignore = "needs PostgreSQL: run tests/services")]
#[tokio::test]
async fn f01_kill_at_any_commit_loses_nothing_on_postgresql() {
    let stories = everywhere()
        .into_iter()
        .map(|(deed, side)| async move { story(postgresql().await, deed, side).await });
    let stories = futures_util::stream::iter(stories).buffer_unordered(TOGETHER);
    stories.collect::<Vec<()>>().await;
}

#[tokio::test]
async fn f14_outages_longer_than_a_lease_fail_no_case_on_sqlite() {
    let (_folder, store) = sqlite();
    outages(store).await;
}

#[cfg_attr(not(has_services), ignore = "needs PostgreSQL: run tests/services")]
#[tokio::test]
async fn f14_outages_longer_than_a_lease_fail_no_case_on_postgresql() {
    outages(postgresql().await).await;
}

#[tokio::test]
async fn a_renewal_of_leases_that_panics_is_begun_again() {
    let (_folder, store) = sqlite();
    assert!(
        KillFixture::new(store)
            .run_worker(Killer::spoils_renewal())
            .await
    );
}
