//! Creates a database for each test on the server that NIGHTSHIFT_TEST_POSTGRES names. It is a copy of a template that
//! is migrated once for each state of the migrations, and is dropped at the end of its test.

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::options;
use crate::PostgresStore;

/// The lock for the creation of the template.
const LOCK: i64 = 7_226_900;

/// A database that is dropped with this value.
pub(crate) struct TestDatabase {
    admin: String,
    url: String,
    name: String,
}

impl TestDatabase {
    /// Creates a database with the schema. Prints a note and returns `None` if there is no server.
    pub(crate) async fn new() -> Option<Self> {
        let database = Self::empty_of(&model().await?).await;
        Some(database)
    }

    /// Creates a database without a schema.
    pub(crate) async fn empty() -> Option<Self> {
        server()?;
        Some(Self::empty_of("template1").await)
    }

    async fn empty_of(model: &str) -> Self {
        let admin = server().unwrap();
        let name = format!("nightshift_{}", uuid::Uuid::new_v4().simple());
        let client = connect(&admin).await;
        let sql = format!("CREATE DATABASE {name} TEMPLATE {model}");
        client.batch_execute(&sql).await.unwrap();
        Self {
            url: database_url(&admin, &name),
            admin,
            name,
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Opens a connection that does not belong to the store.
    pub(crate) async fn client(&self) -> Client {
        connect(&self.url).await
    }

    pub(crate) async fn texts(&self, sql: &str) -> Vec<Vec<String>> {
        texts(&self.client().await, sql).await
    }
}

pub(crate) async fn texts(client: &Client, sql: &str) -> Vec<Vec<String>> {
    let answer = client.simple_query(sql).await.unwrap();
    let rows = answer.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let cells = |row: &tokio_postgres::SimpleQueryRow| {
        let cell = |at| row.get(at).unwrap_or_default().to_owned();
        (0..row.len()).map(cell).collect()
    };
    rows.map(cells).collect()
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (admin, name) = (self.admin.clone(), self.name.clone());
        let drop = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                connect(&admin).await.batch_execute(&sql).await.unwrap();
            });
        };
        // The test's runtime cannot block here, so another thread does.
        assert!(std::thread::spawn(drop).join().is_ok());
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "`tests/services` says in the environment where the server is"
)]
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn server() -> Option<String> {
    let url = environment("NIGHTSHIFT_TEST_POSTGRES");
    if url.is_none() {
        eprintln!(
            "not tested on PostgreSQL: NIGHTSHIFT_TEST_POSTGRES names no server; run tests/services"
        );
    }
    url
}

/// Returns the address of another database of the same server.
fn database_url(admin: &str, name: &str) -> String {
    let mut url = url::Url::parse(admin).unwrap();
    url.set_path(name);
    url.into()
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    drop(tokio::runtime::Handle::current().spawn(connection));
    client
}

/// Returns the name of the template, which is created if it is missing.
async fn model() -> Option<String> {
    let admin = server()?;
    let name = format!("model_of_nightshift_{:x}", PostgresStore::schema_checksum());
    let client = connect(&admin).await;
    let find = format!("SELECT datname FROM pg_database WHERE datname = '{name}'");
    if texts(&client, &find).await.is_empty() {
        let lock = format!("SELECT pg_advisory_lock({LOCK})");
        client.batch_execute(&lock).await.unwrap();
        if texts(&client, &find).await.is_empty() {
            let making = format!("{name}_making");
            for sql in [
                format!("DROP DATABASE IF EXISTS {making} WITH (FORCE)"),
                format!("CREATE DATABASE {making}"),
            ] {
                client.batch_execute(&sql).await.unwrap();
            }
            drop(
                PostgresStore::open(&database_url(&admin, &making), options())
                    .await
                    .unwrap(),
            );
            // The rename waits until the connections of the store have ended.
            let rename = format!("ALTER DATABASE {making} RENAME TO {name}");
            client.batch_execute(&rename).await.unwrap();
        }
    }
    Some(name)
}
