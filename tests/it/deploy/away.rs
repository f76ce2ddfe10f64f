//! Tests the metrics of a worker whose database is away: stale gauges disappear instead of standing still.

use std::time::Duration;

use nightshift_tests::Sandbox;
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use crate::doctor::store::PostgresServer;
use crate::worker::fixture::{place, put};
use crate::worker::production::{database, service};

/// The longest time in which a worker may notice the outage, and its end.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns whether the metrics contain the inbox depth.
fn waits(text: &str) -> bool {
    text.contains("\nnightshift_inbox_depth{")
}

/// Waits until the metrics satisfy the predicate.
async fn until(address: &str, is_so: impl Fn(&str) -> bool) -> String {
    let asking = async {
        let mut looks = tokio::time::interval(Duration::from_millis(200));
        loop {
            looks.tick().await;
            let got = reqwest::get(format!("http://{address}/metrics")).await;
            let text = got.unwrap().text().await.unwrap();
            if is_so(&text) {
                return text;
            }
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap()
}

#[cfg_attr(not(has_services), ignore = "needs PostgreSQL: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_cannot_count_what_waits_says_nothing_of_it() {
    let server = PostgresServer::start().await;
    let place = Sandbox::new().unwrap();
    place.write_file("pw", "hush\n").unwrap();
    let config = format!("{}[web]\nlisten = \"127.0.0.1:0\"\n", server.config());
    place.write_file("nightshift.toml", config).unwrap();
    let parts = ["worker", "--only", "triage,delivery,web"];
    let mut worker = place.start(&parts).unwrap();
    let line = worker.wait_for_line("the cases are on http://");
    let (_, address) = line.split_once("http://").unwrap();
    let address = address.trim_end_matches('/');

    let said = until(address, waits).await;
    assert!(said.contains("\nnightshift_outbox_depth 0"), "{said}");
    server.stop();
    let said = until(address, |text| !waits(text)).await;
    for gone in ["inbox_", "outbox_", "dead_letters"] {
        assert!(!said.contains(&format!("\nnightshift_{gone}")), "{said}");
    }
    assert!(said.contains("\nnightshift_cases_running 0"), "{said}");
    server.restart();
    until(address, waits).await;
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
}

#[cfg_attr(not(has_services), ignore = "needs PostgreSQL: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f16_read_only_database_is_reported_as_unavailable() {
    let url = database().await;
    let name = url.rsplit_once('/').unwrap().1.split('?').next().unwrap();
    let (client, connection) = tokio_postgres::connect(&service("POSTGRES"), NoTls)
        .await
        .unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    // The database is read-only on a standby, or when a provider revokes writes because the disk is full.
    let may_write = async |may: bool| {
        let read_only = if may { "off" } else { "on" };
        let commands = format!(
            "ALTER DATABASE {name} SET default_transaction_read_only = {read_only}; \
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        );
        client.batch_execute(&commands).await.unwrap();
    };
    let place = place(&format!("[store]\nurl = \"{url}\"\n"));
    let mut worker = place.start(&["worker"]).unwrap();
    let line = worker.wait_for_line("the cases are on http://");
    let address = line.split_once("http://").unwrap().1.trim_end_matches('/');
    until(address, waits).await;
    may_write(false).await;
    put(&place, "scc-crypto-miner", "s1");
    until(address, |text| !waits(text)).await;
    may_write(true).await;
    worker.wait_for_line("report shown");
    until(address, waits).await;
}
