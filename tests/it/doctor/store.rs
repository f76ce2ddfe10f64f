//! Tests findings about a PostgreSQL server with production settings that are made worse one at a time.

use std::process::Command;

use nightshift_tests::{Sandbox, repository_root};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use super::sqs::SETTINGS;
use super::{failed_checks, run_doctor, service};
use crate::worker::blobs;

/// A PostgreSQL server of one test, started by `tests/postgres`.
pub(crate) struct PostgresServer {
    dir: tempfile::TempDir,
    /// The address of the superuser.
    pub(super) url: String,
    pub(super) client: Client,
    _tasks: JoinSet<()>,
}

impl PostgresServer {
    pub(crate) async fn start() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("nightshift-doctor-")
            .tempdir_in("/tmp")
            .unwrap();
        let started = script("start", dir.path());
        let url = started.trim().to_owned();
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(connection.await) });
        let server = Self {
            dir,
            url,
            client,
            _tasks: tasks,
        };
        server
            .execute("CREATE ROLE nightshift LOGIN PASSWORD 'hush'")
            .await;
        server
            .execute("CREATE DATABASE nightshift OWNER nightshift")
            .await;
        server
    }

    pub(super) async fn execute(&self, sql: &str) {
        self.client.batch_execute(sql).await.unwrap();
    }

    /// Returns the address of the database for this role.
    pub(super) fn url_for_role(&self, role: &str) -> String {
        let (_, rest) = self.url.split_once('@').unwrap();
        format!(
            "postgres://{role}@{}",
            rest.replacen("/postgres?", "/nightshift?", 1)
        )
    }

    /// Stops the server; `go_on` starts it again.
    pub(crate) fn stop(&self) {
        script("stop", self.dir.path());
    }

    /// Starts the server again on the same port.
    pub(crate) fn restart(&self) {
        script("start", self.dir.path());
    }

    pub(crate) fn config(&self) -> String {
        format!(
            "[store]\nurl = \"{}\"\npassword = \"file:pw\"\n",
            self.url_for_role("nightshift")
        )
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        script("stop", self.dir.path());
    }
}

