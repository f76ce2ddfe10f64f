//! Tests findings about trace collectors that accept spans and that do not.

use nightshift_tests::{Collector, Sandbox};
use tokio::net::TcpListener;

use super::failed_checks;

/// Returns the findings with these keys of `[traces]`.
fn finds(place: &Sandbox, endpoint: &str, rest: &str) -> Vec<String> {
    let config = format!("[traces]\nendpoint = \"{endpoint}\"\n{rest}\n");
    failed_checks(place, &config, "traces")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_takes_spans_has_no_finding_and_gets_none() {
    let collector = Collector::start().await;
    let mut place = Sandbox::new().unwrap();
    place.set_env("OTEL", "hush");
    let config = collector.config_table("headers = { authorization = \"env:OTEL\" }");
    assert_eq!(
        failed_checks(&place, &config, "traces"),
        Vec::<String>::new()
    );
    assert!(collector.spans().is_empty());
    assert_eq!(collector.header_values("authorization"), ["hush"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_away_or_is_none_is_told() {
    let place = Sandbox::new().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let away = format!("http://{}/v1/traces", port.local_addr().unwrap());
    drop(port);
    assert_eq!(finds(&place, &away, ""), ["traces.collector"]);
    let world = super::fake_vendors::FakeVendors::start().await;
    let other = format!("{}/v1/traces", world.url);
    assert_eq!(finds(&place, &other, ""), ["traces.collector"]);
}

#[test]
fn empty_header_value_and_invalid_authorities_are_reported() {
    let place = Sandbox::new().unwrap();
    let there = "http://127.0.0.1:9/v1/traces";
    let header = "headers = { authorization = \"env:NO_SUCH_NAME\" }";
    assert_eq!(finds(&place, there, header), ["traces.secret"]);
    place.write_file("ca.pem", "none").unwrap();
    assert_eq!(
        finds(&place, there, "ca_file = \"ca.pem\""),
        ["traces.configuration"]
    );
}
