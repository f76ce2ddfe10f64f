//! Tests a rolling upgrade: the next version migrates the database while this one uses it (F32).

use refinery::Migration;

use super::*;

on_both_stores! {
    f32_worker_goes_on_beside_the_next_version
    f32_worker_starts_on_the_schema_of_the_next_version
}

/// The migration of the next version, which adds a column and a table, as migrations may.
const NEXT: &str = "ALTER TABLE cases ADD COLUMN region text NOT NULL DEFAULT 'unknown'; \
     CREATE TABLE regions (name text PRIMARY KEY)";

impl Fixture {
    /// Applies the migrations of the next version.
    async fn migrate_further(&self) {
        let next = Migration::unapplied("V2__regions", NEXT).unwrap();
        match &self.ground {
            TestBackend::Sqlite(folder) => {
                let runner = crate::sqlite::runner_with(next);
                runner.run(&mut sqlite(folder)).unwrap();
            }
            TestBackend::Postgres(_, database) => {
                let runner = crate::postgres::runner_with(next);
                let client = database.client().await;
                crate::postgres::migrate(&client, &runner, Duration::ZERO)
                    .await
                    .unwrap();
            }
        }
    }
}

/// Accepts an alert, and claims and concludes its case.
async fn triage_one(store: &Arc<dyn Store>, bytes: &[u8]) -> CaseId {
    let accepted = store.accept(arrivals(bytes).into()).await.unwrap();
    let id = case_of(&accepted[0]);
    let claimed = store.claim(Lane::Any, 1).await.unwrap().remove(0);
    assert_eq!(claimed.lease.case_id, id);
    conclude(store, &claimed).await;
    id
}

async fn f32_worker_goes_on_beside_the_next_version(fixture: Fixture) {
    fixture.accept(MINER).await;
    let running = fixture.claim().await;
    fixture.accept(DNS).await;
    fixture.migrate_further().await;
    // A case that ran during the migration is concluded after it, and a waiting case is claimed.
    conclude(&fixture.store, &running).await;
    let waited = fixture.claim().await;
    conclude(&fixture.store, &waited).await;
    triage_one(&fixture.store, THEFT).await;
    let filled = "SELECT count(*) FROM cases WHERE status = 'concluded' AND region = 'unknown'";
    assert_eq!(fixture.count(filled).await, 3);
    assert_eq!(
        fixture.store.due_deliveries("soc", 9).await.unwrap().len(),
        3
    );
}

async fn f32_worker_starts_on_the_schema_of_the_next_version(fixture: Fixture) {
    fixture.migrate_further().await;
    let store = fixture.another(options()).await;
    let names = store.migrations().await.unwrap();
    assert_eq!(names, ["V1__schema", "V2__regions"], "it runs none itself");
    let id = triage_one(&store, MINER).await;
    let view = store.view(&id.0).await.unwrap();
    assert_eq!(view.row.status, CaseStatus::Concluded);
}