fn script(verb: &str, dir: &std::path::Path) -> String {
    let ran = Command::new(repository_root().join("tests/postgres"))
        .arg(verb)
        .arg(dir)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// SQL that makes a role or a database worse, SQL that repairs it, and the finding in between.
const WORSE: [(&str, &str, &str); 5] = [
    (
        "ALTER ROLE nightshift SUPERUSER",
        "ALTER ROLE nightshift NOSUPERUSER",
        "store.superuser",
    ),
    (
        "ALTER ROLE nightshift SET default_transaction_read_only = on",
        "ALTER ROLE nightshift RESET default_transaction_read_only",
        "store.read_only",
    ),
    (
        "ALTER ROLE nightshift CONNECTION LIMIT 0",
        "ALTER ROLE nightshift CONNECTION LIMIT -1",
        "store.connections",
    ),
    (
        "ALTER ROLE nightshift CONNECTION LIMIT 5",
        "ALTER ROLE nightshift CONNECTION LIMIT -1",
        "store.connections",
    ),
    (
        "ALTER DATABASE nightshift CONNECTION LIMIT 10",
        "ALTER DATABASE nightshift CONNECTION LIMIT -1",
        "store.connections",
    ),
];

/// SQL that shows and hides a vendor's storage, and the name of the vendor.
const STORAGES: [(&str, &str, &str); 2] = [
    (
        "ALTER ROLE nightshift SET neon.tenant_id = '3aa8fcc61f6d357410b7de754b1d9001'",
        "ALTER ROLE nightshift RESET neon.tenant_id",
        "Neon",
    ),
    (
        "CREATE FUNCTION pg_catalog.aurora_version() RETURNS text LANGUAGE sql AS $$ SELECT '16.4.1' $$",
        "DROP FUNCTION pg_catalog.aurora_version()",
        "Aurora",
    ),
];
const OF_THE_LOG: [&str; 2] = ["fsync", "full_page_writes"];

#[cfg_attr(not(has_services), ignore = "needs PostgreSQL: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_made_worse_one_setting_at_a_time() {
    let server = PostgresServer::start().await;
    let place = Sandbox::new().unwrap();
    place.write_file("pw", "hush\n").unwrap();
    let config = server.config();
    let look = || failed_checks(&place, &config, "store");
    assert_eq!(
        look(),
        ["store.schema_behind"],
        "and nothing is migrated by looking"
    );
    assert_eq!(look(), ["store.schema_behind"]);
    place.write_file("nightshift.toml", &config).unwrap();
    let ran = place.run(&["migrate"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = run_doctor(&place, &config, "store,clock");
    assert_eq!(
        said.failed_checks(),
        Vec::<&str>::new(),
        "{:#}",
        said.object
    );
    for setting in [
        "fsync",
        "full_page_writes",
        "synchronous_commit",
        "autovacuum",
    ] {
        server
            .execute(&format!("ALTER SYSTEM SET {setting} = off"))
            .await;
        server.reload(setting, "off").await;
        assert_eq!(look(), [format!("store.{setting}")]);
        server
            .execute(&format!("ALTER SYSTEM RESET {setting}"))
            .await;
        server.reload(setting, "on").await;
    }
    server.kept_elsewhere(&place, &config).await;
    for (worse, better, check) in WORSE {
        server.execute(worse).await;
        assert_eq!(look(), [check]);
        server.execute(better).await;
    }
    assert_eq!(look(), Vec::<String>::new());
    // A variable may end with a newline, as a file does.
    let mut told = Sandbox::new().unwrap();
    told.set_env("PW", "hush\n");
    let of_variable = config.replace("file:pw", "env:PW");
    assert_eq!(
        failed_checks(&told, &of_variable, "store"),
        Vec::<String>::new()
    );
    server
        .execute("CREATE ROLE guest LOGIN PASSWORD 'hush'")
        .await;
    let guest = format!(
        "[store]\nurl = \"{}\"\npassword = \"file:pw\"\n",
        server.url_for_role("guest")
    );
    server.rights(&place, &guest).await;
    server.doors(&place, &guest).await;
}

impl PostgresServer {
    /// Checks the findings when a role may not connect to a database.
    async fn doors(&self, place: &Sandbox, guest: &str) {
        for (worse, better, mend) in [
            (
                "REVOKE CONNECT ON DATABASE nightshift FROM public",
                "GRANT CONNECT ON DATABASE nightshift TO public",
                "GRANT CONNECT ON DATABASE \"nightshift\" TO \"guest\"",
            ),
            (
                "ALTER DATABASE nightshift ALLOW_CONNECTIONS false",
                "ALTER DATABASE nightshift ALLOW_CONNECTIONS true",
                "the database takes no connections at all: ALTER DATABASE \"nightshift\" ALLOW_CONNECTIONS true",
            ),
        ] {
            self.execute(worse).await;
            let said = run_doctor(place, guest, "store");
            assert_eq!(said.only_finding()["check"], "store.refused", "{worse}");
            let told = said.only_finding()["mend"].as_str().unwrap();
            assert!(told.starts_with(mend), "{told}");
            self.execute(better).await;
        }
    }

    /// Checks the rights on tables and sequences that a role without own objects needs.
    async fn rights(&self, place: &Sandbox, guest: &str) {
        let url = self.url.replacen("/postgres?", "/nightshift?", 1);
        let (ours, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(connection.await) });
        let tables =
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO \"guest\"";
        let sequences = "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO \"guest\"";
        for mend in [tables, sequences] {
            let said = run_doctor(place, guest, "store");
            let findings = said.object["findings"].as_array().unwrap();
            let is_told =
                |one: &serde_json::Value| one["check"] == "store.privileges" && one["mend"] == mend;
            assert!(findings.iter().any(is_told), "{mend}: {:#}", said.object);
            ours.batch_execute(mend).await.unwrap();
        }
        assert_eq!(failed_checks(place, guest, "store"), Vec::<String>::new());
        // Up to PostgreSQL 14 every role may create tables there. Changing Nightshift's tables needs their owner.
        ours.batch_execute(
            "GRANT CREATE ON SCHEMA public TO public; \
             CREATE TEMP TABLE last AS SELECT * FROM refinery_schema_history ORDER BY version DESC LIMIT 1; \
             DELETE FROM refinery_schema_history WHERE version = (SELECT version FROM last)",
        )
        .await
        .unwrap();
        let said = run_doctor(place, guest, "store");
        assert_eq!(said.only_finding()["check"], "store.schema_behind");
        assert_eq!(said.only_finding()["severity"], "error");
        ours.batch_execute("INSERT INTO refinery_schema_history SELECT * FROM last")
            .await
            .unwrap();
        assert_eq!(failed_checks(place, guest, "store"), Vec::<String>::new());
    }

    /// Checks that fsync and full pages are not reported where the storage itself keeps the log.
    async fn kept_elsewhere(&self, place: &Sandbox, config: &str) {
        let url = self.url.replacen("/postgres?", "/nightshift?", 1);
        let (ours, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(connection.await) });
        for setting in OF_THE_LOG {
            self.execute(&format!("ALTER SYSTEM SET {setting} = off"))
                .await;
            self.reload(setting, "off").await;
        }
        for (make, remove, whose) in STORAGES {
            ours.batch_execute(make).await.unwrap();
            let said = run_doctor(place, config, "store");
            assert_eq!(said.failed_checks(), Vec::<&str>::new(), "{whose}");
            let seen = said.object["areas"][0]["seen"].to_string();
            let told = format!("fsync and full_page_writes are off: {whose} keeps the log");
            assert!(seen.contains(&told), "{seen}");
            ours.batch_execute(remove).await.unwrap();
        }
        for setting in OF_THE_LOG {
            self.execute(&format!("ALTER SYSTEM RESET {setting}")).await;
            self.reload(setting, "on").await;
        }
    }

    /// Waits until new connections have this value.
    async fn reload(&self, setting: &str, wanted: &str) {
        self.execute("SELECT pg_reload_conf()").await;
        // The signal takes time to arrive; each query is one round trip.
        for _ in 0..10_000 {
            let row = self
                .client
                .query_one(&format!("SHOW {setting}"), &[])
                .await
                .unwrap();
            if row.get::<_, String>(0) == wanted {
                return;
            }
        }
        panic!("{setting} did not become {wanted}");
    }
}

