//! Tests several workers on PostgreSQL and RabbitMQ, as in production, also behind a pooler.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use nightshift_tests::{Publisher, RunningProgram, Sandbox, sample_finding};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use super::fixture::{cases, reports};

/// Returns the address of a service that `tests/services` starts.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which services there are"
)]
pub(crate) fn service(name: &str) -> String {
    std::env::var(format!("NIGHTSHIFT_TEST_{name}")).unwrap()
}

/// Creates a database for one test.
pub(crate) async fn database() -> String {
    let url = service("POSTGRES");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let name = format!("it_{}", uuid::Uuid::new_v4().simple());
    client
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await
        .unwrap();
    url.replacen("/postgres?", &format!("/{name}?"), 1)
}

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL and RabbitMQ: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f01_killed_worker_loses_nothing_on_postgresql_and_rabbitmq() {
    let url = database().await;
    killed_worker_loses_nothing(&format!("{{ url = \"{url}\" }}")).await;
}

#[cfg_attr(
    not(all(has_services, has_pooler)),
    ignore = "needs PostgreSQL, PgBouncer and RabbitMQ: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f01_killed_worker_loses_nothing_behind_a_pooler() {
    let url = database().await;
    let folder = tempfile::tempdir().unwrap();
    let (_pooler, pooled) = pooler(folder.path(), &url);
    killed_worker_loses_nothing(&format!(
        "{{ url = \"{pooled}\", pooled = true, notify_url = \"{url}\" }}"
    ))
    .await;
}

/// Starts PgBouncer with five connections that it lends for a transaction. Returns the address behind it.
fn pooler(folder: &std::path::Path, server: &str) -> (RunningProgram, String) {
    let mut url = url::Url::parse(server).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    // PgBouncer refuses to run as root, and then changes to this user.
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let config = format!(
        "[databases]\n* = host={} port={} user={} password={}\n\
         [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
         pool_mode = transaction\ndefault_pool_size = 5\n{}",
        url.host_str().unwrap(),
        url.port().unwrap(),
        url.username(),
        url.password().unwrap(),
        if is_root { "user = postgres\n" } else { "" },
    );
    let file = folder.join("pgbouncer.ini");
    std::fs::write(&file, config).unwrap();
    let mut running = RunningProgram::start(Command::new(service("PGBOUNCER")).arg(file)).unwrap();
    running.wait_for_line("process up");
    url.set_port(Some(port)).unwrap();
    (running, url.into())
}

async fn killed_worker_loses_nothing(store: &str) {
    const ALERTS: usize = 30;
    let queue = format!("it-{}", uuid::Uuid::new_v4().simple());
    let place = Sandbox::new().unwrap();
    let config = format!(
        "log = {{ level = \"warn,nightshift_pipeline=info\", format = \"text\" }}\n\
         store = {store}\nworker = {{ max_cases = 4, lease_secs = 15 }}\n\
         [limits]\nstorm_cases = 1000\n\
         [[source]]\nname = \"mq\"\nkind = \"rabbitmq\"\nurl = \"{}\"\nqueue = \"{queue}\"\n\
         [[destination]]\nname = \"files\"\nkind = \"file\"\npath = \"reports\"\nformat = \"json\"\n\
         [[route]]\ndestinations = [\"files\"]\n",
        service("RABBITMQ"),
    );
    place.write_file("nightshift.toml", config).unwrap();
    let alert = |n| {
        sample_finding("scc-crypto-miner", &format!("p{n}"))
            .unwrap()
            .to_string()
    };
    let alerts: Vec<String> = (0..ALERTS).map(alert).collect();
    let publisher = Publisher::connect(&service("RABBITMQ"), &queue).await;
    publisher.unwrap().publish(&alerts).await.unwrap();
    let mut dies = place.start(&["worker", "--only", "intake,triage"]).unwrap();
    dies.wait_for_lines("case concluded", 3);
    dies.kill();
    // The killed worker had claimed further cases, which are taken over when their leases end.
    let mut lives = place
        .start(&["worker", "--only", "intake,triage,delivery"])
        .unwrap();
    lives.wait_for_lines("report shown", ALERTS);
    lives.signal("TERM");
    let (status, _, lines) = lives.wait_for_exit();
    assert_eq!(status.code(), Some(0));
    let alarms = lines.iter().filter(|line| line.contains("cannot be read"));
    assert_eq!(alarms.count(), 0, "it was told to end: {lines:#?}");
    let cases = cases(&place);
    assert_eq!(cases.len(), ALERTS);
    assert!(
        cases
            .iter()
            .all(|case| case["status"] == "concluded" && case["revision"] == 1),
        "{cases:#?}"
    );
    assert_eq!(reports(&place).len(), ALERTS);
}
