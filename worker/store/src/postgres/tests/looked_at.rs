//! Tests that the doctor knows all tables of the schema.

use crate::conformance::server::TestDatabase;
use crate::postgres::doctor::OURS;

#[tokio::test]
async fn every_table_of_the_migrations_is_looked_at() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() \
        AND tablename <> 'refinery_schema_history' ORDER BY 1";
    let tables = database.texts(sql).await.concat();
    assert_eq!(tables, OURS);
}