#[cfg_attr(not(has_services), ignore = "needs PostgreSQL: run tests/services")]
#[tokio::test]
async fn who_is_not_let_in_is_told_why() {
    let place = Sandbox::new().unwrap();
    let url = service("POSTGRES");
    let look = |url: &str| failed_checks(&place, &format!("[store]\nurl = \"{url}\"\n"), "store");
    let (user, host) = url.split_once('@').unwrap();
    let wrong = format!("{}-wrong@{host}", user);
    assert_eq!(look(&wrong), ["store.refused"]);
    assert_eq!(
        look(&url.replacen("/postgres?", "/no_such_database?", 1)),
        ["store.no_database"]
    );
    assert_eq!(
        look("postgres://nightshift@127.0.0.1:1/db?sslmode=disable"),
        ["store.unreachable"]
    );
    assert_eq!(
        look("postgres://nightshift@127.0.0.1:1/db?sslmode=maybe"),
        ["store.unreachable"]
    );
    let tls = url.replacen("sslmode=disable", "sslmode=require", 1);
    let said = run_doctor(&place, &format!("[store]\nurl = \"{tls}\"\n"), "store");
    let mend = said.only_finding()["mend"].as_str().unwrap();
    assert!(mend.starts_with("there is no TLS there"), "{mend}");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let name = format!("doctor_{}", uuid::Uuid::new_v4().simple());
    let make = format!("CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    client.batch_execute(&make).await.unwrap();
    let said = look(&url.replacen("/postgres?", &format!("/{name}?"), 1));
    assert!(said.contains(&"store.encoding".to_owned()), "{said:?}");
    client
        .batch_execute(&format!("DROP DATABASE {name}"))
        .await
        .unwrap();
}

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL and moto: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_of_large_messages() {
    let server = PostgresServer::start().await;
    let mut place = Sandbox::new().unwrap();
    for (name, value) in SETTINGS {
        place.set_env(name, value);
    }
    place.write_file("pw", "hush\n").unwrap();
    place
        .write_file("nightshift.toml", server.config())
        .unwrap();
    assert_eq!(place.run(&["migrate"]).unwrap().code, Some(0));
    let bucket = blobs::bucket().await;
    for (place_of_blobs, checks) in [
        (blobs::blobs(&bucket), &[][..]),
        (blobs::blobs("nobody-made-this"), &["store.blobs"]),
        (
            "[blobs]\nurl = \"file:blobs\"\n".to_owned(),
            &["store.blobs_on_one_host"],
        ),
    ] {
        let config = format!("{}{place_of_blobs}", server.config());
        assert_eq!(
            failed_checks(&place, &config, "store"),
            checks,
            "{place_of_blobs}"
        );
    }
    place.write_file("data/blobs", "a file").unwrap();
    let a_file =
        "[store]\nurl = \"sqlite:data/nightshift.db\"\n[blobs]\nurl = \"file:data/blobs\"\n";
    let said = run_doctor(&place, a_file, "store");
    assert_eq!(
        said.only_finding()["check"],
        "store.blobs",
        "{:#}",
        said.object
    );
}
